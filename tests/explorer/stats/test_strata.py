from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.benchmark import SECTIONS, SUBSETS, overall_score, section_scores
from scoring.strata import Strata, one_stratum, score_models, score_weights, strata
from tests.support.real_outcomes import read_real_outcomes, v1_strata


def by_the_book(outcomes: Any, subsets: list[str]) -> tuple[dict[str, float | None], float | None]:
    """The scores by the functions that the rest of the project uses."""
    known: dict[str, list[float]] = {}
    for outcome, subset in zip(outcomes.tolist(), subsets, strict=True):
        if not np.isnan(outcome):
            known.setdefault(subset, []).append(outcome)
    sections = section_scores({subset: float(np.mean(known[subset])) for subset in known})
    return sections, overall_score(sections)


def sections_of(outcomes: Any, groups: Strata) -> Any:
    """The scores of each section, (sections, models)."""
    n = len(groups.section_weights)
    return np.array([score_models(outcomes, groups.only(at)) for at in range(n)])


@st.composite
def boards(draw: st.DrawFn) -> tuple[Any, list[str]]:
    """Outcomes of three models on a few pairs of a few subsets, many of them missing."""
    subsets = draw(st.lists(st.sampled_from(SUBSETS), min_size=1, max_size=12))
    value = st.sampled_from([0.0, 0.5, 1.0, np.nan])
    row = st.lists(value, min_size=len(subsets), max_size=len(subsets))
    return np.array(draw(st.lists(row, min_size=3, max_size=3))), subsets


@given(boards())
def test_scores_follow_the_rule_whatever_is_missing(board: tuple[Any, list[str]]) -> None:
    outcomes, subsets = board
    groups = v1_strata(subsets)
    found, by_section = score_models(outcomes, groups), sections_of(outcomes, groups)
    for model, row in enumerate(outcomes):
        sections, overall = by_the_book(row, subsets)
        expected = [np.nan if score is None else score for score in sections.values()]
        assert by_section[:, model] == pytest.approx(expected, abs=1e-12, nan_ok=True)
        assert found[model] == pytest.approx(
            np.nan if overall is None else overall, abs=1e-12, nan_ok=True
        )


@given(boards())
def test_the_score_is_the_weighted_sum_of_what_is_known(board: tuple[Any, list[str]]) -> None:
    outcomes, subsets = board
    groups = v1_strata(subsets)
    weights = score_weights(groups, ~np.isnan(outcomes))
    total, scores = np.nansum(weights * outcomes, axis=1), score_models(outcomes, groups)
    assert np.all(weights[np.isnan(outcomes)] == 0)
    assert weights.sum(axis=1) == pytest.approx(np.where(np.isnan(scores), 0, 1))
    assert total[~np.isnan(scores)] == pytest.approx(scores[~np.isnan(scores)], abs=1e-12)


def test_a_section_without_pairs_is_left_out_before_a_subset_is_made_up_for() -> None:
    # two sections of two strata each; one stratum of the first has nothing
    groups = strata([0, 2, 3], [1, 3, 1, 1], [0, 0, 1, 1], [1, 1])
    assert groups.shares([1, 0, 1, 1]) == pytest.approx([0.5, 0, 0.25, 0.25])
    assert groups.shares([1, 0, 0, 0]) == pytest.approx([1, 0, 0, 0])
    assert groups.shares([0, 0, 0, 0]) == pytest.approx([0, 0, 0, 0])


def test_prior_sets_at_half_weight() -> None:
    sections = [0.9693, 0.7675, 0.9054, 0.9735]
    groups = strata([0, 1, 2, 3, 4], [1] * 5, [0, 1, 2, 3, 4], [2, 2, 2, 2, 1])
    found = score_models([[*sections, 0.7429], [*sections, np.nan]], groups)
    assert found == pytest.approx([0.88603, sum(sections) / 4], abs=5e-6)


def test_pairs_of_no_stratum_and_of_no_weight_count_nowhere() -> None:
    groups = strata([0, -1, 1, 2], [1, 0, 1], [0, 0, 1], [1, 0])
    assert groups.counting().tolist() == [True, False, False, False]
    assert score_models([[1, 0, 0, 0]], groups).tolist() == [1.0]
    assert groups.only(1).counting().tolist() == [False, False, False, True]


@pytest.mark.parametrize("outcomes", [[1, 0], [[1]], [[1, 1.5]], [[1, -0.1]], [[np.inf, 0]]])
def test_outcomes_that_are_none_are_refused(outcomes: Any) -> None:
    with pytest.raises(ValueError, match="outcome"):
        score_models(outcomes, one_stratum(2))


def test_the_real_models_score_as_the_rest_of_the_project_says(shared_data: Path) -> None:
    real = read_real_outcomes(shared_data)
    found = score_models(real.matrix, real.groups)
    by_section = sections_of(real.matrix, real.groups)
    for model, row in enumerate(real.matrix):
        sections, overall = by_the_book(row, real.subsets)
        assert by_section[:, model] == pytest.approx([sections[name] for name in SECTIONS])
        assert found[model] == pytest.approx(overall)
