"""Files that people take away, one writer a format.

Each is there whole in the end or not at all, and each writer raises a KnownError where that cannot
be.

- CSV is for spreadsheets: UTF-8 with a mark, and no cell that would be run as a formula.
- JSONL and Parquet are exact.
- Markdown (GitHub's tables) and LaTeX (`tabular` without packages) escape what is markup in a text.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TextIO

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic_core import to_jsonable_python

from scoring.errors import KnownError, first_line
from scoring.paths import atomic_write

METADATA = b"rewardbench-explorer"
"""Where a Parquet file's schema says, as JSON, what its rows are."""

_FORMULA = re.compile(
    r"[\t\r]|[\s\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*[=+\-@＝＋－＠]"
)
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {127: 0x2421}
_MARKDOWN = {letter: f"\\{letter}" for letter in "\\`*_[]|~$:@#!"} | {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
}
_LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    '"': "''",
}
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff]+"
)

_CHUNK_BYTES = 1_000_000
TextTable = Sequence[Sequence[str]]
"""Rows of cells."""
_LONG_ROWS, _LONG_NAME = 45, 60
"""Rows that fit on a page of LaTeX, and letters of a cell that do."""
_WIDE, _WIDEST = 80, 150
"""Letters of a row of LaTeX from which they are tiny, and from which the page is turned as well."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to take away: its name, and its parts."""

    name: str
    parts: Iterator[bytes]


def written_file(name: str, write: Callable[[Path], object]) -> File:
    """A file that is written to disk before it is sent, and gone once it was.

    Raises:
        Exception: whatever `write` raises.
    """
    folder = TemporaryDirectory(prefix="explorer-file-", ignore_cleanup_errors=True)
    path = Path(folder.name, name)
    write(path)

    def parts() -> Iterator[bytes]:
        with folder, path.open("rb") as file:
            while part := file.read(_CHUNK_BYTES):
                yield part

    return File(name, parts())


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Where to write a file that is there whole in the end, or not at all."""
    try:
        with atomic_write(path) as part:
            yield part
    except (OSError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or first_line(error).rstrip(".")
        raise KnownError(
            f"{path.name} cannot be written: {why}. Choose another place, or try again later."
        ) from error


@contextmanager
def csv_file(
    path: Path, *, quoting: Literal[0, 1] = csv.QUOTE_MINIMAL, bom: bool = True
) -> Iterator[Callable[[Iterable[object]], None]]:
    """Write a CSV file; gives what writes a row, whose texts go through `cell`.

    bom: whether it begins with the byte order mark by which spreadsheets know UTF-8.
    """
    how: dict[str, Any] = {"encoding": "utf-8-sig" if bom else "utf-8", "errors": "replace"}
    with whole(path) as part, part.open("w", newline="", **how) as file:
        writer = csv.writer(file, quoting=quoting, lineterminator="\r\n")

        def write(values: Iterable[object]) -> None:
            writer.writerow([cell(each) if isinstance(each, str) else each for each in values])

        yield write


@contextmanager
def jsonl_file(path: Path) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Write a JSONL file; gives what writes a line."""
    with whole(path) as part, _text_file(part) as file:

        def write(line: Mapping[str, Any]) -> None:
            file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")

        yield write


@contextmanager
def parquet_file(
    path: Path, schema: pa.Schema, about: Mapping[str, Any]
) -> Iterator[Callable[[pa.Table], None]]:
    """Write a Parquet file; gives what writes some rows. about: see `METADATA`."""
    described = schema.with_metadata({METADATA: json.dumps(about)})
    with whole(path) as part, part.open("wb") as file, pq.ParquetWriter(file, described) as writer:
        yield writer.write_table


