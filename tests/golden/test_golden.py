"""Whatever the code looks like, what people and programs get is what they got before."""

import difflib
from pathlib import Path
from typing import get_args

import pytest

from tests.conftest import REAL_DATA
from tests.golden.normal import differing, folder_of, golden_files, is_public, text_of
from tests.golden.outputs import Set
from tests.golden.reading import Outline, figure_lines

ADVICE = "`python -m tests.golden --write` and `git diff` show all of it; commit what is meant"
_MOST_LINES = 80


@pytest.mark.slow
@pytest.mark.parametrize("which", get_args(Set))
def test_what_is_shown_is_what_was_shown(which: Set, tmp_path: Path) -> None:
    if which == "real" and not REAL_DATA.is_dir():
        pytest.skip(f"the real data is not here: no folder {REAL_DATA}")
    files = golden_files(which, tmp_path)
    files = {name: text for name, text in files.items() if is_public(which, name)}
    lines: list[str] = []
    for name in differing(which, files):
        path = folder_of(which) / name
        before = text_of(path).splitlines() if path.exists() else []
        now = files.get(name, "").splitlines()
        lines += difflib.unified_diff(before, now, name, name, n=0, lineterm="")
    assert not lines, "\n".join([ADVICE, *lines[:_MOST_LINES]])


def test_html_is_read_as_a_person_reads_and_follows_it() -> None:
    page = Outline("""
<table><tr data-testid="board-row" class="x"><td>1</td><td>
<a href="?tab=models&amp;open=org/m"><b>org</b>/m</a>
<img src="x.png" alt="own run"></td><td>55.1 <small>47.4–62.5</small></td></tr></table>
<form action="?tab=pairs"><label>Search <input type="search" name="q" value="two"></label>
<select name="sort"><option value="-margin" selected>highest margin</option></select></form>
<button data-act="open" data-sent='{"value": 3}'>Open</button><p hidden>nobody reads this</p>
<script>1</script>""")
    assert page.lines == ["1 org/m", "[own run] 55.1 47.4–62.5", "Search", "highest margin", "Open"]
    assert page.links == [
        "link org/m -> ?tab=models&open=org/m",
        "form =  action=?tab=pairs",
        "search q = two",
        "option = -margin selected",
        "select sort = highest margin",
        'press Open -> open {"value": 3}',
    ]


def test_a_figure_is_read_by_its_titles_names_and_numbers() -> None:
    trace = {"type": "bar", "name": "Chat", "x": [1, 2], "marker": {"color": "red"}}
    layout = {"xaxis": {"title": {"text": "Characters"}}, "template": {"text": "no"}}
    lines = figure_lines({"data": [trace], "layout": layout})
    assert lines == ["figure xaxis title text: Characters", 'bar: name="Chat" x=[1, 2]']
