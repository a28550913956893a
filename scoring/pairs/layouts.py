"""Rows as a benchmark has them, rewritten as rows of pairs: what `assets/benchmarks.toml` says."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import pyarrow.compute as pc

from scoring.benchmarks import (
    MOST_RESPONSES,
    Benchmark,
    Better,
    RowLayout,
    benchmark_named,
    benchmarks,
)
from scoring.errors import KnownError, counted, shown
from scoring.limits import Limits
from scoring.pairs.checking import SCHEMA, CheckedRows, Checker, repaired_text
from scoring.pairs.rows import Batch, Row, rows_of, type_name
from scoring.pairs.shapes import MODEL_COLUMNS, WANTED, holds_messages

FURTHER = "facet:"
"""The beginning of the names of a table's further columns."""
RIGHT = f"{FURTHER}right"
"""A column for best of n: which responses of a row are right."""
MOST_VALUES = 60
"""Most values of a further column."""
_LONGEST_VALUE = 60
_LOOKED_AT = 5_000
"""Rows at the beginning by which a column is given up that has many values."""
_MOST_FURTHER = 5
_PLAIN = RowLayout()


def layout_of(row: Row, name: str, benchmark: str = "") -> tuple[Benchmark, RowLayout] | None:
    """The benchmark of rows by their columns, or a `KnownError` if these fit two.

    None for rows of none, and for plain pairs, of which only names of subsets can tell it.

    row: the first one. name: of the file. benchmark: its name, if that is given.
    """
    known = [benchmark_named(benchmark)] if benchmark else benchmarks().values()
    fits = []
    for each in known:
        layouts = [
            layout
            for layout in (each.row, *each.layouts)
            if layout != _PLAIN and _fits(each, layout, row, name, is_named=bool(benchmark))
        ]
        if layouts:
            fits.append((each, max(layouts, key=lambda layout: len(layout.columns))))
    best = [
        (each, layout)
        for each, layout in fits
        if not any(layout.columns < other.columns for _, other in fits)
    ]
    if len(best) > 1:
        raise _several_fit(best, name)
    return best[0] if best else None


def _several_fit(fits: Sequence[tuple[Benchmark, RowLayout]], name: str) -> KnownError:
    titles = " and of ".join(each.title for each, _ in fits)
    options = " or ".join(f"--benchmark {each.name}" for each, _ in fits)
    copies = [
        f"without {', '.join(sorted(map(min, further)))} it is read as {benchmark.title}"
        for benchmark, own in fits
        for further in [
            [other.columns - own.columns for each, other in fits if each is not benchmark]
        ]
        if all(further)
    ]
    leave_out = f", or leave a column out of a copy: {'; '.join(copies)}" if copies else ""
    return KnownError(
        f"{name} has the columns of {titles}. Say which it is ({options}){leave_out}."
    )


def _does_not_fit(benchmark: Benchmark, row: Row, name: str) -> KnownError:
    layouts = (benchmark.row, *benchmark.layouts)
    layout = min(layouts, key=lambda layout: len(layout.columns - row.keys()))
    sizes = {"chosen": layout.n_chosen, "rejected": layout.n_rejected}
    columns = (
        f"{each} (a list of {sizes[each]} responses)" if sizes.get(each) else each
        for each in sorted(layout.columns)
    )
    absent = sorted(layout.columns - row.keys())
    why = f"it has no column {', '.join(absent)}" if absent else "its first row has other responses"
    return KnownError(
        f"{name} cannot be read as {benchmark.title}: {why}. A row of {benchmark.title} has the "
        f"columns {', '.join(columns)}. Rename columns, or name the benchmark that it is of: "
        "python -m scoring --benchmarks lists them."
    )


