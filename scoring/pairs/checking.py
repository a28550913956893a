"""Raw rows -> a table of pairs: checked, repaired, and what there is to say of them counted.

Columns of plain text stay Arrow's own; of rows with anything else (messages, several responses,
mixed types) columns are made one row at a time. One set of rules then holds for all columns.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """A table of `SCHEMA`; what was repaired or left out; the rows that were, from 0."""

    table: pa.Table
    notes: tuple[str, ...]
    left_out: tuple[int, ...]


class Checker:
    """Takes batches of raw rows and makes one table of them."""

    def __init__(self, name: str, default_subset: str, *, is_judged: bool = True) -> None:
        """name: as the pairs are called in messages. default_subset: where a row names none.

        is_judged: whether chosen responses are said to be better than rejected ones.
        `reads_several` may be set where a rule is known for several chosen responses, and `row_of`,
        by which messages count rows, where not each row of a file is one pair.
        """
        self.name = name
        self._default_subset = _SURROGATES.sub(_MARK, default_subset)
        self._is_judged = is_judged
        self.reads_several = False
        self.row_of: Sequence[int] = ()
        self._n_rows = self._repaired = 0
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
        columns = _text_columns(batch)
        if columns is not None:
            self._hold(columns, len(batch), {})
        else:
            for rows in rows_of(batch):
                self._hold(*self._flatten(rows))
        if self._held_rows >= CHUNK_ROWS or self._held_bytes > _CHUNK_BYTES:
            self._close_chunk()

    def _hold(self, columns: Mapping[str, Array], n_rows: int, missing: Mapping[int, str]) -> None:
        """Check rows and keep them for the next chunk: a file may have one row in each batch."""
        table = self._check(columns, n_rows, missing)
        self._n_rows += n_rows
        self._held.append(table)
        self._held_rows += len(table)
        self._held_bytes += table.nbytes

    def _close_chunk(self) -> None:
        if self._held_rows:
            self._chunks.append(pa.concat_tables(self._held).combine_chunks())
        self._held, self._held_rows, self._held_bytes = [], 0, 0

    def finish(self) -> CheckedRows:
        """
        Raises:
            KnownError: there are none, or two have one key.
        """
        if not self._n_rows:
            raise KnownError(f"{self.name} has no rows.")
        self._close_chunk()
        if not self._chunks:
            raise KnownError(
                f"{self.name} has no row whose {', '.join(TEXT_COLUMNS)} are all given, with a key "
                f"and names of models of at most {_LONGEST_KEY:,} characters. {self._notes[0]}"
            )
        table = pa.concat_tables(self._chunks)
        self._check_keys(table["key"])
        return CheckedRows(table, tuple(self._remarks(table)), tuple(self._left_out))

    def _remarks(self, table: pa.Table) -> Iterator[str]:
        yield from self._notes
        more = len(self._left_out) - len(self._notes)
        if more:
            yield f"{self.name}: and {counted(more, 'more row is', 'more rows are')} left out."
        if self._repaired:
            broken = counted(self._repaired, "broken character", "broken characters")
            yield f"{self.name}: {broken} (lone surrogates) shown as {_MARK}."
        same = pc.sum(pc.equal(table["chosen"], table["rejected"])).as_py()
        if same and self._is_judged:
            yield f"{self.name}: chosen equals rejected in {same:,} of {len(table):,} pairs."
        twice = sum(map(_n_with_equals, table.to_batches()))
        if twice and self._is_judged:
            yield (
                f"{self.name}: a response stands twice in {twice:,} of {len(table):,} rows, and "
                "ties with itself."
            )
        repeating = sum(map(_n_repeating, table.to_batches()))
        if repeating:
            yield (
                f"{self.name}: both responses begin with the whole prompt in "
                f"{repeating:,} of {len(table):,} pairs."
            )

    def _leave_out(self, row: int, why: str) -> None:
        self._left_out.append(row)
        if len(self._notes) < _MOST_REMARKS:
            self._notes.append(f"{self.name}, row {self._number(row)}: {why}; the row is left out.")

    def _number(self, row: int) -> int:
        return 1 + (self.row_of[row] if self.row_of else row)

    def _check_keys(self, keys: Any) -> None:
        if pc.count_distinct(keys).as_py() == len(keys):
            return
        kept = np.delete(np.arange(self._n_rows), self._left_out).tolist()
        numbers = map(self._number, kept)
        number_of: dict[str, int] = {}
        for number, key in zip(numbers, keys.to_pylist(), strict=True):
            if key in number_of:
                raise KnownError(
                    f"{self.name}, row {number}, column id: the key {key!r} stands in row "
                    f"{number_of[key]} already; subset and id together must be unique."
                )
            number_of[key] = number

    def _check(
        self, columns: Mapping[str, Array], n_rows: int, missing: Mapping[int, str]
    ) -> pa.Table:
        """The pairs of some rows, with all columns of `SCHEMA`.

        columns: by name, of the types of `SCHEMA`, nulls and missing ones for what is not given.
        missing: row, from 0 -> why it is no pair, where that is not that a text is null.
        """
        null: Array = pa.nulls(n_rows, TEXT)
        texts = {
            "chosen": columns.get("chosen", null),
            "rejected": columns.get("rejected", null),
            "prompt": pc.coalesce(null, *(columns.get(name, null) for name in PROMPT_COLUMNS)),
        }
        numbers = np.arange(self._n_rows + 1, self._n_rows + n_rows + 1)
        table = {
            **texts,
            "id": pc.coalesce(columns.get("id", null), pa.array(numbers).cast(TEXT)),
            "subset": columns.get("subset", null).fill_null(self._default_subset),
            "turns": columns.get("turns", null).fill_null(""),
        }
        table["key"] = pc.binary_join_element_wise(
            table["subset"], table["id"], pa.scalar(":", TEXT)
        )
        whys = {f"{name} is null": _flags(pc.is_null(column)) for name, column in texts.items()}
        whys[_too_long("key")] = _is_long(table["key"])
        for name, further in zip(MODEL_COLUMNS, MORE_COLUMNS, strict=True):
            model = columns.get(name, null).fill_null(UNKNOWN)
            table[name] = pc.if_else(pc.equal(model, _MISSPELLED), UNKNOWN, model)
            table[further] = more = columns.get(further, pa.array([[]] * n_rows, MORE))
            whys[_too_long(name)] = is_long = _is_long(table[name])
            of_more = pc.list_parent_indices(more).to_numpy()
            is_long[of_more[_is_long(pc.struct_field(pc.list_flatten(more), "model"))]] = True
        left_out = np.logical_or.reduce(list(whys.values()))
        for row in np.flatnonzero(left_out).tolist():
            why = missing.get(row) or next(why for why, rows in whys.items() if rows[row])
            self._leave_out(self._n_rows + row, why)
        found = pa.table({name: table[name] for name in SCHEMA.names}, schema=SCHEMA)
        return found.filter(pa.array(~left_out)) if left_out.any() else found

    def _flatten(self, rows: list[Row]) -> tuple[dict[str, Array], int, dict[int, str]]:
        """Rows of any shape as the arguments of `_check`."""
        pairs: list[dict[str, Any]] = []
        missing = {}
        for place, row in enumerate(rows):
            why = what_is_missing(row)
            if why:
                missing[place] = why
            number = self._number(self._n_rows + place)
            pairs.append({} if why else self._repair(self._flatten_row(row, number)))
        columns: dict[str, Array] = {
            field.name: pa.array([pair.get(field.name) for pair in pairs], field.type)
            for field in SCHEMA
        }
        return columns, len(rows), missing

    def _flatten_row(self, row: Row, number: int) -> dict[str, Any]:
        place = f"{self.name}, row {number}"
        found = pair_texts(row, place)
        for column in ("subset", *MODEL_COLUMNS):
            if not isinstance(row.get(column), str | None):
                said = type_name(row[column])
                raise KnownError(f"{place}, column {column}: {said}, must be text.")
        subset, row_id = row.get("subset"), row.get("id")
        if not self.reads_several:
            _check_rule(found, self._default_subset if subset is None else subset, place)
        if isinstance(row_id, bool) or not isinstance(row_id, int | str | None):
            raise KnownError(
                f"{place}, column id: {type_name(row_id)}, must be a whole number or text."
            )
        turns = None if is_single(found.turns) else json.dumps(found.turns, ensure_ascii=False)
        pair: dict[str, Any] = {
            "id": None if row_id is None else str(row_id),
            "subset": subset,
            "prompt": transcript(found.turns),
            "turns": turns,
        }
        sides = zip(("chosen", "rejected"), found[1:], models_of(row, found, place), strict=True)
        for side, texts, models in sides:
            pair[side], pair[f"{side}_model"] = texts[0], models[0]
            pair[f"more_{side}"] = [
                {"text": text, "model": UNKNOWN if model in (None, _MISSPELLED) else model}
                for text, model in zip(texts[1:], models[1:], strict=True)
            ]
        return pair

    def _repair(self, pair: dict[str, Any]) -> dict[str, Any]:
        """Lone surrogates are no text: each becomes U+FFFD, and is counted."""
        for name, value in pair.items():
            if isinstance(value, list):
                pair[name] = [self._repair(response) for response in value]
            elif value is not None and not value.isascii():
                pair[name], count = _SURROGATES.subn(_MARK, value)
                self._repaired += count if name != "turns" else 0  # they stand in the prompt too
        return pair


def _text_columns(batch: Batch) -> dict[str, Array] | None:
    """The wanted columns as text; None where a value is none. An `id` may be a whole number.

    >>> [_text_columns([{"id": value}]) is None for value in (1, "a", None, 0.5)]
    [False, False, False, True]
    """
    columns: dict[str, Array] = {}
    if isinstance(batch, list):
        for name in WANTED:
            values = [row.get(name) for row in batch]
            if name == "id":
                values = [str(value) if type(value) is int else value for value in values]
            try:
                columns[name] = pa.array(values, TEXT)
            except (pa.ArrowException, UnicodeEncodeError):  # no text, or a lone surrogate
                return None
        return columns
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


def _flags(mask: Array) -> NDArray[np.bool_]:
    return np.array(mask.fill_null(False))


def _too_long(name: str) -> str:
    return f"its {name} has more than {_LONGEST_KEY:,} characters"


def _is_long(names: Array) -> NDArray[np.bool_]:
    return _flags(pc.greater(pc.utf8_length(names), _LONGEST_KEY))


def _n_with_equals(chunk: pa.RecordBatch) -> int:
    """Rows of several responses of which two are equal; pairs are counted elsewhere."""
    further = [pc.list_value_length(chunk[name]) for name in MORE_COLUMNS]
    found = chunk.select(("chosen", "rejected", *MORE_COLUMNS)).filter(
        pc.greater(pc.add(*further), 0)
    )
    return sum(
        len({row["chosen"], row["rejected"], *(each["text"] for each in more)}) < len(more) + 2
        for row in found.to_pylist()
        for more in [[*row["more_chosen"], *row["more_rejected"]]]
    )


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
            f"required, found {_SURROGATES.sub(_MARK, listed)}.{ranked if is_unjudged else ''}"
        )


def _check_rule(texts: PairTexts, subset: str, place: str) -> None:
    """Refuse several right responses outside of *Ties*: no rule says when such a row is won."""
    n_chosen, n_rejected = len(texts.chosen), len(texts.rejected)
    if n_chosen > 1 and not is_ties(subset):
        raise KnownError(
            f"{place}: {n_chosen:,} responses are chosen and {n_rejected:,} rejected, for which no "
            "rule is known here. One chosen response must beat all rejected ones; in RewardBench "
            "2's subset Ties several all must; RM-Bench has three styles of each, and their "
            "domain in a column. Keep one, call the subset Ties, or say that they are RM-Bench's "
            "(a column domain, or --benchmark rm-bench)."
        )


def _n_repeating(chunk: pa.RecordBatch) -> int:
    """Pairs in which both responses begin with the whole prompt, where that is no chance.

    >>> texts = zip(TEXT_COLUMNS, (["x" * 20], ["x" * 21], ["x" * 22]))
    >>> _n_repeating(pa.record_batch(dict(texts)))
    1
    """
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
