"""Outcomes and scores of result files, read once and then kept in one small file a source.

A file of results of each pair has 7 MB and more, nearly all of it texts. What the views need of
188 of them are a few MB, which open in a fraction of a second: a row a file. The pairs' order
(subsets, ids, hashes of texts) is the same in nearly all files of a benchmark, so each stands once
in the metadata, by its digest.
"""

import hashlib
import json
import logging
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.core.caches import LruCache, keep_newest, oldest_first
from explorer.core.work import Shared
from explorer.results.sources import SCORES_FOLDER, Entry, Source
from explorer.stats.matrix import Outcomes
from scoring.errors import KnownError
from scoring.hub.access import first_line
from scoring.limits import Step
from scoring.paths import atomic_write
from scoring.results.files import Omission, printable
from scoring.results.order import PairOrder
from scoring.results.pairs import PairResults, Ragged, read_pair_results

_SAVED_EVERY_SECONDS = 10.0
"""Between two writes of what was read, in case the server is stopped."""
_MOST_REFUSALS = 3
"""Files in a row that a source may refuse; then it is taken as gone."""
_KEPT_ON_DISK = 12
_KEPT_IN_MEMORY = 6
_FORMAT = "5"
"""Changes when what is kept of the same file does."""
_VERSIONS = count()
_FLOATS = pa.large_list(pa.float32())
_WHOLE = pa.large_list(pa.int32())
_ARRAYS: dict[str, pa.DataType] = {
    "results": _FLOATS,
    "equal": pa.large_list(pa.bool_()),
    "chosen": _FLOATS,
    "rejected": _FLOATS,
    "scores": pa.large_list(pa.float64()),
    "lengths": _WHOLE,
    "num_correct": _WHOLE,
}
_SCHEMA = pa.schema(
    {
        "file": pa.large_string(),
        "stamp": pa.string(),
        "reason": pa.large_string(),
        "model": pa.large_string(),
        "model_type": pa.large_string(),
        "order": pa.string(),
        **_ARRAYS,
        "notes": pa.large_list(pa.large_string()),
    }
)

logger = logging.getLogger(__name__)


class OutcomeCache:
    """Reads result files of each pair, and remembers what it read: in memory, and on disk.

    Where there is no source, nothing is known and nothing is to be read.
    """

    def __init__(self, home: Path) -> None:
        """home: what the settings call so."""
        self._folder = home / "outcomes"
        self._opened = LruCache[_SourceCache](_KEPT_IN_MEMORY)
        self._reading = Shared[Step, Outcomes]()

    def known(self, source: Source | None) -> Outcomes:
        """What was read before, without reading or fetching any result file."""
        return Outcomes() if source is None else self._of(source).outcomes(source)

    def unread(self, source: Source | None) -> int:
        """How many files were not read yet as they are now, well or ill."""
        return 0 if source is None else len(self._of(source).unread(source))

    def refused(self, source: Source | None) -> list[Omission]:
        """Files that could not be had when they were last asked for, in the order of asking."""
        return [] if source is None else self._of(source).refused_of(source)

    def read(self, source: Source | None) -> Generator[Step, None, Outcomes]:
        """Read the files that are not known yet, one by one, telling each step in files.

        Closing the generator stops between two files; what was read is kept. Several who ask at
        once share the work, and nobody else waits for it.

        Returns:
            All that can be read of the source. A file that cannot is listed with its reason.
        """
        if source is None:
            return Outcomes()
        key = (source.id, *source.entries[0])
        return (yield from self._reading.follow(key, lambda: self._read(source)))

    def _read(self, source: Source) -> Generator[Step, None, Outcomes]:
        opened, total = self._of(source), len(source.entries[0])
        unread = opened.unread(source)
        done, refused, saved = total - len(unread), 0, time.monotonic()
        yield Step("reading", done, total)
        try:
            for entry in unread:
                why = f"not asked for, as {refused} files before it could not be had"
                if refused < _MOST_REFUSALS:
                    why = _read_entry(opened, source, entry)
                    refused = refused + 1 if why else 0
                if why:
                    opened.refused[entry.name] = why
                if time.monotonic() - saved > _SAVED_EVERY_SECONDS:
                    opened.save()
                    saved = time.monotonic()
                done += 1
                yield Step("reading", done, total)
            opened.tidy(source)
        finally:
            opened.save()
            # Of what was written longest ago, most is of other revisions.
            keep_newest(self._folder.glob("*/"), _KEPT_ON_DISK)
        return opened.outcomes(source)

    def _of(self, source: Source) -> "_SourceCache":
        family, own = (_key(_FORMAT, name, SCORES_FOLDER) for name in (source.family, source.id))
        key = f"{family}-{own}"

        def load() -> _SourceCache:
            opened = _SourceCache(self._folder / key)
            opened.load(source, self._folder.glob(f"{family}-*"))
            return opened

        return self._opened.get_or_create(key, load)


