"""Addresses of the Score tab: any link opens something, and says what was filled in."""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.reader.state import PairsState
from explorer.tabs.score.state import ScoreState, read_score
from scoring.errors import KnownError

FILLED = ScoreState(
    panel="runs",
    run="20260101-120000-1a2b",
    page=3,
    search="half",
    deleting=True,
    model="org/rm@main",
    family="dpo",
    reference="org/base",
    reading="0.5,1",
    dtype="bfloat16",
    max_length="512",
    chat_template="tulu",
    tokenizer="org/tok",
    url="http://localhost:8000",
    judge_prompt="upstream",
    max_tokens="64",
    temperature="0.5",
    repeats="3",
    which="keys",
    per_subset="7",
    seed="9",
    failed="org/other",
    pairs="section=Chat",
    sure=True,
    number="score",
    width="2.5",
    find="reward",
    repo="org/results",
    name="org/rm",
)


def test_every_field_comes_back_from_its_link() -> None:
    assert read_score(FILLED.href()) == (FILLED, ())
    for field in fields(FILLED):
        alone = replace(ScoreState(), **{field.name: getattr(FILLED, field.name)})
        assert alone.href() != "?tab=score", field.name
        assert read_score(alone.href()) == (alone, ())


def test_only_what_says_which_pairs_are_listed_is_kept_of_the_pairs_tab() -> None:
    query = "section=Safety&q=sorry&pair=x:1&panel=lengths&list-page=4&sort=chosen"
    state, dropped = read_score(f"?tab=score&pairs={query.replace('&', '%26')}")
    assert state.pairs == "section=Safety&q=sorry" and not dropped
    assert state.listed == PairsState.parse("?section=Safety&q=sorry")[0]


@pytest.mark.parametrize(
    ("link", "state"),
    [
        ("", ScoreState()),
        ("?tab=score&panel=runs&run=x", ScoreState(panel="runs", run="x")),
        ("?tab=models&run=x", ScoreState()),
        ("?tab=score&panel=elsewhere&page=²&page=0&which=%00", ScoreState()),
        ("?tab=score&model=" + "x" * 501, ScoreState()),
        (7, ScoreState()),
    ],
)
def test_any_link_opens_something(link: object, state: ScoreState) -> None:
    assert read_score(link)[0] == state


@given(st.text(max_size=60), st.sampled_from([field.name for field in fields(ScoreState)]))
def test_whatever_stands_in_a_field_is_kept_or_dropped(words: str, name: str) -> None:
    parameter = next(each.name for each in ScoreState.PARAMETERS if each.field == name)
    state, _ = ScoreState.parse(f"?{parameter}={words}")
    assert ScoreState.parse(state.href())[0] == state


def test_numbers_are_read_as_they_are_typed() -> None:
    assert FILLED.order.settings.max_length == 512
    assert FILLED.order.settings.temperature == 0.5
    assert FILLED.order.reading == (0.5, 1.0)
    rule = FILLED.rule
    assert rule is not None and (rule.number, rule.width) == ("score", 0.025)
    assert ScoreState().rule is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_length": "half"}, "The max length is 'half'"),
        ({"max_length": "-3"}, "The max length is -3"),
        ({"max_length": "1.5"}, "The max length is 1.5"),
        ({"max_tokens": "1e9"}, "length of an answer"),
        ({"temperature": "-1"}, "The temperature is -1"),
        ({"temperature": "nan"}, "The temperature is nan"),
        ({"dtype": "int4"}, "The dtype is 'int4'"),
        ({"family": "guess"}, "The family is 'guess'"),
        ({"reading": "a,b"}, "A label is its number"),
        ({"chat_template": "none such"}, "none such"),
        ({"judge_prompt": "mine"}, "judge's prompt"),
    ],
)
def test_an_order_that_is_none_is_refused_by_name(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(KnownError, match=words):
        _ = ScoreState(**changes).order


@pytest.mark.parametrize("width", ["wide", "", "0.1", "99", "inf"])
def test_a_width_that_is_none_is_refused(width: str) -> None:
    with pytest.raises(KnownError, match=r"number|wide"):
        _ = ScoreState(sure=True, width=width).rule
