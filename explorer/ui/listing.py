"""A paged list above a reader: what the Browse and Failures tabs share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import randrange
from typing import Any, NamedTuple

import gradio as gr

from explorer.text import text
from explorer.ui.errors import guarded
from explorer.ui.grids import Column, Grid, grid, page_holding, page_of
from explorer.ui.markup import note
from explorer.ui.reader import ReaderView, build_reader, position_html

EVENT: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""How every event of the page is wired: no public endpoint, no overlay."""


@dataclass(frozen=True)
class ListView:
    """The components, and what a session remembers of them."""

    grid: gr.Dataframe
    previous_page: gr.Button
    page_words: gr.HTML
    next_page: gr.Button
    reader: ReaderView
    open_key: gr.State
    page: gr.State

    @property
    def state(self) -> list[gr.components.Component]:
        """The last three values that every callback of a list takes."""
        return [self.open_key, self.page, self.reader.diff]

    @property
    def outputs(self) -> list[gr.components.Component]:
        """The components that a `Listing` fills."""
        reader = self.reader
        listed = [self.grid, self.page_words, self.page]
        return [*listed, reader.position, reader.pair, self.open_key]


class Listing(NamedTuple):
    """What the list and the reader show, in the order of `ListView.outputs`."""

    grid: Grid
    page_words: str
    page: int
    position: str
    pair: str
    open_key: str | None


def build_list(elem_id: str, widths: list[str]) -> ListView:
    """Lay a list and its reader out where it is called."""
    table = build_grid(elem_id, widths)
    with gr.Row(elem_classes="pager"):
        previous_page = gr.Button(text("pager.previous"), size="md", scale=0, min_width=110)
        words = gr.HTML()
        next_page = gr.Button(text("pager.next"), size="md", scale=0, min_width=110)
    reader = build_reader()
    return ListView(table, previous_page, words, next_page, reader, gr.State(None), gr.State(1))


def build_grid(elem_id: str, widths: list[str], visible: bool = True) -> gr.Dataframe:
    """A read-only table of one page of rows."""
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


def listing(
    columns: Sequence[Column],
    keys: Sequence[str],
    cells: Callable[[int], list[Any]],
    pair: Callable[[str | None], str],
    *,
    key: str | None,
    page: object,
) -> Listing:
    """The list at a page and the reader at a key.

    Args:
        columns: of the list; its first holds the key.
        keys: of all rows, in the order of the list.
        cells: place in the list, from 0 -> the row's values.
        pair: key -> the reader's HTML.
        key: which pair to open; the first where it is not in the list.
        page: which page to show, from 1; the nearest there is.
    """
    if key not in keys:
        key, page = (keys[0] if keys else None), 1
    here = page_of(len(keys), page)
    return Listing(
        grid(columns, [cells(place) for place in range(here.start, here.stop)], key),
        note(here.words),
        here.number,
        position_html(keys, key),
        pair(key),
        key,
    )


class ListTab(ABC):
    """The callbacks of a list. `state` ends with (open key, page, whether to mark the diff)."""

    @abstractmethod
    def keys(self, state: tuple[Any, ...]) -> list[str]:
        """The keys of all rows, in the order of the list."""

    @abstractmethod
    def at(self, state: tuple[Any, ...], key: str | None, page: int) -> tuple[Any, ...]:
        """What the tab shows with that pair open and that page turned up."""

    @guarded
    def page_before(self, *state: Any) -> tuple[Any, ...]:
        """Turn one page back, and open its first pair."""
        return self._turned(state, -1)

    @guarded
    def page_after(self, *state: Any) -> tuple[Any, ...]:
        """Turn one page on, and open its first pair."""
        return self._turned(state, 1)

    @guarded
    def pair_before(self, *state: Any) -> tuple[Any, ...]:
        """Open the pair before the open one."""
        return self._stepped(state, -1)

    @guarded
    def pair_after(self, *state: Any) -> tuple[Any, ...]:
        """Open the pair after the open one."""
        return self._stepped(state, 1)

    @guarded
    def random_pair(self, *state: Any) -> tuple[Any, ...]:
        """Open another pair, any of them."""
        return self._stepped(state, randrange(1, 2**20))  # noqa: S311 - no secret

    @guarded
    def open_row(self, event: gr.SelectData, *state: Any) -> tuple[Any, ...]:
        """Open the pair of the row that was clicked."""
        return self.at(state, event.row_value[0], state[-2])

    @guarded
    def redraw(self, *state: Any) -> tuple[Any, ...]:
        """Show the same again, with or without the diff."""
        return self.at(state, state[-3], state[-2])

    def _turned(self, state: tuple[Any, ...], step: int) -> tuple[Any, ...]:
        keys = self.keys(state)
        here = page_of(len(keys), state[-2] + step)
        return self.at(state, keys[here.start] if keys else None, here.number)

    def _stepped(self, state: tuple[Any, ...], step: int) -> tuple[Any, ...]:
        key, place = neighbour(self.keys(state), state[-3], step)
        return self.at(state, key, page_holding(place))


def neighbour(keys: Sequence[str], key: str | None, step: int) -> tuple[str | None, int]:
    """The key `step` places on, round the end, and its place; the first where `key` is not there.

    >>> neighbour(["a", "b"], "b", 1), neighbour(["a", "b"], "x", 1), neighbour([], "x", 1)
    (('a', 0), ('a', 0), (None, 0))
    """
    if not keys:
        return None, 0
    place = (keys.index(key) + step) % len(keys) if key in keys else 0
    return keys[place], place


def wire_list(view: ListView, tab: ListTab, state: Any, outputs: Any) -> None:
    """Connect a list's components; `state` and `outputs` are the whole tab's."""
    reader = view.reader
    for trigger, callback in (
        (view.previous_page.click, tab.page_before),
        (view.next_page.click, tab.page_after),
        (reader.previous.click, tab.pair_before),
        (reader.next.click, tab.pair_after),
        (reader.random.click, tab.random_pair),
        (reader.diff.input, tab.redraw),
        (view.grid.select, tab.open_row),
    ):
        trigger(callback, state, outputs, **EVENT)
