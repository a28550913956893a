"""What a person looks at in the Browse tab, as one value, and the steps from one to the next."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from explorer.core.links import Codec, Parameter, as_dropped, checked, choice, flag, told
from explorer.core.text import text
from explorer.core.validation import whole_number
from explorer.data.facets import FACETS, Facet
from explorer.data.filters import LONGEST_NAME, NO_FILTERS, Filters, LengthRange, Selection, select
from explorer.data.lengths import MEASURED, Measured, measures_of
from explorer.data.library import Library
from explorer.data.search import PLACES, Query, checked_query
from explorer.data.table import MEASURES, UNITS, PairTable, Rows, Unit
from explorer.data.tokens import TokenCounter
from explorer.reader.diffs import DIFFS
from explorer.reader.reading import ACTS, FIRST, ListedRows, Reading, read_on
from scoring.errors import KnownError, shown

Panel = Literal["pairs", "lengths", "review", "export"]
PANELS: tuple[Panel, ...] = get_args(Panel)

Sort = Literal["", "chosen", "-chosen", "rejected", "-rejected", "difference", "-difference"]
"""The order of the list: the table's own, or by characters; "-" for the longest first."""
SORTS: tuple[Sort, ...] = get_args(Sort)


@dataclass(frozen=True, slots=True)
class Chart:
    """What the lengths panel draws.

    tokenizer: the one whose tokens were counted, as `PairTable.tokens` names it; "" for none yet.
    """

    shown: Measured = "responses"
    unit: Unit = "chars"
    by_subset: bool = False
    tokenizer: str = ""


LENGTHS = Chart()
MOST_PAGES = 10**7


