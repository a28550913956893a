"""A board as the public endpoint gives it."""

from typing import Any

from explorer.boards import Board, BoardRow
from explorer.json_numbers import plain


def leaderboard_json(board: Board) -> dict[str, Any]:
    """A board for programs: plain numbers, 0 to 1, unrounded; None where unknown."""
    source = board.source
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
        "remarks": list(board.remarks),
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
