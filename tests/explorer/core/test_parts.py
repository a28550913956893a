"""What a press sends: attributes that give back exactly what was put in, whatever it was."""

import json
from typing import Any

import gradio as gr
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.html import part
from explorer.core.parts import act_of
from tests.explorer.html_reading import HtmlReading

hostile = st.one_of(
    st.text(min_size=1, max_size=40),
    st.text(alphabet="<>&\"'`${}=/\\ \n\t\0\u2028sonclik", min_size=1, max_size=40),
)


def read(html: str) -> HtmlReading:
    return HtmlReading(html, {"button", "label", "input", "div"})


@given(words=hostile, value=hostile, label=hostile)
def test_a_button_says_and_sends_what_it_was_given(words: str, value: str, label: str) -> None:
    seen = read(part("button", words, "open", {"value": value}, "button", label))
    assert seen.words == words
    assert [json.loads(sent) for sent in seen.attributes["button", "data-sent"]] == [
        {"value": value}
    ]
    assert seen.attributes["button", "data-act"] == ["open"]
    assert seen.attributes["button", "title"] == seen.attributes["button", "aria-label"] == [label]


def test_a_button_in_words_needs_no_label_and_one_alone_sends_nothing_with_it() -> None:
    seen = read(part("button", "Random", "random", {}))
    assert not {"title", "aria-label", "data-sent"} & {name for _, name in seen.attributes}
    assert seen.attributes["button", "type"] == ["button"]


@pytest.mark.parametrize(
    ("posted", "found"),
    [
        ({"act": "step", "sent": {"value": 1}}, ("step", {"value": 1})),
        (None, ("", {})),
        (5, ("", {})),
        ([["act", "step"]], ("", {})),
        ("step", ("", {})),
        ({}, ("", {})),
        ({"act": "step"}, ("step", {})),
        ({"act": ["step"], "sent": ["value", 1]}, ("", {})),
        ({"act": "x" * 99, "sent": "y"}, ("x" * 99, {})),
    ],
)
def test_an_act_is_read_from_whatever_was_posted(posted: Any, found: tuple[str, Any]) -> None:
    assert act_of(gr.EventData(None, posted)) == found
