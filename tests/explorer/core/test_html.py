"""Pieces of the page: how far long work is, numbers for readers, keys and what answers to them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.html import KEYS, help_html, magnitude, signed, step_html, typed_number
from explorer.core.theme import SCRIPTS, STYLES
from scoring.limits import Step
from tests.support.html_reading import HtmlReading


@pytest.mark.parametrize(
    ("step", "words", "bar"),
    [
        (Step("fetching", 1_500_000, 3_000_000), ["1.5", "3.0"], ["width: 50%"]),
        (Step("fetching", 1_500_000), ["1.5", "?"], []),
        (Step("reading", 5000, 4096), ["5,000"], ["width: 100%"]),
        (Step("reading", 0, 0), ["0"], []),
    ],
)
def test_a_step_is_told(step: Step, words: list[str], bar: list[str]) -> None:
    seen = HtmlReading(step_html(step), {"div", "i"})
    assert [each for each in words if each not in seen.words] == []
    assert seen.attributes["i", "style"] == bar


@given(st.floats(-1e5, 1e5) | st.floats(-1e-3, 1e-3))
def test_numbers_have_no_exponents_and_keep_their_sign(value: float) -> None:
    written = signed(value)
    assert "e" not in written + magnitude(abs(value)) + typed_number(value)
    assert ("−" in written, written == "0.000") == (value < 0, value == 0)


def test_every_key_is_explained_and_the_script_answers_to_it() -> None:
    assert re.findall(r"<kbd>(.+?)</kbd>", help_html()) == list(KEYS)
    script = SCRIPTS[0].read_text(encoding="utf-8")
    for key in ", ".join(KEYS).split(", "):
        assert re.search(rf'[{{ ]{re.escape(key)}: "|=== "{re.escape(key)}"', script), key


def test_scripts_and_styles_ask_no_other_server() -> None:
    for path in (*SCRIPTS, *STYLES):
        written = path.read_text(encoding="utf-8")
        assert "http:" not in written and "@import" not in written and "//fonts" not in written
