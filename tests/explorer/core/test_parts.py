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


@given(legend=hostile, names=st.lists(hostile, min_size=2, max_size=4, unique=True))
def test_of_a_row_of_buttons_the_chosen_one_is_pressed(legend: str, names: list[str]) -> None:
    options = {name: f"[{name}]" for name in names}
    seen = read(part("segments", legend, "diff", options, names[1], "kind"))
    assert seen.attributes["div", "aria-label"] == [legend]
    pressed = seen.attributes["button", "aria-pressed"]
    assert pressed == ["true" if name == names[1] else "false" for name in names]
    sent = [json.loads(each) for each in seen.attributes["button", "data-sent"]]
    assert sent == [{"kind": name} for name in names]
    assert "".join(seen.words.split()) == "".join("".join(options.values()).split())


@pytest.mark.parametrize("on", [True, False])
def test_a_box_is_ticked_or_not(on: bool) -> None:
    seen = read(part("ticked", "show <b>", "spaces", on))
    assert (("input", "checked") in seen.attributes) == on
    assert seen.words == "show <b>"
    assert seen.attributes["input", "data-field"] == ["value"]


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
