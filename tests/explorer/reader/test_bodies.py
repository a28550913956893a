"""A text's HTML gives the text back, whatever it is and however it is shown."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.search import Query
from explorer.reader.diffs import DIFFS, Diff, Span, visible
from explorer.reader.reader import (
    LONGEST_BODY,
    MOST_SHOWN_TURNS,
    TextName,
    body_of,
    marks_of,
    prompt_of,
)
from explorer.reader.reading import Display
from tests.support.html_reading import HtmlReading, macro_html

hostile = st.one_of(
    st.text(min_size=1, max_size=60),
    st.text(alphabet="<>&\"'$`{}=/ sciptonrxm\n\t", min_size=1, max_size=60),
)


def body_html(
    words: str, side: TextName, display: Display, spans: Sequence[Span] | None = None
) -> str:
    return macro_html("body", body_of(words, side, display, spans))


def prompt_html(cells: Mapping[str, Any], display: Display) -> str:
    return macro_html("prompt", prompt_of(cells, display))


def text_of(html: str) -> str:
    return HtmlReading(html, {"ins", "del", "mark", "i"}).words


@pytest.mark.parametrize("diff", DIFFS)
@pytest.mark.parametrize("spaces", [False, True])
@given(chosen=hostile, rejected=hostile, query=st.sampled_from(["", "s", "<", "&", " "]))
def test_the_text_is_given_back(
    diff: Diff, spaces: bool, chosen: str, rejected: str, query: str
) -> None:
    display = Display(diff, Query(query), spaces)
    spans = marks_of({"chosen": chosen, "rejected": rejected, "subset": "mine"}, diff, "").spans
    words = text_of(body_html(chosen, "chosen", display, spans[0]))
    assert words == ("".join(s.sign or s.text for s in visible(chosen)) if spaces else chosen)


SPANS = [Span("a "), Span("red", 1), Span(" dog")]
SHOWN: dict[str, tuple[str, Display, list[Span] | None, str]] = {
    "differences and hits overlap": (
        "a red dog", Display("words", Query("ed d")), SPANS,
        'a <ins data-difference="1">r<mark>ed</mark></ins><mark> d</mark>og',
    ),
    "white space is asked for": (
        "a \tb\n\u202e<", Display(spaces=True), None,
        'a<i class="ws">·</i><i class="ws">→\t</i>b<i class="ws end">¶\n</i>'
        '<i class="ws named" title="RIGHT-TO-LEFT OVERRIDE">U+202E</i>&lt;',
    ),
    "rendered without marks": (
        "**b**", Display("words", Query("b"), rendered=True), [Span("**b**", 1)],
        '<div class="rendered"><p><strong>b</strong></p>\n</div>',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_a_text_is_shown_as_it_is_asked_for(name: str) -> None:
    words, display, spans, html = SHOWN[name]
    assert body_html(words, "chosen", display, spans) == html


def test_a_text_too_deep_to_be_rendered_is_shown_as_it_is_written() -> None:
    shown = body_html("> " * 100 + "<b>", "chosen", Display(rendered=True))
    assert "too deep" in shown and shown.endswith("&gt; &lt;b&gt;")


def conversation(*turns: tuple[str, str]) -> dict[str, str]:
    return {"prompt": "a transcript", "turns": json.dumps(turns)}


def test_a_conversation_shows_who_says_what() -> None:
    turns = (("system", "Be brief."), ("user", "Hi dog"), ("assistant", "Yes"), ("<b>", "x"))
    html = prompt_html(conversation(*turns), Display(query=Query("dog")))
    words = HtmlReading(html, {"div", "mark"}).of_class
    assert words["speaker"] == ["System", "User", "Assistant", "<b>"]
    assert words["words"] == ["Be brief.", "Hi dog", "Yes", "x"]
    assert html.count("<mark>dog</mark>") == 1
    assert "transcript" not in html


def test_a_text_and_a_conversation_too_long_for_the_page_are_cut_and_say_so() -> None:
    words = "q" * (LONGEST_BODY + 2)
    html = body_html(words, "chosen", Display())
    reading = HtmlReading(html, {"div"})
    assert reading.words.count("q") == LONGEST_BODY
    assert "the first 500,000 of 500,002 characters" in reading.of_class["note"][0]
    html = prompt_html(conversation(*[("user", "hm")] * (MOST_SHOWN_TURNS + 1_234)), Display())
    assert html.count("hm") == MOST_SHOWN_TURNS
    assert "1,234 more turns" in html
