"""Columns that a file writes plainly, as text, taken without making Python objects of them."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from scoring.pairs.rows import Batch, Row
from scoring.pairs.shapes import WANTED

Columns: TypeAlias = Mapping[str, "pa.Array[Any]"]
"""Column -> its texts or nulls, of type `large_string`."""


def plain_columns(batch: Batch) -> Columns | None:
    """The wanted columns of a batch; None where one of them needs a closer look.

    A column `id` may hold whole numbers.

    >>> [plain_columns([{"id": value}]) is None for value in (1, "a", None, 0.5)]
    [False, False, False, True]
    """
    return _of_rows(batch) if isinstance(batch, list) else _of_arrow(batch)


def _of_arrow(batch: pa.RecordBatch) -> Columns | None:
    columns = {}
    for name in WANTED:
        if name not in batch.schema.names:
            continue
        column = batch.column(name)
        kind: Any = column.type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            columns[name] = column.cast(pa.large_string())
        elif name == "id" and pa.types.is_integer(kind):
            columns[name] = column.cast(kind).cast(pa.large_string())
        elif not pa.types.is_null(kind):
            return None
    return columns


def _of_rows(rows: list[Row]) -> Columns | None:
    columns = {}
    for name in WANTED:
        values = [row.get(name) for row in rows]
        kinds = set(map(type, values)) - {type(None)}
        if name == "id" and kinds <= {int, str}:
            values = [None if value is None else str(value) for value in values]
        elif not kinds <= {str}:
            return None
        if kinds:
            try:
                columns[name] = pa.array(values, pa.large_string())
            except UnicodeEncodeError:  # a lone surrogate
                return None
    return columns
