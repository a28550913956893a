"""Boards as a state shows them."""

from typing import Any

from explorer.results.board import Board
from explorer.results.boards import BoardView
from explorer.results.field import MAJORITY
from explorer.tabs.models.ranked import Ranked, visible_rows
from explorer.tabs.models.state import ModelsPanel, ModelsState


def comparing(
    a: str = "",
    b: str = MAJORITY,
    more: tuple[str, ...] = (),
    panel: ModelsPanel = "compare",
    **others: Any,
) -> ModelsState:
    """These models beside each other."""
    return ModelsState(panel, a=a, b=b, more=more, **others)


def ranked(board: Board, state: ModelsState | None = None, **seen: Any) -> Ranked:
    """A board as a state shows it. seen: further fields of `BoardView`."""
    state = ModelsState() if state is None else state
    return Ranked(state, BoardView(board, **seen), visible_rows(board, state), list)
