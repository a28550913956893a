"""The models of a leaderboard as points of a scatter: two columns set against each other."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.boardview import FACTS, BoardView, kind_of, value_of
from explorer.results.boards import Board, BoardRow
from scoring.interval import Interval

OWN = "own"
"""The kind of a person's own models."""
USUAL = ("Chat Hard", "Safety")
"""What a trade-off sets against each other where the benchmark has both."""


@dataclass(frozen=True, slots=True)
class Point:
    """A model in a scatter.

    x, y: 0 to 100, or above 0 for a size in 10^9.
    kind: one of `explorer.boardview.MODEL_TYPES`, or `OWN`.
    interval: 95 %, of y, 0 to 100.
    """

    model: str
    x: float
    y: float
    kind: str
    pinned: bool = False
    interval: Interval | None = None


def number_columns(board: Board) -> tuple[str, ...]:
    """The columns of numbers that rows have, whatever the table shows.

    >>> from explorer.results.boards import build_board
    >>> from explorer.results.outcomes import read_snapshot
    >>> number_columns(build_board(read_snapshot(), "v1"))[:4]
    ('size', 'score', 'Chat', 'Chat Hard')
    """
    return tuple(dict.fromkeys((*FACTS[2:], *board.rule.sections, *board.subsets)))


def axes_of(board: Board, view: BoardView) -> tuple[str, str]:
    """The two columns that a view's trade-off shows; what the board has not is the usual one.

    >>> from explorer.results.boards import build_board
    >>> from explorer.results.outcomes import read_snapshot
    >>> axes_of(build_board(read_snapshot(), "v1"), BoardView(x="Focus", y="hep-go"))
    ('Chat Hard', 'hep-go')
    """
    columns = number_columns(board)
    sections = tuple(board.rule.sections)
    usual = USUAL if set(USUAL) <= set(sections) else sections
    x, y = usual[:2] if len(usual) > 1 else board.subsets[:2]
    return view.x if view.x in columns else x, view.y if view.y in columns else y


def points_of(
    rows: Sequence[BoardRow], x: str, y: str, pins: Sequence[str], *, intervals: bool = False
) -> list[Point]:
    """The models of which both columns are known.

    intervals: whether to give those of y, where it is the score.
    """
    points = []
    for row in rows:
        across, up = _number(row, x), _number(row, y)
        if across is None or up is None:
            continue
        interval = None
        if intervals and y == "score" and row.interval is not None:
            interval = Interval(100 * row.interval.low, 100 * row.interval.high)
        points.append(Point(row.model, across, up, kind(row), row.model in pins, interval))
    return points


def kind(row: BoardRow) -> str:
    """What a point is told apart by."""
    return OWN if row.own else kind_of(row.model_type)


def _number(row: BoardRow, column: str) -> float | None:
    value = value_of(row, column)
    if not isinstance(value, float | int):
        return None
    if column == "size":
        return float(value) if value > 0 else None
    return 100 * value
