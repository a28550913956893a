"""What is behind a number of a leaderboard: the formula, and the counts that went into it."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from explorer.core.html import go_link, tag
from explorer.core.parts import button
from explorer.core.text import text
from explorer.reader.links import compare_query, failures_query
from explorer.results.board import Board, BoardRow, benchmark_of
from explorer.stats.aggregate import Counted, Part
from scoring.errors import KnownError, shown


def behind_html(board: Board, sent: Mapping[str, Any]) -> str:
    """A table of the parts of a number, in full precision.

    sent: `model` and `column`, by anybody.

    Raises:
        KnownError: there is no such model on the board.
    """
    if sent.get("close") is True:
        return ""
    row = board.find(str(sent.get("model")))
    if row is None:
        raise KnownError(f"There is no model {shown(sent.get('model'))} on this board.")
    column = sent.get("column")
    every = list(row.counted.sections)
    sections = [name for name in every if name == column] or every
    parts = [(section, row.counted.behind(section)) for section in sections]
    heads = "".join(
        tag("th", escape(text(f"board.behind_{name}")), scope="col")
        for name in ("section", "subset", "accuracy", "weight", "wins", "pairs", "missing")
    )
    body = "".join(_section(row, section, members) for section, members in parts)
    words = escape(text("board.behind", model=row.model, rule=board.rule.title))
    if row.url:
        page = escape(text("board.page"))
        words += " " + tag("a", page, href=row.url, target="_blank", rel="noopener")
    words += _onwards(board, row)
    caption = tag("caption", words)
    table = tag("table", caption + tag("thead", tag("tr", heads)) + tag("tbody", body))
    score = "" if row.score is None else text("board.behind_score", score=f"{100 * row.score:.6f}")
    words = tag("p", escape(board.rule.formula)) + tag("p", escape(score))
    close = button("✕", "behind", {"close": True}, "close", text("board.close"))
    return tag(
        "div", close + table + words, "behind", tabindex="0", role="region", aria_label=row.model
    )


def _onwards(board: Board, row: BoardRow) -> str:
    """Ways to the pairs that a model loses, and to the one that stands next to it."""
    if not row.by_pairs or benchmark_of(board.rule) != "v1":
        return ""
    lost = failures_query(row.model)
    links = " " + go_link(escape(text("board.failures")), "pairs", lost)
    ranked = [each.model for each in board.rows if each.by_pairs and each.rank is not None]
    if row.model in ranked and len(ranked) > 1:
        place = ranked.index(row.model)
        other = ranked[place - 1 if place else 1]
        both = compare_query(row.model, other)
        links += " " + go_link(escape(text("board.compare", model=other)), "models", both)
    return links


def _section(row: BoardRow, section: str, members: Sequence[Part]) -> str:
    value = row.counted.sections[section]
    weight = row.counted.rule.weights.get(section, 0)
    head = tag("th", escape(section), scope="row") + tag("td", "")
    head += _cell(value) + tag("td", escape(f"{weight:g}")) + tag("td", "") * 3
    rows = tag("tr", head, css="section")
    for part in members:
        counted = part.counted
        cells = tag("td", "") + tag("th", escape(part.subset), scope="row")
        cells += _cell(part.accuracy) + tag("td", escape(f"{part.weight:,}"))
        numbers = ("", "", "")
        if counted is not None:
            numbers = (_wins(counted), f"{counted.n:,}", f"{counted.missing:,}")
        cells += "".join(tag("td", escape(each)) for each in numbers)
        rows += tag("tr", cells)
    return rows


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


def _cell(value: float | None) -> str:
    words = text("board.unknown") if value is None else f"{100 * value:.4f}"
    return tag("td", escape(words))