def _fits(benchmark: Benchmark, layout: RowLayout, row: Row, name: str, *, is_named: bool) -> bool:
    if not layout.columns <= row.keys():
        return False
    reads_chosen = layout.better is None and not layout.responses
    chosen = row.get(layout.chosen) if reads_chosen else None
    is_several = isinstance(chosen, list) and not holds_messages(chosen)
    if is_several and layout.n_chosen is None and not benchmark.rule.reads_several:
        return False
    is_like_pairs = layout.columns - {*layout.id} == _PLAIN.columns
    if is_like_pairs and not is_several and benchmark.sections and not is_named:
        return benchmark.has(str(row.get(layout.subset)))
    is_told = layout.subset in row or _subset_in(layout, name) is not None
    if layout.file and not is_told and not is_named:
        return False
    sizes = [(row.get("chosen"), layout.n_chosen), (row.get("rejected"), layout.n_rejected)]
    return all(n is None or (isinstance(each, list) and len(each) == n) for each, n in sizes)


def _subset_in(layout: RowLayout, name: str) -> str | None:
    """The subset that a file's name says, without its ending."""
    pattern = re.escape(layout.file).replace(re.escape(f"{{{layout.subset}}}"), "(.+)")
    stem = name.rpartition("/")[2].partition(".")[0]
    found = re.fullmatch(pattern, stem) if layout.file else None
    return found[1] if found else None


def columns_of_layouts() -> tuple[str, ...]:
    """Every column that the rows of any benchmark may have, beside those of plain pairs."""
    layouts = [layout for each in benchmarks().values() for layout in (each.row, *each.layouts)]
    found = chain.from_iterable(sorted(layout.all_columns) for layout in layouts)
    return tuple(dict.fromkeys(chain(WANTED, found)))


