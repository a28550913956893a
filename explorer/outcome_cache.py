"""Outcomes and scores of result files, read once and then kept in one small file a source.

A file of results of each pair has 7 MB and more, nearly all of it texts. What the views need of
188 of them are a few MB, which open in a fraction of a second.
"""

import hashlib
import logging
import shutil
import threading
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from explorer.outcome_matrix import Outcomes
from explorer.outcome_rows import SCHEMA, Read, orders_as_json, read_rows, rows_of
from explorer.outcome_sources import Entry, Folder, Source
from scoring.errors import KnownError
from scoring.hub import first_line
from scoring.limits import Step
from scoring.pair_order import PairOrder
from scoring.pair_results import read_pair_results
from scoring.result_files import LeftOut, printable

logger = logging.getLogger(__name__)

SAVED_EVERY_SECONDS = 10.0
"""Between two writes of what was read, in case the server is stopped."""
MOST_REFUSALS = 3
"""Files in a row that a source may refuse; then it is taken as gone."""
_KEPT_ON_DISK = 12
_KEPT_IN_MEMORY = 6
_FORMAT = "1"
"""Changes when what is kept of the same file does."""


@dataclass
class _Shelf:
    """What is known of one source's files.

    folder: where it is kept.
    parts: the files of that folder that `rows` were read from.
    """

    folder: Path
    rows: dict[str, Read] = field(default_factory=dict)
    orders: dict[str, PairOrder] = field(default_factory=dict)
    parts: list[Path] = field(default_factory=list)
    unsaved: list[str] = field(default_factory=list)
    loaded: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def has(self, entry: Entry) -> bool:
        """Whether the file was read as it is now."""
        row = self.rows.get(entry.name)
        return row is not None and row.stamp == entry.stamp

    def load(self) -> None:
        """Read what is kept, once; what is broken is as if it had not been read."""
        if self.loaded:
            return
        self.loaded = True
        # In the order of writing, so that of a file that changed the last reading is taken.
        for part in sorted(self.folder.glob("*.parquet"), key=_changed):
            self.parts.append(part)
            try:
                for row in read_rows(part, self.orders):
                    self.rows[row.file] = row
            except Exception as error:  # a broken file makes pyarrow raise anything
                logger.warning("the outcomes in %s are not used: %s", part, first_line(error))

    def put(self, row: Read) -> None:
        """Remember one file."""
        if row.results is not None:
            digest = row.digest
            order = self.orders.setdefault(digest, row.results.order)
            row = replace(row, results=replace(row.results, order=order))
        self.rows[row.file] = row
        self.unsaved.append(row.file)

    def save(self) -> None:
        """Write what is not kept yet, whole or not at all; a full disk costs only time."""
        if self.unsaved and self._written(self.rows[file] for file in self.unsaved):
            self.unsaved.clear()

    def tidy(self, entries: Iterable[Entry], fixed: bool) -> None:
        """Make one file of several, without what is no longer there."""
        self.save()
        if not fixed:
            names = {entry.name for entry in entries}
            self.rows = {name: row for name, row in self.rows.items() if name in names}
        old = list(self.parts)
        if len(old) > 1 and not self.unsaved and self._written(self.rows.values()):
            self.parts = self.parts[-1:]
            for part in old:
                part.unlink(missing_ok=True)

    def _written(self, rows: Iterable[Read]) -> bool:
        rows = list(rows)
        table = pa.Table.from_pylist(rows_of(rows), schema=SCHEMA)
        table = table.replace_schema_metadata({"orders": orders_as_json(rows)})
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=self.folder) as place:
                part = Path(place) / "part"
                pq.write_table(table, part, compression="zstd", write_page_checksum=True)
                self.parts.append(part.replace(self.folder / f"{uuid4().hex}.parquet"))
        except OSError as error:
            logger.warning("outcomes are not kept in %s: %s", self.folder, first_line(error))
            return False
        return True


