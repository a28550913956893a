"""Rows as a benchmark has them, rewritten as rows of pairs: what `assets/benchmarks.toml` says."""

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from scoring.benchmarks import (
    MOST_RESPONSES,
    Benchmark,
    Better,
    RowLayout,
    benchmark_named,
    benchmarks,
)
from scoring.errors import KnownError, counted, shown
from scoring.pairs.checking import SCHEMA, CheckedRows, repaired_text
from scoring.pairs.rows import Batch, Row, rows_of, type_name
from scoring.pairs.shapes import WANTED, holds_messages

FURTHER = "facet:"
"""What the names of a table's further columns begin with."""
MOST_VALUES = 60
"""Of a further column."""
_LONGEST_VALUE = 60
_LOOKED_AT = 5_000
"""Rows at the beginning by which a column is given up that has many values."""
_MOST_COLUMNS = len(SCHEMA) + 5


def layout_of(row: Row, name: str, benchmark: str = "") -> tuple[Benchmark, RowLayout] | None:
    """The benchmark that rows are of by their columns; None where they are of none, or are plain
    pairs, which only the names of their subsets can tell.

    row: the first one. name: of the file. benchmark: the name of the one that they are said to be.

    Raises:
        KnownError: they fit two.
    """
    known = [benchmark_named(benchmark)] if benchmark else benchmarks().values()
    fits = [
        (each, layout)
        for each in known
        for layout in (each.row, *each.layouts)
        if layout != RowLayout() and _fits(each, layout, row, name, is_named=bool(benchmark))
    ]
    most = max((len(layout.columns) for _, layout in fits), default=0)
    best = [each for each in fits if len(each[1].columns) == most]
    if len(best) > 1:
        titles = " and ".join(each.title for each, _ in best)
        raise KnownError(
            f"{name} has the columns of {titles}. Say which it is: --benchmark "
            f"{' or --benchmark '.join(each.name for each, _ in best)}; on the page, leave columns "
            "out that the other one has."
        )
    return best[0] if best else None


def _fits(benchmark: Benchmark, layout: RowLayout, row: Row, name: str, *, is_named: bool) -> bool:
    if not layout.columns <= row.keys():
        return False
    chosen = row.get(layout.chosen)
    is_several = isinstance(chosen, list) and not holds_messages(chosen)
    if is_several and layout.n_chosen is None and not benchmark.rule.reads_several:
        return False
    is_like_pairs = layout.columns - {*layout.id} == RowLayout().columns
    if is_like_pairs and not is_several and benchmark.sections and not is_named:
        return benchmark.has(str(row.get(layout.subset)))
    is_told = layout.subset in row or _subset_in(layout, name) is not None
    if layout.file and not is_told and not is_named:
        return False
    sizes = [(row.get("chosen"), layout.n_chosen), (row.get("rejected"), layout.n_rejected)]
    return all(n is None or (isinstance(each, list) and len(each) == n) for each, n in sizes)


def _subset_in(layout: RowLayout, name: str) -> str | None:
    """The subset that a file's name says, without its ending."""
    pattern = re.escape(layout.file).replace(r"\{" + re.escape(layout.subset) + r"\}", "(.+)")
    found = re.fullmatch(pattern, name.rpartition("/")[2].partition(".")[0])
    return found[1] if found else None


def columns_of_layouts() -> tuple[str, ...]:
    """Every column that the rows of any benchmark may have, beside those of plain pairs."""
    found = dict.fromkeys(WANTED)
    for benchmark in benchmarks().values():
        for layout in (benchmark.row, *benchmark.layouts):
            found |= dict.fromkeys(sorted(layout.all_columns))
    return tuple(found)