class RowReader:
    """Makes one table of pairs of the rows of files, with their columns of few values."""

    def __init__(self, name: str, default_subset: str, limits: Limits, benchmark: str) -> None:
        """name: what all files have together. benchmark: as of `layout_of`."""
        self._name = name
        self._limits = limits
        self._checker = Checker(name, default_subset)
        self._named = self._benchmark = benchmark
        self._file = ""
        self._layout = _PLAIN
        self._subset: str | None = None
        self._n_rows = self._n_pairs = 0
        self._n_ties = Counter[str]()
        self._further: dict[str, set[str]] = {}  # column -> its values in the first rows

    def add(self, batch: Batch, file: str) -> None:
        """Raises a `KnownError` that names a row that is no pair, or none of its benchmark's."""
        if not len(batch):
            return
        if file != self._file:
            self._begin(next(chain.from_iterable(rows_of(batch[:1]))), file)
        rows: Sequence[int] = range(self._n_rows, self._n_rows + len(batch))
        pairs = sources = batch
        if self._layout != _PLAIN:
            numbered = zip(rows, chain.from_iterable(rows_of(batch)), strict=True)
            rows, sources, pairs = [], [], []
            for at, row in numbered:
                found = list(self._pairs_of(row, f"{self._name}, row {at + 1}"))
                rows += [at] * len(found)
                sources += [row] * len(found)
                pairs += found
        self._limits.check_rows(self._n_pairs + len(pairs), self._name)
        further = self._further_columns(sources)
        if len(pairs):
            self._checker.add(pairs, rows, further)
        self._n_rows += len(batch)
        self._n_pairs += len(pairs)

    def finish(self) -> CheckedRows:
        """As of `Checker.finish`."""
        table, notes, left_out = self._checker.finish(self._n_rows)
        n_values = {name: pc.count_distinct(table[name]).as_py() for name in self._further}
        further = [name for name, n in n_values.items() if 1 < n <= MOST_VALUES]
        table = table.select([*SCHEMA.names, *further[:_MOST_FURTHER]])
        for column, n in self._n_ties.items():
            ties = counted(n, "row is a tie", "rows are ties")
            notes += (f"{self._name}: {ties} (column {column}) and left out.",)
        about = {"benchmark": self._benchmark} if self._benchmark else None
        return CheckedRows(table.replace_schema_metadata(about), notes, left_out)

    def _begin(self, first: Row, file: str) -> None:
        """Find the layout of a file, and of the first one the further columns."""
        known = layout_of(first, file, self._named)
        if known is None and self._named:
            benchmark = benchmark_named(self._named)
            if _PLAIN not in (benchmark.row, *benchmark.layouts):
                raise _does_not_fit(benchmark, first, file)
        if known is not None:
            self._benchmark = self._benchmark or known[0].name
        rule = benchmark_named(self._benchmark).rule
        self._checker.reads_several = rule.reads_several
        self._layout = layout = known[1] if known else _PLAIN
        self._file, self._subset = file, _subset_in(layout, file)
        if not self._n_rows:
            used = {*WANTED, *layout.all_columns} - {*layout.facets}
            others = (name for name in first if name not in used and _word(first[name]) is not None)
            self._further = {FURTHER + name: set() for name in (*layout.facets, *others) if name}

    def _further_columns(self, batch: Batch) -> dict[str, list[str]]:
        """Values of the further columns; one of many values, or of other ones, is given up."""
        found = {}
        for column, first_values in list(self._further.items()):
            name = column.removeprefix(FURTHER)
            if isinstance(batch, list):
                values = [row.get(name) for row in batch]
            else:
                is_there = name in batch.schema.names
                values = batch.column(name).to_pylist() if is_there else [None] * len(batch)
            words = [word for value in values if (word := _word(value)) is not None]
            first_values.update(words[: max(0, _LOOKED_AT - self._n_pairs)])
            if len(words) < len(values) or len(first_values) > MOST_VALUES:
                del self._further[column]
            else:
                found[column] = words
        return found

    def _pairs_of(self, row: Row, place: str) -> Iterator[dict[str, Any]]:
        """The pairs that a row has, in the columns of plain pairs; none if it is a tie."""
        layout = self._layout
        subset = _value(row, layout.subset)
        subset = self._subset if subset is None else subset
        if isinstance(subset, bool | int):
            subset = str(subset)
        elif isinstance(subset, str):
            subset = subset.removeprefix(layout.after)
        ids = [_value(row, name) for name in layout.id]
        row_id = ids[0] if len(ids) == 1 else None if None in ids else ":".join(map(str, ids))
        shared = {"prompt": _value(row, layout.prompt), "subset": subset}
        for number, sides in enumerate(self._sides(row, place)):
            is_further = number > 0 and row_id is not None
            yield {**shared, "id": f"{row_id}-{number}" if is_further else row_id, **sides}

    def _sides(self, row: Row, place: str) -> Iterator[dict[str, Any]]:
        layout = self._layout
        if layout.responses:
            yield from _compared(layout, row, place)
            return
        sides = [(layout.chosen, layout.chosen_model), (layout.rejected, layout.rejected_model)]
        if layout.better is None:
            for side, n in ((layout.chosen, layout.n_chosen), (layout.rejected, layout.n_rejected)):
                given = _value(row, side)
                if n is not None and (not isinstance(given, list) or len(given) != n):
                    n_has = f" of {len(given):,}" if isinstance(given, list) else ""
                    raise KnownError(
                        f"{place}, column {side}: {type_name(given)}{n_has}, must be a list of {n} "
                        "responses, as in every row of "
                        f"{benchmark_named(self._benchmark).title}. Complete the row, or take it "
                        "out of the file."
                    )
        else:
            better = _better(layout.better, row, place)
            if better == "tie":
                self._n_ties[layout.better.column] += 1
                return
            sides = [
                (layout.first, layout.first_model or layout.chosen_model),
                (layout.second, layout.second_model or layout.rejected_model),
            ]
            if better == "second":
                sides.reverse()
        chosen, rejected = (_value(row, response) for response, _ in sides)
        writers = [_value(row, model) for _, model in sides]
        if any(isinstance(each, list) for each in (chosen, rejected, *writers)):
            models = (each if isinstance(each, list) else [each] for each in writers)
            yield {"chosen": chosen, "rejected": rejected, "models": [*chain.from_iterable(models)]}
        else:
            named = dict(zip(MODEL_COLUMNS, writers, strict=True))
            yield {"chosen": chosen, "rejected": rejected, **named}


