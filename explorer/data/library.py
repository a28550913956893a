"""The sets of pairs that a visitor may open: offered ones, a Hub dataset, an uploaded file.

What was opened stays here for everybody who knows its id, until others need the memory.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from weakref import WeakValueDictionary

from explorer.core.caches import LruCache
from explorer.core.errors import disk_cannot_hold
from explorer.core.fetching import fetching
from explorer.core.settings import MAX_DATASET_MB, Settings
from explorer.core.work import EVERY_SECONDS, repeated
from explorer.core.workers import Limit, run_in_new_worker
from explorer.data.sources import DEMO_ID, Sources, read_demo
from explorer.data.table import PairTable
from explorer.data.typed import longest_text, typed_pair, typed_table
from scoring.benchmarks import named_dataset, similar_name
from scoring.errors import KnownError, Stopped, shown
from scoring.hub.access import DEFAULT_DATASET, Hub, HubId, Listing, parse_hub_id
from scoring.hub.cache import cache_folder, remove_cached
from scoring.limits import MEGABYTE, OnProgress, Step, ignore_progress
from scoring.pairs.checking import CheckedRows
from scoring.pairs.opening import Pairs, checked_rows, fetch_pairs, map_rows, read_pairs
from scoring.pairs.rows import SUFFIXES, RowFiles
from scoring.paths import is_file, typed_path
from scoring.tasks import read_rows

_LOADS_AT_ONCE = 2
APART_BYTES = 2 * MEGABYTE
"""From which size on files are read by a worker."""
_READ_SECONDS, _READ_BYTES_A_SECOND = 60.0, 300_000
READ_BYTES, BYTES_A_BYTE = 400 * MEGABYTE, 6
"""What the reading has for all, and for each byte of the files besides."""
LONGEST_WANTED = 4096
"""Characters of a Hub id or a path."""
_LONGEST_FILE_NAME = 80
LEAST_KEPT_BYTES = 10**9
"""Texts of opened tables that are kept in any case."""
_MOST_TYPED = 200
"""Pairs that were typed in; others are made anew of what a run's card says."""

ALLOWED = (
    "a benchmark by name, a Hub dataset as org/name, org/name:split, org/name:configuration/split "
    "or org/name:split@revision, or demo"
)


