"""Lengths in tokens, by a tokenizer of choice: counted once for a set of pairs, then kept on disk.

What is counted is the text of a column as it stands, without special tokens around it; of several
responses the first. Of a text of more than `MOST_CHARS` characters only so many are looked at.
"""

import hashlib
import threading
from bisect import bisect_right
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from explorer.core.caches import LruCache, read_arrays, write_arrays
from explorer.core.errors import disk_cannot_hold
from explorer.core.fetching import LOOK_BYTES, LOOK_SECONDS, fetching
from explorer.core.work import EVERY_SECONDS, repeated
from explorer.core.workers import Limit, run_in_new_worker, text_limit
from explorer.data.table import PairTable
from scoring.errors import KnownError
from scoring.hub.access import Hub, parse_hub_id
from scoring.limits import OnProgress, Step, ignore_progress
from scoring.models.finding import DEMO_NAME, LocatedModel, ModelPolicy
from scoring.models.tokenizers import SUGGESTED, allowed_tokenizers, find_tokenizer
from scoring.pairs.opening import TEXT_COLUMNS
from scoring.spec import ModelSpec
from scoring.tasks import call, count_tokens

MOST_CHARS = 200_000
"""Characters of one text that are looked at."""
_BATCH_CHARS = 300_000
"""Each takes some hundred bytes of memory while it is counted."""
_BATCH_ROWS = 2_000
_AT_ONCE = 2
"""Counts; each takes all processors."""
_KEPT_UNFINISHED = 4
_KEPT_ON_DISK = 400
_FORMAT = "1"
"""Changes when what is counted of the same text does."""


def locate_tokenizer(
    typed: str, policy: ModelPolicy, hub: Hub, tell: OnProgress = ignore_progress
) -> ModelSpec:
    """Find the tokenizer a person typed, downloading its files (and no others) where need be.

    Raises:
        KnownError: as of `tokenizers.find_tokenizer`, or its files cannot be had.
    """
    if parse_hub_id(typed) is not None:
        hub.reachable()  # asked once, here, and not by each worker
    limit = Limit("Inspecting the tokenizer", LOOK_SECONDS, LOOK_BYTES, True, way_out="tokenizer")
    given, told = (find_tokenizer, typed, policy, hub), repeated(tell, Step("asking"))
    found: LocatedModel = run_in_new_worker(call, *given, limit=limit, tell=told, online=True)
    if found.listing is None:
        return found.spec
    folder = fetching(hub, found.listing, [*found.sizes], False, "tokenizer", tell)
    return replace(found.spec, folder=folder)


class _Job:
    """A count under way, kept for who goes on with it where it is stopped."""

    def __init__(self, table: PairTable) -> None:
        self.counts = {name: np.zeros(len(table), dtype=np.int32) for name in TEXT_COLUMNS}
        self.characters = _characters(table)
        self.stops, self.done = _batch_stops(self.characters), 0
        self.turn = threading.Lock()

    @property
    def left(self) -> list[int]:
        """Where each batch ends that is not counted."""
        return self.stops[bisect_right(self.stops, self.done) :]

    def add(self, counts: tuple[bytes, ...]) -> None:
        """What was counted of the next batch."""
        stop = self.left[0]
        for column, each in zip(TEXT_COLUMNS, counts, strict=True):
            self.counts[column][self.done : stop] = np.frombuffer(each, np.int32)
        self.done = stop