class Rewriting:
    """Rewrites the rows of a set's files as plain pairs, and keeps their columns of few values."""

    def __init__(self, shown: str, benchmark: str = "") -> None:
        """shown: what all files have together. benchmark: as of `layout_of`."""
        self._shown = shown
        self._named = benchmark
        self.benchmark = benchmark
        self._rewriter: Rewriter | None = None
        self._file = ""
        self.row_of = array("q")
        """Which row of the set, from 0, each pair is of."""
        self._n_rows = 0
        self._n_ties = Counter[str]()
        self._facets: dict[str, list[str]] | None = None

    @property
    def reads_several(self) -> bool:
        """Whether rows may have several right responses."""
        return benchmark_named(self.benchmark).rule.reads_several

    def add(self, batch: Batch, name: str) -> Batch:
        """The pairs of a batch of one file's rows.

        Raises:
            KnownError: naming the row, it is not as its benchmark's are.
        """
        if name != self._file:
            self._begin(batch, name)
        if self._rewriter is None:
            self._keep(batch, len(batch))
            self.row_of.extend(range(self._n_rows, self._n_rows + len(batch)))
            self._n_rows += len(batch)
            return batch
        pairs: list[Row] = []
        for rows in rows_of(batch):
            for row in rows:
                self._n_rows += 1
                found = list(self._rewriter.pairs_of(row, f"{self._shown}, row {self._n_rows}"))
                self._keep([row] * len(found), len(found))
                self.row_of.extend([self._n_rows - 1] * len(found))
                pairs += found
        return pairs

    def finish(self, checked: CheckedRows) -> CheckedRows:
        """What was checked, with its benchmark, its further columns, and what was left out here."""
        table, notes = checked.table, list(checked.notes)
        for name, values in (self._facets or {}).items():
            kept = np.delete(np.array(values, dtype=object), list(checked.left_out))
            if 1 < len(set(kept)) <= MOST_VALUES and table.num_columns < _MOST_COLUMNS:
                table = table.append_column(FURTHER + name, pa.array(kept, pa.large_string()))
        for column, n in self._n_ties.items():
            ties = counted(n, "row is a tie", "rows are ties")
            notes.append(f"{self._shown}: {ties} by {column} and left out.")
        about = {"benchmark": self.benchmark} if self.benchmark else None
        used = np.delete(np.asarray(self.row_of), list(checked.left_out))
        left_out = np.delete(np.arange(self._n_rows), used).tolist()
        return CheckedRows(table.replace_schema_metadata(about), tuple(notes), tuple(left_out))

    def _begin(self, batch: Batch, name: str) -> None:
        first = next(iter(next(rows_of(batch[:1]), [])), None)
        known = None if first is None else layout_of(first, name, self._named)
        if known is not None and not self.benchmark:
            self.benchmark = known[0].name
        if known is None and first is not None and self._named:
            benchmark = benchmark_named(self._named)
            if RowLayout() not in (benchmark.row, *benchmark.layouts):
                of_sides = {"chosen": benchmark.row.n_chosen, "rejected": benchmark.row.n_rejected}
                columns = sorted(benchmark.row.columns)
                names = (f"{of_sides.get(each) or ''} {each}".strip() for each in columns)
                raise KnownError(
                    f"{name} is not as {benchmark.title} is, whose rows have {', '.join(names)}."
                )
        self._file = name
        self._rewriter = None if known is None else Rewriter(known[1], name, self._n_ties)
        if self._facets is None and first is not None:
            named = known[1].facets if known else ()
            used = {*WANTED, *(known[1].all_columns if known else ())} - {*named}
            found = [each for each in first if each not in used and _is_short(first[each])]
            self._facets = {str(each): [] for each in (*named, *found) if each not in (None, "")}

    def _keep(self, batch: Batch, n: int) -> None:
        facets = self._facets or {}
        for name in list(facets):
            if isinstance(batch, list):
                values = [row.get(name) for row in batch]
            elif name in batch.schema.names:
                values = batch.column(name).to_pylist()
            else:
                values = [None] * n
            if not all(map(_is_short, values)):
                del facets[name]
                continue
            facets[name] += map(_word, values)
            if len(set(facets[name][:_LOOKED_AT])) > MOST_VALUES:
                del facets[name]


class Rewriter:
    """Rewrites the rows of one file."""

    def __init__(self, layout: RowLayout, name: str, n_ties: Counter[str] | None = None) -> None:
        """name: of the file. n_ties: counts rows that are left out, by the column that says so."""
        self._layout = layout
        self._subset = _subset_in(layout, name) if layout.file else None
        self._n_ties = Counter[str]() if n_ties is None else n_ties

    def pairs_of(self, row: Row, place: str) -> Iterator[dict[str, Any]]:
        """The pairs that a row has, in the columns of plain pairs; none where it is a tie.

        place: of the row, in words.

        Raises:
            KnownError: it has not what its benchmark has.
        """
        layout = self._layout
        subset = _value(row, layout.subset)
        subset = self._subset if subset is None and self._subset else subset
        if isinstance(subset, str):
            subset = subset.removeprefix(layout.after)
        ids = [_value(row, name) for name in layout.id]
        shared = {
            "prompt": _messages(_value(row, layout.prompt)),
            "subset": str(subset) if isinstance(subset, bool | int) else subset,
            "id": ids[0] if len(ids) == 1 else None if None in ids else ":".join(map(str, ids)),
        }
        for number, sides in enumerate(self._sides(row, place)):
            is_further = number > 0 and shared["id"] is not None
            yield {**shared, **sides, **({"id": f"{shared['id']}-{number}"} if is_further else {})}

    def _sides(self, row: Row, place: str) -> Iterator[dict[str, Any]]:
        layout = self._layout
        if layout.responses:
            yield from _compared(layout, row, place)
            return
        if layout.better is None:
            _check_numbers(layout, row, place)
            sides = [
                (layout.chosen, layout.chosen_model),
                (layout.rejected, layout.rejected_model),
            ]
        else:
            sides = [
                (layout.first, layout.first_model or layout.chosen_model),
                (layout.second, layout.second_model or layout.rejected_model),
            ]
            better = _better(layout.better, row, place)
            if better == "tie":
                self._n_ties[layout.better.column] += 1
                return
            if better == "second":
                sides.reverse()
        (chosen, chosen_writer), (rejected, rejected_writer) = (
            (_value(row, response), _value(row, model)) for response, model in sides
        )
        writers = [chosen_writer, rejected_writer]
        yield {"chosen": chosen, "rejected": rejected, **_models(chosen, rejected, writers)}


