"""The Leaderboard tab."""

from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import gradio as gr

from explorer.boards import build_board
from explorer.outcomes import Results
from explorer.sources import Shelf
from explorer.text import text
from explorer.ui.errors import guarded
from explorer.ui.grids import Column, Grid, grid, link
from explorer.ui.markup import tag
from explorer.ui.relay import EVENT
from explorer.ui.sourcebar import SourceBarView, build_sourcebar
from scoring.benchmark import SECTIONS


@dataclass(frozen=True)
class LeaderboardView:
    """The tab's components and the board a session looks at."""

    bar: SourceBarView
    table: gr.Dataframe
    about: gr.HTML
    board_id: gr.State


class Board(NamedTuple):
    """What the tab shows."""

    table: Grid
    about: str


def build_leaderboard_tab() -> LeaderboardView:
    """Lay the tab out where it is called."""
    bar = build_sourcebar(text("source.show_board"))
    table = gr.Dataframe(
        label=text("leaderboard.label"),
        interactive=False,
        show_search="search",
        datatype=["number", "html", "str", *["number"] * (1 + len(SECTIONS))],
        column_widths=["6%", "32%", "14%", *["9.6%"] * (1 + len(SECTIONS))],
        max_height=720,
        elem_id="leaderboard",
        elem_classes="grid",
        buttons=["fullscreen"],
    )
    return LeaderboardView(bar, table, gr.HTML(elem_classes="about"), gr.State(None))


@dataclass(frozen=True)
class LeaderboardTab:
    """The tab's callbacks."""

    shelf: Shelf[Results]

    @guarded
    def show(self, board_id: object) -> Board:
        """The board a session looks at."""
        results = self.shelf.get(board_id)
        board = build_board(results, "v1")
        rows = [
            [
                row.rank,
                link(row.model, row.url),
                row.model_type or text("leaderboard.unknown"),
                _percent(row.score),
                *(_percent(row.sections[section]) for section in SECTIONS),
            ]
            for row in board.rows
        ]
        notes = [text("leaderboard.about")]
        if board.source.kind == "snapshot":
            notes.append(text("leaderboard.swapped"))
        return Board(
            grid(_columns(rows), rows), "".join(tag("p", escape(words)) for words in notes)
        )


def showing(view: LeaderboardView, tab: LeaderboardTab) -> dict[str, Any]:
    """The event that fills the tab."""
    outputs = [view.table, view.about]
    return {"fn": tab.show, "inputs": view.board_id, "outputs": outputs, **EVENT}


def _columns(rows: list[list[Any]]) -> list[Column]:
    """Headings with one shade a column, from its lowest to its highest score."""
    names = (text("leaderboard.score"), *SECTIONS)
    shaded = []
    for place, name in enumerate(names, start=3):
        known = [row[place] for row in rows if row[place] is not None]
        low, high = (min(known), max(known)) if known else (0.0, 0.0)
        shaded.append(Column(name, _written, _Shade(low, high)))
    plain = [
        Column(text("leaderboard.rank"), lambda rank: "" if rank is None else str(rank)),
        Column(text("leaderboard.model")),
        Column(text("leaderboard.type")),
    ]
    return plain + shaded


@dataclass(frozen=True)
class _Shade:
    """Darker for better; the same hue reads on light and dark."""

    low: float
    high: float

    def __call__(self, value: float | None) -> str:
        if value is None or self.high == self.low:
            return ""
        strength = 0.04 + 0.46 * (value - self.low) / (self.high - self.low)
        return f"background-color: rgba(99,102,241,{strength:.2f})"


def _written(score: float | None) -> str:
    return text("leaderboard.unknown") if score is None else f"{score:.1f}"


def _percent(score: float | None) -> float | None:
    return None if score is None else 100 * score