class Library:
    """The start-up tables and those that visitors opened. Callable from any thread."""

    def __init__(self, sources: Sources[PairTable], hub: Hub, settings: Settings) -> None:
        """sources: the tables that are here from the start; they are never dropped."""
        self.sources = sources
        self._hub = hub
        self._settings = settings
        self._lock = threading.Lock()
        limit = MEGABYTE * (settings.max_dataset_megabytes or MAX_DATASET_MB)
        self._opened = LruCache[PairTable](
            max(LEAST_KEPT_BYTES, 2 * limit), lambda table: table.arrow.nbytes
        )
        self._typed = LruCache[PairTable](_MOST_TYPED)
        self._paths: dict[str, Path] = {}  # id of a table -> the file on this machine
        self._only: dict[str, str] = {}  # repo@commit of a dataset with one split -> id
        self._loading: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._slots = threading.BoundedSemaphore(_LOADS_AT_ONCE)

    def find(self, item_id: object) -> PairTable | None:
        """The table with that id; None where it is not here, or not any more."""
        if not isinstance(item_id, str):
            return None
        table = self.sources.find(item_id)
        if table is not None:
            return table
        opened = self._opened.get(item_id)
        return self._demo if opened is None and item_id == self._demo.id else opened

    def get(self, item_id: object) -> PairTable:
        """What a session is looking at; the best there is where its id is unknown."""
        table = self.find(item_id)
        return self.sources.get(None) if table is None else table

    def here(self, item_id: str) -> PairTable:
        """The table with that id, the best one for "".

        Raises:
            KnownError: it is not here, or not any more.
        """
        table = self.find(item_id) if item_id else self.sources.get(None)
        if table is None:
            raise KnownError(
                f"{shown(item_id)} is not in memory any more: others were opened since. Choose it "
                "again."
            )
        return table

    def all(self) -> list[PairTable]:
        """Everything that everybody may be shown: no uploaded file, whose id is the permission."""
        opened = [table for table in self._opened.snapshot() if table.source.kind != "file"]
        tables = {table.id: table for table in (*self.sources.all(), self._demo, *opened)}
        return list(tables.values())

    def open(self, wanted: object, tell: OnProgress = ignore_progress) -> PairTable:
        """The table that a visitor typed, chose or followed a link to.

        wanted: `demo`, a table's id, a public Hub dataset, or (on one's own machine) a path.

        Raises:
            KnownError: it is none of these, cannot be had, is too large or is malformed.
        """
        if not isinstance(wanted, str) or not wanted.strip() or len(wanted) > LONGEST_WANTED:
            raise KnownError(f"Pairs are asked for by {ALLOWED}; {shown(wanted)} is none of them.")
        wanted = named_dataset(wanted.strip()) or wanted.strip()
        known_as = self._demo.id if wanted == DEMO_ID else self._only.get(wanted, wanted)
        table = self.find(known_as)
        if table is not None:
            return table
        hub_id = parse_hub_id(wanted)
        if not self._settings.public:
            path = typed_path(wanted)
            if path.suffix.lower() in SUFFIXES or is_file(path):
                return self._read(path, None, tell)
        if hub_id is None:
            raise KnownError(
                f"{shown(wanted)} is not here. {similar_name(wanted)}Type {ALLOWED}; a file of "
                f"your own is uploaded ({', '.join(SUFFIXES)}), once more if it is not here any "
                "more."
            )
        return self._fetch(hub_id, tell)

    def upload(self, path: Path, name: str, tell: OnProgress = ignore_progress) -> PairTable:
        """The table of an uploaded file, which is the caller's to delete. name: its sender's.

        Raises:
            KnownError: it is too large, malformed or no file of pairs.
        """
        return self._read(path, upload_name(name, path.suffix), tell)

    def typed(self, conversation: object, chosen: object, rejected: object) -> PairTable:
        """The table of one pair that a visitor typed; nobody else finds it here.

        Raises:
            KnownError: of `explorer.data.typed.typed_pair`.
        """
        pair = typed_pair(conversation, chosen, rejected, longest=longest_text(self._settings))
        return self._typed.get_or_create(pair, lambda: typed_table(pair))

    @cached_property
    def _demo(self) -> PairTable:
        return read_demo()

    def _read(self, path: Path, name: str | None, tell: OnProgress) -> PairTable:
        limits, on_disk = self._settings.limits, name is None  # an upload is its sender's to keep
        with self._slot():
            pairs = read_pairs(
                path, name=name, limits=limits, tell=tell, on_disk=on_disk, reader=_read_in_worker
            )
            table = self._keep(pairs)
        if on_disk:
            self._paths[table.id] = path
        return table

    def path_of(self, table: PairTable) -> Path | None:
        """Where the file that a table is of lies; None if the person has only sent it, or may not
        know.
        """
        own = typed_path(self._settings.pairs or "")
        is_own = own.name == table.source.name and not self._settings.public
        return self._paths.get(table.id, own if is_own else None)

    def _fetch(self, hub_id: HubId, tell: OnProgress) -> PairTable:
        """A table from the Hub, without a token; from memory where its commit is here already."""
        tell(Step("asking"))
        with self._way_out():
            commit = self._hub.look(hub_id, "dataset", token=False).commit
        pinned = str(HubId(hub_id.repo, hub_id.split, commit))
        # Where downloads are forgotten, nobody may be reading the same repository meanwhile.
        with self._only_one(hub_id.repo if self._settings.public else pinned, tell):
            table = self.find(self._only.get(pinned, pinned))
            if table is not None:
                return table
            # What was fetched of what the owner shows stays on the disk.
            asked = (DEFAULT_DATASET, self._settings.pairs or "", self._settings.results or "")
            owners = {each.repo for each in map(parse_hub_id, asked) if each}
            stays = not self._settings.public or hub_id.repo in owners
            limits = self._settings.limits
            try:
                with self._slot(), self._way_out():
                    pairs = fetch_pairs(
                        hub_id,
                        self._hub,
                        token=False,
                        limits=limits,
                        tell=tell,
                        on_disk=stays,
                        reader=_read_in_worker,
                        fetch=self._fetch_in_worker,
                    )
            finally:
                if not stays:
                    remove_cached(cache_folder(hub_id.repo, "dataset"))
            table = self._keep(pairs)
            if hub_id.split is None:
                self._only[pinned] = table.id
            return table

    def _fetch_in_worker(
        self, listing: Listing, names: Sequence[str], *, tell: OnProgress = ignore_progress
    ) -> Path:
        """As `Hub.fetch`, by a worker, which is ended where it takes too long."""
        return Path(fetching(self._hub, listing, names, False, "file", tell))

    @contextmanager
    def _only_one(self, key: str, tell: OnProgress) -> Iterator[None]:
        """Whoever wants the same waits here until it was loaded."""
        with self._lock:
            lock = self._loading.setdefault(key, threading.Lock())
        while not lock.acquire(timeout=EVERY_SECONDS):
            tell(Step("asking"))
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """One of the few loads that this process does at once."""
        if not self._slots.acquire(blocking=False):
            raise KnownError(
                f"This server is busy: it is loading {_LOADS_AT_ONCE} other sets of pairs. Try "
                "again in a moment."
            )
        try:
            yield
        finally:
            self._slots.release()

    @contextmanager
    def _way_out(self) -> Iterator[None]:
        """Where the Hub is out of reach, say what can be done, and ask it anew the next time."""
        try:
            yield
        except Stopped:
            raise
        except KnownError as error:
            if self._hub.reason is None:
                raise
            self._hub.retry()
            raise KnownError(
                f"{error} Upload a file of pairs, or try again when the Hub can be reached."
            ) from error

    def _keep(self, pairs: Pairs) -> PairTable:
        """Its table, or the one that is here already; others go where memory is short."""
        table = PairTable(pairs)
        present = self.find(table.id)
        return self._opened.setdefault(table.id, table) if present is None else present


