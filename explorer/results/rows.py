"""What is kept of a result file, as one row of a Parquet file.

The pairs' order (subsets, ids, hashes of texts) is the same in nearly all files of a benchmark, so
each stands once in the metadata, by its digest.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from scoring.results.order import PairOrder
from scoring.results.pairs import PairResults, Ragged

_FLOATS = pa.large_list(pa.float32())
_WHOLE = pa.large_list(pa.int32())
SCHEMA = pa.schema(
    [
        ("file", pa.large_string()),
        ("stamp", pa.string()),
        ("reason", pa.large_string()),
        ("model", pa.large_string()),
        ("model_type", pa.large_string()),
        ("order", pa.string()),
        ("results", _FLOATS),
        ("equal", pa.large_list(pa.bool_())),
        ("chosen", _FLOATS),
        ("rejected", _FLOATS),
        ("scores", pa.large_list(pa.float64())),
        ("lengths", _WHOLE),
        ("num_correct", _WHOLE),
        ("notes", pa.large_list(pa.large_string())),
    ]
)


@dataclass(frozen=True, eq=False)
class Read:
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


def rows_of(read: Iterable[Read]) -> list[dict[str, Any]]:
    """Rows of `SCHEMA`."""
    rows = []
    for each in read:
        row: dict[str, Any] = {"file": each.file, "stamp": each.stamp, "reason": each.reason}
        found = each.results
        if found is not None:
            row |= {
                "model": found.model,
                "model_type": found.model_type,
                "order": each.digest,
                "results": found.results,
                "equal": found.equal,
                "chosen": found.scores_chosen,
                "rejected": found.scores_rejected,
                "scores": found.scores.values if found.scores else None,
                "lengths": np.diff(found.scores.offsets) if found.scores else None,
                "num_correct": found.num_correct,
                "notes": found.notes,
            }
        rows.append(row)
    return rows


def orders_as_json(read: Iterable[Read]) -> str:
    """Digest -> order, of all that are in these rows."""
    orders = {each.digest: each.results.order for each in read if each.results is not None}
    return json.dumps({digest: _written(order) for digest, order in orders.items()})


def read_rows(path: Path, orders: dict[str, PairOrder]) -> list[Read]:
    """The rows of a file.

    orders: digest -> order, of all files of the source; those of this file are added.

    Raises:
        Exception: anything, where the file is broken.
    """
    table = pq.read_table(path, schema=SCHEMA, page_checksum_verification=True)
    metadata = pq.read_schema(path).metadata
    for digest, written in json.loads(metadata[b"orders"]).items():
        if digest not in orders:
            if _digest(written) != digest:
                raise ValueError("an order of pairs was changed")
            names, codes, ids, hashes = written
            orders[digest] = PairOrder(tuple(names), np.array(codes, np.int32), ids, hashes)
    columns: dict[str, list[Any]] = {
        field.name: _lists(table.column(field.name))
        if pa.types.is_large_list(field.type) and field.name != "notes"
        else table.column(field.name).to_pylist()
        for field in SCHEMA
    }
    return [
        _row(dict(zip(columns, values, strict=True)), orders)
        for values in zip(*columns.values(), strict=True)
    ]


def _row(row: dict[str, Any], orders: dict[str, PairOrder]) -> Read:
    if row["results"] is None:
        return Read(row["file"], row["stamp"], None, row["reason"] or "")
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
    return Read(row["file"], row["stamp"], results)


def _lists(column: "pa.ChunkedArray[Any]") -> list[NDArray[Any] | None]:
    """The lists of a column as arrays that share its memory."""
    found: list[NDArray[Any] | None] = []
    for chunk in column.chunks:
        lists: Any = chunk
        offsets = lists.offsets.to_numpy()
        values = lists.values.to_numpy(zero_copy_only=False)
        for place, valid in enumerate(lists.is_valid().to_pylist()):
            part = values[offsets[place] : offsets[place + 1]]
            found.append(part if valid else None)
    return found


def _written(order: PairOrder) -> list[Any]:
    """An order as JSON has it."""
    ids, hashes = (
        [*column] if column is not None else None for column in (order.ids, order.hashes)
    )
    return [[*order.names], order.codes.tolist(), ids, hashes]


def _digest(written: list[Any]) -> str:
    return hashlib.blake2b(json.dumps(written).encode(), digest_size=16).hexdigest()
