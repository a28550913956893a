"""Raw rows -> a table of pairs: checked, repaired, and what there is to say of them counted.

What a file writes plainly, as columns of text, stays Arrow's own; anything else (messages, several
responses, mixed types) is Python's row by row. The rules are the same.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

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
    PairTexts,
    Writers,
    holds_messages,
    models_of,
    pair_texts,
    what_is_missing,
)
from scoring.spec import is_ties

Columns: TypeAlias = Mapping[str, "pa.Array[Any]"]
"""Column -> its texts or nulls, of type `large_string`."""


def _of_arrow(batch: pa.RecordBatch) -> Columns | None:
    """The wanted columns of a batch, of text alone; None where one needs a closer look."""
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
    """The same; a column `id` may hold whole numbers.

    >>> [_of_rows([{"id": value}]) is None for value in (1, "a", None, 0.5)]
    [False, False, False, True]
    """
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


pc: Any = pyarrow.compute  # its stubs know few of the types that it takes
Array: TypeAlias = "pa.Array[Any]"

TEXT_COLUMNS = ("prompt", "chosen", "rejected")
MORE_COLUMNS = ("more_chosen", "more_rejected")
_COLUMNS = ("key", "id", "subset", *TEXT_COLUMNS, *MODEL_COLUMNS, "turns")
TEXT = pa.large_string()
MORE = pa.large_list(pa.struct([("text", TEXT), ("model", TEXT)]))
SCHEMA = pa.schema([(name, TEXT) for name in _COLUMNS] + [(name, MORE) for name in MORE_COLUMNS])
"""Of every table of pairs. `more_*`: further responses, of RewardBench 2; nearly always empty."""
UNKNOWN = "unknown"
_LONGEST_KEY = 1_000
"""Characters of a key (the subset and the id) or of a model's name."""
CHUNK_ROWS = 8192
"""Rows at least in a chunk of the table, where they are not very long."""

_NAMES = ("key", *MODEL_COLUMNS)
_CHUNK_BYTES = 64_000_000
_REPEATED_PROMPT = 20
"""Characters of a prompt from which it is no chance that responses begin with it."""
_MOST_REMARKS = 50
_SURROGATES = re.compile("[\ud800-\udfff]")
_MARK = "\ufffd"
_MISSPELLED = "unkown"


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """A table of `SCHEMA`; what was repaired or left out; the rows that were, from 0."""

    table: pa.Table
    notes: tuple[str, ...]
    left_out: tuple[int, ...]


