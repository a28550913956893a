"""Raw rows -> a table of pairs: checked, repaired, and what there is to say of them counted.

Columns of plain text stay Arrow's own; of rows with anything else (messages, several responses,
mixed types) columns are made one row at a time. One set of rules then holds for all columns.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from scoring.errors import KnownError, counted
from scoring.pairs.rows import Batch, Row, rows_of, type_name
from scoring.pairs.shapes import (
    MODEL_COLUMNS,
    PROMPT_COLUMNS,
    WANTED,
    holds_messages,
    is_single,
    models_of,
    pair_texts,
    transcript,
    what_is_missing,
)
from scoring.rules import is_ties

pc: Any = pyarrow.compute  # its stubs know few of the types that it takes
Array: TypeAlias = "pa.Array[Any]"

TEXT_COLUMNS = ("prompt", "chosen", "rejected")
MORE_COLUMNS = ("more_chosen", "more_rejected")
_COLUMNS = ("key", "id", "subset", *TEXT_COLUMNS, *MODEL_COLUMNS, "turns")
TEXT = pa.large_string()
MORE = pa.large_list(pa.struct([("text", TEXT), ("model", TEXT)]))
SCHEMA = pa.schema([(name, TEXT) for name in _COLUMNS] + [(name, MORE) for name in MORE_COLUMNS])
"""Columns of a table of pairs. `more_*`: further responses, as in RewardBench 2; mostly empty."""
_READ = SCHEMA.append(pa.field("why", TEXT))
"""Columns of rows that are read one by one. `why`: why a row is no pair."""
UNKNOWN = "unknown"
_LONGEST_KEY = 1_000
"""Characters of a key (the subset and the id) or of a model's name."""
CHUNK_ROWS = 8192
"""Rows at least in a chunk of the table, where they are not very long."""

_CHUNK_BYTES = 64_000_000
_REPEATED_PROMPT = 20
"""Characters of a prompt from which it is no chance that responses begin with it."""
_MOST_REMARKS = 50
_SURROGATES = re.compile("[\ud800-\udfff]")
_MARK = "\ufffd"
_MISSPELLED = "unkown"


class CheckedRows(NamedTuple):
    """A table of `SCHEMA`, maybe with further columns; what was repaired or left out; the rows that
    were, from 0.
    """

    table: pa.Table
    notes: tuple[str, ...]
    left_out: tuple[int, ...]


