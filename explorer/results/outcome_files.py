"""Results of each pair of a source, read whole and kept in one file.

A file of results of each pair has 7 MB and more, nearly all of it texts. What the views need of
188 of them are a few MB, which open in a fraction of a second: a row a file. The pairs' order
(subsets, ids, hashes of texts) is the same in nearly all files of a benchmark, so each stands once
in the metadata, by its digest.
"""

import hashlib
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.core.caches import keep_newest
from explorer.results.sources import Entry, Source
from explorer.stats.matrix import Outcomes
from scoring.errors import KnownError, first_line
from scoring.limits import OnProgress, Step, ignore_progress
from scoring.paths import atomic_write
from scoring.results.files import Omission, printable
from scoring.results.order import PairOrder
from scoring.results.pairs import PairResults, Ragged, read_pair_results

_SAVED_EVERY_SECONDS = 10.0
"""Between two writes of what was read, in case the server is killed."""
_MOST_REFUSALS = 3
"""Files in a row that a source may refuse; then it is taken as gone."""
_KEPT_ON_DISK = 12
_FORMAT = "7"
"""Changes when what is kept of the same file does."""
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


def read_source(source: Source, home: Path, tell: OnProgress = ignore_progress) -> Outcomes:
    """All outcomes of a source; a file that cannot be read is among `left_out`.

    What was read before of files that are the same is taken from what is kept under `home`.

    tell: is told each step, in files.
    """
    path = home / "outcomes" / f"{_key(_FORMAT, source.family)}.parquet"
    entries, left_out = source.entries
    on_disk = _on_disk(path)
    stamps = {entry.name: entry.stamp for entry in entries}
    if source.is_partial and on_disk.source_id == source.id:
        stamps |= on_disk.stamps
    read = {row.file: row for row in on_disk.rows if row.stamp == stamps.get(row.file)}
    others = [row for row in on_disk.rows if row.file not in read]
    unread = [entry for entry in entries if entry.name not in read]
    refused: dict[str, str] = {}
    in_a_row, saved, is_done = 0, time.monotonic(), False

    def save() -> None:
        if unread and not source.is_partial:
            # What is kept of an earlier revision goes once this one is read to its end.
            _keep(path, _OnDisk([*read.values(), *([] if is_done else others)], source.id, stamps))
        source.release()

    try:
        for done, entry in enumerate(unread, start=len(entries) - len(unread)):
            tell(Step("reading", done, len(entries)))
            if in_a_row == _MOST_REFUSALS:
                why = f"not asked for, as {in_a_row} files before it could not be had"
                refused[entry.name] = why
                continue
            found = _read_entry(source, entry)
            if isinstance(found, str):
                refused[entry.name] = found
                in_a_row += 1
            else:
                read[entry.name], in_a_row = found, 0
            if time.monotonic() - saved > _SAVED_EVERY_SECONDS:
                save()
                saved = time.monotonic()
        is_done = True
    finally:
        save()
    rows = [read[name] for name in sorted(read)]
    return _outcomes(rows, source, left_out, _omissions(refused))


def _read_entry(source: Source, entry: Entry) -> "_Read | str":
    """What was read of a file, well or ill; why it could not be had this time."""
    try:
        path = source.path(entry.name)
        path.open("rb").close()
    except KnownError as error:
        return str(error)
    except (OSError, ValueError) as error:
        return f"it cannot be opened: {getattr(error, 'strerror', None) or first_line(error)}"
    try:
        return _read_of(entry.name, read_pair_results(path, entry.name), entry.stamp)
    except KnownError as error:
        return _Read(entry.name, entry.stamp, reason=str(error))


def _outcomes(
    rows: Sequence["_Read"], source: Source, strays: Sequence[Omission], refused: list[Omission]
) -> Outcomes:
    orders: dict[str, PairOrder] = {}
    files, results = [], []
    for row in rows:
        if row.results is not None:
            own = row.results.order
            of_source = replace(own, dataset=source.dataset or own.dataset)
            order = orders.setdefault(row.digest, of_source)
            files.append(row.file)
            results.append(replace(row.results, order=order))
    broken = _omissions({row.file: row.reason for row in rows if row.results is None})
    said = sorted([*strays, *refused, *broken], key=lambda item: item.file)
    version = _key(source.id, *(f"{row.file} {row.stamp}" for row in rows))
    return Outcomes(tuple(files), tuple(results), tuple(said), version, tuple(refused))