class TokenCounter:
    """Counts tokens, and remembers what was counted: in the table, and on disk."""

    def __init__(self, home: Path, hub: Hub, policy: ModelPolicy) -> None:
        """policy: where the bundled tokenizer is, and whether folders of this machine are read."""
        self._folder = home / "tokens"
        self._hub = hub
        self._policy = policy
        self._jobs = LruCache[_Job](_KEPT_UNFINISHED)
        self._slots = threading.BoundedSemaphore(_AT_ONCE)

    def suggested(self) -> str:
        """The tokenizer to offer first: the card's, or the bundled one where the Hub is away."""
        return SUGGESTED if self._hub.reason is None or self._policy.demo is None else DEMO_NAME

    def known(self, table: PairTable, name: object) -> bool:
        """Whether `table.lengths` can be asked for the tokens of a tokenizer.

        name: as `count` returned it. Reads the disk where need be, but neither counts nor asks the
        network, so it may be asked about whatever a visitor sent.
        """
        if not isinstance(name, str) or not name:
            return False
        if name in table.tokens:
            return True
        counts = read_arrays(self._path(table, name), TEXT_COLUMNS)
        if counts is not None:
            table.tokens[name] = counts
        return counts is not None

    def count(self, table: PairTable, wanted: object, tell: OnProgress = ignore_progress) -> str:
        """Count the tokens of every prompt, chosen and rejected.

        Where `tell` raises, the count stops between two batches. Whoever asks next goes on from
        there, and of several who ask at once one counts.

        wanted: as of `locate_tokenizer`, or a name that `count` returned before.

        Returns:
            The tokenizer's name with its revision, such as "demo@<12 hex digits>" or
            "org/name@<commit>": the key in `table.tokens`.

        Raises:
            KnownError: there is no such tokenizer, it is not allowed here, too large or broken, or
                it meets its limit.
        """
        if not isinstance(wanted, str) or not wanted.strip():
            raise KnownError(f"No tokenizer was given. Give {allowed_tokenizers(self._policy)}.")
        typed = wanted.strip()
        if self.known(table, typed):
            return typed
        found = locate_tokenizer(typed, self._policy, self._hub, tell)
        if not self.known(table, found.pinned):
            key = _key(table, found.pinned)
            job = self._jobs.get_or_create(key, lambda: _Job(table))
            while not job.turn.acquire(timeout=EVERY_SECONDS):
                tell(Step("reading", job.done, len(table)))
            try:
                self._count(table, found, job, tell)
            finally:
                job.turn.release()
        return found.pinned

    def _count(self, table: PairTable, found: ModelSpec, job: _Job, tell: OnProgress) -> None:
        if self.known(table, found.pinned):
            return

        def take(counts: tuple[bytes, ...] | None) -> None:
            if counts is not None:
                job.add(counts)
            tell(Step("reading", job.done, len(table)))

        take(None)
        with TemporaryDirectory(prefix="explorer-tokens-") as folder:
            texts = Path(folder) / "texts.arrow"
            _write_texts(table, [job.done, *job.left], texts)
            limit = text_limit(
                "Counting tokens",
                int(job.characters[job.done :].sum()),
                in_addresses=True,
                way_out="tokenizer",
            )
            run_in_new_worker(
                count_tokens, found, str(texts), limit=limit, tell=take, slots=self._slots
            )
        table.tokens[found.pinned] = job.counts
        write_arrays(self._path(table, found.pinned), job.counts, _KEPT_ON_DISK)
        self._jobs.discard(_key(table, found.pinned))

    def _path(self, table: PairTable, name: str) -> Path:
        return self._folder / f"{_key(table, name)}.npz"


def cut_texts(table: PairTable) -> int:
    """How many texts have more than `MOST_CHARS` characters, of which no more are counted."""
    return sum(int((table.chars[column] > MOST_CHARS).sum()) for column in TEXT_COLUMNS)


def _key(table: PairTable, name: str) -> str:
    """32 hex digits for a count: they change with the pairs and the tokenizer."""
    sizes = (len(table), *(int(table.chars[column].sum()) for column in TEXT_COLUMNS))
    written = "\n".join((_FORMAT, table.id, *map(str, sizes), name))
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _characters(table: PairTable) -> NDArray[np.int64]:
    """Of each row, those that are looked at."""
    characters = np.zeros(len(table), dtype=np.int64)
    for column in TEXT_COLUMNS:
        characters += np.minimum(table.chars[column], MOST_CHARS)
    return characters


def _batch_stops(characters: NDArray[np.int64]) -> list[int]:
    """Where each batch of rows ends: after so many characters, or so many rows."""
    full = np.flatnonzero(np.diff(np.cumsum(characters) // _BATCH_CHARS)) + 1
    n_rows = len(characters)
    return sorted({*full.tolist(), *range(_BATCH_ROWS, n_rows, _BATCH_ROWS), n_rows})


def _write_texts(table: PairTable, stops: list[int], to: Path) -> None:
    """Write texts as `count_tokens` reads them. stops: where the first batch begins, each ends.

    Raises:
        KnownError: the disk does not take them.
    """
    schema = pa.schema([(column, pa.large_string()) for column in TEXT_COLUMNS])
    try:
        with pa.ipc.new_stream(str(to), schema) as stream:
            for start, stop in pairwise(stops):
                rows = table.arrow.slice(start, stop - start)
                cut = [pc.utf8_slice_codeunits(rows[name], 0, MOST_CHARS) for name in TEXT_COLUMNS]
                columns = [each.combine_chunks() for each in cut]
                stream.write(pa.RecordBatch.from_arrays(columns, schema=schema))
    except OSError as error:
        raise disk_cannot_hold(error) from error
