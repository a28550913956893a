"""How far long work is, in words, with a bar where its end is known; and numbers for readers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.html import magnitude, signed, step_html, typed_number
from scoring.limits import Step
from tests.support.html_reading import HtmlReading


@pytest.mark.parametrize(
    ("step", "words", "bar"),
    [
        (Step("fetching", 1_500_000, 3_000_000), ["1.5", "3.0"], ["width: 50%"]),
        (Step("fetching", 1_500_000), ["1.5", "?"], []),
        (Step("reading", 1024), ["1,024 rows"], []),
        (Step("reading", 1024, 4096), ["1,024", "4,096"], ["width: 25%"]),
        (Step("reading", 5000, 4096), ["5,000"], ["width: 100%"]),
        (Step("reading", 0, 0), ["0"], []),
        (Step("asking"), ["Hub"], []),
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
