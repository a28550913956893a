"""Lengths in tokens, by a tokenizer of choice: counted once for a set of pairs, then kept on disk.

What is counted is the text of a column as it stands, without special tokens around it; of several
responses the first. Of a text of more than `MOST_CHARS` characters only so many are looked at.
"""

import hashlib
import logging
import re
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from explorer.core.caches import LruCache, keep_newest
from explorer.core.work import Shared
from explorer.data.facets import Counts
from explorer.data.table import PairTable
from scoring.errors import KnownError
from scoring.hub.access import Hub, first_line, parse_hub_id
from scoring.limits import Step
from scoring.models.finding import DEMO_NAME, DEMO_NAMES, ModelPolicy
from scoring.pairs.opening import TEXT_COLUMNS
from scoring.paths import atomic_write, is_folder, typed_path

logger = logging.getLogger(__name__)

MOST_CHARS = 200_000
"""Characters of one text that are looked at."""
_BATCH_CHARS = 300_000
"""Each takes some hundred bytes of memory while it is counted."""
_BATCH_ROWS = 2_000
_KEPT_UNFINISHED = 4
_KEPT_ON_DISK = 400
_FORMAT = "1"
"""Changes when what is counted of the same text does."""
SUGGESTED = "oobabooga/llama-tokenizer"
"""The tokenizer by which the benchmark's card counts."""
MOST_MEGABYTES = 50
"""What the files of a tokenizer on the Hub may weigh, in 10^6 bytes."""

_NAMED = 10
"""Tokenizers that a refusal names."""
_WHOLE = "tokenizer.json"
_PARTS = (
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json",
    "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tiktoken.model", "vocab.json",
    "vocab.txt", "merges.txt",
)  # fmt: skip
_VOCABULARIES = frozenset(_PARTS[4:])
_DIGEST = re.compile(r"[0-9a-f]{12}")
_COMMIT = re.compile(r"[0-9a-f]{40}")

Encode = Callable[[list[str]], Sequence[int]]
"""Texts -> tokens of each."""


@dataclass(frozen=True, slots=True)
class LocatedTokenizer:
    """A tokenizer on this machine. name: with its revision, as links and filters carry it."""

    name: str
    folder: Path


def _listed_tokenizers(policy: ModelPolicy) -> tuple[str, ...] | None:
    """Those of the Hub that may be used, as typed; None means any.

    Where strangers use the server they are the suggested one and those of the models that its owner
    lists: a stranger's tokenizer may make more of a text than there is memory for.
    """
    return None if policy.local_folders else (SUGGESTED, *sorted(policy.models or ()))


def _allowed_tokenizers(policy: ModelPolicy) -> str:
    """What may be given, in words."""
    listed = _listed_tokenizers(policy)
    given = listed[:_NAMED] if listed else (f"a folder, a Hub id such as {SUGGESTED}",)
    return ", ".join(given) + (f" or {DEMO_NAME}" if policy.demo is not None else "")


def locate_tokenizer(
    typed: str, policy: ModelPolicy, hub: Hub
) -> Generator[Step, None, LocatedTokenizer]:
    """Find the tokenizer a person typed, downloading its files (and no others) where need be.

    typed: "demo", a folder where the policy allows those, or a Hub id `org/name[@revision]`; demo
    and folders may be followed by the revision that they are to have, `@<12 hex digits>`.

    Raises:
        KnownError: it is not allowed, not found, too large or no tokenizer.
    """
    base, _, revision = typed.rpartition("@")
    pinned = _DIGEST.fullmatch(revision) is not None
    if policy.demo is not None:
        if typed in DEMO_NAMES:
            return _in_folder(DEMO_NAME, policy.demo)
        if pinned and base == DEMO_NAME:
            return _in_folder(DEMO_NAME, policy.demo, revision)
    if policy.local_folders:
        if is_folder(typed_path(typed)):
            return _in_folder(typed, typed_path(typed))
        if pinned and is_folder(typed_path(base)):
            return _in_folder(base, typed_path(base), revision)
    listed = _listed_tokenizers(policy)
    refused = KnownError(
        f"{typed[:200]!r} is not a tokenizer that can be used here: "
        f"give {_allowed_tokenizers(policy)}."
    )
    by_commit = listed is not None and typed not in listed and _COMMIT.fullmatch(revision)
    name = base if by_commit else typed
    hub_id = parse_hub_id(name)
    if hub_id is None or hub_id.split or not (listed is None or name in listed):
        raise refused
    yield Step("asking")
    listing = hub.look(hub_id, "model", token=False)
    if by_commit and listing.commit != revision:
        raise refused  # another revision may be a stranger's
    names = _wanted(listing.sizes, hub_id.repo)
    n_bytes = sum(listing.sizes[name] for name in names)
    if n_bytes > MOST_MEGABYTES * 1e6:
        raise KnownError(
            f"The tokenizer of {hub_id.repo} is {n_bytes / 1e6:.0f} MB large; "
            f"at most {MOST_MEGABYTES} MB are fetched here."
        )
    yield Step("fetching", 0, n_bytes)
    folder = hub.fetch(listing, names, token=False)
    return LocatedTokenizer(f"{hub_id.repo}@{listing.commit}", folder)


