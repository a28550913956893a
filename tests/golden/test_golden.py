"""Whatever the code looks like, what people and programs get is what they got before."""

import difflib
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from tests.conftest import REAL_DATA
from tests.golden.normal import differing, folder_of, golden_files, is_public, is_same, text_of
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


PAGE = """
<table><tr data-testid="board-row"><td>1</td><td>
<a href="?tab=models&amp;open=org/m"><b>org</b>/m</a>
<img src="x.png" alt="own run"></td><td>55.1 <small>47.4–62.5</small></td></tr></table>
<form action="?tab=pairs"><label>Search <input type="search" name="q" value="two"></label>
<select name="sort"><option value="-margin" selected>highest margin</option></select></form>
<button data-act="open" data-sent='{"value": 3}'>Open</button><p hidden>nobody reads this 1</p>
"""
CHANGES: dict[str, tuple[Callable[[str], str], bool, bool]] = {
    "attributes": (lambda html: html.replace("<td>", '<td class="x" data-x="7">'), False, False),
    "emphasis": (lambda html: re.sub("(</?)b>", r"\1strong>", html), False, False),
    "line breaks": (lambda html: re.sub(r">\s+<", "> \n <", html), False, False),
    "hidden text": (lambda html: html.replace("reads this 1", "reads that 2"), False, False),
    "a script": (lambda html: f"<main>{html}<script>1</script></main>", False, False),
    "a number": (lambda html: html.replace("47.4", "47.5"), True, False),
    "a name": (lambda html: html.replace("</b>/m", "</b>/n"), True, True),
    "an alternative text": (lambda html: html.replace("own run", "a run"), True, False),
    "a link": (lambda html: html.replace("open=org/m", "open=org/n"), False, True),
    "what is selected": (lambda html: html.replace(" selected", ""), False, True),
    "what is sent": (lambda html: html.replace('"value": 3', '"value": 4'), False, True),
}
"""What changes -> how, and whether a golden text, and its links, change with it."""


@pytest.mark.parametrize(("change", "in_text", "in_links"), CHANGES.values(), ids=[*CHANGES])
def test_what_a_person_reads_or_follows_shows_and_markup_does_not(
    change: Callable[[str], str], in_text: bool, in_links: bool
) -> None:
    before, after = Outline(PAGE), Outline(change(PAGE))
    assert change(PAGE) != PAGE
    assert is_same("\n".join(before.lines), "\n".join(after.lines)) is not in_text
    assert is_same("\n".join(before.links), "\n".join(after.links)) is not in_links


def test_a_figure_is_read_by_its_titles_names_and_numbers() -> None:
    trace = {"type": "bar", "name": "Chat", "x": [1, 2], "marker": {"color": "red"}}
    layout = {"xaxis": {"title": {"text": "Characters"}}, "template": {"text": "no"}}
    lines = figure_lines({"data": [trace], "layout": layout})
    assert lines == ["figure xaxis title text: Characters", 'bar: name="Chat" x=[1, 2]']
