"""Which rows and columns of a board a state shows, in which order."""

from typing import Any

from explorer.data.name_search import matching_names
from explorer.results.board import Board, BoardRow
from explorer.tabs.models.state import FACTS, ModelsState, kind_of


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


def shown_rows(board: Board, state: ModelsState) -> list[BoardRow]:
    """The rows to show: pinned ones first, then those that pass the filters, in the state's order.

    Raises:
        KnownError: the search cannot be used.
    """
    place = {model: at for at, model in enumerate(state.pins)}
    rows = [row for row in board.rows if state.own or not row.own]
    pinned = sorted((row for row in rows if row.model in place), key=lambda row: place[row.model])
    rest = [row for row in rows if row.model not in place and _has_type(row, state)]
    found = matching_names([row.model for row in rest], state.search)
    rest = [row for row, yes in zip(rest, found, strict=True) if yes]
    return pinned + _sorted(rest, state)


def value_of(row: BoardRow, column: str) -> str | float | None:
    """What a row has in a column.

    A name of both a section and a subset means the section.
    """
    if column in FACTS:
        facts = {"model": row.model, "type": row.model_type, "size": row.size, "score": row.score}
        return facts[column]
    return row.sections[column] if column in row.sections else row.subsets.get(column)


def _has_type(row: BoardRow, state: ModelsState) -> bool:
    return not state.types or row.own or kind_of(row.model_type) in state.types


def _sorted(rows: list[BoardRow], state: ModelsState) -> list[BoardRow]:
    """In the state's order; those that have nothing there come last in either direction."""
    if not state.sort:
        return rows
    known = [row for row in rows if value_of(row, state.sort) is not None]
    unknown = [row for row in rows if value_of(row, state.sort) is None]

    def key(row: BoardRow) -> Any:
        value = value_of(row, state.sort)
        return value.casefold() if isinstance(value, str) else value

    return sorted(known, key=key, reverse=not state.ascending) + unknown
