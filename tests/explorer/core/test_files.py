"""Files that people take away: what each holds, and what its readers make of any text."""

import csv
import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.files import (
    METADATA,
    as_json,
    cell,
    csv_file,
    jsonl_file,
    latex_cell,
    latex_table,
    markdown_cell,
    markdown_table,
    parquet_file,
    pictured,
    whole,
    write_lines,
)
from scoring.errors import KnownError

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
ROWS = st.lists(st.lists(TEXTS, min_size=2, max_size=2), min_size=1, max_size=5)

CELLS = {
    "a formula": ("=1+1", "'=1+1"),
    "one that begins with plus": ("+1", "'+1"),
    "one that begins with minus": ("-1", "'-1"),
    "one that begins with at": ("@SUM(A1)", "'@SUM(A1)"),
    "its full-width letter": ("＝1", "'＝1"),
    "behind a tab": ("\t1", "'\t1"),
    "behind a carriage return": ("\r1", "'\r1"),
    "behind spaces": ("  =1", "'  =1"),
    "behind what is not seen": ("\u200b\ufeff=1", "'\u200b\ufeff=1"),
    "behind a control character": ("\x00=1", "'␀=1"),
    "a sum in words": ("1+1=2", "1+1=2"),
    "a quote that was there": ("'=1", "'=1"),
    "control characters": ("a\x00\x1b\x7f", "a␀␛␡"),
    "ends of lines": ("a\nb\r\nc\td", "a\nb\r\nc\td"),
    "nothing": ("", ""),
}
MARKDOWN = {
    "a bar does not end the cell": ("a|b", r"a\|b"),
    "an end of a line is a space": ("a\r\nb\u2028c", "a b c"),
    "tags are text": ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
    "emphasis is text": ("*a* _b_ ~c~ `d`", r"\*a\* \_b\_ \~c\~ \`d\`"),
    "links are text": ("[a](https://b)", r"\[a\](https\://b)"),
    "people and issues are not told": ("@you #1", r"\@you \#1"),
    "formulas are text": ("$x$ \\(y\\)", r"\$x\$ \\(y\\)"),
    "what is not seen goes": ("a\u202eb\x00", "a b"),
}
LATEX = {
    "special letters": ("&%$#_{}", r"\&\%\$\#\_\{\}"),
    "a command is text": (r"\input{x}", r"\textbackslash{}input\{x\}"),
    "tilde and caret": ("~^", r"\textasciitilde{}\textasciicircum{}"),
    "angles, bars and quotes": ('<>|"', "\\textless{}\\textgreater{}\\textbar{}''"),
    "an end of a line is a space": ("a\nb", "a b"),
    "a dash": ("1–2", "1--2"),
}


@pytest.mark.parametrize(("text", "expected"), CELLS.values(), ids=CELLS)
def test_no_spreadsheet_runs_a_cell(text: str, expected: str) -> None:
    assert cell(text) == expected


@pytest.mark.parametrize(("text", "expected"), MARKDOWN.values(), ids=MARKDOWN)
def test_markdown_shows_a_text_as_it_stands(text: str, expected: str) -> None:
    assert markdown_cell(text) == expected


@pytest.mark.parametrize(("text", "expected"), LATEX.values(), ids=LATEX)
def test_latex_sets_a_text_as_it_stands(text: str, expected: str) -> None:
    assert latex_cell(text) == expected


