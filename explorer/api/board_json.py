"""A board as the public endpoint gives it."""

from typing import Any

from explorer.core.files import plain
from explorer.core.text import text
from explorer.results.boards import Board, BoardRow


def leaderboard_json(
    board: Board, seconds_left: int | None = None, refused: str = ""
) -> dict[str, Any]:
    """A board for programs: plain numbers, 0 to 1, unrounded; None where unknown.

    seconds_left: until it will be measured, about; None where it is, or cannot be.
    refused: why not all of it was measured; "" where it was.
    """
    source = board.source
    missing = [text("board.not_measured", reason=refused)] if refused else []
    return {
        "source": {
            "kind": source.kind,
            "name": source.name,
            "revision": source.revision,
            "date": source.date,
            "rule": board.rule.name,
            "ties": board.options.ties,
            "missing": board.options.missing,
        },
        "remarks": [*board.remarks, *missing],
        "measuring": seconds_left is not None,
        "retry_after_seconds": seconds_left,
        "rows": [_row_json(row) for row in board.rows],
    }


def _row_json(row: BoardRow) -> dict[str, Any]:
    return {
        "rank": _whole(row.rank),
        "model": row.model,
        "model_type": row.model_type,
        "score": plain(row.score),
        "sections": {name: plain(score) for name, score in row.sections.items()},
        "interval": None if row.interval is None else [plain(end) for end in row.interval],
        "paired": bool(row.paired),
        "rank_interval": None
        if row.best_rank is None or row.worst_rank is None
        else [int(row.best_rank), int(row.worst_rank)],
        "tie_group": _whole(row.tie_group),
    }


def _whole(value: int | None) -> int | None:
    return None if value is None else int(value)
