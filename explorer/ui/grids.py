"""Tables for the screen: one page of rows, cut cells, numbers that sort as numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from typing import Any

from explorer.text import text

PAGE_ROWS = 25
CELL_CHARS = 140
OPEN_ROW = "background: var(--color-accent-soft); font-weight: 700"

Grid = dict[str, Any]
"""The value of a gr.Dataframe."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, how a value is written, and how its cell is styled."""

    heading: str
    write: Callable[[Any], str] = str
    style: Callable[[Any], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class PageOf:
    """One page of a longer list. number: from 1; rows are items[start:stop]."""

    number: int
    pages: int
    start: int
    stop: int

    @property
    def words(self) -> str:
        """Where we are, in words."""
        return text("pager.page", page=self.number, pages=self.pages)


def page_of(n_rows: int, wanted: object) -> PageOf:
    """The page wanted, or the nearest there is, whatever was sent.

    >>> page_of(60, 9).number, page_of(0, "x").pages
    (3, 1)
    """
    pages = max(1, ceil(n_rows / PAGE_ROWS))
    number = wanted if isinstance(wanted, int) else 1
    number = min(max(1, number), pages)
    return PageOf(number, pages, (number - 1) * PAGE_ROWS, min(number * PAGE_ROWS, n_rows))


def page_holding(place: int) -> int:
    """The number of the page on which the item at `place` (from 0) stands."""
    return place // PAGE_ROWS + 1


def grid(
    columns: Sequence[Column], rows: Sequence[Sequence[Any]], open_key: str | None = None
) -> Grid:
    """The value of a gr.Dataframe; the row whose first cell is `open_key` is highlighted."""
    styling = [
        [
            OPEN_ROW if open_key is not None and row[0] == open_key else column.style(value)
            for column, value in zip(columns, row, strict=True)
        ]
        for row in rows
    ]
    written = [
        [column.write(value) for column, value in zip(columns, row, strict=True)] for row in rows
    ]
    return {
        "headers": [column.heading for column in columns],
        "data": [list(row) for row in rows],
        "metadata": {"display_value": written, "styling": styling},
    }


def cut(words: str) -> str:
    """A long text for one cell: its beginning on one line.

    >>> cut("a" + chr(10) + "  b")
    'a b'
    """
    line = " ".join(words[: 2 * CELL_CHARS].split())
    return line if len(line) <= CELL_CHARS else line[: CELL_CHARS - 1] + "…"


def link(words: str, url: str | None) -> str:
    """Inert HTML for a cell of type "html": the words, leading to the url where there is one."""
    if url is None:
        return escape(words)
    return f'<a href="{escape(url)}" target="_blank" rel="noopener">{escape(words)}</a>'
