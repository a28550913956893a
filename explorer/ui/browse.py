"""The Browse tab: filters, a page of pairs, their lengths, and the reader."""

from dataclasses import dataclass
from random import randrange
from typing import Any, NamedTuple

import gradio as gr

from explorer.figures import length_figure
from explorer.filters import Filters, matching_rows
from explorer.lengths import length_histogram
from explorer.sources import Shelf
from explorer.table import PairTable, Rows
from explorer.text import text
from explorer.ui.errors import guarded
from explorer.ui.grids import Column, Grid, cut, grid, page_holding, page_of
from explorer.ui.markup import note
from explorer.ui.reader import ReaderView, build_reader, pair_html, position_html
from explorer.ui.theme import painted

EVENT: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}


@dataclass(frozen=True)
class FilterView:
    """The filters' components, which the Score tab reads too."""

    query: gr.Textbox
    sections: gr.CheckboxGroup
    subsets: gr.Dropdown
    reset: gr.Button
    count: gr.HTML

    @property
    def inputs(self) -> list[gr.components.Component]:
        """In the order in which callbacks take them."""
        return [self.query, self.sections, self.subsets]


@dataclass(frozen=True)
class PagerView:
    """Page turning below a table."""

    previous: gr.Button
    words: gr.HTML
    next: gr.Button


@dataclass(frozen=True)
class BrowseView:
    """The tab's components and what a session remembers of it."""

    filters: FilterView
    grid: gr.Dataframe
    pager: PagerView
    lengths: gr.Plot
    reader: ReaderView
    table_id: gr.State
    open_key: gr.State
    page: gr.State

    @property
    def state(self) -> list[gr.components.Component]:
        """What callbacks take, in their order."""
        reader = self.reader
        return [self.table_id, *self.filters.inputs, self.open_key, self.page, reader.diff]

    @property
    def outputs(self) -> list[gr.components.Component]:
        """The components that a `Listing` fills."""
        listed = [self.filters.count, self.grid, self.pager.words, self.page]
        return [*listed, self.reader.position, self.reader.pair, self.open_key]


class Listing(NamedTuple):
    """What the list and the reader show, in the order of `BrowseView.outputs`."""

    counted: str
    grid: Grid
    page_words: str
    page: int
    position: str
    pair: str
    open_key: str | None


class FilterChoices(NamedTuple):
    """Emptied filters that offer what a table has."""

    query: str
    sections: Any
    subsets: Any


def build_browse() -> BrowseView:
    """Lay the tab out where it is called."""
    with gr.Row(equal_height=False):
        with gr.Column(scale=1, min_width=270, elem_classes="side"):
            filters = _build_filters()
            lengths = gr.Plot(show_label=False, container=True)
        with gr.Column(scale=4, min_width=420):
            table = build_grid("pairs", ["16%", "23%", "23%", "20%", "9%", "9%"])
            pager = build_pager()
            reader = build_reader()
    memory = gr.State(None), gr.State(None), gr.State(1)
    return BrowseView(filters, table, pager, lengths, reader, *memory)


def _build_filters() -> FilterView:
    with gr.Group(elem_classes="filters"):
        query = gr.Textbox(
            label=text("filter.search"),
            placeholder=text("filter.search_placeholder"),
            elem_id="search",
            max_lines=1,
        )
        sections = gr.CheckboxGroup([], label=text("filter.sections"), elem_id="sections")
        subsets = gr.Dropdown([], multiselect=True, label=text("filter.subsets"), elem_id="subsets")
    with gr.Row(elem_classes="counted"):
        count = gr.HTML()
        reset = gr.Button(text("filter.reset"), size="md", scale=0, min_width=120)
    return FilterView(query, sections, subsets, reset, count)


def build_grid(elem_id: str, widths: list[str], visible: bool = True) -> gr.Dataframe:
    """A read-only table whose rows open a pair."""
    return gr.Dataframe(
        show_label=False,
        label=text("list.label"),
        interactive=False,
        max_height=396,
        column_widths=widths,
        elem_id=elem_id,
        elem_classes="grid paged",
        visible=visible,
        buttons=[],
    )


def build_pager() -> PagerView:
    """Page turning, laid out where it is called."""
    with gr.Row(elem_classes="pager"):
        previous = gr.Button(text("pager.previous"), size="md", scale=0, min_width=110)
        words = gr.HTML()
        following = gr.Button(text("pager.next"), size="md", scale=0, min_width=110)
    return PagerView(previous, words, following)