def _key(*names: str) -> str:
    written = "\n".join(names).encode("utf-8", "surrogateescape")
    return hashlib.sha256(written).hexdigest()[:32]


def _read_entry(opened: "_SourceCache", source: Source, entry: Entry) -> str:
    """Read one file; why it could not be had this time, or "" where it was, well or ill."""
    try:
        path = source.path(entry.name)
        path.open("rb").close()
    except KnownError as error:
        return str(error)
    except (OSError, ValueError) as error:
        return f"it cannot be opened: {getattr(error, 'strerror', None) or first_line(error)}"
    try:
        opened.put(_Read(entry.name, entry.stamp, read_pair_results(path, entry.name)))
    except KnownError as error:
        opened.put(_Read(entry.name, entry.stamp, reason=str(error)))
    finally:
        source.release(entry.name)
    return ""


@dataclass(frozen=True, eq=False)
class _Read:
    """A file that was read. results: None where it is left out, for this reason.

    stamp: of the file when it was read.
    """

    file: str
    stamp: str
    results: PairResults | None = None
    reason: str = ""

    @cached_property
    def digest(self) -> str:
        """Of the order of its pairs."""
        return "" if self.results is None else _digest(_written(self.results.order))

    def row(self) -> dict[str, Any]:
        """A row of `_SCHEMA`."""
        row: dict[str, Any] = {"file": self.file, "stamp": self.stamp, "reason": self.reason}
        found = self.results
        if found is None:
            return row
        if found.scores:
            row |= {"scores": found.scores.values, "lengths": np.diff(found.scores.offsets)}
        return row | {
            "model": found.model,
            "model_type": found.model_type,
            "order": self.digest,
            "results": found.results,
            "equal": found.equal,
            "chosen": found.scores_chosen,
            "rejected": found.scores_rejected,
            "num_correct": found.num_correct,
            "notes": found.notes,
        }


def _read_part(path: Path, orders: dict[str, PairOrder]) -> list[_Read]:
    """The rows of a file of the cache; raises anything where that is broken.

    orders: digest -> order, of all files of the source; those of this file are added.
    """
    table = pq.read_table(path, schema=_SCHEMA, page_checksum_verification=True)
    for digest, written in json.loads(pq.read_schema(path).metadata[b"orders"]).items():
        if digest not in orders:
            if _digest(written) != digest:
                raise ValueError("an order of pairs was changed")
            names, codes, ids, hashes = written
            orders[digest] = PairOrder(tuple(names), np.array(codes, np.int32), ids, hashes)
    rows = table.drop_columns([*_ARRAYS]).to_pylist()
    for name in _ARRAYS:
        for row, cell in zip(rows, table.column(name), strict=True):
            values: Any = cell.values  # a slice of the column's memory
            row[name] = None if values is None else values.to_numpy(zero_copy_only=False)
    return [_from_row(row, orders) for row in rows]


def _write_part(path: Path, rows: Sequence[_Read]) -> None:
    orders = {row.digest: _written(row.results.order) for row in rows if row.results is not None}
    table = pa.Table.from_pylist([row.row() for row in rows], schema=_SCHEMA)
    table = table.replace_schema_metadata({"orders": json.dumps(orders)})
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def write_outcomes(path: Path, outcomes: Outcomes) -> None:
    """Write what was read of files into one, for another process."""
    pairs = zip(outcomes.files, outcomes.results, strict=True)
    _write_part(path, [_Read(file, "", results) for file, results in pairs])


def read_outcomes(path: Path) -> Outcomes:
    """What `write_outcomes` wrote."""
    rows = _read_part(path, {})
    results = tuple(row.results for row in rows if row.results is not None)
    return Outcomes(tuple(row.file for row in rows), results)


def _from_row(row: dict[str, Any], orders: dict[str, PairOrder]) -> _Read:
    if row["results"] is None:
        return _Read(row["file"], row["stamp"], None, row["reason"] or "")
    order = orders[row["order"]]
    columns = [row[name] for name in ("results", "equal", "chosen", "rejected")]
    if any(column is not None and len(column) != len(order) for column in columns):
        raise ValueError(f"{row['file']} has another number of pairs")
    scores = None
    if row["scores"] is not None:
        scores = Ragged(row["scores"], np.cumsum([0, *row["lengths"]], dtype=np.int64))
    results = PairResults(
        model=row["model"],
        model_type=row["model_type"],
        order=order,
        results=row["results"],
        equal=row["equal"],
        scores_chosen=row["chosen"],
        scores_rejected=row["rejected"],
        scores=scores,
        num_correct=row["num_correct"],
        notes=tuple(row["notes"]),
    )
    return _Read(row["file"], row["stamp"], results)


def _written(order: PairOrder) -> list[Any]:
    """An order as JSON has it."""
    ids, hashes = (None if each is None else [*each] for each in (order.ids, order.hashes))
    return [[*order.names], order.codes.tolist(), ids, hashes]


