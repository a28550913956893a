import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.facets import Coded
from explorer.stats.aggregate import (
    Counted,
    Missing,
    Ties,
    accuracies_of,
    aggregate,
    aggregate_counted,
    overall,
)
from explorer.stats.rules import PRIOR, RULES, V1, V2
from scoring.benchmark import COUNTS, SECTIONS, WEIGHTS, overall_score, section_scores
from tests.support.published_accuracies import ARMORM_PERCENT

PAPER, V1_PRIOR, V1_UPSTREAM, PRIOR_ALONE = (
    RULES[name] for name in ("paper", "v1_prior", "v1_upstream", "prior")
)
accuracies = st.dictionaries(
    st.sampled_from([*V1_PRIOR.subsets, *V2.subsets, "my-own"]),
    st.one_of(st.none(), st.floats(0.001, 1)),
)


# The rules.


def test_the_first_rule_is_the_benchmarks_own() -> None:
    assert {name: tuple(subsets) for name, subsets in V1.sections.items()} == SECTIONS
    assert {each: w for section in V1.sections.values() for each, w in section.items()} == WEIGHTS
    assert V1.pairs == COUNTS


def test_the_paper_has_the_two_counts_of_xstest_swapped_and_nothing_else() -> None:
    ours, theirs = V1_PRIOR.sections, PAPER.sections
    differ = {
        subset: (ours[section][subset], theirs[section][subset])
        for section in ours
        for subset in ours[section]
        if ours[section][subset] != theirs[section][subset]
    }
    assert differ == {"xstest-should-refuse": (154, 250), "xstest-should-respond": (250, 154)}


def test_four_prior_sets_count_half_a_section_and_each_of_rewardbench_2_is_one_subset() -> None:
    assert V1_PRIOR.weights == {**dict.fromkeys(SECTIONS, 2), PRIOR: 1}
    assert PRIOR_ALONE.subsets == ("anthropic_helpful", "anthropic_hhh", "shp", "summarize")
    assert len(RULES["prior_all"].subsets) == 7
    assert sum(V2.pairs.values()) == 1865
    assert [list(section) for section in V2.sections.values()] == [[each] for each in V2.sections]


# Sections and scores.


def test_armorm_from_the_papers_tables() -> None:
    true, paper = aggregate(V1_PRIOR, ARMORM_PERCENT), aggregate(PAPER, ARMORM_PERCENT)
    digits = {section: f"{score:.3f}" for section, score in true.sections.items()}
    assert digits == {
        "Chat": "96.906",
        "Chat Hard": "76.766",
        "Safety": "90.538",
        "Reasoning": "97.375",
        PRIOR: "74.300",
    }
    assert f"{true.score:.2f}" == "88.61"
    assert f"{paper.sections['Safety']:.3f}" == "92.199"
    assert f"{paper.score:.1f}" == "89.0"
    assert f"{aggregate(PRIOR_ALONE, ARMORM_PERCENT).score:.1f}" == "74.3"
    full = aggregate(RULES["v1_prior_full"], ARMORM_PERCENT).score
    assert full == pytest.approx((96.906 + 76.766 + 90.538 + 97.375 + 74.3) / 5, abs=1e-3)


def test_a_section_without_subsets_is_unknown_here_and_0_upstream() -> None:
    given_two = {"mt-bench-easy": 1.0, "alpacaeval-easy": 0.5, "hep-go": None, "hep-js": math.nan}
    assert [*aggregate(V1, given_two).sections.values()] == [0.609375, None, None, None]
    upstream = aggregate(V1_UPSTREAM, given_two)
    assert list(upstream.sections.values()) == [0.609375, 0, 0, 0]
    assert upstream.score == 0.609375 / 4


@given(accuracies)
def test_it_is_the_rule_that_scored_runs_use(values: dict[str, float | None]) -> None:
    found = aggregate(V1, values)
    known = {subset: value for subset, value in values.items() if value is not None}
    sections = section_scores(known)
    assert found.sections == pytest.approx(sections, abs=1e-12)
    assert found.score == pytest.approx(overall_score(sections), abs=1e-12)


def test_what_is_left_out_gives_its_weight_to_the_rest() -> None:
    sections = {"Chat": 0.9, "Chat Hard": 0.6, "Safety": 0.6, "Reasoning": 0.3, PRIOR: 0.6}
    assert overall(V1_PRIOR, sections) == pytest.approx((2 * 2.4 + 0.6) / 9, abs=1e-15)
    assert overall(V1_PRIOR, {**sections, PRIOR: None}) == pytest.approx(0.6, abs=1e-15)
    without = {**sections, "Reasoning": None, PRIOR: None}
    assert overall(V1_PRIOR, without) == pytest.approx(0.7, abs=1e-15)  # an internal model
    assert overall(V2, dict.fromkeys(["Math", "Ties"], 0.4)) == 0.4


def test_prior_sets_of_exactly_0_were_not_measured_but_a_section_of_0_was() -> None:
    four = {"Chat": 0.9, "Chat Hard": 0.6, "Safety": 0.6, "Reasoning": 0.0}
    assert overall(V1_PRIOR, {**four, PRIOR: 0.0}) == overall(V1, four) == pytest.approx(0.525)
    found = aggregate(V1_PRIOR, {**dict.fromkeys(PRIOR_ALONE.subsets, 0.0), "hep-go": 0.5})
    assert (found.sections[PRIOR], found.score) == (None, 0.5)


# What is counted.


def test_halves_stay_and_equal_and_missing_outcomes_count_as_asked() -> None:
    outcomes = np.array([1, 0, 0, 0.5, 0.25, 0.875, math.nan], np.float32)
    equal = np.array([False, True, *[False] * 4, True])
    subsets = Coded(["a", "empty"], np.zeros(7, np.int32))
    cases: list[tuple[Ties, Missing, Counted]] = [
        ("official", "left out", Counted(2.625 / 6, 6, 1, 3, 2, 1)),
        ("half", "left out", Counted(3.125 / 6, 6, 1, 4, 1, 1)),
        ("official", "loss", Counted(2.625 / 7, 7, 1, 3, 2, 1)),
    ]
    for ties, missing, counted in cases:
        found = accuracies_of(outcomes, subsets, equal, ties, missing)
        assert found == {"a": counted, "empty": Counted(None, 0, 0, 0, 0, 0)}
    nothing = accuracies_of(np.full(7, np.nan, np.float32), subsets)
    assert nothing["a"] == Counted(None, 0, 0, 0, 0, 7)
    assert aggregate_counted(V1, nothing).score is None


@pytest.mark.parametrize("outcome", [-0.5, 1.5, np.inf])
def test_an_outcome_out_of_range_is_refused(outcome: float) -> None:
    with pytest.raises(ValueError, match="not between 0 and 1"):
        accuracies_of(np.array([outcome], np.float32), Coded(["a"], np.zeros(1, np.int32)))
