"""The Browse tab: filters, a page of pairs, their lengths, and the reader."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import gradio as gr

from explorer.figures import length_figure
from explorer.filters import Filters, matching_rows
from explorer.lengths import length_histogram
from explorer.sources import Shelf
from explorer.table import PairTable, Rows
from explorer.text import text
from explorer.ui.errors import guarded
from explorer.ui.grids import Column, cut
from explorer.ui.listing import EVENT, ListTab, ListView, build_list, listing, wire_list
from explorer.ui.markup import note
from explorer.ui.reader import pair_html
from explorer.ui.theme import painted
from scoring.benchmark import SECTIONS


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
class BrowseView:
    """The tab's components, and the id of the table a session looks at."""

    filters: FilterView
    lengths: gr.Plot
    pairs: ListView
    table_id: gr.State

    @property
    def state(self) -> list[gr.components.Component]:
        """What callbacks take, in their order."""
        return [self.table_id, *self.filters.inputs, *self.pairs.state]

    @property
    def outputs(self) -> list[gr.components.Component]:
        """What a turn of the list fills."""
        return [self.filters.count, *self.pairs.outputs]


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
            pairs = build_list("pairs", ["16%", "21%", "21%", "19%", "11%", "12%"])
    return BrowseView(filters, lengths, pairs, gr.State(None))


def _build_filters() -> FilterView:
    with gr.Group(elem_classes="filters"):
        query = gr.Textbox(
            label=text("filter.search"),
            placeholder=text("filter.search_placeholder"),
            elem_id="search",
            max_lines=1,
        )
        sections = gr.CheckboxGroup(
            list(SECTIONS), label=text("filter.sections"), elem_id="sections"
        )
        # Gradio's own check would repeat a value as HTML; custom values pass it, to ours.
        subsets = gr.Dropdown(
            [],
            multiselect=True,
            allow_custom_value=True,
            label=text("filter.subsets"),
            elem_id="subsets",
        )
    with gr.Row(elem_classes="counted"):
        count = gr.HTML()
        reset = gr.Button(text("filter.reset"), size="md", scale=0, min_width=120)
    return FilterView(query, sections, subsets, reset, count)


@dataclass(frozen=True)
class Browse(ListTab):
    """The tab's callbacks. `state` is (table id, query, sections, subsets, key, page, diff)."""

    shelf: Shelf[PairTable]

    @guarded
    def refresh(self, *state: Any) -> tuple[Any, ...]:
        """After a filter changed: the first page, and the lengths of what is left."""
        table, rows = self.selection(*state[:4])
        figure = painted(length_figure(length_histogram(table, rows)))
        return (*self.at(state, state[-3], 1), gr.update(value=figure, visible=len(rows) > 0))

    @guarded
    def choices(self, table_id: object) -> FilterChoices:
        """Empty the filters and offer what the table has, with counts."""
        table = self.shelf.get(table_id)
        sections = _counted({name: table.section_counts.get(name, 0) for name in SECTIONS})
        return FilterChoices(
            "",
            gr.update(choices=sections, value=[], visible=bool(table.section_counts)),
            gr.update(choices=_counted(table.subset_counts), value=[]),
        )

    def selection(
        self, table_id: object, query: object, sections: object, subsets: object
    ) -> tuple[PairTable, Rows]:
        """The table and the rows of it that pass the filters."""
        table = self.shelf.get(table_id)
        return table, matching_rows(table, Filters.of(sections, subsets, query))

    def keys(self, state: tuple[Any, ...]) -> list[str]:
        """The keys in view, in table order."""
        table, rows = self.selection(*state[:4])
        return [table.keys[row] for row in rows]

    def at(self, state: tuple[Any, ...], key: str | None, page: int) -> tuple[Any, ...]:
        """How many pairs are in view, the list and the reader."""
        table, rows = self.selection(*state[:4])
        counted = text("list.count", n=f"{len(rows):,}", total=f"{len(table):,}")
        shown = listing(
            _columns(),
            [table.keys[row] for row in rows],
            lambda place: _cells(table, rows[place]),
            lambda open_key: pair_html(table.find(open_key), open_key, state[-1]),
            key=key,
            page=page,
        )
        return (note(counted if len(rows) else text("list.none"), "count"), *shown)


def _columns() -> list[Column]:
    return [
        Column(text("list.key")),
        Column(text("list.prompt")),
        Column(text("list.chosen")),
        Column(text("list.rejected")),
        Column(text("list.chosen_chars"), "{:,}".format),
        Column(text("list.rejected_chars"), "{:,}".format),
    ]


def _cells(table: PairTable, row: int) -> list[Any]:
    cells = table.cells(row)
    texts = [cut(cells[name]) for name in ("prompt", "chosen", "rejected")]
    chars = [int(table.chars[side][row]) for side in ("chosen", "rejected")]
    return [cells["key"], *texts, *chars]


def _counted(counts: dict[str, int]) -> list[tuple[str, str]]:
    return [(text("filter.choice", name=name, n=f"{n:,}"), name) for name, n in counts.items()]


def refreshing(view: BrowseView, browse: Browse) -> dict[str, Any]:
    """The event that fills the whole tab."""
    outputs = [*view.outputs, view.lengths]
    return {"fn": browse.refresh, "inputs": view.state, "outputs": outputs, **EVENT}


def wire_browse(view: BrowseView, browse: Browse) -> None:
    """Connect the components. The page fills the tab when it is opened, by `refreshing`."""
    filters, refresh = view.filters, refreshing(view, browse)
    # A textbox's `input` event misses deleted and pasted text (Gradio 6.31), `change` does not.
    for changed in (filters.query.change, filters.sections.input, filters.subsets.input):
        changed(**refresh, trigger_mode="always_last")
    emptied = filters.reset.click(browse.choices, view.table_id, filters.inputs, **EVENT)
    emptied.then(**refresh)
    wire_list(view.pairs, browse, view.state, view.outputs)