class Checker:
    """Takes batches of raw rows and makes one table of them."""

    def __init__(self, name: str, default_subset: str, *, is_judged: bool = True) -> None:
        """name: as the pairs are called in messages. default_subset: where a row names none.

        is_judged: whether chosen responses are said to be better than rejected ones.
        `reads_several` may be set where a rule is known for several chosen responses.
        """
        self.name = name
        self._default_subset = repaired_text(default_subset)
        self._is_judged = is_judged
        self.reads_several = False
        self._n_pairs = self._n_left_out = self._n_repaired = 0
        self._notes: list[str] = []
        self._pending: list[pa.Table] = []
        self._pending_rows = self._pending_bytes = 0
        self._chunks: list[pa.Table] = []

    def add(
        self,
        batch: Batch,
        rows: Sequence[int] | None = None,
        further: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Check some pairs, or raise a `KnownError` that names row and column.

        rows: of the file, from 0, that they are; None if each of its rows is one.
        further: more columns of the table, by name; empty where another batch has one.
        """
        if not self._n_pairs:
            _check_columns(batch, self.name)
        end = self._n_pairs + len(batch)
        rows = range(self._n_pairs, end) if rows is None else rows
        columns = _text_columns(batch)
        if columns is None:
            numbers = iter(rows)
            parts = [
                pa.Table.from_pylist([self._flatten(row, next(numbers)) for row in part], _READ)
                for part in rows_of(batch)
            ]
            [read] = pa.concat_tables(parts).combine_chunks().to_batches()
            columns = dict(zip(_READ.names, read.columns, strict=True))
        table = self._check(columns, rows, further or {})
        self._n_pairs = end
        self._pending.append(table)
        self._pending_rows += len(table)
        self._pending_bytes += table.nbytes
        if self._pending_rows >= CHUNK_ROWS or self._pending_bytes > _CHUNK_BYTES:
            self._close_chunk()

    def _close_chunk(self) -> None:
        """Join what was checked: a file may have one row in each batch."""
        if self._pending_rows:
            joined = pa.concat_tables(self._pending, promote_options="default")
            self._chunks.append(joined.combine_chunks())
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0

    def finish(self, n_rows: int | None = None) -> CheckedRows:
        """Join all, or raise a `KnownError`. n_rows: of the file; None if each was one pair."""
        if not self._n_pairs:
            raise KnownError(f"{self.name} has no rows.")
        self._close_chunk()
        if not self._chunks:
            raise KnownError(
                f"{self.name} has no row whose {', '.join(TEXT_COLUMNS)} are all given, with a key "
                f"and names of models of at most {_LONGEST_KEY:,} characters. {self._notes[0]}"
            )
        table = pa.concat_tables(self._chunks, promote_options="default")
        rows = table["row"].to_numpy()
        self._check_keys(table["key"], rows)
        is_left_out = np.ones(self._n_pairs if n_rows is None else n_rows, bool)
        is_left_out[rows] = False
        left_out = np.flatnonzero(is_left_out).tolist()
        return CheckedRows(table.drop_columns("row"), self._remarks(table), tuple(left_out))

    def _remarks(self, table: pa.Table) -> tuple[str, ...]:
        n, more, broken = len(table), self._n_left_out - len(self._notes), self._n_repaired
        equals = map(_n_with_equals, table.to_batches() if self._is_judged else ())
        same, both = map(sum, zip((0, 0), *equals, strict=True))
        repeating = sum(map(_n_repeating, table.to_batches()))
        characters = counted(broken, "broken character", "broken characters")
        remarks = (
            (more, f"and {counted(more, 'more row is', 'more rows are')} left out"),
            (broken, f"{characters} (lone surrogates) shown as {_MARK}"),
            (same, f"chosen equals rejected in {same:,} of {n:,} pairs"),
            (both, f"a chosen response is also a rejected one in {both:,} of {n:,} rows"),
            (
                repeating,
                f"both responses begin with the whole prompt in {repeating:,} of {n:,} pairs",
            ),
        )
        further = (f"{self.name}: {remark}." for count, remark in remarks if count)
        return (*self._notes, *further)

    def _check_keys(self, keys: Any, rows: NDArray[np.int64]) -> None:
        if pc.count_distinct(keys).as_py() == len(keys):
            return
        row_of: dict[str, int] = {}
        for row, key in zip(rows.tolist(), keys.to_pylist(), strict=True):
            if key in row_of:
                raise KnownError(
                    f"{self.name}, row {row + 1}, column id: the key {key!r} stands in row "
                    f"{row_of[key] + 1} already; subset and id together must be unique."
                )
            row_of[key] = row

    def _check(
        self,
        columns: Mapping[str, Array],
        rows: Sequence[int],
        further: Mapping[str, Sequence[str]],
    ) -> pa.Table:
        """Pairs in the columns of `SCHEMA`, `row` and further ones. columns: of `_READ`, or few."""
        n = len(rows)
        given = defaultdict(lambda: pa.nulls(n, TEXT), columns)
        numbers = pa.array(range(self._n_pairs + 1, self._n_pairs + n + 1)).cast(TEXT)
        subset = given["subset"].fill_null(self._default_subset)
        pair_id = pc.coalesce(given["id"], numbers)
        table = {
            "key": pc.binary_join_element_wise(subset, pair_id, pa.scalar(":", TEXT)),
            "id": pair_id,
            "subset": subset,
            "prompt": pc.coalesce(*(given[name] for name in PROMPT_COLUMNS)),
            "chosen": given["chosen"],
            "rejected": given["rejected"],
            "turns": given["turns"].fill_null(""),
        }
        whys = {
            f"{name} is null": np.array(pc.is_null(table[name]))
            for name in ("chosen", "rejected", "prompt")
        }
        too_long = f"its {{}} has more than {_LONGEST_KEY:,} characters".format
        whys[too_long("key")] = _is_long(table["key"])
        for name, further_name in zip(MODEL_COLUMNS, MORE_COLUMNS, strict=True):
            model = given[name].fill_null(UNKNOWN)
            table[name] = pc.if_else(pc.equal(model, _MISSPELLED), UNKNOWN, model)
            table[further_name] = more = columns.get(further_name, pa.array([[]] * n, MORE))
            whys[too_long(name)] = is_long = _is_long(table[name])
            models = pc.struct_field(pc.list_flatten(more), "model")
            is_long[pc.list_parent_indices(more).to_numpy()[_is_long(models)]] = True
        left_out = np.logical_or.reduce(list(whys.values()))
        for at in np.flatnonzero(left_out).tolist():
            self._n_left_out += 1
            if len(self._notes) < _MOST_REMARKS:
                why = given["why"][at].as_py() or next(why for why in whys if whys[why][at])
                number = 1 + rows[at]
                self._notes.append(f"{self.name}, row {number}: {why}; the row is left out.")
        extended = [*SCHEMA, ("row", pa.int64()), *((name, TEXT) for name in further)]
        found = pa.table({**table, "row": rows, **further}, schema=pa.schema(extended))
        return found.filter(pa.array(~left_out)) if left_out.any() else found

    def _flatten(self, row: Row, at: int) -> dict[str, Any]:
        """A row of any shape in the columns of `_READ`. at: of the file, from 0."""
        why = what_is_missing(row)
        if why is not None:
            return {"why": why}
        place = f"{self.name}, row {1 + at}"
        turns, chosen, rejected = pair_texts(row, place)
        for column in ("subset", *MODEL_COLUMNS):
            if not isinstance(row.get(column), str | None):
                raise KnownError(
                    f"{place}, column {column}: {type_name(row[column])}, must be text."
                )
        subset, row_id = row.get("subset"), row.get("id")
        is_several = len(chosen) > 1 and not self.reads_several
        if is_several and not is_ties(self._default_subset if subset is None else subset):
            raise KnownError(
                f"{place}: {len(chosen):,} responses are chosen and {len(rejected):,} rejected, "
                "for which no rule is known here. One chosen response must beat all rejected ones; "
                "in RewardBench 2's subset Ties several all must; RM-Bench has three styles of "
                "each, and their domain in a column. Keep one, call the subset Ties, or say that "
                "they are RM-Bench's (a column domain, or --benchmark rm-bench)."
            )
        if isinstance(row_id, bool) or not isinstance(row_id, int | str | None):
            raise KnownError(
                f"{place}, column id: {type_name(row_id)}, must be a whole number or text."
            )
        pair: dict[str, Any] = {
            "id": None if row_id is None else str(row_id),
            "subset": subset,
            "prompt": transcript(turns),
            "turns": None if is_single(turns) else json.dumps(turns, ensure_ascii=False),
        }
        n, models = len(chosen), models_of(row, len(chosen), len(rejected), place)
        sides = (("chosen", chosen, models[:n]), ("rejected", rejected, models[n:]))
        for side, texts, writers in sides:
            first, *more = zip(texts, writers, strict=True)
            pair[side], pair[f"{side}_model"] = first
            pair[f"more_{side}"] = [
                {"text": text, "model": UNKNOWN if model in (None, _MISSPELLED) else model}
                for text, model in more
            ]
        return self._repair(pair)

    def _repair(self, pair: dict[str, Any]) -> dict[str, Any]:
        """Lone surrogates are no text: each becomes U+FFFD, and is counted."""
        for name, value in pair.items():
            if isinstance(value, list):
                pair[name] = [self._repair(response) for response in value]
            elif value is not None and not value.isascii():
                pair[name], count = _SURROGATES.subn(_MARK, value)
                self._n_repaired += count if name != "turns" else 0  # they stand in the prompt too
        return pair


def _text_columns(batch: Batch) -> dict[str, Array] | None:
    """The wanted columns as text; None if a value is none. An `id` may be a whole number."""
    if isinstance(batch, list):
        rows = [
            {**row, "id": str(row["id"])} if type(row.get("id")) is int else row for row in batch
        ]
        try:
            batch = pa.RecordBatch.from_pylist(rows, pa.schema([(name, TEXT) for name in WANTED]))
        except (pa.ArrowException, UnicodeEncodeError):  # no text, or a lone surrogate
            return None
    columns: dict[str, Array] = {}
    for name in set(WANTED) & set(batch.schema.names):
        column = batch.column(name)
        kind: Any = column.type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            columns[name] = column.cast(TEXT)
        elif name == "id" and pa.types.is_integer(kind):
            columns[name] = column.cast(kind).cast(TEXT)
        elif not pa.types.is_null(kind):
            return None
    return columns


def repaired_text(text: str) -> str:
    """The text without lone surrogates."""
    return _SURROGATES.sub(_MARK, text)


def _is_long(names: Array) -> NDArray[np.bool_]:
    return np.array(pc.greater(pc.utf8_length(names), _LONGEST_KEY).fill_null(False))


def _n_with_equals(chunk: pa.RecordBatch) -> tuple[int, int]:
    """Pairs whose responses are equal, and rows of several that have a response on both sides.

    One that stands twice on one side decides nothing.
    """
    is_pair = pc.equal(pc.add(*(pc.list_value_length(chunk[name]) for name in MORE_COLUMNS)), 0)
    same = pc.sum(pc.and_(is_pair, pc.equal(chunk["chosen"], chunk["rejected"]))).as_py()
    sides = [("chosen", "more_chosen"), ("rejected", "more_rejected")]
    both = 0
    for row in chunk.select([*chain(*sides)]).filter(pc.invert(is_pair)).to_pylist():
        chosen, rejected = (
            {row[one], *(each["text"] for each in row[more])} for one, more in sides
        )
        both += not chosen.isdisjoint(rejected)
    return same or 0, both


def _check_columns(batch: Batch, name: str) -> None:
    if isinstance(batch, list):
        present = set().union(*(row.keys() for row in batch))
        messages = any(holds_messages(row.get("chosen")) for row in batch)
    else:
        present = set(batch.schema.names)
        kind: Any = batch.schema.field("chosen").type if "chosen" in present else pa.null()
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        messages = is_list and pa.types.is_struct(kind.value_type)
    missing = [column for column in ("chosen", "rejected") if column not in present]
    if not messages and not present & set(PROMPT_COLUMNS):
        missing.insert(0, "prompt")
    if missing:
        listed = ", ".join(sorted(str(column)[:40] for column in present)[:12]) or "no columns"
        is_unjudged = missing == ["chosen", "rejected"] or "messages" in present
        ranked = (
            " This file has responses, but none is marked as chosen. Rank them with "
            "python -m scoring --best-of."
        )
        raise KnownError(
            f"{name} has no column {' or '.join(missing)}; {', '.join(TEXT_COLUMNS)} are "
            f"required, found {repaired_text(listed)}.{ranked if is_unjudged else ''}"
        )


def _n_repeating(chunk: pa.RecordBatch) -> int:
    """Pairs in which both responses begin with the whole prompt, where that is no chance."""
    prompts = chunk["prompt"]
    likely = pc.greater_equal(pc.utf8_length(prompts), _REPEATED_PROMPT)
    for side in ("chosen", "rejected"):
        first, own = (
            pc.utf8_slice_codeunits(texts, 0, _REPEATED_PROMPT) for texts in (prompts, chunk[side])
        )
        likely = pc.and_(likely, pc.equal(first, own))
    return sum(
        row["chosen"].startswith(row["prompt"]) and row["rejected"].startswith(row["prompt"])
        for row in chunk.select(TEXT_COLUMNS).filter(likely).to_pylist()
    )
