import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.facets import Coded
from explorer.stats.aggregate import Counted, accuracies_of, aggregate, aggregate_counted, overall
from explorer.stats.rules import PRIOR, RULES, V1, V2, Rule
from scoring.benchmark import COUNTS, SUBSETS, overall_score, section_scores
from tests.support.published_accuracies import ARMORM_PERCENT, LDL_REWARD_CORRECT

PAPER = RULES["paper"]
V1_PRIOR, V1_PRIOR_FULL, V1_UPSTREAM, PRIOR_ALONE = (
    RULES[name] for name in ("v1_prior", "v1_prior_full", "v1_upstream", "prior")
)
PRIOR_SCORED = PRIOR_ALONE.subsets
ARMO_PERCENT = ARMORM_PERCENT | {
    "anthropic_helpful": 69.7,
    "anthropic_hhh": 87.8,
    "shp": 74.7,
    "summarize": 65.0,
}

FIXED = [rule for rule in RULES.values() if rule.pairs]
EVERY = pytest.mark.parametrize("rule", FIXED, ids=[rule.name for rule in FIXED])
rules = st.sampled_from(FIXED)
accuracies = st.dictionaries(
    st.sampled_from([*RULES["v1_prior"].subsets, *V2.subsets, "my-own"]),
    st.one_of(st.none(), st.floats(0.001, 1)),
)


def outcomes_of(correct: dict[str, int]) -> tuple[np.ndarray, Coded]:
    codes = np.repeat(np.arange(len(correct), dtype=np.int32), [COUNTS[each] for each in correct])
    outcomes = np.zeros(len(codes), dtype=np.float32)
    for code, wins in enumerate(correct.values()):
        outcomes[np.flatnonzero(codes == code)[:wins]] = 1
    return outcomes, Coded(list(correct), codes)


def test_ldl_reward_to_the_last_digit_from_its_pairs() -> None:
    found = aggregate_counted(V1, accuracies_of(*outcomes_of(LDL_REWARD_CORRECT)))
    digits = {section: f"{score:.10f}" for section, score in found.sections.items()}
    assert digits == {
        "Chat": "0.9664804469",
        "Chat Hard": "0.9166666667",
        "Safety": "0.9270270270",
        "Reasoning": "0.9882107001",
    }
    assert f"{found.score:.10f}" == "0.9495962102"
    assert sum(each.wins for each in found.counts.values()) == 2859


def test_armorm_from_the_papers_tables() -> None:
    true, paper = aggregate(V1_PRIOR, ARMO_PERCENT), aggregate(PAPER, ARMO_PERCENT)
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
    assert f"{aggregate(PRIOR_ALONE, ARMO_PERCENT).score:.1f}" == "74.3"
    full = aggregate(V1_PRIOR_FULL, ARMO_PERCENT).score
    assert full == pytest.approx((96.906 + 76.766 + 90.538 + 97.375 + 74.3) / 5, abs=1e-3)


def test_a_section_without_subsets_is_unknown_here_and_0_upstream() -> None:
    given_two = {"mt-bench-easy": 1.0, "alpacaeval-easy": 0.5}
    assert aggregate(V1, given_two).sections == {
        "Chat": 0.609375,
        "Chat Hard": None,
        "Safety": None,
        "Reasoning": None,
    }
    upstream = aggregate(V1_UPSTREAM, given_two)
    assert list(upstream.sections.values()) == [0.609375, 0, 0, 0]
    assert upstream.score == 0.609375 / 4


@EVERY
def test_all_of_one_half_is_one_half(rule: Rule) -> None:
    found = aggregate(rule, dict.fromkeys(rule.subsets, 0.5))
    assert set(found.sections.values()) == {0.5}
    assert found.score == 0.5


@given(accuracies)
def test_it_is_the_rule_that_scored_runs_use(values: dict[str, float | None]) -> None:
    found = aggregate(V1, values)
    known = {subset: value for subset, value in values.items() if value is not None}
    sections = section_scores(known)
    assert found.sections == pytest.approx(sections, abs=1e-12)
    assert found.score == pytest.approx(overall_score(sections), abs=1e-12)


