"""A leaderboard as a file: CSV and Parquet for programs, Markdown and LaTeX for a text.

- CSV and Parquet have scores from 0 to 1 at full precision, the ends of the 95 % intervals of
  scores and ranks, and how ties count (`explorer.stats.aggregate.Ties`).
- Markdown and LaTeX have percent with as many decimals as on screen.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa

from explorer.core.files import (
    Table,
    csv_file,
    latex_cell,
    latex_table,
    markdown_cell,
    markdown_table,
    parquet_file,
    write_lines,
)
from explorer.core.text import text
from explorer.results.board import Board, BoardRow
from explorer.tabs.models.rows import shown_columns, value_of
from explorer.tabs.models.state import ModelsState, rule_of
from scoring.errors import KnownError, shown

BoardFormat = Literal["csv", "parquet", "md", "tex"]
BOARD_FORMATS: tuple[BoardFormat, ...] = get_args(BoardFormat)

Columns = dict[str, tuple[pa.DataType, list[Any]]]


def export_board(
    board: Board, state: ModelsState, rows: Sequence[BoardRow], form: BoardFormat, path: Path
) -> None:
    """Write rows to a file, which is there whole or not at all.

    rows: as `explorer.tabs.models.rows.shown_rows` gives them; the columns are those not hidden.

    Raises:
        KnownError: an unknown format, no rows, or the file cannot be written.
    """
    if form not in BOARD_FORMATS:
        raise KnownError(f"A file can be {', '.join(BOARD_FORMATS)}, not {shown(form)}.")
    if not rows:
        raise KnownError("There is no model to export. Take a filter away, or reset them.")
    _WRITERS[form](board, state, rows, path)


def board_file_name(board: Board, state: ModelsState, form: BoardFormat) -> str:
    """A short name for the file, safe wherever it is saved: source, rule, table.

    >>> from explorer.results.published import read_snapshot
    >>> from explorer.results.board import build_board
    >>> board_file_name(build_board(read_snapshot(), "v1"), ModelsState(), "csv")
    'RewardBench-paper-arXiv-2403-13787v2-v1-sections.csv'
    """
    name = board.source.name.rpartition("/")[2] or board.source.name
    safe = re.sub(r"[^A-Za-z0-9_]+", "-", name)[:60].strip("-")
    return "-".join([safe or "leaderboard", rule_of(state), f"{state.table}.{form}"])


def _columns(board: Board, state: ModelsState, rows: Sequence[BoardRow]) -> Columns:
    """Every column with its type and its values."""
    number, whole, words = pa.float64(), pa.int64(), pa.string()
    columns: Columns = {
        "rank": (whole, [row.rank for row in rows]),
        "model": (words, [row.model for row in rows]),
    }
    for name in shown_columns(board, state):
        if name == "type":
            columns["model_type"] = (words, [row.model_type for row in rows])
        elif name == "size":
            columns["size_billions"] = (number, [row.size for row in rows])
        elif name == "score":
            columns |= {
                "score": (number, [row.score for row in rows]),
                "score_low": (number, [row.interval and row.interval.low for row in rows]),
                "score_high": (number, [row.interval and row.interval.high for row in rows]),
                "paired": (pa.bool_(), [row.paired for row in rows]),
                "best_rank": (whole, [row.best_rank for row in rows]),
                "worst_rank": (whole, [row.worst_rank for row in rows]),
                "tie_group": (whole, [row.tie_group for row in rows]),
            }
        elif name != "model":
            ends = [row.interval_of(name) for row in rows]
            columns |= {
                name: (number, [value_of(row, name) for row in rows]),
                f"{name}_low": (number, [each and each.low for each in ends]),
                f"{name}_high": (number, [each and each.high for each in ends]),
            }
    columns["marks"] = (words, [", ".join(row.marks) for row in rows])
    columns["own"] = (pa.bool_(), [row.own for row in rows])
    columns["ties"] = (words, [board.options.ties for _ in rows])
    return columns


def _csv(board: Board, state: ModelsState, rows: Sequence[BoardRow], path: Path) -> None:
    columns = _columns(board, state, rows)
    with csv_file(path) as write:
        write(columns)
        for row in zip(*(values for _, values in columns.values()), strict=True):
            write(row)


def _parquet(board: Board, state: ModelsState, rows: Sequence[BoardRow], path: Path) -> None:
    columns = _columns(board, state, rows)
    about = {
        "source": str(board.source),
        "revision": board.source.revision,
        "date": board.source.date,
        "rule": board.rule.name,
        "ties": board.options.ties,
        "missing": board.options.missing,
        "intervals": "95 %",
    }
    schema = pa.schema([(name, kind) for name, (kind, _) in columns.items()])
    values = {name: each for name, (_, each) in columns.items()}
    with parquet_file(path, schema, about) as write:
        write(pa.table(values, schema=schema))


def _printed(
    board: Board, state: ModelsState, rows: Sequence[BoardRow]
) -> tuple[list[str], Table, list[bool]]:
    """Headings, rows, and whether each column holds words."""
    columns = ["rank", *shown_columns(board, state)]
    sure = "score" in columns and any(row.interval for row in rows)
    grouped = any(row.tie_group for row in rows)
    headings = [text(f"board.column_{name}") if name in _NAMED else name for name in columns]
    headings += [text("board.column_interval")] * sure + [text("board.column_group")] * grouped
    lines = []
    for row in rows:
        line = [_written(row, name, state.digits) for name in columns]
        if sure:
            ends = row.interval or ()
            line.append(" ".join(_percent(end, state.digits) for end in ends))
        if grouped:
            line.append(str(row.tie_group or ""))
        lines.append(line)
    is_words = [name in ("model", "type") for name in columns] + [False] * (sure + grouped)
    return headings, lines, is_words


_NAMED = ("rank", "model", "type", "size", "score")


def _written(row: BoardRow, name: str, digits: int) -> str:
    if name == "rank":
        return "" if row.rank is None else str(row.rank)
    value = value_of(row, name)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:g}" if name == "size" else _percent(value, digits)


def _percent(value: float, digits: int) -> str:
    return f"{100 * value:.{digits}f}"


def _caption(board: Board, rows: Sequence[BoardRow]) -> str:
    source, n = board.source, f"{len(rows):,}"
    ties = text(f"board.caption_{board.options.ties}")
    dated = ", ".join(filter(None, (str(source), source.date)))
    return text("board.caption", n=n, title=board.rule.title, source=dated, ties=ties)


def _markdown(board: Board, state: ModelsState, rows: Sequence[BoardRow], path: Path) -> None:
    caption = markdown_cell(_caption(board, rows))
    write_lines(path, [caption, "", *markdown_table(*_printed(board, state, rows))])


def _latex(board: Board, state: ModelsState, rows: Sequence[BoardRow], path: Path) -> None:
    caption = f"% {latex_cell(_caption(board, rows))}"
    write_lines(path, [caption, *latex_table(*_printed(board, state, rows))])


_WRITERS: dict[BoardFormat, Callable[[Board, ModelsState, Sequence[BoardRow], Path], None]] = {
    "csv": _csv,
    "parquet": _parquet,
    "md": _markdown,
    "tex": _latex,
}