def _read_in_worker(files: RowFiles, tell: OnProgress) -> CheckedRows:
    """As `opening.checked_rows`. Large files are read by a worker, whose table is mapped here.

    Raises:
        KnownError: as there, or a limit of time or memory is met.
    """
    size = sum(path.stat().st_size for path in files.paths.values())
    if size < APART_BYTES:
        return checked_rows(files, tell)
    limit = Limit(
        "Reading the pairs",
        _READ_SECONDS + size / _READ_BYTES_A_SECOND,
        READ_BYTES + BYTES_A_BYTE * size,
        in_addresses=True,
        way_out="file",
    )
    try:
        with TemporaryDirectory(prefix="explorer-pairs-") as folder:
            to = Path(folder) / "pairs.arrow"
            told = repeated(tell, Step("reading"))
            run_in_new_worker(read_rows, to, files, limit=limit, tell=told)
            return map_rows(to)
    except OSError as error:
        raise disk_cannot_hold(error) from error


def upload_name(name: str, suffix: str) -> str:
    r"""A sender's name of a file, fit to be shown: its last part, printable, short.

    >>> upload_name("C:\\data\\my\x00pairs.csv", ".csv")
    'mypairs.csv'
    >>> upload_name("../" + "x" * 999, ".json")[70:]
    'xxxxx.json'
    >>> len(upload_name("a." + "x" * 200, "." + "x" * 200))
    41
    """
    last = PurePosixPath(name.replace("\\", "/")).name
    stem = "".join(character for character in last if character.isprintable()).strip()
    stem, suffix = stem.removesuffix(suffix) or "upload", suffix[: _LONGEST_FILE_NAME // 2]
    return stem[: _LONGEST_FILE_NAME - len(suffix)] + suffix
