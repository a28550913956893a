from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.stats.difficulty import correlations, discriminating_pairs, failed_by_most, item_rest
from tests.support.board_data import real_results


def drawn(seed: int, missing: float = 0.0) -> Any:
    """Twelve models of rising skill on forty pairs."""
    generator = np.random.default_rng(seed)
    wins = generator.random((12, 40)) < np.linspace(0.3, 0.9, 12)[:, None]
    return np.where(generator.random(wins.shape) < missing, np.nan, wins.astype(float))


def test_correlations_are_over_the_pairs_known_of_both_and_none_with_who_never_varies() -> None:
    outcomes = np.concatenate([drawn(2, missing=0.3), np.ones((1, 40)), np.full((1, 40), np.nan)])
    found = correlations(outcomes)
    for i, one in enumerate(outcomes):
        for j, other in enumerate(outcomes):
            both = ~np.isnan(one + other)
            if both.any() and min(one[both].std(), other[both].std()) > 0:
                expected = np.corrcoef(one[both], other[both])[0, 1]
                assert found[i, j] == pytest.approx(expected, abs=1e-9)
            else:
                assert np.isnan(found[i, j])
    assert np.array_equal(found, found.T, equal_nan=True)


def test_item_rest_is_the_correlation_with_the_mean_of_the_others() -> None:
    outcomes = drawn(4, missing=0.25)
    subsets = np.arange(40) % 2
    found = item_rest(outcomes, subsets)
    for pair in range(outcomes.shape[1]):
        known = ~np.isnan(outcomes[:, pair])
        others = (subsets == subsets[pair]) & (np.arange(40) != pair)
        rest = np.nanmean(outcomes[:, others], axis=1)[known]
        item = outcomes[known, pair]
        if item.std() > 0:
            assert found[pair] == pytest.approx(np.corrcoef(item, rest)[0, 1], abs=1e-9)
        else:
            assert np.isnan(found[pair])


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_hard_pairs_are_those_that_counting_finds(share: float) -> None:
    generator = np.random.default_rng(1)
    values = generator.choice([0.0, 0.5, 1.0, np.nan], p=[0.4, 0.1, 0.2, 0.3], size=(12, 300))
    expected = []
    for row, of_pair in enumerate(values.T):
        known = [each for each in of_pair if not np.isnan(each)]
        failed = sum(each != 1 for each in known)
        if len(known) >= 8 and failed / len(known) > share:
            expected.append((-failed / len(known), -failed, row))
    found = failed_by_most(values, share, least_models=8)
    assert found.tolist() == [row for *_, row in sorted(expected)] != []


def test_pairs_that_tell_and_those_that_mislead() -> None:
    generator = np.random.default_rng(3)
    skill = np.arange(30)[:, None]
    outcomes = (skill + generator.normal(0, 8, (30, 50)) > 15).astype(float)
    outcomes[:, 7] = 1 - (skill[:, 0] > 15)
    outcomes[:, 9] = skill[:, 0] > 15
    outcomes[:, 11] = 1.0
    outcomes[:14, 13] = np.nan
    found = discriminating_pairs(outcomes, least_models=17)
    assert found.negative.tolist() == [7]
    assert found.best[0] == 9
    assert len(found.best) == 47
    assert np.flatnonzero(np.isnan(found.correlation)).tolist() == [11, 13]
    assert (np.diff(found.correlation[found.best]) <= 0).all()
    assert discriminating_pairs(outcomes, most=3).best.tolist() == found.best[:3].tolist()
    assert not np.isnan(discriminating_pairs(outcomes, least_models=16).correlation[13])


def test_subsets_that_ask_for_different_skills_hold_no_wrong_labels() -> None:
    """Models that are good at the small subset are bad at the large one."""
    skill = np.linspace(-2, 2, 30)[:, None] * np.repeat([1, -1], [40, 80])
    outcomes = (np.random.default_rng(4).normal(skill) > 0).astype(float)
    subsets = np.repeat([0, 1], [40, 80])
    assert len(discriminating_pairs(outcomes).negative) > 30
    assert len(discriminating_pairs(outcomes, subsets).negative) == 0
    outcomes[:, 3] = 1 - outcomes[:, 3]
    assert discriminating_pairs(outcomes, subsets).negative.tolist() == [3]


def test_labels_that_were_swapped_are_listed(shared_data: Path) -> None:
    """Of 60 that are swapped among the real pairs, 57 stand in the list of 100."""
    _, _, real = real_results(shared_data)
    subsets = real.pairs.codes
    listed = []
    for seed in range(3):
        swapped = np.random.default_rng(seed).choice(len(subsets), 60, replace=False)
        outcomes = real.outcomes.copy()
        outcomes[:, swapped] = 1 - outcomes[:, swapped]
        listed.append(np.isin(swapped, discriminating_pairs(outcomes, subsets).negative).sum())
    assert min(listed) >= 53
    assert np.mean(listed) >= 56