def _digest(written: list[Any]) -> str:
    return hashlib.blake2b(json.dumps(written).encode(), digest_size=16).hexdigest()


@dataclass
class _SourceCache:
    """What is known of one source's files. Callable from any thread; no file is read under a lock.

    folder: where it is kept.
    parts: the files of that folder that `rows` were read from, or written to.
    version: changes when a row is read, and is no other source's.
    refused: file -> why it could not be had when it was last asked for.
    """

    folder: Path
    rows: dict[str, _Read] = field(default_factory=dict)
    orders: dict[str, PairOrder] = field(default_factory=dict)
    parts: list[Path] = field(default_factory=list)
    version: int = field(default_factory=lambda: next(_VERSIONS))
    refused: dict[str, str] = field(default_factory=dict)
    _saved: int = -1
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _saving: threading.Lock = field(default_factory=threading.Lock)

    def has(self, entry: Entry) -> bool:
        """Whether the file was read as it is now."""
        row = self.rows.get(entry.name)
        return row is not None and row.stamp == entry.stamp

    def load(self, source: Source, kin: Iterable[Path]) -> None:
        """Read what is kept; what is broken is as if it had not been read.

        kin: folders of caches whose files are the same where name and stamp are, to take them from
            where nothing is known of this source.
        """
        self.parts = _parts(self.folder)
        self.rows = {row.file: row for row in self._rows_in(self.parts)}
        self._saved = self.version
        wanted = {} if self.rows else {each.name: each for each in source.entries[0]}
        for folder in kin if wanted else ():
            for row in self._rows_in(_parts(folder)):
                if row.file in wanted and row.stamp == wanted[row.file].stamp:
                    self._put(row)

    def put(self, row: _Read) -> None:
        """Remember one file."""
        with self._lock:
            self._put(row)
            self.refused.pop(row.file, None)

    def unread(self, source: Source) -> list[Entry]:
        """Files that were not read as they are now."""
        return [entry for entry in source.entries[0] if not self.has(entry)]

    def refused_of(self, source: Source) -> list[Omission]:
        """Files that could not be had when they were last asked for."""
        asked = ((entry.name, self.refused.get(entry.name)) for entry in source.entries[0])
        return [Omission(printable(name), why) for name, why in asked if why is not None]

    def outcomes(self, source: Source) -> Outcomes:
        """What is known of the files that the source has; of a fixed one, of all it ever had."""
        entries, left_out = source.entries
        with self._lock:
            names = self.rows if source.fixed else [each.name for each in entries if self.has(each)]
            version = self.version
            rows = [self.rows[name] for name in sorted(names)]
        read = [(row.file, row.results) for row in rows if row.results is not None]
        if source.dataset is not None:
            orders = {each.order: replace(each.order, dataset=source.dataset) for _, each in read}
            read = [(file, replace(each, order=orders[each.order])) for file, each in read]
        broken = [Omission(row.file, row.reason) for row in rows if row.results is None]
        others = [*left_out, *broken, *self.refused_of(source)]
        return Outcomes(
            files=tuple(file for file, _ in read),
            results=tuple(results for _, results in read),
            left_out=tuple(sorted(others, key=lambda item: item.file)),
            version=version,
        )

    def save(self) -> None:
        """Write all in place of what is kept, whole or not at all; a full disk costs only time."""
        with self._saving:
            with self._lock:
                version, rows = self.version, list(self.rows.values())
            part = self._write(rows) if version != self._saved else None
            if part is not None:
                for each in self.parts:
                    each.unlink(missing_ok=True)
                self.parts, self._saved = [part], version

    def tidy(self, source: Source) -> None:
        """Drop what the source has no longer; of a fixed one, nothing."""
        if not source.fixed:
            names = {entry.name for entry in source.entries[0]}
            with self._lock:
                self.rows = {name: row for name, row in self.rows.items() if name in names}

    def _put(self, row: _Read) -> None:
        if row.results is not None:
            order = self.orders.setdefault(row.digest, row.results.order)
            row = replace(row, results=replace(row.results, order=order))
        self.rows[row.file] = row
        self.version = next(_VERSIONS)

    def _rows_in(self, parts: Iterable[Path]) -> Iterable[_Read]:
        for part in parts:
            try:
                yield from _read_part(part, self.orders)
            except Exception as error:  # a broken file makes pyarrow raise anything
                logger.warning("the outcomes in %s are not used: %s", part, first_line(error))

    def _write(self, rows: list[_Read]) -> Path | None:
        path = self.folder / f"{uuid4().hex}.parquet"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as part:
                _write_part(part, rows)
            return path
        except OSError as error:
            logger.warning("outcomes are not kept in %s: %s", self.folder, first_line(error))
            return None


def _parts(folder: Path) -> list[Path]:
    """In the order of writing, so that of a file that changed the last reading is taken."""
    return oldest_first(folder.glob("*.parquet"))
