"""What is behind a number of a leaderboard: the formula, and the counts that went into it."""

from collections.abc import Mapping
from typing import Any

from explorer.core.html import render
from explorer.core.text import text
from explorer.reader.links import compare_query, failures_query
from explorer.results.board import Board, Row, benchmark_of
from explorer.stats.aggregate import Counted
from scoring.errors import KnownError, shown


def behind_html(board: Board, sent: Mapping[str, Any]) -> str:
    """A table of the parts of a number, in full precision.

    sent: `model` and `column`, by anybody.

    Raises:
        KnownError: there is no such model on the board.
    """
    if sent.get("close") is True:
        return ""
    row = board.rows.get(str(sent.get("model")))
    if row is None:
        raise KnownError(f"There is no model {shown(sent.get('model'))} on this board.")
    column = sent.get("column")
    counted = board.counted[row["model"]]
    every = list(counted.sections)
    sections = [name for name in every if name == column] or every
    failures, beside = _onwards(board, row)
    return render(
        "tabs/models/behind.html",
        row=row,
        counted=counted,
        rule=board.rule,
        sections=[(section, counted.behind(section)) for section in sections],
        wins=_wins,
        failures=failures,
        beside=beside,
        both=compare_query(row["model"], beside),
    )


def _onwards(board: Board, row: Row) -> tuple[str, str]:
    """A link to the pairs that a model loses, and the model that stands next to it; "" for none."""
    if not row["by_pairs"] or benchmark_of(board.rule) != "v1":
        return "", ""
    model, table, beside = row["model"], board.table, ""
    ranked = table.index[table["by_pairs"] & table["rank"].notna()].to_list()
    if model in ranked and len(ranked) > 1:
        place = ranked.index(model)
        beside = ranked[place - 1 if place else 1]
    return failures_query(model), beside


def _wins(counted: Counted) -> str:
    """Whole wins, and the sum of what pairs won in part count: halves of judges, thirds of ties.

    >>> _wins(Counted(0.65, 5, 2, 3, 0, 0))
    '2 + 1.25 of 3 won in part'
    """
    wins = f"{counted.wins:,}"
    if not counted.halves or counted.accuracy is None:
        return wins
    credit = round(counted.accuracy * counted.n - counted.wins, 4)
    n = f"{counted.halves:,}"
    return text("board.behind_wins_part", wins=wins, credit=f"{credit:,.10g}", n=n)