class Checker:
    """Takes batches of raw rows and makes one table of them."""

    def __init__(self, name: str, default_subset: str) -> None:
        """name: as the pairs are called in messages. default_subset: where a row names none."""
        self.name = name
        self._default_subset = _without_surrogates(default_subset)
        self._n_rows = 0
        self._repaired = self._same = self._repeating = self._twice = 0
        self._notes: list[str] = []
        self._left_out: list[int] = []
        self._held: list[pa.Table] = []
        self._held_rows = self._held_bytes = 0
        self._chunks: list[pa.Table] = []

    def add(self, batch: Batch) -> None:
        """
        Raises:
            KnownError: naming row and column.
        """
        if not self._n_rows:
            _check_columns(batch, self.name)
        columns = _of_rows(batch) if isinstance(batch, list) else _of_arrow(batch)
        if columns is not None:
            self._hold(self._from_columns(columns, len(batch)))
            self._n_rows += len(batch)
        else:
            for rows in rows_of(batch):
                self._hold(self._from_rows(rows))
                self._n_rows += len(rows)
        if self._held_rows >= CHUNK_ROWS or self._held_bytes > _CHUNK_BYTES:
            self._close_chunk()

    def _hold(self, table: pa.Table) -> None:
        """What is held is counted as it comes: a file may have one row in each of its batches."""
        self._held.append(table)
        self._held_rows += len(table)
        self._held_bytes += table.nbytes

    def finish(self) -> CheckedRows:
        """
        Raises:
            KnownError: there are none, or two have one key.
        """
        if not self._n_rows:
            raise KnownError(f"{self.name} has no rows.")
        self._close_chunk()
        table = pa.concat_tables(self._chunks) if self._chunks else SCHEMA.empty_table()
        if not len(table):
            raise KnownError(
                f"{self.name} has no row whose {', '.join(TEXT_COLUMNS)} are all given, with a key "
                f"and names of models of at most {_LONGEST_KEY:,} characters. {self._notes[0]}"
            )
        self._check_keys(table["key"])
        return CheckedRows(table, tuple(self._remarks(len(table))), tuple(self._left_out))

    def _remarks(self, n_pairs: int) -> Iterator[str]:
        yield from self._notes
        if len(self._left_out) > len(self._notes):
            more = len(self._left_out) - len(self._notes)
            yield f"{self.name}: and {counted(more, 'more row is', 'more rows are')} left out."
        if self._repaired:
            broken = counted(self._repaired, "broken character", "broken characters")
            yield f"{self.name}: {broken} (lone surrogates) shown as {_MARK}."
        if self._same:
            yield f"{self.name}: chosen equals rejected in {self._same:,} of {n_pairs:,} pairs."
        if self._twice:
            yield (
                f"{self.name}: a response stands twice in {self._twice:,} of {n_pairs:,} rows, and "
                "ties with itself."
            )
        if self._repeating:
            yield (
                f"{self.name}: both responses begin with the whole prompt in "
                f"{self._repeating:,} of {n_pairs:,} pairs."
            )

    def _close_chunk(self) -> None:
        chunk = pa.concat_tables(self._held).combine_chunks() if self._held else None
        self._held, self._held_rows, self._held_bytes = [], 0, 0
        if chunk is not None and len(chunk):
            prompts, chosen, rejected = (chunk[name].chunks[0] for name in TEXT_COLUMNS)
            self._same += int(pc.sum(pc.equal(chosen, rejected)).as_py() or 0)
            self._repeating += _n_repeating(prompts, chosen, rejected)
            self._chunks.append(chunk)

    def _leave_out(self, row: int, why: str) -> None:
        self._left_out.append(row)
        if len(self._notes) < _MOST_REMARKS:
            self._notes.append(f"{self.name}, row {row + 1}: {why}; the row is left out.")

    def _check_keys(self, keys: Any) -> None:
        if pc.count_distinct(keys).as_py() == len(keys):
            return
        numbers = np.delete(np.arange(1, self._n_rows + 1), self._left_out).tolist()
        number_of: dict[str, int] = {}
        for number, key in zip(numbers, keys.to_pylist(), strict=True):
            if key in number_of:
                raise KnownError(
                    f"{self.name}, row {number}, column id: the key {key!r} stands in row "
                    f"{number_of[key]} already; subset and id together must be unique."
                )
            number_of[key] = number

    def _from_columns(self, columns: Columns, n_rows: int) -> pa.Table:
        null = pa.nulls(n_rows, TEXT)
        prompt: Array = pc.coalesce(null, *(columns.get(name, null) for name in PROMPT_COLUMNS))
        texts = {
            "chosen": columns.get("chosen", null),
            "rejected": columns.get("rejected", null),
            "prompt": prompt,
        }
        numbers = np.arange(self._n_rows + 1, self._n_rows + n_rows + 1)
        table = {
            **texts,
            "id": pc.coalesce(columns.get("id", null), pa.array(numbers).cast(TEXT)),
            "subset": columns.get("subset", null).fill_null(self._default_subset),
            "turns": null.fill_null(""),
            **dict.fromkeys(MORE_COLUMNS, _no_more(n_rows)),
        }
        table["key"] = _keys(table["subset"], table["id"])
        for name in MODEL_COLUMNS:
            model = columns.get(name, null).fill_null(UNKNOWN)
            table[name] = pc.if_else(pc.equal(model, _MISSPELLED), UNKNOWN, model)
        masks = {f"{name} is null": pc.is_null(column) for name, column in texts.items()}
        for name in _NAMES:
            masks[_too_long(name)] = pc.greater(pc.utf8_length(table[name]), _LONGEST_KEY)
        whys = {why: mask.to_numpy(zero_copy_only=False) for why, mask in masks.items()}
        left_out = np.logical_or.reduce(list(whys.values()))
        for row in np.flatnonzero(left_out).tolist():
            self._leave_out(
                self._n_rows + row, next(why for why, mask in whys.items() if mask[row])
            )
        found = pa.table({name: table[name] for name in SCHEMA.names}, schema=SCHEMA)
        return found.filter(pa.array(~left_out)) if left_out.any() else found

    def _from_rows(self, rows: list[Row]) -> pa.Table:
        pairs = []
        for number, row in enumerate(rows, start=self._n_rows + 1):
            why = what_is_missing(row)
            if not why:
                place = f"{self.name}, row {number}"
                pair = _checked_row(row, place, self._default_subset, number)
                why = _what_is_too_long(pair)
            if why:
                self._leave_out(number - 1, why)
            else:
                pairs.append(self._repair(pair))
                self._twice += _stands_twice(pair)
        columns: dict[str, Array] = {
            name: pa.array([pair[name] for pair in pairs], SCHEMA.field(name).type)
            for name in SCHEMA.names
            if name != "key"
        }
        columns["key"] = _keys(columns["subset"], columns["id"])
        return pa.table({name: columns[name] for name in SCHEMA.names}, schema=SCHEMA)

    def _repair(self, pair: dict[str, Any]) -> dict[str, Any]:
        """Lone surrogates are no text: each becomes U+FFFD, and is counted."""
        for name, value in pair.items():
            if isinstance(value, list):
                pair[name] = [self._repair(response) for response in value]
            elif not value.isascii():
                pair[name], count = _SURROGATES.subn(_MARK, value)
                self._repaired += count if name != "turns" else 0  # they stand in the prompt too
        return pair


