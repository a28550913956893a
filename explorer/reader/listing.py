"""A paged list of pairs, and the bar above the reader, as HTML."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from markupsafe import escape

from explorer.core.html import render
from explorer.data.search import Query, first_hits
from explorer.reader.diffs import DIFFS
from explorer.reader.reading import PAGE_ROWS, may_harm
from explorer.reader.scene import Scene
from scoring.errors import counted

CELL_CHARS = 140
CELL_BYTES = 480
"""Of a cell's text as HTML, so that a page stays small whatever its texts are."""
BEFORE_HIT = 12
"""Characters of a cell before its first hit, which a narrow column must still show."""
MOST_MARKS = 6
"""Hits that are marked in a cell."""


Excerpt = Sequence[tuple[str, bool]]
"""A text in pieces, each with whether a search found it."""


class Won(NamedTuple):
    """How many models win a pair, of those whose outcome is known, at least one."""

    won: int
    known: int

    @property
    def share(self) -> float:
        """In percent."""
        return 100 * self.won / self.known


ListCell = str | Excerpt | Won


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list.

    number: whether its cells are numbers, aligned to the right.
    sort: what the list is sorted by, maybe with "-" before it; "" where one cannot sort by it.
    css: class of its cells.
    """

    heading: str
    number: bool = False
    sort: str = ""
    css: str = ""

    @property
    def classes(self) -> str:
        """Those of its cells."""
        return " ".join([self.css] * bool(self.css) + ["number"] * self.number)


def cut(words: str) -> str:
    """A long text for one cell: its beginning on one line."""
    line = " ".join(words[: 2 * CELL_CHARS].split())
    shown = _fitting(line)
    whole = shown == line and len(words) <= 2 * CELL_CHARS
    return line if whole else shown[: CELL_CHARS - 1] + "…"


def _fitting(words: str) -> str:
    """The beginning of a text for which a cell has room."""
    shown = words[:CELL_CHARS]
    if _size(shown) <= CELL_BYTES:
        return shown
    sizes = accumulate(_size(letter) for letter in shown)
    return shown[: sum(size <= CELL_BYTES for size in sizes)]


def _size(words: str) -> int:
    """Bytes of a text as HTML."""
    return len(escape(words).encode(errors="replace"))


def excerpt(words: str, query: Query) -> Excerpt:
    """A long text for one cell: about the first hit where there is one.

    >>> excerpt("a dog and a dog", Query("dog"))
    [('a ', False), ('dog', True), (' and a ', False), ('dog', True), ('', False)]
    """
    found = first_hits(words, query)
    if not found:
        return [(cut(words), False)]
    start = max(0, found[0][0] - BEFORE_HIT)
    stop = start + len(_fitting(words[start : start + CELL_CHARS]))
    written = [("…", False)] if start else []
    for low, high in found[:MOST_MARKS]:
        if low >= stop:
            break
        written += [(words[start:low], False), (words[low : min(high, stop)], True)]
        start = high
    return [*written, (words[start:stop] + ("…" if stop < len(words) else ""), False)]


def harm_css(subset: str) -> str:
    """The class of what is hidden until a reader has seen the content warning."""
    return "may-harm" if may_harm(subset) else ""


def list_html(
    label: str,
    columns: Sequence[Column],
    now: Scene,
    cells: Callable[[int], Sequence[ListCell]],
    *,
    sort: str = "",
    css: Callable[[int], str] = lambda _: "",
    mark: Callable[[int], str] = lambda _: "",
) -> str:
    """The page of a list that a scene is on, and links to those before and after it.

    Args:
        label: what the list is called.
        columns: all but the first, which holds the key.
        now: what is shown.
        cells: row of the table -> its cells, the key's left out.
        sort: the present order.
        css: row -> its class.
        mark: row -> what a note on it is kept by.
    """
    start, listed = (now.page - 1) * PAGE_ROWS, now.listed
    rows = []
    for place in range(start, min(start + PAGE_ROWS, len(listed))):
        key, row = listed.key(place), int(listed.rows[place])
        rows.append(
            {
                "place": place,
                "shown_key": key if len(key) <= CELL_CHARS else key[: CELL_CHARS - 1] + "…",
                "href": now.state.href(key=key, page=1),
                "css": css(row),
                "mark": mark(row),
                "cells": cells(row),
                "is_open": key == now.key,
            }
        )
    return render(
        "reader/list.html",
        label=label,
        columns=columns,
        rows=rows,
        sort=sort,
        state=now.state,
        page=now.page,
        page_rows=PAGE_ROWS,
        total=len(listed),
    )


def reader_bar(now: Scene, link_base: str = "") -> str:
    """Steps from pair to pair, where the open one stands, and how it is shown.

    link_base: where a link begins; "" for the page's own address.
    """
    state, listed, place = now.state, now.listed, now.place
    position = ""
    if place is not None:
        position = f"{place + 1:,} of {len(listed):,}"
    elif now.key:
        position = f"outside the filter · {counted(len(listed), 'pair matches', 'pairs match')}"

    def beside(step: int) -> str:
        """Past the end at the beginning; the first where the open pair is at no place."""
        if not len(listed):
            return state.href()
        at = 0 if place is None else (place + step) % len(listed)
        return state.href(key=listed.key(at), page=1)

    return render(
        "reader/reader_bar.html",
        state=state,
        position=position,
        previous=beside(-1),
        next=beside(1),
        link_base=link_base,
        diffs={diff: "Chars" if diff == "characters" else diff.capitalize() for diff in DIFFS},
        links={diff: state.href(diff=diff) for diff in DIFFS},
    )
