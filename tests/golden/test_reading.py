"""A golden text changes with what a person reads or where a link leads, and with nothing else."""

import re
from collections.abc import Callable

import pytest

from explorer.core.html import help_html
from tests.golden.normal import is_same
from tests.golden.reading import Outline, figure_lines

ROW = """
<table><tr data-testid="board-row"><td>1</td><td>
<a href="?tab=models&amp;open=org/m"><b>org</b>/m</a>
<img src="x.png" alt="own run"></td><td>55.1 <small>47.4–62.5</small></td></tr></table>
<div>4 of 5 <em>pairs</em></div>
<form action="?tab=pairs"><label>Search <input type="search" name="q" value="two"></label>
<select name="sort"><option value="-margin" selected>highest margin</option></select>
<textarea name="note">why</textarea></form>
<button data-act="open" data-sent='{"value": 3}'>Open</button><p hidden>nobody reads this 1</p>
"""
PAGE = ROW + help_html()


def texts(html: str) -> tuple[str, str]:
    outline = Outline(html)
    return "\n".join(outline.lines), "\n".join(outline.links)


@pytest.mark.parametrize(
    "change",
    [
        lambda html: html.replace("<td>", '<td class="cell" style="width: 9rem" data-x="7">'),
        lambda html: html.replace("<b>", "<strong><i>").replace("</b>", "</i></strong>"),
        lambda html: re.sub(r">\s+<", "> \n <", html),
        lambda html: html.replace("nobody reads this 1", "nor this 2"),
        lambda html: f"<main><style>p {{ color: red }}</style>{html}<script>1</script></main>",
    ],
    ids=["attributes", "emphasis", "line breaks", "hidden text", "styles and scripts"],
)
def test_a_change_of_markup_alone_leaves_text_and_links(change: Callable[[str], str]) -> None:
    assert change(PAGE) != PAGE
    assert all(map(is_same, texts(change(PAGE)), texts(PAGE)))


@pytest.mark.parametrize(
    ("before", "after", "in_text", "in_links"),
    [
        ("47.4", "47.5", True, False),
        ("</b>/m", "</b>/n", True, True),
        ("own run", "a run", True, False),
        ("open=org/m", "open=org/n", False, True),
        ('value="two"', 'value="three"', False, True),
        (" selected", "", False, True),
        ('"value": 3', '"value": 4', False, True),
    ],
)
def test_a_changed_word_number_or_link_shows(
    before: str, after: str, in_text: bool, in_links: bool
) -> None:
    text, links = map(is_same, texts(PAGE.replace(before, after, 1)), texts(PAGE))
    assert (text, links) == (not in_text, not in_links)


def test_a_figure_is_read_by_its_titles_names_and_numbers() -> None:
    figure = {
        "data": [{"type": "bar", "name": "Chat", "x": [1, 2], "marker": {"color": "red"}}],
        "layout": {"xaxis": {"title": {"text": "Characters"}}, "template": {"text": "no"}},
    }
    assert figure_lines(figure) == [
        "figure xaxis title text: Characters",
        'bar: name="Chat" x=[1, 2]',
    ]