def _without_surrogates(words: str) -> str:
    return _SURROGATES.sub(_MARK, words)


def _keys(subsets: Array, ids: Array) -> Array:
    keys: Array = pc.binary_join_element_wise(subsets, ids, pa.scalar(":", TEXT))
    return keys


def _too_long(name: str) -> str:
    return f"its {name} has more than {_LONGEST_KEY:,} characters"


def _what_is_too_long(pair: dict[str, Any]) -> str | None:
    lengths = {"key": len(pair["subset"]) + 1 + len(pair["id"])}
    for name, more in zip(MODEL_COLUMNS, MORE_COLUMNS, strict=True):
        models = [pair[name], *(response["model"] for response in pair[more])]
        lengths[name] = max(map(len, models))
    return next((_too_long(name) for name in _NAMES if lengths[name] > _LONGEST_KEY), None)


def _stands_twice(pair: dict[str, Any]) -> bool:
    """Whether one of several responses is another one's equal; of a pair it is told elsewhere."""
    more = [response["text"] for name in MORE_COLUMNS for response in pair[name]]
    return bool(more) and len({pair["chosen"], pair["rejected"], *more}) < len(more) + 2


def _no_more(n_rows: int) -> Array:
    offsets: Any = pa.array(np.zeros(n_rows + 1, np.int64))
    return pa.LargeListArray.from_arrays(offsets, pa.array([], MORE.value_type))


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
            f"required, found {_without_surrogates(listed)}.{ranked if is_unjudged else ''}"
        )


