"""A leaderboard as a file: CSV and Parquet for programs, Markdown and LaTeX for a text.

- CSV and Parquet have scores from 0 to 1 at full precision, the ends of the 95 % intervals of
  scores and ranks, and how ties count (`explorer.stats.aggregate.Ties`).
- Markdown and LaTeX have percent with as many decimals as on screen; in LaTeX the best stands out.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import pyarrow as pa

from explorer.core.files import (
    TextTable,
    cell,
    latex_table,
    markdown_cell,
    markdown_table,
    parquet_file,
    whole,
    write_lines,
)
from explorer.core.html import in_percent
from explorer.results.board import Board
from explorer.results.board_certainty import RANKS
from explorer.tabs.models.ranked import COLUMN_OF, column_words, visible_columns
from explorer.tabs.models.state import FACTS, FAILURES, WORDS, ModelsState, rule_of
from scoring.errors import KnownError, counted

if TYPE_CHECKING:
    import pandas as pd

BoardFormat = Literal["csv", "parquet", "md", "tex"]
BOARD_FORMATS: tuple[BoardFormat, ...] = get_args(BoardFormat)


def export_board(
    board: Board, state: ModelsState, rows: "pd.DataFrame", form: BoardFormat, path: Path
) -> None:
    """Write rows to a file, which is there whole or not at all.

    rows: as `visible_rows` gives them; the columns are as of `visible_columns`.

    Raises:
        KnownError: no rows, or the file cannot be written.
    """
    if not len(rows):
        raise KnownError("There is no model to export. Take a filter away, or reset them.")
    _WRITERS[form](board, state, rows, path)


def board_file_name(board: Board, state: ModelsState, form: BoardFormat) -> str:
    """A short name for the file, safe wherever it is saved: source, rule, table."""
    name = board.source.name.rpartition("/")[2] or board.source.name
    safe = re.sub(r"[^A-Za-z0-9_]+", "-", name)[:60].strip("-")
    return "-".join([safe or "leaderboard", rule_of(state), f"{state.table}.{form}"])


def _exported(board: Board, state: ModelsState, rows: "pd.DataFrame") -> "pd.DataFrame":
    """What programs get: scores from 0 to 1 with the ends of their intervals, ranks, groups."""
    further = {"score": ("paired", *RANKS)}
    columns = ["rank", "model"]
    for name in visible_columns(board, state):
        ends = () if name in (*FACTS, FAILURES) else (f"{name}_low", f"{name}_high")
        columns += [COLUMN_OF.get(name, name), *ends, *further.get(name, ())]
    found = rows[[*dict.fromkeys(columns), "own"]]
    return found.assign(ties=board.ties).rename(columns={"size": "size_billions"})


def _csv(board: Board, state: ModelsState, rows: "pd.DataFrame", path: Path) -> None:
    found = _exported(board, state, rows)
    texts = found.select_dtypes(object).columns
    written = found.assign(**{name: found[name].map(cell, na_action="ignore") for name in texts})
    with whole(path) as part:
        how = {"encoding": "utf-8-sig", "errors": "replace", "lineterminator": "\r\n"}
        written.to_csv(part, index=False, **how)


def _parquet(board: Board, state: ModelsState, rows: "pd.DataFrame", path: Path) -> None:
    found = _exported(board, state, rows)
    source = board.source
    about = {"source": str(source), "revision": source.revision, "date": source.date}
    about |= {"rule": board.rule.name, "ties": board.ties, "missing": board.missing}
    about |= {"intervals": "95 %"}
    # Types are named: a column in which nothing is known would have none.
    kinds: dict[str, Any] = {"Int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}
    types = {str(name): kinds.get(str(kind), pa.string()) for name, kind in found.dtypes.items()}
    schema = pa.schema(types)
    with parquet_file(path, schema, about) as write:
        write(pa.Table.from_pandas(found, schema, preserve_index=False))


def _printed(
    board: Board, state: ModelsState, rows: "pd.DataFrame"
) -> tuple[list[str], TextTable, list[bool]]:
    """Headings, rows, and whether each column holds words."""
    columns, digits = ["rank", *visible_columns(board, state)], state.digits
    sure = "score" in columns and bool(rows["score_low"].notna().any())
    grouped = bool(rows["tie_group"].notna().any())
    headings = ["#", *map(column_words, columns[1:])]
    headings += ["95 % interval"] * sure + ["Tie group"] * grouped
    lines = []
    for row in map(board.rows.__getitem__, rows.index):
        line = [_written(row[COLUMN_OF.get(name, name)], name, digits) for name in columns]
        if sure:
            ends = (row["score_low"], row["score_high"])
            line.append("–".join(in_percent(end, digits) for end in ends if end is not None))
        if grouped:
            line.append(str(row["tie_group"] or ""))
        lines.append(line)
    is_words = [name in WORDS for name in columns] + [False] * (sure + grouped)
    return headings, lines, is_words


def _written(value: Any, name: str, digits: int) -> str:
    if value is None:
        return ""
    if name in ("rank", *WORDS):
        return str(value)
    return f"{value:g}" if name in ("size", FAILURES) else in_percent(value, digits)


def _caption(board: Board, rows: "pd.DataFrame") -> str:
    n, source = counted(len(rows), "model", "models"), board.source
    half = "half" if board.ties == "half" else "officially: half for judges, else nothing"
    dated = ", ".join(filter(None, (str(source), source.date)))
    return f"{board.rule.title}: {n}, {dated}. Scores in percent. Ties count {half}."


def _markdown(board: Board, state: ModelsState, rows: "pd.DataFrame", path: Path) -> None:
    caption = markdown_cell(_caption(board, rows))
    write_lines(path, [caption, "", *markdown_table(*_printed(board, state, rows))])


def _latex(board: Board, state: ModelsState, rows: "pd.DataFrame", path: Path) -> None:
    headings, lines, is_words = _printed(board, state, rows)
    names = ["rank", *(COLUMN_OF.get(each, each) for each in visible_columns(board, state))]
    scores = [name for name in names if name not in ("rank", "model_type", FAILURES, *FACTS)]
    best = rows[scores].max()
    is_bold = [
        [name in scores and row[name] is not None and row[name] == best[name] for name in names]
        + [False] * (len(headings) - len(names))
        for row in map(board.rows.__getitem__, rows.index)
    ]
    caption = f"{_caption(board, rows)} The best of a column is bold."
    if "95 % interval" in headings:
        caption += " Intervals are 95 %."
    write_lines(path, latex_table(headings, lines, is_words, caption, is_bold))


_WRITERS: dict[BoardFormat, Callable[[Board, ModelsState, Any, Path], None]] = {
    "csv": _csv,
    "parquet": _parquet,
    "md": _markdown,
    "tex": _latex,
}