def _text_file(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", errors="replace", newline="\n")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text: Markdown or LaTeX."""
    with whole(path) as part, _text_file(part) as file:
        file.writelines(f"{line}\n" for line in lines)


def markdown_table(
    headings: Sequence[str], rows: TextTable, is_words: Sequence[bool]
) -> Iterator[str]:
    """The lines of a table. is_words: whether each column holds words, which stand on the left."""
    ruler = ["---" if words else "---:" for words in is_words]
    written = [[markdown_cell(each) for each in row] for row in (headings, *rows)]
    yield from (f"| {' | '.join(row)} |" for row in (written[0], ruler, *written[1:]))


def latex_table(
    headings: Sequence[str],
    rows: TextTable,
    is_words: Sequence[bool],
    caption: str,
    is_bold: Sequence[Sequence[bool]],
) -> Iterator[str]:
    """The same for LaTeX with booktabs: a table with its caption, over pages where it is long.

    Where it is wide its letters are tiny; where it is wider than such a line it lies on its side.

    is_bold: of each cell of the rows.
    """
    rows = [
        [each if len(each) <= _LONG_NAME else f"{each[: _LONG_NAME - 1]}…" for each in row]
        for row in rows
    ]
    width = sum(max(map(len, column)) for column in zip(headings, *rows, strict=True))
    is_turned = width > _WIDEST
    heads = [
        rf"\rotatebox{{90}}{{{latex_cell(each)}}}" if is_turned and not words else latex_cell(each)
        for each, words in zip(headings, is_words, strict=True)
    ]
    head = " & ".join(heads)
    columns = "".join("l" if words else "r" for words in is_words)
    said = f"\\caption{{{latex_cell(caption)}}}"
    apart = 1 if is_turned else 3  # points
    small = rf"\tiny\setlength{{\tabcolsep}}{{{apart}pt}}" if width > _WIDE else r"\footnotesize"
    is_long = len(rows) > _LONG_ROWS
    packages = ["booktabs", "longtable"] if is_long else ["booktabs"]
    yield f"% \\usepackage{{{','.join(packages + ['graphicx', 'pdflscape'] * is_turned)}}}"
    yield from [r"\begin{landscape}"] * is_turned
    if is_long:
        yield from (rf"{{{small}", rf"\begin{{longtable}}{{{columns}}}", rf"{said} \\", r"\toprule")
        yield from (rf"{head} \\", r"\midrule", r"\endfirsthead", r"\toprule")
        yield from (rf"{head} \\", r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot")
    else:
        yield from (r"\begin{table}", r"\centering", small, said)
        yield from (rf"\begin{{tabular}}{{{columns}}}", r"\toprule", rf"{head} \\", r"\midrule")
    for row, bold in zip(rows, is_bold, strict=True):
        cells = (
            rf"\textbf{{{latex_cell(each)}}}" if stands_out else latex_cell(each)
            for each, stands_out in zip(row, bold, strict=True)
        )
        yield rf"{' & '.join(cells)} \\"
    if is_long:
        yield from (r"\end{longtable}", "}")
    else:
        yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}")
    yield from [r"\end{landscape}"] * is_turned


def cell(text: str) -> str:
    """A text that no spreadsheet runs and every reader of CSV takes.

    Formulas are those of OWASP's page on CSV injection, also behind whitespace and what is unseen.

    >>> cell("=1+1"), cell(" ＠x"), cell("1 - 1"), cell("a" + chr(0))
    ("'=1+1", "' ＠x", '1 - 1', 'a␀')
    """
    return ("'" if _FORMULA.match(text) else "") + pictured(text)


def pictured(text: str) -> str:
    r"""A text whose control characters are replaced by their pictures, but tabs and ends of lines.

    >>> pictured("\x1b[1m")
    '␛[1m'
    """
    return text.translate(_PICTURES)


def markdown_cell(words: str) -> str:
    r"""A text that Markdown shows as it stands, in one line of a table.

    >>> print(markdown_cell("a|b_c <b>"), markdown_cell("https://x"))
    a\|b\_c &lt;b&gt; https\://x
    """
    return "".join(_MARKDOWN.get(letter, letter) for letter in _in_one_line(words))


def latex_cell(words: str) -> str:
    r"""A text that LaTeX sets as it stands.

    >>> print(latex_cell("50% of a_b & c"))
    50\% of a\_b \& c
    """
    escaped = "".join(_LATEX.get(letter, letter) for letter in _in_one_line(words))
    # No font of LaTeX's own has these letters.
    return escaped.replace("10⁹", "$10^9$").replace("–", "--")


def _in_one_line(words: str) -> str:
    """A text without ends of lines and what is not seen, which cells of a table cannot hold."""
    return _UNSEEN.sub(" ", words).strip()


def as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as JSON has them, at whatever depth.

    NumPy's numbers become Python's (Gradio makes texts of them), tuples become lists, and None is
    what is infinite or no number.

    >>> import numpy as np
    >>> as_json({"a": (np.int64(1), float("nan")), "b": {"c": np.array([0.5])}})
    {'a': [1, None], 'b': {'c': [0.5]}}
    """
    found: dict[str, Any] = to_jsonable_python(
        values, inf_nan_mode="null", fallback=lambda each: each.tolist()
    )
    return found