@dataclass(frozen=True)
class Browse:
    """The tab's callbacks. `state` is (table id, query, sections, subsets, key, page, diff)."""

    shelf: Shelf[PairTable]

    @guarded
    def refresh(self, *state: Any) -> tuple[Any, ...]:
        """After a filter changed: the first page, and the lengths of what is left."""
        table, rows = self.selection(*state[:4])
        figure = painted(length_figure(length_histogram(table, rows)))
        return (*_listing(table, rows, state[4], 1, state[6]), figure)

    @guarded
    def page_before(self, *state: Any) -> Listing:
        """Turn one page back."""
        return self._turned(-1, state)

    @guarded
    def page_after(self, *state: Any) -> Listing:
        """Turn one page on."""
        return self._turned(1, state)

    @guarded
    def pair_before(self, *state: Any) -> Listing:
        """Open the pair before the open one."""
        return self._stepped(-1, state)

    @guarded
    def pair_after(self, *state: Any) -> Listing:
        """Open the pair after the open one."""
        return self._stepped(1, state)

    @guarded
    def random_pair(self, *state: Any) -> Listing:
        """Open any pair in view."""
        table, rows = self.selection(*state[:4])
        place = randrange(len(rows)) if len(rows) else 0  # noqa: S311 - no secret
        key = table.keys[rows[place]] if len(rows) else None
        return _listing(table, rows, key, page_holding(place), state[6])

    @guarded
    def open_row(self, event: gr.SelectData, *state: Any) -> Listing:
        """Open the pair of the row that was clicked."""
        table, rows = self.selection(*state[:4])
        return _listing(table, rows, event.row_value[0], state[5], state[6])

    @guarded
    def redraw(self, *state: Any) -> Listing:
        """Show the same again, with or without the diff."""
        table, rows = self.selection(*state[:4])
        return _listing(table, rows, *state[4:])

    @guarded
    def choices(self, table_id: object) -> FilterChoices:
        """Empty the filters and offer what the table has, with counts."""
        table = self.shelf.get(table_id)
        sections = _counted(table.section_counts)
        return FilterChoices(
            "",
            gr.update(choices=sections, value=[], visible=bool(sections)),
            gr.update(choices=_counted(table.subset_counts), value=[]),
        )

    def selection(
        self, table_id: object, query: object, sections: object, subsets: object
    ) -> tuple[PairTable, Rows]:
        """The table and the rows of it that pass the filters."""
        table = self.shelf.get(table_id)
        return table, matching_rows(table, Filters.of(sections, subsets, query))

    def _turned(self, step: int, state: tuple[Any, ...]) -> Listing:
        table, rows = self.selection(*state[:4])
        return _listing(table, rows, state[4], state[5] + step, state[6])

    def _stepped(self, step: int, state: tuple[Any, ...]) -> Listing:
        table, rows = self.selection(*state[:4])
        keys = [table.keys[row] for row in rows]
        key, place = neighbour(keys, state[4], step)
        return _listing(table, rows, key, page_holding(place), state[6])


def neighbour(keys: list[str], key: str | None, step: int) -> tuple[str | None, int]:
    """The key `step` places on, round the end, and its place; the first where `key` is not there.

    >>> neighbour(["a", "b"], "b", 1), neighbour(["a", "b"], "x", 1), neighbour([], "x", 1)
    (('a', 0), ('a', 0), (None, 0))
    """
    if not keys:
        return None, 0
    place = (keys.index(key) + step) % len(keys) if key in keys else 0
    return keys[place], place


def _listing(table: PairTable, rows: Rows, key: str | None, page: int, diff: object) -> Listing:
    """The list at a page and the reader at a key; the first pair where the key is not in view."""
    keys = [table.keys[row] for row in rows]
    if key not in keys:
        key = keys[0] if keys else None
    here = page_of(len(rows), page)
    counted = text("list.count", n=f"{len(rows):,}", total=f"{len(table):,}")
    return Listing(
        note(counted if keys else text("list.none"), "count"),
        grid(_columns(), [_cells(table, row) for row in rows[here.start : here.stop]], key),
        note(here.words),
        here.number,
        position_html(keys, key),
        pair_html(table.cells(table.row_of_key[key]) if key else None, key, diff),
        key,
    )


def _cells(table: PairTable, row: int) -> list[Any]:
    cells = table.cells(row)
    texts = [cut(cells[name]) for name in ("prompt", "chosen", "rejected")]
    return [
        cells["key"],
        *texts,
        int(table.chars["chosen"][row]),
        int(table.chars["rejected"][row]),
    ]


def _counted(counts: dict[str, int]) -> list[tuple[str, str]]:
    return [(text("filter.choice", name=name, n=f"{n:,}"), name) for name, n in counts.items()]


def refreshing(view: BrowseView, browse: Browse) -> dict[str, Any]:
    """The event that fills the whole tab."""
    outputs = [*view.outputs, view.lengths]
    return {"fn": browse.refresh, "inputs": view.state, "outputs": outputs, **EVENT}


def wire_browse(view: BrowseView, browse: Browse) -> None:
    """Connect the components. The page fills the tab when it is opened, by `refreshing`."""
    reader, filters = view.reader, view.filters
    refresh = refreshing(view, browse)
    # A textbox's `input` event misses deleted and pasted text (Gradio 6.31), `change` does not.
    for changed in (filters.query.change, filters.sections.input, filters.subsets.input):
        changed(**refresh, trigger_mode="always_last")
    emptied = filters.reset.click(browse.choices, view.table_id, filters.inputs, **EVENT)
    emptied.then(**refresh)
    for trigger, callback in (
        (view.pager.previous.click, browse.page_before),
        (view.pager.next.click, browse.page_after),
        (reader.previous.click, browse.pair_before),
        (reader.next.click, browse.pair_after),
        (reader.random.click, browse.random_pair),
        (reader.diff.input, browse.redraw),
        (view.grid.select, browse.open_row),
    ):
        trigger(callback, view.state, view.outputs, **EVENT)


def _columns() -> list[Column]:
    return [
        Column(text("list.key")),
        Column(text("list.prompt")),
        Column(text("list.chosen")),
        Column(text("list.rejected")),
        Column(text("list.chosen_chars"), "{:,}".format),
        Column(text("list.rejected_chars"), "{:,}".format),
    ]