@dataclass(frozen=True, slots=True)
class View:
    """What the Browse tab shows. source: `PairTable.id`; "" for the best there is."""

    source: str = ""
    filters: Filters = NO_FILTERS
    sort: Sort = ""
    reading: Reading = FIRST
    panel: Panel = "pairs"
    chart: Chart = LENGTHS

    def on(self, source: str) -> "View":
        """The same of another table, as far as it makes sense there: nothing picked or open."""
        reading = replace(self.reading, key="", page=1)
        return View(source, sort=self.sort, reading=reading, panel=self.panel, chart=self.chart)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a view shows of its table.

    view: settled: its page and its open pair are there.
    selection: what passes its filters.
    listed: the same rows in the order of the list.
    """

    view: View
    table: PairTable
    selection: Selection
    listed: ListedRows


def scene(view: View, table: PairTable) -> Scene:
    """What a view shows.

    Raises:
        KnownError: the search takes too long, or a range needs tokens that were not counted.
    """
    selection = select(table, view.filters)
    rows = listed(table, selection.rows, view.sort)
    view = replace(view, source=table.id, reading=view.reading.settled(rows))
    return Scene(view, table, selection, rows)


def fitting(
    view: View, table: PairTable, counted: Callable[[str], bool]
) -> tuple[View, tuple[str, ...]]:
    """A view as far as it can be shown of a table, and what of it cannot, as a link says it.

    counted: whether the tokens of a tokenizer are at hand.
    """
    dropped = []
    filters = view.filters
    for facet, names in filters.picked:
        known = set(table.facets[facet].names)
        dropped += [as_dropped(facet, name) for name in names if name not in known]
        filters = filters.picking(facet, [name for name in names if name in known])
    for each in filters.ranges:
        if each.unit == "tokens" and not counted(each.tokenizer):
            dropped.append(text("filter.no_tokens", tokenizer=each.tokenizer[:80]))
            filters = filters.without_range(each)
    return replace(view, source=table.id, filters=filters), told(dropped)


def next_scene(view: View, table: PairTable, act: str, sent: Mapping[str, Any]) -> Scene:
    """What is shown after one act of a person.

    Args:
        view: as it is.
        table: that it shows.
        act: its name.
        sent: what came with it, by anybody.

    Raises:
        KnownError: an act that there is not, a value that it cannot have, or a search that takes
            too long.
    """
    if act in ACTS:
        now = scene(view, table)
        reading = read_on(now.view.reading, now.listed, act, sent.get("value"))
        return replace(now, view=replace(now.view, reading=reading))
    moved = move(view, act, sent)
    if (moved.filters, moved.sort) == (view.filters, view.sort):
        return scene(moved, table)
    now = scene(replace(moved, reading=replace(view.reading, key="", page=1)), table)
    if moved.sort != view.sort:
        return now
    # The pair that is read stays where it still passes, but the list begins at its first page.
    reading = replace(view.reading.anew(now.listed), page=1)
    return replace(now, view=replace(now.view, reading=reading))


def listed(table: PairTable, rows: Rows, sort: Sort) -> ListedRows:
    """The rows in the order of the list.

    rows: in table order.
    """
    if sort:
        measure = next(each for each in MEASURES if each == sort.removeprefix("-"))
        lengths = table.lengths(measure, "chars")[rows]
        rows = rows[np.argsort(-lengths if sort.startswith("-") else lengths, kind="stable")]
    return ListedRows(table, rows)


def move(view: View, act: str, sent: Mapping[str, Any]) -> View:
    """The view after an act that is no step of reading; see `next_scene`.

    >>> move(View(), "search", {"where": "chosen"}).filters.query.where
    'chosen'
    """
    if act in ("sort", "panel"):
        return PAIRS_LINK.moved(view, act, sent.get("value"))
    if act == "chart":
        return _chart_after(view, sent)
    return replace(view, filters=filters_after(view, act, sent))


def filters_after(view: View, act: str, values: Mapping[str, Any]) -> Filters:
    """The filters after an act on them; see `next_scene`.

    Raises:
        KnownError: an act that there is not, or a value that it cannot have.
    """
    filters = view.filters
    if act == "reset":
        return Filters()
    if act == "pick":
        return filters.picking(values.get("facet"), values.get("names"))
    if act == "unpick":
        facet, name = values.get("facet"), values.get("name")
        picked = next((names for each, names in filters.picked if each == facet), ())
        return filters.picking(facet, [each for each in picked if each != name])
    if act == "search":
        return replace(filters, query=_query_after(filters.query, values))
    if act == "range":
        measure = values.get("measure")
        for each in measures_of(view.chart.shown) if measure is None else (measure,):
            filters = filters.keeping(_range(view.chart, each, values))
        subset = values.get("subset")
        return filters if subset is None else filters.picking("subset", [subset])
    if act == "unrange":
        return filters.without_range(
            LengthRange.of(values.get("measure"), values.get("unit"), 0, None, "")
        )
    raise KnownError(f"There is no act {shown(act)}.")


def _range(chart: Chart, measure: object, values: Mapping[str, Any]) -> LengthRange:
    return LengthRange.of(
        measure, chart.unit, values.get("low"), values.get("high"), chart.tokenizer
    )


def _query_after(query: Query, values: Mapping[str, Any]) -> Query:
    return checked_query(
        values.get("words", query.words),
        values.get("where", query.where),
        values.get("regex", query.regex),
        values.get("case", query.case),
    )


def _chart_after(view: View, values: Mapping[str, Any]) -> View:
    for name in ("shown", "unit"):
        if name in values:
            view = PAIRS_LINK.moved(view, f"chart.{name}", values[name])
    by_subset = values.get("by_subset", view.chart.by_subset) is True
    return replace(view, chart=replace(view.chart, by_subset=by_subset))


def _name(value: str) -> str:
    if len(value) > LONGEST_NAME:
        raise ValueError(value)
    return value


def _page(value: str) -> int:
    return whole_number("A page", int(value), 1, MOST_PAGES)


def _picked(facet: Facet) -> Parameter:
    return Parameter(
        facet,
        "filters",
        lambda filters, name: filters.picking(facet, (*filters.names(facet), name)),
        lambda filters: filters.names(facet),
    )


def _searched(query: Query, words: str) -> Query:
    return checked_query(words, query.where, query.regex, query.case)


def _ranged(filters: Filters, value: str) -> Filters:
    measure, unit, low, high, *tokenizer = value.split(".", 4)
    ends = (int(low) if low else None, int(high) if high else None)
    return filters.keeping(LengthRange.of(measure, unit, *ends, "".join(tokenizer)))


def _range_written(one: LengthRange) -> str:
    """`chosen.chars.10.200`, an open end empty, a tokenizer last."""
    ends = ["" if end is None else str(end) for end in (one.low, one.high)]
    return ".".join([one.measure, one.unit, *ends, *([one.tokenizer] if one.tokenizer else [])])


PAIRS_LINK = Codec(
    View(),
    (
        checked("source", "source", _name),
        *map(_picked, FACETS),
        Parameter("q", "filters.query", _searched, lambda query: (query.words,), last=True),
        choice("in", "filters.query.where", PLACES),
        flag("regex", "filters.query.regex"),
        flag("case", "filters.query.case"),
        Parameter("range", "filters", _ranged, lambda filters: map(_range_written, filters.ranges)),
        choice("sort", "sort", SORTS, "An order"),
        checked("list-page", "reading.page", _page),
        checked("pair", "reading.key", _name),
        choice("diff", "reading.diff", DIFFS),
        flag("spaces", "reading.spaces"),
        flag("markdown", "reading.rendered"),
        choice("panel", "panel", PANELS, "A panel"),
        choice("chart", "chart.shown", MEASURED, "A chart"),
        choice("unit", "chart.unit", UNITS, "A unit"),
        flag("by-subset", "chart.by_subset"),
        checked("tokenizer", "chart.tokenizer", _name),
    ),
)
"""Such as `source=org/name:test@168d...&subset=hep-rust&q=unwrap&in=chosen&list-page=2`."""


@dataclass(frozen=True)
class Tables:
    """The tables that visitors look at."""

    library: Library
    counter: TokenCounter

    def of(self, view: View) -> PairTable:
        """The table of a view, with the token counts that it needs, as far as they are on disk.

        Raises:
            KnownError: it is not here any more.
        """
        table = self.library.here(view.source)
        for each in view.filters.ranges:
            self.counter.known(table, each.tokenizer)
        return table