def _wanted(names: Iterable[str], place: str) -> list[str]:
    """The files of a tokenizer among those of a folder or repository.

    Raises:
        KnownError: there is no tokenizer.
    """
    found = set(names)
    if _WHOLE in found:
        return [_WHOLE]
    if not found & _VOCABULARIES:
        raise KnownError(
            f"{place[:200]} has no tokenizer: neither {_WHOLE} nor a vocabulary such as "
            "tokenizer.model, vocab.json or vocab.txt."
        )
    return [name for name in _PARTS if name in found]


def _in_folder(name: str, folder: Path, revision: str = "") -> LocatedTokenizer:
    """The tokenizer in a folder, with the first 12 hex digits of its files' sha256 as revision.

    Raises:
        KnownError: there is none, or it is not of the revision that was asked for.
    """
    digest = hashlib.sha256()
    try:
        for file in _wanted((path.name for path in folder.iterdir()), name):
            digest.update(f"{file}\n".encode() + (folder / file).read_bytes())
    except OSError as error:
        raise KnownError(f"The folder {name[:200]} cannot be read: {first_line(error)}") from error
    found = digest.hexdigest()[:12]
    if revision and found != revision:
        raise KnownError(
            f"The tokenizer {name[:200]} is here at revision {found}, not {revision}. "
            f"Give {name[:200]} to count by what is here."
        )
    return LocatedTokenizer(f"{name}@{found}", folder)


def encoder(located: LocatedTokenizer) -> Encode:
    """What counts the tokens of texts, on all processors.

    Raises:
        KnownError: only Python could run it, which takes too long here.
    """
    from tokenizers import Tokenizer

    whole = located.folder / _WHOLE
    if whole.is_file():
        tokenizer = Tokenizer.from_file(str(whole))
    else:
        from transformers import AutoTokenizer

        loaded = AutoTokenizer.from_pretrained(
            located.folder, local_files_only=True, trust_remote_code=False
        )
        backend = getattr(loaded, "backend_tokenizer", None)
        if not isinstance(backend, Tokenizer):
            raise KnownError(f"{located.name} has no fast tokenizer, and others are not used here.")
        tokenizer = backend
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.post_processor = None  # what is put around a text is not counted

    def encode(texts: list[str]) -> list[int]:
        return list(map(len, tokenizer.encode_batch_fast(texts, add_special_tokens=False)))

    return encode


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """Turn whatever a stranger's tokenizer brings about into one sentence for a person."""
    try:
        yield
    except BaseException as error:
        # A fault inside the tokenizer's compiled part is no Exception.
        is_fault = isinstance(error, Exception) or type(error).__name__ == "PanicException"
        if isinstance(error, KnownError) or not is_fault:
            raise
        raise KnownError(f"The tokenizer {name} cannot be used: {first_line(error)}") from error


class _Job:
    """A count under way, kept for who goes on with it where it is stopped."""

    def __init__(self, table: PairTable, located: LocatedTokenizer) -> None:
        self.counts = {name: np.zeros(len(table), dtype=np.int32) for name in TEXT_COLUMNS}
        self.encode, self.stops, self.done = encoder(located), _batch_stops(table), 0

    def next_batch(self, table: PairTable) -> None:
        """Count the next rows."""
        stop = self.stops[bisect_right(self.stops, self.done)]
        for column in TEXT_COLUMNS:
            taken = table.arrow.column(column).slice(self.done, stop - self.done)
            texts: list[Any] = pc.utf8_slice_codeunits(taken, 0, MOST_CHARS).to_pylist()
            self.counts[column][self.done : stop] = self.encode(texts)
        self.done = stop


