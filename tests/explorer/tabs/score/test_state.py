"""Addresses of the Score tab: what was filled in becomes an order, or is refused by name."""

from typing import Any

import pytest

from explorer.reader.state import PairsState
from explorer.tabs.score.state import ScoreState, read_score
from scoring.errors import KnownError


def test_only_what_says_which_pairs_are_listed_is_kept_of_the_pairs_tab() -> None:
    query = "section=Safety&q=sorry&pair=x:1&panel=lengths&list-page=4&sort=chosen&diff=words"
    state, dropped = read_score(f"?tab=score&pairs={query.replace('&', '%26')}")
    assert state.pairs == "section=Safety&q=sorry" and not dropped
    assert state.listed == PairsState.parse("?section=Safety&q=sorry")[0]


def test_numbers_are_read_as_they_are_typed() -> None:
    numbers: dict[str, Any] = {
        "reading": "0.5,1",
        "max_length": "512",
        "temperature": "0.5",
        "repeats": "3",
    }
    filled = ScoreState(**numbers, sure=True, number="score", width="2.5")
    assert (filled.order.settings.max_length, filled.order.settings.temperature) == (512, 0.5)
    assert filled.order.reading == (0.5, 1.0)
    rule = filled.rule
    assert rule is not None and (rule.number, rule.width) == ("score", 0.025)
    assert ScoreState().rule is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_length": "half"}, "The max length is 'half'"),
        ({"max_tokens": "1e9"}, "number of answer tokens"),
        ({"temperature": "nan"}, "The temperature is nan"),
        ({"family": "guess"}, "The family is 'guess'"),
        ({"reading": "a,b"}, "A label is its number"),
        ({"chat_template": "none such"}, "none such"),
    ],
)
def test_an_order_that_is_none_is_refused_by_name(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(KnownError, match=words):
        _ = ScoreState(**changes).order


@pytest.mark.parametrize("width", ["wide", "0.1", "inf"])
def test_a_width_that_is_none_is_refused(width: str) -> None:
    with pytest.raises(KnownError, match=r"number|wide"):
        _ = ScoreState(sure=True, width=width).rule
