from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.benchmark import SECTIONS, SUBSETS, overall_score, section_scores
from scoring.strata import one_stratum, score_models, score_weights, strata
from tests.support.real_outcomes import v1_strata


def by_the_book(outcomes: Any, subsets: list[str]) -> tuple[dict[str, float | None], float | None]:
    """The scores by the functions that the rest of the project uses."""
    known: dict[str, list[float]] = {}
    for outcome, subset in zip(outcomes.tolist(), subsets, strict=True):
        if not np.isnan(outcome):
            known.setdefault(subset, []).append(outcome)
    sections = section_scores({subset: float(np.mean(known[subset])) for subset in known})
    return sections, overall_score(sections)


@st.composite
def boards(draw: st.DrawFn) -> tuple[Any, list[str]]:
    """Outcomes of three models on a few pairs of a few subsets, many of them missing."""
    subsets = draw(st.lists(st.sampled_from(SUBSETS), min_size=1, max_size=12))
    value = st.sampled_from([0.0, 0.5, 1.0, np.nan])
    row = st.lists(value, min_size=len(subsets), max_size=len(subsets))
    return np.array(draw(st.lists(row, min_size=3, max_size=3))), subsets


@given(boards())
def test_scores_follow_the_rule_whatever_is_missing_and_are_sums_by_weight(
    board: tuple[Any, list[str]],
) -> None:
    outcomes, subsets = board
    groups = v1_strata(subsets)
    by_section = [score_models(outcomes, groups.only(at)) for at in range(len(SECTIONS))]
    weights = score_weights(groups, ~np.isnan(outcomes))
    weighted = np.where(weights.any(axis=1), np.nansum(weights * outcomes, axis=1), np.nan)
    for model, row in enumerate(outcomes):
        sections, overall = by_the_book(row, subsets)
        found = [*(scores[model] for scores in by_section), score_models(outcomes, groups)[model]]
        expected = [np.nan if each is None else each for each in (*sections.values(), overall)]
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)
        assert weighted[model] == pytest.approx(expected[-1], abs=1e-12, nan_ok=True)


def test_a_section_without_pairs_is_left_out_before_a_subset_is_made_up_for() -> None:
    # two sections of two strata each; one stratum of the first has nothing
    groups = strata([0, 2, 3], [1, 3, 1, 1], [0, 0, 1, 1], [1, 1])
    assert groups.shares([1, 0, 1, 1]) == pytest.approx([0.5, 0, 0.25, 0.25])
    assert groups.shares([1, 0, 0, 0]) == pytest.approx([1, 0, 0, 0])
    assert groups.shares([0, 0, 0, 0]) == pytest.approx([0, 0, 0, 0])


def test_pairs_of_no_stratum_and_of_no_weight_count_nowhere() -> None:
    groups = strata([0, -1, 1, 2], [1, 0, 1], [0, 0, 1], [1, 0])
    assert groups.counting().tolist() == [True, False, False, False]
    assert score_models([[1, 0, 0, 0]], groups).tolist() == [1.0]
    assert groups.only(1).counting().tolist() == [False, False, False, True]


@pytest.mark.parametrize("outcomes", [[1, 0], [[1]], [[1, 1.5]], [[1, -0.1]]])
def test_outcomes_that_are_none_are_refused(outcomes: Any) -> None:
    with pytest.raises(ValueError, match="outcome"):
        score_models(outcomes, one_stratum(2))
