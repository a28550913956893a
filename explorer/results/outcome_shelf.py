"""What was read of one source's result files: in memory, and in one small file on disk."""

import logging
import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from explorer.results.rows import SCHEMA, Read, orders_as_json, read_rows, rows_of
from explorer.results.sources import Entry
from scoring.hub.access import first_line
from scoring.results.order import PairOrder

logger = logging.getLogger(__name__)
_VERSIONS = count()


@dataclass
class OutcomeShelf:
    """What is known of one source's files. Callable from any thread; no file is read under a lock.

    folder: where it is kept.
    parts: the files of that folder that `rows` were read from.
    version: changes when a row is read, and is no other shelf's.
    refused: file -> why it could not be had when it was last asked for.
    claims: file -> the lock of whoever reads it.
    """

    folder: Path
    rows: dict[str, Read] = field(default_factory=dict)
    orders: dict[str, PairOrder] = field(default_factory=dict)
    parts: list[Path] = field(default_factory=list)
    version: int = field(default_factory=lambda: next(_VERSIONS))
    refused: dict[str, str] = field(default_factory=dict)
    claims: defaultdict[str, threading.Lock] = field(
        default_factory=lambda: defaultdict(threading.Lock)
    )
    _unsaved: list[str] = field(default_factory=list)
    _loaded: bool = False
    _adopted: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _saving: threading.Lock = field(default_factory=threading.Lock)

    def has(self, entry: Entry) -> bool:
        """Whether the file was read as it is now."""
        row = self.rows.get(entry.name)
        return row is not None and row.stamp == entry.stamp

    def claim(self, entry: Entry) -> threading.Lock:
        """The lock that who reads a file must hold meanwhile."""
        with self._lock:
            return self.claims[entry.name]

    def load(self) -> None:
        """Read what is kept, once; what is broken is as if it had not been read."""
        with self._lock:
            if not self._loaded:
                self._loaded = True
                self.parts = _parts(self.folder)
                for row in self._rows_in(self.parts):
                    self.rows[row.file] = row

    def adopt(self, entries: Iterable[Entry], kin: Iterable[Path]) -> None:
        """Take the same files from other shelves, once, where nothing is known of these.

        kin: folders of shelves whose files are the same where name and stamp are.
        """
        with self._lock:
            wanted = {} if self.rows or self._adopted else {each.name: each for each in entries}
            self._adopted = self._adopted or bool(wanted)
            for folder in kin if wanted else ():
                for row in self._rows_in(_parts(folder)):
                    if row.file in wanted and row.stamp == wanted[row.file].stamp:
                        self._put(row)

    def put(self, row: Read) -> None:
        """Remember one file."""
        with self._lock:
            self._put(row)
            self.refused.pop(row.file, None)

    def read(self, names: Iterable[str] | None) -> tuple[int, list[Read]]:
        """The version, and what is known of these files by name; of all where it is None."""
        with self._lock:
            names = self.rows if names is None else names
            return self.version, [self.rows[name] for name in sorted(names) if name in self.rows]

    def save(self) -> None:
        """Write what is not kept yet, whole or not at all; a full disk costs only time."""
        with self._saving:
            with self._lock:
                unsaved = list(self._unsaved)
                rows = [self.rows[file] for file in dict.fromkeys(unsaved)]
            part = self._written(rows) if rows else None
            if part is not None:
                with self._lock:
                    self.parts.append(part)
                    del self._unsaved[: len(unsaved)]

    def tidy(self, entries: Iterable[Entry], fixed: bool) -> None:
        """Make one file of several, without what is no longer there."""
        if not fixed:
            names = {entry.name for entry in entries}
            with self._lock:
                self.rows = {name: row for name, row in self.rows.items() if name in names}
                self._unsaved = [name for name in self._unsaved if name in names]
        self.save()
        with self._saving:
            with self._lock:
                old, rows = list(self.parts), list(self.rows.values())
                several = len(old) > 1 and not self._unsaved
            part = self._written(rows) if several else None
            if part is not None:
                with self._lock:
                    self.parts = [part]
                for each in old:
                    each.unlink(missing_ok=True)

    def _put(self, row: Read) -> None:
        if row.results is not None:
            order = self.orders.setdefault(row.digest, row.results.order)
            row = replace(row, results=replace(row.results, order=order))
        self.rows[row.file] = row
        self.version = next(_VERSIONS)
        self._unsaved.append(row.file)

    def _rows_in(self, parts: Iterable[Path]) -> Iterable[Read]:
        for part in parts:
            try:
                yield from read_rows(part, self.orders)
            except Exception as error:  # a broken file makes pyarrow raise anything
                logger.warning("the outcomes in %s are not used: %s", part, first_line(error))

    def _written(self, rows: list[Read]) -> Path | None:
        table = pa.Table.from_pylist(rows_of(rows), schema=SCHEMA)
        table = table.replace_schema_metadata({"orders": orders_as_json(rows)})
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=self.folder) as place:
                part = Path(place) / "part"
                pq.write_table(table, part, compression="zstd", write_page_checksum=True)
                return part.replace(self.folder / f"{uuid4().hex}.parquet")
        except OSError as error:
            logger.warning("outcomes are not kept in %s: %s", self.folder, first_line(error))
            return None


def changed(path: Path) -> float:
    """When a file or folder changed, in seconds since 1970; 0 where it is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _parts(folder: Path) -> list[Path]:
    """In the order of writing, so that of a file that changed the last reading is taken."""
    return sorted(folder.glob("*.parquet"), key=changed)
