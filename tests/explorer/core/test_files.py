"""Files that people take away, for any reader to read, and files that they send."""

import csv
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.files import (
    cell,
    csv_file,
    jsonl_file,
    latex_cell,
    markdown_cell,
    whole,
    write_lines,
)
from explorer.core.uploads import private_files, uploaded_files
from scoring.errors import KnownError

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)

CELLS: dict[str, tuple[Callable[[str], str], str, str]] = {
    "a formula": (cell, "=1+1", "'=1+1"),
    "one that begins with at": (cell, "@SUM(A1)", "'@SUM(A1)"),
    "its full-width letter": (cell, "＝1", "'＝1"),
    "behind what is not seen": (cell, "\u200b\ufeff=1", "'\u200b\ufeff=1"),
    "behind a control character": (cell, "\x00=1", "'␀=1"),
    "a sum in words": (cell, "1+1=2", "1+1=2"),
    "ends of lines and control characters": (cell, "a\nb\r\n\x00\x1b\x7f", "a\nb\r\n␀␛␡"),
    "a bar does not end the cell": (markdown_cell, "a|b", r"a\|b"),
    "tags are text": (markdown_cell, "<b>&amp;", "&lt;b&gt;&amp;amp;"),
    "people, issues and formulas": (markdown_cell, "@you #1 $x$ \\(", r"\@you \#1 \$x\$ \\("),
    "what is not seen goes": (markdown_cell, "a\u202eb\r\nc\x00", "a b c"),
    "special letters": (latex_cell, "&%$#_{}", r"\&\%\$\#\_\{\}"),
    "a command is text": (latex_cell, r"\input{x}", r"\textbackslash{}input\{x\}"),
}


@pytest.mark.parametrize(("made", "text", "expected"), CELLS.values(), ids=CELLS)
def test_a_text_is_shown_as_it_stands_and_never_run(
    made: Callable[[str], str], text: str, expected: str
) -> None:
    assert made(text) == expected


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2), min_size=1, max_size=5))
def test_csv_is_read_back_cell_by_cell(rows: list[list[str]]) -> None:
    with TemporaryDirectory() as name:
        with csv_file(path := Path(name) / "a.csv") as write:
            for number, row in enumerate(rows):
                write([*row, -number, None])
        data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    assert list(csv.reader(StringIO(data.decode("utf-8-sig"), newline=""))) == [
        [*map(cell, row), str(-number), ""] for number, row in enumerate(rows)
    ]


def test_half_a_surrogate_stops_no_file(tmp_path: Path) -> None:
    with csv_file(tmp_path / "a.csv", bom=False) as write:
        write(["a\ud800"])
    with jsonl_file(tmp_path / "a.jsonl") as write_line:
        write_line({"a": "\ud800"})
    write_lines(tmp_path / "a.md", ["a\ud800", "b"])
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert files == {"a.csv": b"a?\r\n", "a.jsonl": b'{"a": "?"}\n', "a.md": b"a?\nb\n"}


def test_a_file_is_whole_or_as_it_was_and_its_error_names_no_folder(tmp_path: Path) -> None:
    (path := tmp_path / "a.txt").write_text("before")
    with pytest.raises(ValueError, match="Out of range"), jsonl_file(path) as write:
        write({"a": 1})
        write({"a": float("nan")})
    assert [*tmp_path.iterdir()] == [path] and path.read_text() == "before"
    with (
        pytest.raises(KnownError, match=r"^a\.txt cannot be written: No such file or directory\. "),
        whole(tmp_path / "none" / "a.txt") as part,
    ):
        part.write_text("x")


# Files that were sent.


def test_a_file_that_two_visitors_sent_is_read_by_one_and_the_other_is_told(uploads: Path) -> None:
    path = uploads / "0123" / "ours.csv"
    path.parent.mkdir()
    path.write_text("prompt")
    assert uploaded_files(json.dumps([str(path), str(path)])) == [path, path]
    with private_files([path, path]) as [file]:
        assert (file.name, file.read_text()) == ("ours.csv", "prompt")
        with pytest.raises(KnownError, match=r"^The uploaded file is gone\. Choose it again\.$"):
            private_files([path]).__enter__()
    assert not [*uploads.rglob("ours.csv")]


def test_what_lies_elsewhere_or_is_no_list_of_paths_is_refused(
    uploads: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("secret")
    link = uploads / "link.csv"
    link.symlink_to(secret)
    around = f"{uploads}/../{tmp_path.name}/secret.csv"
    sibling = uploads.with_name(f"{uploads.name}-too")
    sibling.mkdir()
    (sibling / "a.csv").write_text("secret")
    good = uploads / "good.csv"
    good.write_text("prompt")
    no_paths = (f"{uploads}/{name}" for name in ("a\0b", "x" * 10**6, "x" * 300, "\ud800"))
    for path in (secret, link, around, sibling / "a.csv", uploads, *no_paths):
        with pytest.raises(KnownError, match="uploaded"):
            uploaded_files(json.dumps([str(good), str(path)]))
    for sent in ("", "[]", "[5]", '{"path": "a"}', "[" * 10**5):
        with pytest.raises(KnownError, match="uploaded"):
            uploaded_files(sent)