def _checked_row(row: Row, place: str, default_subset: str, number: int) -> dict[str, Any]:
    """One row with every column of `SCHEMA` but the key: texts, and the further responses."""
    found = pair_texts(row, place)
    pair: dict[str, Any] = {column: getattr(found, column) for column in TEXT_COLUMNS}
    pair["turns"] = json.dumps(found.turns, ensure_ascii=False) if found.turns else ""
    for column in ("subset", *MODEL_COLUMNS):
        value = row.get(column)
        if value is None:
            value = default_subset if column == "subset" else UNKNOWN
        if not isinstance(value, str):
            raise KnownError(f"{place}, column {column}: {type_name(value)}, must be text.")
        pair[column] = value
    _check_rule(found, pair["subset"], place)
    models = models_of(row, found, place) or Writers(
        [pair["chosen_model"], *(None for _ in found.more_chosen)],
        [pair["rejected_model"], *(None for _ in found.more_rejected)],
    )
    for side, names in models._asdict().items():
        known = [UNKNOWN if name in (None, _MISSPELLED) else name for name in names]
        pair[f"{side}_model"] = known[0]
        more = zip(getattr(found, f"more_{side}"), known[1:], strict=True)
        pair[f"more_{side}"] = [{"text": words, "model": name} for words, name in more]
    row_id = number if row.get("id") is None else row["id"]
    if isinstance(row_id, bool) or not isinstance(row_id, int | str):
        raise KnownError(
            f"{place}, column id: {type_name(row_id)}, must be a whole number or text."
        )
    return {"id": str(row_id), **pair}


def _check_rule(texts: PairTexts, subset: str, place: str) -> None:
    """Refuse several right responses outside of *Ties*: no rule says when such a row is won."""
    n_chosen, n_rejected = 1 + len(texts.more_chosen), 1 + len(texts.more_rejected)
    if n_chosen > 1 and not is_ties(subset):
        like = "as in RM-Bench, " if n_chosen == n_rejected else ""
        raise KnownError(
            f"{place}: {n_chosen:,} responses are chosen and {n_rejected:,} rejected, {like}for "
            "which no rule is known here. Rules are known for one chosen response, which must beat "
            "all rejected ones, and for several in RewardBench 2's subset Ties, which all must: "
            "keep one, or call the subset Ties."
        )


def _n_repeating(prompts: Array, chosen: Array, rejected: Array) -> int:
    """Pairs in which both responses begin with the whole prompt, where that is no chance.

    >>> texts = [pa.array([words], pa.large_string()) for words in ("x" * 20, "x" * 21, "x" * 22)]
    >>> _n_repeating(*texts), _n_repeating(texts[1], texts[0], texts[2])
    (1, 0)
    """
    shorter = pc.min_element_wise(pc.binary_length(chosen), pc.binary_length(rejected))
    likely = pc.and_(
        pc.greater_equal(pc.utf8_length(prompts), _REPEATED_PROMPT),
        pc.greater_equal(shorter, pc.binary_length(prompts)),
    )
    prompts = prompts.filter(likely).cast(pa.large_binary())
    if not len(prompts):
        return 0
    lengths = pc.binary_length(prompts).to_numpy()
    begin = [
        pc.equal(_beginnings(responses.filter(likely), lengths), prompts)
        for responses in (chosen, rejected)
    ]
    return int(pc.sum(pc.and_(*begin)).as_py())


def _beginnings(texts: Array, lengths: NDArray[np.int64]) -> Array:
    """The first so many bytes of each text; all are at least so long."""
    buffers: Any = texts.buffers()
    starts = np.frombuffer(buffers[1], np.int64)[texts.offset :][: len(texts)]
    # Each text is cut in two where its beginning ends: every other piece is a beginning.
    cuts = np.stack([starts, starts + lengths], axis=1).ravel()
    cuts = np.append(cuts, cuts[-1])
    buffers = [None, pa.py_buffer(cuts.tobytes()), buffers[2]]
    pieces: Any = pa.Array.from_buffers(pa.large_binary(), len(cuts) - 1, buffers)
    beginnings: Array = pieces.take(np.arange(0, len(pieces), 2))
    return beginnings
