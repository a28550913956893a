"""The reader's HTML: inert, whole, and honest about what is missing."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.data.search import Query
from explorer.reader.diffs import DIFFS, Diff, Span, visible
from explorer.reader.reader import (
    LONGEST_BODY,
    MOST_FURTHER,
    MOST_SHOWN_TURNS,
    body_of,
    marks_of,
    pair_html,
    prompt_of,
)
from explorer.reader.reading import Display
from tests.support.html_reading import HtmlReading, macro_html

MARKED = Display("words", Query("dog"))


def pair(**changed: Any) -> dict[str, Any]:
    names = "key", "subset", "prompt", "chosen", "rejected", "chosen_model", "rejected_model"
    return {**{name: f"the {name}" for name in names}, "turns": "", **changed}


texts = st.text(max_size=60) | st.text("<>&\"'$`{}=/ sciptonrxm\n\t", max_size=60)


@given(st.sampled_from(DIFFS), texts, texts, st.sampled_from(["", "s", "<"]))
@example("words", "<a>&lt;", "", "")
def test_text_stays_text_whatever_it_is(diff: Diff, words: str, other: str, query: str) -> None:
    cells = pair(
        **dict.fromkeys(("key", "subset", "prompt", "chosen", "chosen_model"), words),
        **dict.fromkeys(("rejected", "rejected_model"), other),
        more_chosen=[{"text": other, "model": words}],
        more_rejected=[{"text": words, "model": other}],
    )
    same = [(words, "?a=1"), (other, "?a=2")]
    html = pair_html(cells, words or "k", Display(diff, Query(query)), same_prompt=same)
    reading = HtmlReading(html)
    shown = words, words, other, other, words
    assert reading.of_class["body"] == [each or "(empty)" for each in shown]
    assert reading.of_class["key"] == [words or "k"]
    assert reading.of_class["goto"] == [words, other]
    assert reading.attributes["a", "href"][-2:] == ["?a=1", "?a=2"]
    assert reading.attributes["div", "data-key"] == [words or "k"]


def test_responses_are_shown_in_their_columns_the_first_of_very_many() -> None:
    more = [{"text": "the dog", "model": "m"}] * 50_000
    html = pair_html(pair(more_chosen=more, more_rejected=[{"text": ""}]), "k", MARKED)
    labels = HtmlReading(html).attributes["div", "aria-label"]
    assert labels[:5] == ["Prompt", "Chosen", "Rejected", "Chosen 2", "Rejected 2"]
    assert labels[-1] == f"Chosen {MOST_FURTHER + 1}"
    assert "the <mark>dog</mark>" in html and "0 words" in html
    assert "49,950 more responses" in html and len(html) < 40_000


def test_harmful_subsets_begin_with_a_warning_and_others_have_none() -> None:
    html = pair_html(pair(subset="donotanswer"), "k", Display())
    assert html.startswith('<div class="pair may-harm" data-key="k"')
    assert html.index('class="warning"') < html.index("Prompt")
    assert "may-harm" not in pair_html(pair(subset="math-prm"), "k", Display())
    assert "warning" not in pair_html(pair(), "k", Display())


def test_lines_of_code_have_numbers_a_gap_beside_what_one_side_lacks_and_are_not_rendered() -> None:
    cells = pair(subset="hep-go", chosen="a\nb\n", rejected="a\nx(1)\nb\n")
    reading = HtmlReading(pair_html(cells, "k", Display()))
    assert reading.attributes["div", "data-line"] == ["1", "2", "1", "2", "3"]
    assert reading.of_class["row"] == ["a\n", "", "b\n", "a\n", "x(1)\n", "b\n"]
    assert reading.of_class["gap"] == [""]
    assert not HtmlReading(pair_html(cells, "k", Display("off"))).of_class["gap"]
    cells = pair(subset="hep-python", chosen="# a *b*", rejected="# a *c*")
    words = HtmlReading(pair_html(cells, "k", Display(rendered=True)))
    assert words.of_class["body"][1:] == ["# a *b*", "# a *c*"]
    assert "shown as written" in words.words


# A text's HTML gives the text back.


def body_html(words: str, display: Display, spans: Sequence[Span] | None = None) -> str:
    return macro_html("body", body_of(words, "chosen", display, spans))


def prompt_html(display: Display, *turns: tuple[str, str]) -> str:
    cells = {"prompt": "a transcript", "turns": json.dumps(turns)}
    return macro_html("prompt", prompt_of(cells, display))


@pytest.mark.parametrize("diff", DIFFS)
@pytest.mark.parametrize("spaces", [False, True])
@given(chosen=texts.filter(bool), rejected=texts, query=st.sampled_from(["", "s", "<", "&", " "]))
def test_the_text_is_given_back(
    diff: Diff, spaces: bool, chosen: str, rejected: str, query: str
) -> None:
    display = Display(diff, Query(query), spaces)
    spans = marks_of({"chosen": chosen, "rejected": rejected, "subset": "mine"}, diff, "").spans
    html = body_html(chosen, display, spans[0])
    words = HtmlReading(html, {"ins", "del", "mark", "i"}).words
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
    assert body_html(words, display, spans) == html


def test_a_text_too_deep_to_be_rendered_is_shown_as_it_is_written() -> None:
    shown = body_html("> " * 100 + "<b>", Display(rendered=True))
    assert "too deep" in shown and shown.endswith("&gt; &lt;b&gt;")


def test_a_conversation_shows_who_says_what() -> None:
    turns = (("system", "Be brief."), ("user", "Hi dog"), ("assistant", "Yes"), ("<b>", "x"))
    html = prompt_html(Display(query=Query("dog")), *turns)
    words = HtmlReading(html, {"div", "mark"}).of_class
    assert words["speaker"] == ["System", "User", "Assistant", "<b>"]
    assert words["words"] == ["Be brief.", "Hi dog", "Yes", "x"]
    assert html.count("<mark>dog</mark>") == 1 and "transcript" not in html


def test_a_text_and_a_conversation_too_long_for_the_page_are_cut_and_say_so() -> None:
    html = body_html("q" * (LONGEST_BODY + 2), Display())
    reading = HtmlReading(html, {"div"})
    assert reading.words.count("q") == LONGEST_BODY
    assert "the first 500,000 of 500,002 characters" in reading.of_class["note"][0]
    html = prompt_html(Display(), *[("user", "hm")] * (MOST_SHOWN_TURNS + 1_234))
    assert html.count("hm") == MOST_SHOWN_TURNS
    assert "1,234 more turns" in html