def _better(better: Better, row: Row, place: str) -> Literal["first", "second", "tie"]:
    said = _value(row, better.column)
    known = {str(each): each for each in (*better.first, *better.second, *better.ties)}
    said = known.get(str(said), said)
    if said not in known.values() or isinstance(said, bool):
        raise KnownError(
            f"{place}, column {better.column}: {shown(said)}, must be one of {', '.join(known)}. "
            "Correct it, or take the row out of the file."
        )
    return "tie" if said in better.ties else "first" if said in better.first else "second"


def with_candidates(row: Row, place: str) -> Row:
    """A row with a list in place of a column for each response, for best of n; others as they are.

    `RIGHT` has a digit for each, 1 if it is right, or a `KnownError` says that the row has none.
    """
    layouts = (each.row for each in benchmarks().values() if each.row.responses)
    layout = next((each for each in layouts if each.columns <= row.keys()), None)
    if layout is None:
        return row
    right = _right_of(layout, row, place)
    numbers = range(1, len(right) + 1)
    return {
        "id": _value(row, layout.id[0]),
        "subset": _value(row, layout.subset),
        "prompt": _value(row, layout.prompt),
        "responses": [row.get(layout.responses.format(number)) for number in numbers],
        RIGHT: "".join("1" if each else "0" for each in right),
    }


def _right_of(layout: RowLayout, row: Row, place: str) -> list[Any]:
    right = row.get(layout.right)
    if not isinstance(right, list) or len(right) > MOST_RESPONSES:
        raise KnownError(
            f"{place}, column {layout.right}: must be a list of at most {MOST_RESPONSES}, one for "
            "each response."
        )
    if not all(each in (0, 1, None) for each in right):
        raise KnownError(f"{place}, column {layout.right}: each must be 0, 1 or null.")
    return right


def _compared(layout: RowLayout, row: Row, place: str) -> Iterator[dict[str, Any]]:
    """The pairs of one right and one wrong response that a row lists."""
    right, pairs = _right_of(layout, row, place), row.get(layout.pairs)
    if not isinstance(pairs, list) or len(pairs) > len(right) ** 2:
        has = f"{len(pairs):,} pairs" if isinstance(pairs, list) else type_name(pairs)
        raise KnownError(
            f"{place}, column {layout.pairs}: {has} of {len(right):,} responses, must be a list of "
            "pairs, each two compared once."
        )
    for pair in pairs:
        known = isinstance(pair, list) and len(pair) == 2
        if not known or not all(type(at) is int and 0 <= at < len(right) for at in pair):
            raise KnownError(
                f"{place}, column {layout.pairs}: each entry must be a list of two numbers of "
                f"responses, from 0 to {len(right) - 1}."
            )
        if None in (right[pair[0]], right[pair[1]]) or right[pair[0]] == right[pair[1]]:
            raise KnownError(
                f"{place}, column {layout.pairs}: of the responses {pair[0]} and {pair[1]}, one "
                f"must be right and one wrong by the column {layout.right}."
            )
        one, other = pair if right[pair[0]] else pair[::-1]
        yield {
            "chosen": row.get(layout.responses.format(one + 1)),
            "rejected": row.get(layout.responses.format(other + 1)),
        }


def _value(row: Row, name: str) -> Any:
    """The value under a name, which may lead into an object, or into each object of a list."""
    top, _, rest = name.partition(".")
    value = row.get(top)
    if not rest:
        return value
    if isinstance(value, list):
        return [each.get(rest) if isinstance(each, Mapping) else None for each in value]
    return value.get(rest) if isinstance(value, Mapping) else None


def _word(value: object) -> str | None:
    """A value that may be one of few, as a word; None for any other."""
    if value is None or isinstance(value, bool):
        return {None: "", True: "yes", False: "no"}[value]
    if isinstance(value, str) and len(value) <= _LONGEST_VALUE and "\n" not in value:
        return repaired_text(value)
    return None