class OutcomeCache:
    """Reads result files of each pair, and remembers what it read: in memory, and on disk.

    readings: how often files were read; what was made of the outcomes before may be outdated.
    """

    def __init__(self, home: Path) -> None:
        """home: what the settings call so."""
        self.readings = 0
        self._folder = home / "outcomes"
        self._lock = threading.Lock()
        self._shelves: dict[str, _Shelf] = {}

    def known(self, source: Source, folder: Folder = "eval-set-scores") -> Outcomes:
        """What was read before, without reading or fetching any result file."""
        shelf = self._shelf(source, folder)
        with shelf.lock:
            shelf.load()
        entries, left_out = source.entries(folder)
        return _outcomes(shelf, entries, source.fixed, left_out)

    def unread(self, source: Source, folder: Folder = "eval-set-scores") -> int:
        """How many files were not read yet as they are now, well or ill."""
        shelf = self._shelf(source, folder)
        with shelf.lock:
            shelf.load()
            return sum(not shelf.has(entry) for entry in source.entries(folder)[0])

    def read(
        self, source: Source, folder: Folder = "eval-set-scores"
    ) -> Generator[Step, None, Outcomes]:
        """Read the files that are not known yet, one by one, telling each step in files.

        Closing the generator stops between two files; what was read is kept. Several who ask at
        once share the work.

        Returns:
            All that can be read of the source. A file that cannot is listed with its reason.
        """
        shelf = self._shelf(source, folder)
        with shelf.lock:
            shelf.load()
        entries, left_out = source.entries(folder)
        unread = [entry for entry in entries if not shelf.has(entry)]
        done, refused, saved = len(entries) - len(unread), 0, time.monotonic()
        yield Step("reading", done, len(entries))
        try:
            for entry in unread:
                if refused == MOST_REFUSALS:
                    why = f"not asked for, as {refused} files before it could not be had"
                else:
                    with shelf.lock:
                        why = "" if shelf.has(entry) else _read(shelf, source, entry)
                        if time.monotonic() - saved > SAVED_EVERY_SECONDS:
                            shelf.save()
                            saved = time.monotonic()
                    refused = refused + 1 if why else 0
                if why:
                    left_out.append(LeftOut(printable(entry.name), why))
                done += 1
                yield Step("reading", done, len(entries))
            with shelf.lock:
                shelf.tidy(entries, source.fixed)
        finally:
            with shelf.lock:
                shelf.save()
            with self._lock:
                self.readings += bool(unread)
            self._forget_old()
        return _outcomes(shelf, entries, source.fixed, left_out)

    def _shelf(self, source: Source, folder: Folder) -> _Shelf:
        written = "\n".join((_FORMAT, source.id, folder)).encode("utf-8", "surrogateescape")
        key = hashlib.sha256(written).hexdigest()[:32]
        with self._lock:
            shelf = self._shelves.pop(key, None) or _Shelf(self._folder / key)
            self._shelves[key] = shelf
            for oldest in list(self._shelves)[:-_KEPT_IN_MEMORY]:
                del self._shelves[oldest]
        return shelf

    def _forget_old(self) -> None:
        """Remove what was written longest ago: of other revisions, most likely."""
        folders = sorted(self._folder.glob("*/"), key=_changed)
        for folder in folders[:-_KEPT_ON_DISK]:
            shutil.rmtree(folder, ignore_errors=True)


def _read(shelf: _Shelf, source: Source, entry: Entry) -> str:
    """Read one file; why it could not be had this time, or "" where it was, well or ill."""
    try:
        path = source.path(entry.name)
        path.open("rb").close()
    except KnownError as error:
        return str(error)
    except (OSError, ValueError) as error:
        return f"it cannot be opened: {getattr(error, 'strerror', None) or first_line(error)}"
    try:
        shelf.put(Read(entry.name, entry.stamp, read_pair_results(path, entry.name)))
    except KnownError as error:
        shelf.put(Read(entry.name, entry.stamp, reason=str(error)))
    finally:
        source.release(entry.name)
    return ""


def _outcomes(
    shelf: _Shelf, entries: list[Entry], fixed: bool, left_out: list[LeftOut]
) -> Outcomes:
    with shelf.lock:
        names = shelf.rows if fixed else [entry.name for entry in entries if shelf.has(entry)]
        rows = [shelf.rows[name] for name in sorted(names)]
    broken = [LeftOut(row.file, row.reason) for row in rows if row.results is None]
    read = [(row.file, row.results) for row in rows if row.results is not None]
    return Outcomes(
        files=tuple(file for file, _ in read),
        results=tuple(results for _, results in read),
        left_out=tuple(sorted([*left_out, *broken], key=lambda item: item.file)),
    )


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
