"""A board as a state shows it: its rows, columns and order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from explorer.data.search import matching_names
from explorer.data.table import PairTable
from explorer.results.board import Board
from explorer.results.boards import BoardView
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import RULES, V1
from explorer.tabs.models.state import FACTS, FAILURES, OPTIONAL, ModelsState, type_of
from scoring.errors import counted
from scoring.limits import Step

if TYPE_CHECKING:
    import pandas as pd

MOST_BOARD_ROWS = 300
"""Models that are written to the page; the search finds the others."""
COLUMN_OF = {"type": "model_type"}
"""Columns that a board's table has by another name."""


def columns_of(board: Board, state: ModelsState) -> tuple[str, ...]:
    """The columns of the state's table, hidden ones too."""
    has_sections = state.table == "sections" or state.benchmark != V1.name
    scores = board.rule.sections if has_sections else board.subsets
    has_failures = board.table["failures"].notna().any()
    benchmark, failures = board.rule.benchmark, [FAILURES] if has_failures else []
    return (*FACTS, "score", *benchmark.rule.parts, *scores, *benchmark.languages, *failures)


def visible_columns(board: Board, state: ModelsState) -> tuple[str, ...]:
    """The columns that are shown: of optional ones those that are asked for."""
    absent = {*state.hidden, *OPTIONAL} - {*state.added}
    return tuple(column for column in columns_of(board, state) if column not in absent)


_WORDS = {
    "rank": "#",
    "model": "Model",
    "organisation": "Organisation",
    "licence": "Base licence",
    "type": "Type",
    "size": "Parameters (B)",
    "score": "Score",
    FAILURES: "Failures",
} | {part: part.capitalize() for rule in RULES.values() for part in rule.benchmark.rule.parts}


def column_words(column: str) -> str:
    """What a column is called on screen.

    >>> column_words("score"), column_words("Chat"), column_words("hard")
    ('Score', 'Chat', 'Hard')
    """
    return _WORDS.get(column, column)


def visible_rows(board: Board, state: ModelsState) -> "pd.DataFrame":
    """The rows to show: pinned ones first, then those that pass the filters, in the state's order.

    Raises:
        KnownError: the search cannot be used.
    """
    table = board.table if state.own else board.table[~board.table["own"]]
    pinned = table.index.get_indexer(state.pins)
    pinned = pinned[pinned >= 0]
    passing = np.array(matching_names([*table.index], state.search), np.bool_)
    passing[pinned] = False
    if state.types:
        passing &= table["own"] | table["model_type"].map(type_of).isin(state.types)
    rest = np.flatnonzero(passing)
    column = COLUMN_OF.get(state.column, state.column)
    if column in table:  # missing values come last in either direction
        values = table[column].iloc[rest].set_axis(rest)
        rest = values.sort_values(ascending=state.is_ascending, kind="stable", key=_folded).index
    return table.take([*pinned, *rest])


def _folded(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Texts without upper and lower case."""
    return column.str.casefold() if column.dtype == object else column


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """A board as a state shows it.

    rows: as `visible_rows` gives them.
    tables: gives the pairs whose texts are loaded.
    step: progress of reading and measuring; None if nothing is left to do.
    refused: why some of it failed; "" if nothing did.
    """

    state: ModelsState
    seen: BoardView
    rows: "pd.DataFrame"
    tables: Callable[[], Sequence[PairTable]]
    step: Step | None = None
    refused: str = ""

    @property
    def board(self) -> Board:
        """What is ranked."""
        return self.seen.board

    def rows_with_outcomes(
        self, matrix: OutcomeMatrix, most: int = MOST_BOARD_ROWS
    ) -> tuple["pd.DataFrame", list[str]]:
        """The rows that are drawn by their outcomes, and notes on the others."""
        rows = self.rows[self.rows["by_pairs"] & self.rows.index.isin(matrix.models)]
        notes = [] if self.seen.is_read else [self.not_read]
        if without := len(self.rows) - len(rows):
            notes.append(f"{counted(without, 'model', 'models')} hidden: no per-pair results.")
        if len(rows) > most:
            notes.append(f"Only the first {counted(most, 'model is', 'models are')} shown.")
        return rows.head(most), notes

    @property
    def not_read(self) -> str:
        """Why outcomes are missing, and what to do."""
        if self.seen.is_read:
            return (
                "This chart needs per-pair results, which these models lack. Choose another chart "
                "or other models."
            )
        return "Reading per-pair results. The chart appears when they are ready."
