"""What a leaderboard is made of: one choice of each kind is pressed, and all words stay text."""

import re
from dataclasses import replace
from typing import Any

import pytest

from explorer.api.boards import BoardEndpoints
from explorer.core.text import text
from explorer.results.board import Board, build_board
from explorer.stats import intervals as statistics
from explorer.stats.rules import PRIOR_SCORED, RULES, RuleName
from explorer.stats.uncertainty import measure
from explorer.tabs.models.controls import (
    controls_html,
    counts_html,
    panels_html,
    rule_html,
    search_html,
)
from explorer.tabs.models.state import (
    BENCHMARKS,
    DIGITS,
    MISSING,
    RULE_OPTIONS,
    TABLES,
    TIES,
    ModelsState,
)
from scoring.benchmark import SUBSETS
from scoring.results.accuracies import V2_SUBSETS, Aggregate
from scoring.results.files import LeftOut
from tests.explorer.board_data import (
    EVERY,
    NOTHING,
    coin_flips,
    finished,
    matrix_of,
    results_of,
    rows_in,
)
from tests.explorer.boards import HOSTILE, hostile_board, reading, sent
from tests.explorer.html_reading import HtmlReading

VIEW = ModelsState()
CHOICES: dict[str, tuple[Any, ...]] = {
    "benchmark": BENCHMARKS,
    "table": TABLES,
    "rule": RULE_OPTIONS,
    "ties": TIES,
    "missing": MISSING,
    "digits": DIGITS,
}


def controls(state: ModelsState) -> HtmlReading:
    return reading(controls_html(hostile_board(state), state))


def pressed(state: ModelsState, act: str) -> list[object]:
    """The values of a choice that are pressed."""
    seen = controls(state)
    choices = [name for name in seen.attributes["button", "data-act"] if name != "reset"]
    values = [each["value"] for name in dict.fromkeys(choices) for each in sent(seen, name)]
    on = seen.attributes["button", "aria-pressed"]
    every = zip(choices, values, on, strict=True)
    return [value for name, value, state in every if name == act and state == "true"]


def boxes(state: ModelsState, facet: str) -> dict[str, bool]:
    """Name -> whether it is ticked."""
    html = controls_html(hostile_board(state), state).split("<fieldset")
    part = next(each for each in html if f"&quot;{facet}&quot;" in each)
    inputs = [each.split(">")[0] for each in part.split("<input")[1:]]
    return {each.split('value="')[1].split('"')[0]: "checked=" in each for each in inputs}


def test_what_is_chosen_is_pressed_and_nothing_else(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, Any]] = [
        (act, value) for act, values in CHOICES.items() for value in values
    ]
    for act, value in cases:
        with subtests.test(act=act, value=value):
            state = replace(ModelsState(), **{act: value})
            assert pressed(state, act) == [value]
            for other in CHOICES.keys() - {act}:
                wanted = [getattr(state, other)]
                assert pressed(state, other) == (
                    [] if (value, other) == ("v2", "table") else wanted
                )


@pytest.mark.parametrize("rewarded", [0, 3])
def test_where_no_rewards_are_known_the_choice_of_ties_says_so(rewarded: int) -> None:
    board = replace(hostile_board(), rewarded=rewarded)
    words = reading(controls_html(board, ModelsState())).words
    assert ("None of these results has rewards" in words) == (rewarded == 0)


def test_every_interval_is_told_with_its_level() -> None:
    """Of scores and of ranks: on the page, to programs, and in files."""
    level = f"{100 * (statistics._ENDS[1] - statistics._ENDS[0]):.0f} %"
    on_page = [text("board.paired"), text("board.ranked")]
    told = re.findall(r'"(?:rank_)?interval": ([^,]*)', BoardEndpoints.leaderboard.__doc__ or "")
    assert len(told) == 2
    assert [each for each in (*on_page, *told) if level not in each] == []


def test_boxes_are_ticked_as_the_view_says() -> None:
    for state in (ModelsState(), ModelsState(prior_sets=True, own=False)):
        html = panels_html(state, "") + controls_html(hostile_board(), state)
        for act, on in (("prior_sets", state.prior_sets), ("own", state.own)):
            (box,) = [each for each in html.split("<input") if f'data-act="{act}"' in each]
            assert ("checked=" in box.split(">")[0]) is on
    assert "prior_sets" not in controls_html(hostile_board(), ModelsState(benchmark="v2"))


