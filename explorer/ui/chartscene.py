"""What a chart of the Leaderboard tab is drawn of, and what every chart says of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from explorer.board_figures import Axis
from explorer.boardview import BoardView
from explorer.core.text import text
from explorer.data.table import PairTable
from explorer.results.boards import Board, BoardRow
from explorer.stats.matrix import OutcomeMatrix
from explorer.ui.boardtable import MOST_ROWS


@dataclass(frozen=True)
class ChartScene:
    """What a chart is drawn of.

    rows: as `explorer.boardview.shown_rows` gives them.
    outcomes: gives those of each pair, None where none were read.
    tables: gives the pairs whose texts are at hand.
    unread: files with results of each pair that were not read yet.
    """

    view: BoardView
    board: Board
    rows: Sequence[BoardRow]
    outcomes: Callable[[], OutcomeMatrix | None]
    tables: Callable[[], Sequence[PairTable]]
    unread: int = 0

    def drawn_by_pairs(
        self, matrix: OutcomeMatrix, most: int = MOST_ROWS
    ) -> tuple[list[BoardRow], list[str]]:
        """The rows that are drawn by their outcomes, and what is to be said of the others."""
        there = set(matrix.models)
        rows = [row for row in self.rows if row.by_pairs and row.model in there]
        notes = [self.not_read] if self.unread else []
        if without := len(self.rows) - len(rows):
            notes.append(text("chart.without_pairs", n=f"{without:,}"))
        if len(rows) > most:
            notes.append(text("chart.cut", n=f"{most:,}"))
        return rows[:most], notes

    @property
    def not_read(self) -> str:
        """Why outcomes are missing, and what to do."""
        if not self.unread:
            return text("chart.no_pairs")
        return text("chart.unread", n=f"{self.unread:,}", button=text("board.measure"))


@dataclass(frozen=True)
class Drawn:
    """A chart. notes: plain sentences on what is in it and what not.

    figure: None where there is nothing to draw. controls, table: HTML.
    """

    notes: Sequence[str] = ()
    figure: Any = None
    controls: str = ""
    table: str = ""


def percent_axis(what: str) -> Axis:
    """An axis of percent, in words."""
    return Axis(text("chart.percent", what=what))
