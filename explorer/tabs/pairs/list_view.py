"""The pairs panel of the Browse tab: the list, and the open pair."""

from explorer.core.text import text
from explorer.data.search import EVERYTHING
from explorer.data.table import Measure
from explorer.reader.listing import Column, excerpt, harm_css, list_html
from explorer.reader.reader import pair_html
from explorer.reader.state import Scene

MOST_OTHERS = 60
"""Pairs with the same prompt that are looked up."""


def pairs_html(now: Scene) -> str:
    """The page of rows that a scene is on."""
    if not len(now.listed):
        return ""
    return list_html(
        text("list.label"),
        _columns(),
        now.listed,
        now.view.reading,
        lambda place: _cells(now, int(now.listed.rows[place])),
        sort=now.view.sort,
        css=lambda place: harm_css(now.table.subset_of(int(now.listed.rows[place]))),
    )


def _columns() -> list[Column]:
    return [
        Column(text("list.prompt"), css="words"),
        Column(text("list.chosen"), css="words"),
        Column(text("list.rejected"), css="words"),
        Column(text("list.chosen_chars"), number=True, sort="chosen"),
        Column(text("list.rejected_chars"), number=True, sort="rejected"),
        Column(text("list.difference"), number=True, sort="difference"),
    ]


def _cells(now: Scene, row: int) -> list[str]:
    query, cells = now.view.filters.query, now.table.cells(row)
    words = [
        excerpt(cells[side], query if query.looks_at(side) else EVERYTHING)
        for side in ("prompt", "chosen", "rejected")
    ]
    measures: tuple[Measure, ...] = ("chosen", "rejected", "difference")
    return [*words, *(f"{now.table.lengths(each, 'chars')[row]:,}" for each in measures)]


def open_pair_html(now: Scene) -> str:
    """The open pair of a scene."""
    reading, table = now.view.reading, now.table
    row = table.row_of(reading.key) if reading.key else None
    if row is None:
        return pair_html(None, None, reading.display(EVERYTHING))
    others = [table.key_of(int(other)) for other in table.same_prompt(row)[:MOST_OTHERS]]
    display = reading.display(now.view.filters.query)
    return pair_html(
        table.cells(row), reading.key, display, same_prompt=others, source=table.source
    )