def _check_numbers(layout: RowLayout, row: Row, place: str) -> None:
    for side, n in ((layout.chosen, layout.n_chosen), (layout.rejected, layout.n_rejected)):
        given = _value(row, side)
        if n is not None and (not isinstance(given, list) or len(given) != n):
            has = f"{len(given):,}" if isinstance(given, list) else type_name(given)
            raise KnownError(f"{place}, column {side}: {has}, must be a list of {n} responses.")


def _better(better: Better, row: Row, place: str) -> Literal["first", "second", "tie"]:
    said = _value(row, better.column)
    known = {str(each): each for each in (*better.first, *better.second, *better.ties)}
    said = known.get(str(said), said)
    if said not in known.values() or isinstance(said, bool):
        raise KnownError(
            f"{place}, column {better.column}: {shown(said)}, must be one of {', '.join(known)}."
        )
    return "tie" if said in better.ties else "first" if said in better.first else "second"


def _compared(layout: RowLayout, row: Row, place: str) -> Iterator[dict[str, Any]]:
    """The pairs of one right and one wrong response that a row lists."""
    right, pairs = row.get(layout.right), row.get(layout.pairs)
    if not isinstance(right, list) or not isinstance(pairs, list):
        raise KnownError(f"{place}: {layout.right} and {layout.pairs} must be lists.")
    if len(pairs) > len(right) ** 2 or len(right) > MOST_RESPONSES:
        raise KnownError(
            f"{place}: {len(pairs):,} pairs of {len(right):,} responses; of at most "
            f"{MOST_RESPONSES} each two are compared once."
        )
    if not all(each in (0, 1, None) for each in right):
        raise KnownError(f"{place}, column {layout.right}: each must be 0, 1 or null.")
    for pair in pairs:
        known = isinstance(pair, list) and len(pair) == 2
        if not known or not all(type(at) is int and 0 <= at < len(right) for at in pair):
            raise KnownError(
                f"{place}, column {layout.pairs}: {shown(pair)}, must be two places below "
                f"{len(right)}."
            )
        if None in (right[pair[0]], right[pair[1]]) or right[pair[0]] == right[pair[1]]:
            raise KnownError(
                f"{place}, column {layout.pairs}: of responses {pair[0]} and {pair[1]} one must be "
                f"right and one wrong, and {layout.right} does not say so."
            )
        one, other = pair if right[pair[0]] else pair[::-1]
        yield {
            "chosen": row.get(layout.responses.format(one + 1)),
            "rejected": row.get(layout.responses.format(other + 1)),
        }


def _value(row: Row, name: str) -> Any:
    """What stands under a name, which may lead into an object, or into each object of a list."""
    top, _, rest = name.partition(".")
    value = row.get(top)
    if not rest:
        return value
    if isinstance(value, list):
        return [each.get(rest) if isinstance(each, Mapping) else None for each in value]
    return value.get(rest) if isinstance(value, Mapping) else None


def _messages(prompt: Any) -> Any:
    """Messages without what else they say, such as their language."""
    if not isinstance(prompt, list):
        return prompt
    return [
        {"role": each.get("role"), "content": each.get("content")}
        if isinstance(each, Mapping)
        else each
        for each in prompt
    ]


def _models(chosen: Any, rejected: Any, writers: list[Any]) -> dict[str, Any]:
    """Who wrote each response, in the columns of plain pairs."""
    sides = [
        (each if isinstance(each, list) else [each]) if isinstance(response, list) else each
        for response, each in zip((chosen, rejected), writers, strict=True)
    ]
    if not any(isinstance(each, list) for each in sides):
        return dict(zip(("chosen_model", "rejected_model"), sides, strict=True))
    lists = [each if isinstance(each, list) else [each] for each in sides]
    return {"models": [*lists[0], *lists[1]]}


def _is_short(value: object) -> bool:
    """Whether it may be one of few values."""
    is_word = isinstance(value, str) and len(value) <= _LONGEST_VALUE and "\n" not in value
    return value is None or is_word or isinstance(value, bool)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else repaired_text(str(value))
