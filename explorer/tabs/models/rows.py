"""Which rows and columns of a board a state shows, in which order."""

from typing import TYPE_CHECKING, Any

import numpy as np

from explorer.data.name_search import matching_names
from explorer.results.board import Board
from explorer.tabs.models.state import FACTS, ModelsState, kind_of

if TYPE_CHECKING:
    import pandas as pd

COLUMN_OF = {"type": "model_type"}
"""Columns that a board's table has by another name."""


def columns_of(board: Board, state: ModelsState) -> tuple[str, ...]:
    """The columns of the state's table, hidden ones too.

    >>> from explorer.results.published import read_snapshot
    >>> from explorer.results.board import build_board
    >>> columns_of(build_board(read_snapshot(), "v1"), ModelsState())
    ('model', 'type', 'size', 'score', 'Chat', 'Chat Hard', 'Safety', 'Reasoning')
    """
    sections = tuple(board.rule.sections)
    if state.table == "sections" or state.benchmark == "v2":
        return (*FACTS, *sections)
    return (*FACTS, *board.subsets)


def shown_columns(board: Board, state: ModelsState) -> tuple[str, ...]:
    """The columns that are not hidden."""
    return tuple(column for column in columns_of(board, state) if column not in state.hidden)


def shown_rows(board: Board, state: ModelsState) -> "pd.DataFrame":
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
        passing &= table["own"] | table["model_type"].map(kind_of).isin(state.types)
    rest = np.flatnonzero(passing)
    column = COLUMN_OF.get(state.sort, state.sort)
    if column in table:  # what has nothing there comes last in either direction
        values = table[column].iloc[rest].set_axis(rest)
        rest = values.sort_values(ascending=state.ascending, kind="stable", key=_folded).index
    return table.take([*pinned, *rest])


def _folded(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Texts without upper and lower case."""
    return column.str.casefold() if column.dtype == object else column