@given(rules, accuracies)
def test_a_mean_lies_within_what_it_is_a_mean_of(
    rule: Rule, values: dict[str, float | None]
) -> None:
    rule = replace(rule, missing="left out")
    found = aggregate(rule, values)
    for section, weights in rule.sections.items():
        known = [value for each in weights if (value := values.get(each)) is not None]
        score = found.sections[section]
        assert (score is None) == (not known)
        if score is not None:
            assert min(known) - 1e-12 <= score <= max(known) + 1e-12
    scores = [score for score in found.sections.values() if score is not None]
    if found.score is not None:
        assert min(scores) - 1e-12 <= found.score <= max(scores) + 1e-12
    assert (found.score is None) == (not scores)


@given(rules, accuracies, st.randoms(use_true_random=False))
def test_the_order_of_subsets_and_sections_changes_not_a_bit(
    rule: Rule, values: dict[str, float | None], order: random.Random
) -> None:
    def shuffled(things: dict[str, float | None]) -> dict[str, float | None]:
        return dict(order.sample(list(things.items()), len(things)))

    sections = {
        name: dict(order.sample(list(weights.items()), len(weights)))
        for name, weights in order.sample(list(rule.sections.items()), len(rule.sections))
    }
    found = aggregate(rule, values)
    again = aggregate(replace(rule, sections=sections), shuffled(values))
    assert again.sections == found.sections
    assert again.score == found.score
    assert overall(rule, shuffled(found.sections)) == found.score


@given(accuracies, st.sampled_from(SUBSETS), st.sampled_from([None, math.nan, math.inf]))
def test_what_is_unknown_is_as_if_it_were_not_there(
    values: dict[str, float | None], subset: str, unknown: float | None
) -> None:
    without = {name: value for name, value in values.items() if name != subset}
    found, plain = aggregate(V1_PRIOR, {**values, subset: unknown}), aggregate(V1_PRIOR, without)
    assert (found.sections, found.score) == (plain.sections, plain.score)


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
    found = aggregate(V1_PRIOR, {**dict.fromkeys(PRIOR_SCORED, 0.0), "hep-go": 0.5})
    assert (found.sections[PRIOR], found.score) == (None, 0.5)


def one_subset(*outcomes: float) -> tuple[np.ndarray, Coded]:
    return np.array(outcomes, dtype=np.float32), Coded(["a"], np.zeros(len(outcomes), np.int32))


def test_officially_a_stored_half_stays_and_equal_scores_stay_losses() -> None:
    outcomes, subsets = one_subset(1, 0, 0, 0.5)
    equal = np.array([False, True, False, False])
    assert accuracies_of(outcomes, subsets, equal)["a"] == Counted(0.375, 4, 1, 1, 2, 0)
    assert accuracies_of(outcomes, subsets, equal, "half")["a"] == Counted(0.5, 4, 1, 2, 1, 0)


def test_a_missing_outcome_is_left_out_and_counted_or_a_loss_as_upstream() -> None:
    outcomes, subsets = one_subset(1, 0, math.nan, math.nan)
    assert accuracies_of(outcomes, subsets)["a"] == Counted(0.5, 2, 1, 0, 1, 2)
    upstream = accuracies_of(outcomes, subsets, missing="loss")["a"]
    assert upstream == Counted(0.25, 4, 1, 0, 1, 2)


def test_equal_scores_do_not_make_a_missing_outcome_known() -> None:
    outcomes, subsets = one_subset(1, math.nan)
    found = accuracies_of(outcomes, subsets, np.array([True, True]), "half")
    assert found["a"] == Counted(0.5, 1, 0, 1, 0, 1)


def test_a_win_is_a_result_of_exactly_1() -> None:
    outcomes, subsets = one_subset(1, 0.99, 1e-9)
    assert accuracies_of(outcomes, subsets)["a"].wins == 1
    assert accuracies_of(outcomes, subsets)["a"].halves == 2


def test_a_subset_without_pairs_or_without_outcomes_has_no_accuracy() -> None:
    subsets = Coded(["gone", "empty"], np.zeros(2, np.int32))
    found = accuracies_of(np.full(2, np.nan, np.float32), subsets)
    assert found == {"gone": Counted(None, 0, 0, 0, 0, 2), "empty": Counted(None, 0, 0, 0, 0, 0)}
    assert aggregate_counted(V1, found).score is None


@pytest.mark.parametrize("outcome", [-0.5, 1.5, np.inf, -np.inf])
def test_an_outcome_out_of_range_is_refused(outcome: float) -> None:
    with pytest.raises(ValueError, match="not between 0 and 1"):
        accuracies_of(*one_subset(1, outcome))