def test_columns_that_are_hidden_are_not_ticked() -> None:
    state = ModelsState(hidden=("size", "Safety"))
    assert [name for name, on in boxes(state, "columns").items() if not on] == ["size", "Safety"]
    assert "model" not in boxes(state, "columns")
    assert "hep-go" in boxes(ModelsState(table="subsets"), "columns")


def test_kinds_of_models_are_those_on_the_board_and_those_that_are_picked() -> None:
    assert boxes(ModelsState(), "types") == {"DPO": False}
    picked = ModelsState(types=("Generative",))
    assert boxes(picked, "types") == {"DPO": False, "Generative": True}


def test_the_search_is_named() -> None:
    seen = reading(search_html())
    assert seen.attributes["input", "data-param"] == ["models"]
    assert seen.attributes["input", "aria-label"] != [""]


def test_what_a_link_said_wrongly_is_told_as_text() -> None:
    board = hostile_board()
    seen = reading(counts_html(board, 2, HOSTILE, 1234))
    assert seen.of_class["count"] == [f"2 of {len(HOSTILE)} models"]
    notes = seen.of_class["note"]
    assert all(name in note for name, note in zip(HOSTILE, notes, strict=False))
    assert "1,234 files" in notes[-1] and len(notes) == len(HOSTILE) + 1


def test_the_rule_is_told_with_remarks_as_text_and_what_intervals_mean() -> None:
    board = replace(build_board(results_of({"a": 0.5}), "paper"), remarks=HOSTILE)
    seen = reading(rule_html(board, VIEW))
    assert board.rule.title in seen.words and board.rule.formula in seen.words
    assert all(remark in seen.words for remark in HOSTILE)
    assert "binomial" in seen.words


def test_every_kind_of_interval_that_is_shown_is_explained_and_no_other() -> None:
    matrix = matrix_of({name: coin_flips(0.6) for name in ("a", "mine")}, EVERY * 4)

    def told(board: Board, state: ModelsState = VIEW) -> list[bool]:
        words = reading(rule_html(board, state)).words
        return [each in words for each in ("count as one draw", "Below a rank", "binomial")]

    bare = build_board(NOTHING, "v1", outcomes=matrix)
    assert told(bare) == [False, False, True]
    beside = build_board(NOTHING, "v1", outcomes=matrix, own=("mine",))
    assert told(beside) == [True, False, True]
    sure = finished(measure(matrix, RULES["v1"], replicates=50))
    measured = build_board(NOTHING, "v1", outcomes=matrix).measured(sure)
    assert told(measured) == [True, True, False]
    assert told(measured, ModelsState(table="subsets")) == [True, True, True]


def test_what_is_left_out_of_the_pairs_is_told_as_text_100_lines_and_the_rest_counted() -> None:
    board = build_board(results_of({"a": 0.5}), "v1")
    left_out = [LeftOut(f"{HOSTILE[0]} {number}.json", HOSTILE[1]) for number in range(103)]
    html = rule_html(board, VIEW, left_out=left_out)
    words = reading(html).words
    assert "Remarks on results of each pair: 103" in words and "and 3 more" in words
    assert f"{HOSTILE[0]} 99.json: {HOSTILE[1]}" in words and " 100.json" not in words
    assert "Remarks on results" not in rule_html(board, VIEW)


@pytest.mark.parametrize(
    ("rule", "words"), [("v1_prior", "no tie groups of the whole score"), ("v2", "a composite")]
)
def test_where_scores_have_unpaired_intervals_alone_it_is_said_outside_of_the_remarks(
    rule: RuleName, words: str
) -> None:
    subsets = {"v1_prior": SUBSETS, "v2": V2_SUBSETS}[rule]
    matrix = matrix_of({"a": [1.0] * 2 * len(subsets)}, [*subsets] * 2)
    prior = Aggregate("a", None, dict.fromkeys(PRIOR_SCORED, 0.5), "prior")
    board = build_board(replace(NOTHING, aggregates=(prior,)), rule, outcomes=matrix)
    assert rows_in(board)[0].by_pairs
    about, *_ = rule_html(board, VIEW).split("<details")
    assert words in reading(about).words
    bare = build_board(replace(NOTHING, aggregates=(prior,)), "v1", outcomes=matrix)
    assert words not in rule_html(bare, VIEW)


def test_that_there_are_no_results_of_a_benchmark_is_said() -> None:
    board = build_board(NOTHING, "v2")
    assert "nothing here by the rule RewardBench 2" in reading(counts_html(board, 0, (), 0)).words
    assert "nothing here" not in counts_html(board, 0, (), 3)
    assert "nothing here" not in counts_html(hostile_board(), 0, (), 0)
