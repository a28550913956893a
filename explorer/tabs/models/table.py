"""A leaderboard as HTML: every number leads to what is behind it.

A whole table has thousands of numbers, and goes to the page at each act: a model is written once
a row and a column once in its head, where assets/acts.js finds them.
"""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from explorer.core.html import chip, note, tag
from explorer.core.parts import acting, button
from explorer.core.text import text
from explorer.results.board import Board, Row
from explorer.tabs.models.rows import shown_columns
from explorer.tabs.models.state import FACTS, ModelsState

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 300
"""Models that are written to the page; the search finds the others."""


def board_html(board: Board, state: ModelsState, rows: "pd.DataFrame") -> str:
    """The table of a state.

    rows: as `explorer.tabs.models.rows.shown_rows` gives them.
    """
    columns = shown_columns(board, state)
    listed = [board.rows[model] for model in rows.index]
    shades = {column: _Shade(column, listed) for column in columns if column not in FACTS[:3]}
    measured = bool(rows["tie_group"].notna().any())
    heads = tag("th", escape(text("board.column_rank")), css="number", scope="col")
    heads += "".join(_head(column, state) for column in columns)
    if measured:
        heads += tag("th", escape(text("board.column_group")), css="number", scope="col")
    body = "".join(_row(row, state, columns, shades, measured) for row in listed[:MOST_ROWS])
    table = tag(
        "table",
        tag("caption", escape(board.rule.title))
        + tag("thead", tag("tr", heads))
        + tag("tbody", body),
    )
    left_out = len(rows) - MOST_ROWS
    more = note(text("board.more", n=f"{left_out:,}")) if left_out > 0 else ""
    region = tag(
        "div", table, "board", tabindex="0", role="region", aria_label=board.rule.title,
        data_keep_scroll="board",
    )  # fmt: skip
    none = note(text("board.none")) if len(board.table) else ""
    return (region if len(rows) else none) + more


def column_words(column: str) -> str:
    """What a column is called on screen.

    >>> column_words("score"), column_words("Chat")
    ('Score', 'Chat')
    """
    return text(f"board.column_{column}") if column in FACTS else column


def _head(column: str, state: ModelsState) -> str:
    sorted_by = column == (state.sort or "score")
    mark = ("▲" if state.ascending else "▼") if sorted_by else "↕"
    order = ("ascending" if state.ascending else "descending") if sorted_by else "none"
    css = column if column in ("model", "type") else "number"
    words = button(f"{column_words(column)} {mark}", "sort", {"value": column})
    return tag("th", words, css=css, scope="col", aria_sort=order, data_column=column)


def _row(
    row: Row,
    state: ModelsState,
    columns: Sequence[str],
    shades: dict[str, "_Shade"],
    measured: bool,
) -> str:
    rank = text("board.no_rank") if row["rank"] is None else f"{row['rank']:,}"
    if row["own"] and row["rank"] is not None:
        rank = text("board.own_rank", rank=rank)
    reach = ""
    if row["best_rank"] is not None:
        reach = tag("small", escape(f"{row['best_rank']}–{row['worst_rank']}"))
    cells = tag("td", escape(rank) + reach, css="number rank")
    for column in columns:
        if column == "model":
            cells += tag("th", _model(row, state), css="model", scope="row")
        elif column == "type":
            cells += tag("td", escape(row["model_type"] or text("board.unknown")), css="type")
        elif column == "size":
            size = text("board.unknown") if row["size"] is None else f"{row['size']:g}"
            cells += tag("td", escape(size), css="number")
        else:
            cells += _number(row, column, state.digits, shades[column])
    if measured:
        group = "" if row["tie_group"] is None else f"{row['tie_group']:,}"
        cells += tag("td", escape(group), css=f"number group g{(row['tie_group'] or 0) % 2}")
    pinned = row["model"] in state.pins
    css = " ".join(filter(None, ["pinned" * pinned, "own" * row["own"]]))
    return tag("tr", cells, css=css, data_model=row["model"])


def _model(row: Row, state: ModelsState) -> str:
    model, pinned = row["model"], row["model"] in state.pins
    words = text("board.unpin" if pinned else "board.pin", model=model)
    pin = button(
        "★" if pinned else "☆", "unpin" if pinned else "pin", {"value": model}, "pin", words
    )
    name = tag("bdi", escape(model))
    if row["url"]:
        name = tag("a", name, href=row["url"], target="_blank", rel="noopener")
    marks = "".join(chip(text(f"board.{mark}"), "bad") for mark in row["marks"])
    own = chip(text("board.own"), "good") if row["own"] else ""
    return pin + name + own + marks


def _number(row: Row, column: str, digits: int, shade: "_Shade") -> str:
    value = row[column]
    if value is None:
        return tag("td", escape(text("board.unknown")), css="number")
    written = tag("button", f"{100 * value:.{digits}f}", **acting("behind"))
    paired = row.get(shade.paired, False)
    return tag(
        "td",
        written + _interval(row[shade.low], row[shade.high], digits, paired),
        css="number score" if column == "score" else "number",
        **shade.style(value),
    )


def _interval(low: float | None, high: float | None, digits: int, paired: bool) -> str:
    if low is None or high is None:
        return ""
    words = f"{100 * low:.{digits}f}–{100 * high:.{digits}f}"
    return tag("small", escape(words if paired else f"({words})"))


class _Shade:
    """Darker for better, from the lowest to the highest of a column; it reads on light and dark.

    low, high, paired: the columns of the ends of its numbers' intervals, and of what these are.
    """

    def __init__(self, column: str, rows: Sequence[Row]) -> None:
        known = [row[column] for row in rows if row[column] is not None]
        self._low, self._high = min(known, default=0.0), max(known, default=0.0)
        self.low, self.high = f"{column}_low", f"{column}_high"
        self.paired = "paired" if column == "score" else f"{column}_paired"

    def style(self, value: float) -> dict[str, str]:
        """The attribute that makes the background of a cell."""
        reach = self._high - self._low
        strength = 0.04 + 0.46 * ((value - self._low) / reach if reach else 1)
        return {"style": f"--shade:{strength:.2f}"}