class TokenCounter:
    """Counts tokens, and remembers what was counted: in the table, and on disk."""

    def __init__(self, home: Path, hub: Hub, policy: ModelPolicy) -> None:
        """policy: where the bundled tokenizer is, and whether folders of this machine are read."""
        self._folder = home / "tokens"
        self._hub = hub
        self._policy = policy
        self._jobs = LruCache[_Job](_KEPT_UNFINISHED)
        self._counting = Shared[Step, None]()

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
        counts = self._stored(table, name)
        if counts is not None:
            table.tokens[name] = counts
        return counts is not None

    def count(self, table: PairTable, wanted: object) -> Generator[Step, None, str]:
        """Count the tokens of every prompt, chosen and rejected, telling each step.

        Closing the generator stops the count between two batches. Whoever asks next goes on from
        there, and several who ask at once share the work.

        wanted: as of `locate_tokenizer`, or a name that `count` returned before.

        Returns:
            The tokenizer's name with its revision, such as "demo@<12 hex digits>" or
            "org/name@<commit>": the key in `table.tokens`.

        Raises:
            KnownError: there is no such tokenizer, it is not allowed here, too large or broken.
        """
        if not isinstance(wanted, str) or not wanted.strip():
            raise KnownError(f"No tokenizer was given. Give {_allowed_tokenizers(self._policy)}.")
        typed = wanted.strip()
        if self.known(table, typed):
            return typed
        located = yield from locate_tokenizer(typed, self._policy, self._hub)
        key = _key(table, located.name)
        yield from self._counting.follow(key, lambda: self._count(table, located))
        return located.name

    def _count(self, table: PairTable, located: LocatedTokenizer) -> Generator[Step, None, None]:
        if self.known(table, located.name):
            return
        key = _key(table, located.name)
        with refusing(located.name):
            job = self._jobs.get_or_create(key, lambda: _Job(table, located))
        yield Step("reading", job.done, len(table))
        while job.done < len(table):
            with refusing(located.name):
                job.next_batch(table)
            yield Step("reading", job.done, len(table))
        table.tokens[located.name] = job.counts
        self._store(table, located.name, job.counts)
        self._jobs.discard(key)

    def _stored(self, table: PairTable, name: str) -> dict[str, Counts] | None:
        """What was counted before; None where nothing was, or the file is broken."""
        path = self._folder / f"{_key(table, name)}.npz"
        if not path.is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as stored:
                found: dict[str, Counts] = {column: stored[column] for column in TEXT_COLUMNS}
        except Exception as error:  # a broken file makes numpy raise anything
            logger.warning("the counts in %s are not used: %s", path, first_line(error))
            return None
        right = all(
            counts.shape == (len(table),) and counts.dtype == np.int32 and (counts >= 0).all()
            for counts in found.values()
        )
        return found if right else None

    def _store(self, table: PairTable, name: str, counts: dict[str, Counts]) -> None:
        """Write the counts whole or not at all; a disk that refuses costs only time."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with (
                atomic_write(self._folder / f"{_key(table, name)}.npz") as part,
                part.open("wb") as file,
            ):
                np.savez_compressed(file, allow_pickle=False, **counts)
            keep_newest(self._folder.glob("*.npz"), _KEPT_ON_DISK)
        except OSError as error:
            logger.warning("the counts of %s are not kept on disk: %s", name, first_line(error))


def cut_texts(table: PairTable) -> int:
    """How many texts have more than `MOST_CHARS` characters, of which no more are counted."""
    return sum(int((table.chars[column] > MOST_CHARS).sum()) for column in TEXT_COLUMNS)


def _key(table: PairTable, name: str) -> str:
    """32 hex digits for a count: they change with the pairs and the tokenizer."""
    sizes = (len(table), *(int(table.chars[column].sum()) for column in TEXT_COLUMNS))
    written = "\n".join((_FORMAT, table.id, *map(str, sizes), name))
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _batch_stops(table: PairTable) -> list[int]:
    """Where each batch of rows ends: after so many characters, or so many rows."""
    chars = np.zeros(len(table), dtype=np.int64)
    for column in TEXT_COLUMNS:
        chars += np.minimum(table.chars[column], MOST_CHARS)
    full = np.flatnonzero(np.diff(np.cumsum(chars) // _BATCH_CHARS)) + 1
    return sorted({*full.tolist(), *range(_BATCH_ROWS, len(table), _BATCH_ROWS), len(table)})