@given(ROWS)
def test_csv_is_read_back_cell_by_cell(rows: list[list[str]]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        with csv_file(folder / "a.csv") as write:
            for number, row in enumerate(rows):
                write([*row, -number, None])
        data = (folder / "a.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    assert list(csv.reader(StringIO(data.decode("utf-8-sig"), newline=""))) == [
        [*map(cell, row), str(-number), ""] for number, row in enumerate(rows)
    ]


@given(ROWS)
def test_jsonl_is_exact_and_a_line_each(rows: list[list[str]]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        with jsonl_file(folder / "a.jsonl") as write:
            for row in rows:
                write({"texts": row})
        lines = (folder / "a.jsonl").read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert [json.loads(line)["texts"] for line in lines] == rows


def test_parquet_is_exact_and_says_what_its_rows_are(tmp_path: Path) -> None:
    table = pa.table({"text": ["a\x00", "=1"], "n": [1, None]})
    with parquet_file(tmp_path / "a.parquet", table.schema, {"source": "demo@1"}) as write:
        write(table)
    found = pq.read_table(tmp_path / "a.parquet")
    assert found.to_pydict() == table.to_pydict()
    assert json.loads(found.schema.metadata[METADATA]) == {"source": "demo@1"}


def test_half_a_surrogate_stops_no_file(tmp_path: Path) -> None:
    with csv_file(tmp_path / "a.csv", bom=False) as write:
        write(["a\ud800"])
    with jsonl_file(tmp_path / "a.jsonl") as write_line:
        write_line({"a": "\ud800"})
    write_lines(tmp_path / "a.md", ["a\ud800", "b"])
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert files == {"a.csv": b"a?\r\n", "a.jsonl": b'{"a": "?"}\n', "a.md": b"a?\nb\n"}


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises(ValueError, match="Out of range"), jsonl_file(path) as write:
        write({"a": 1})
        write({"a": float("nan")})
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "before"


def test_what_cannot_be_written_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    with (
        pytest.raises(KnownError, match=r"^a\.txt cannot be written: No such file or directory\. "),
        whole(tmp_path / "none" / "a.txt") as part,
    ):
        part.write_text("x")


def test_a_markdown_table_has_words_on_the_left_and_numbers_on_the_right() -> None:
    lines = list(markdown_table(["model", "score"], [["a|b", "0.5"]], [True, False]))
    assert lines == ["| model | score |", "| --- | ---: |", r"| a\|b | 0.5 |"]


def latex(rows: Sequence[Sequence[str]], **changes: Any) -> str:
    n = len(rows[0])
    bold = [[at == 0 for at in range(n)] for _ in rows]
    headings, is_words = ["model", "score", "more"][:n], [True, False, False][:n]
    return "\n".join(latex_table(headings, rows, is_words, "50 % of", bold, **changes))


WIDTHS = {
    "45 rows fit on a page": ([["a", "1"]] * 45, "longtable", False),
    "46 rows go over pages": ([["a", "1"]] * 46, "longtable", True),
    "80 letters are small": ([["x" * 60, "1" * 20]], r"\tiny", False),
    "81 letters are tiny": ([["x" * 60, "1" * 21]], r"\tiny", True),
    "150 letters lie straight": ([["x" * 60, "1" * 60, "1" * 30]], "landscape", False),
    "151 letters lie on their side": ([["x" * 60, "1" * 60, "1" * 31]], "landscape", True),
    "a name of 60 letters is whole": ([["x" * 60]], "…", False),
    "a longer one is cut": ([["x" * 61]], "x" * 59 + "…", True),
}


@pytest.mark.parametrize(("rows", "part", "is_there"), WIDTHS.values(), ids=WIDTHS)
def test_a_latex_table_fits_its_page(rows: list[list[str]], part: str, is_there: bool) -> None:
    assert (part in latex(rows)) is is_there


JSON = {
    "numbers of numpy": (np.int64(1), 1),
    "arrays": (np.array([0.5, np.nan]), [0.5, None]),
    "no number": (float("nan"), None),
    "infinite": (float("-inf"), None),
    "tuples": ((1, "a"), [1, "a"]),
}


@pytest.mark.parametrize(("value", "expected"), JSON.values(), ids=JSON)
def test_json_has_no_number_that_json_lacks(value: Any, expected: Any) -> None:
    assert as_json({"a": {"b": value}}) == {"a": {"b": expected}}


@given(TEXTS)
def test_no_control_character_stays(text: str) -> None:
    shown = pictured(text)
    assert len(shown) == len(text)
    assert not {each for each in shown if ord(each) < 32 or ord(each) == 127} - {*"\t\r\n"}