def _omissions(reasons: dict[str, str]) -> list[Omission]:
    return [Omission(printable(name), why) for name, why in reasons.items()]


def _on_disk(path: Path) -> "_OnDisk":
    """What is kept; nothing where it is broken."""
    if not path.is_file():
        return _OnDisk()
    try:
        return _read_file(path)
    except Exception as error:  # a broken file makes pyarrow raise anything
        logger.warning("the outcomes in %s are not used: %s", path, first_line(error))
        return _OnDisk()


def _keep(path: Path, kept: "_OnDisk") -> None:
    """Write what is kept anew, whole or not at all; a full disk costs only time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            _write_file(part, kept)
        keep_newest(path.parent.glob("*"), _KEPT_ON_DISK)
    except OSError as error:
        logger.warning("outcomes are not kept in %s: %s", path, first_line(error))


def _key(*names: str) -> str:
    written = "\n".join(names).encode("utf-8", "surrogateescape")
    return hashlib.sha256(written).hexdigest()[:32]


@dataclass(frozen=True, eq=False)
class _Read:
    """A file that was read. results: None where it is left out, for this reason.

    stamp: of the file when it was read. digest: of the order of its pairs.
    """

    file: str
    stamp: str
    results: PairResults | None = None
    reason: str = ""
    digest: str = ""

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


def _read_of(file: str, results: PairResults, stamp: str = "") -> _Read:
    return _Read(file, stamp, results, digest=_digest(_written(results.order)))


@dataclass(frozen=True, eq=False)
class _OnDisk:
    """What a file keeps. source_id, stamps: of the source that was read last, and its files."""

    rows: list[_Read] = field(default_factory=list)
    source_id: str = ""
    stamps: dict[str, str] = field(default_factory=dict)


def _read_file(path: Path) -> _OnDisk:
    """What a file keeps; raises anything where that is broken."""
    table = pq.read_table(path, schema=_SCHEMA, page_checksum_verification=True)
    orders: dict[str, PairOrder] = {}
    about = pq.read_schema(path).metadata
    source_id, stamps = json.loads(about[b"source"])
    for digest, written in json.loads(about[b"orders"]).items():
        if _digest(written) != digest:
            raise ValueError("an order of pairs was changed")
        names, codes, ids, hashes = written
        orders[digest] = PairOrder(tuple(names), np.array(codes, np.int32), ids, hashes)
    rows = table.drop_columns([*_ARRAYS]).to_pylist()
    for name in _ARRAYS:
        for row, cell in zip(rows, table.column(name), strict=True):
            values: Any = cell.values  # a slice of the column's memory
            row[name] = None if values is None else values.to_numpy(zero_copy_only=False)
    return _OnDisk([_from_row(row, orders) for row in rows], source_id, stamps)


def _write_file(path: Path, kept: _OnDisk) -> None:
    rows = kept.rows
    orders = {row.digest: _written(row.results.order) for row in rows if row.results is not None}
    table = pa.Table.from_pylist([row.row() for row in rows], schema=_SCHEMA)
    source = json.dumps([kept.source_id, kept.stamps])
    about = {"orders": json.dumps(orders), "source": source}
    table = table.replace_schema_metadata(about)
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def write_outcomes(path: Path, outcomes: Outcomes) -> None:
    """Write what was read of files into one, for another process."""
    pairs = zip(outcomes.files, outcomes.results, strict=True)
    _write_file(path, _OnDisk([_read_of(file, results) for file, results in pairs]))


def read_outcomes(path: Path) -> Outcomes:
    """What `write_outcomes` wrote."""
    rows = _read_file(path).rows
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
    return _Read(row["file"], row["stamp"], results, digest=row["order"])


def _written(order: PairOrder) -> list[Any]:
    """An order as JSON has it."""
    ids, hashes = (None if each is None else [*each] for each in (order.ids, order.hashes))
    return [[*order.names], order.codes.tolist(), ids, hashes]


def _digest(written: list[Any]) -> str:
    return hashlib.blake2b(json.dumps(written).encode(), digest_size=16).hexdigest()
