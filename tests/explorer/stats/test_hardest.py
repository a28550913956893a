from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.stats.difficulty import difficulty, discriminating_pairs, failed_by_most
from tests.support.real_outcomes import read_real_outcomes


def drawn(seed: int) -> Any:
    """Twenty models on 300 pairs, with halves and missing outcomes."""
    generator = np.random.default_rng(seed)
    wins = generator.random((20, 300)) < generator.random(300)
    outcomes = np.where(generator.random(wins.shape) < 0.1, 0.5, wins.astype(float))
    return np.where(generator.random(wins.shape) < 0.5, np.nan, outcomes)


@pytest.mark.parametrize("share", [0, 0.5, 0.8, 0.99])
def test_hard_pairs_are_those_that_counting_finds(share: float) -> None:
    outcomes = drawn(1)
    expected = []
    for row, of_pair in enumerate(outcomes.T):
        known = [each for each in of_pair if not np.isnan(each)]
        failed = sum(each != 1 for each in known)
        if len(known) >= 8 and failed / len(known) > share:
            expected.append((-failed / len(known), -failed, row))
    found = failed_by_most(outcomes, share, least_models=8)
    assert found.tolist() == [row for *_, row in sorted(expected)]
    counted = difficulty(outcomes)
    assert counted.share[found] == pytest.approx([-each for each, *_ in sorted(expected)])
    assert (counted.failed <= counted.known).all()


def test_more_than_the_share_must_fail() -> None:
    outcomes = np.array([[1.0, 0.0, 0.0]] * 2 + [[0.0, 0.0, 0.0]] * 8)
    outcomes[2, 1] = 1.0
    assert failed_by_most(outcomes, 0.8).tolist() == [2, 1]
    assert failed_by_most(outcomes, 0.8, least_models=11).tolist() == []


def test_pairs_that_tell_and_those_that_mislead() -> None:
    generator = np.random.default_rng(3)
    skill = np.arange(30)[:, None]
    outcomes = (skill + generator.normal(0, 8, (30, 50)) > 15).astype(float)
    outcomes[:, 7] = 1 - (skill[:, 0] > 15)
    outcomes[:, 9] = skill[:, 0] > 15
    outcomes[:, 11] = 1.0
    found = discriminating_pairs(outcomes)
    assert found.negative.tolist() == [7]
    assert found.best[0] == 9
    assert len(found.best) == 48
    assert np.isnan(found.correlation[11])
    assert (np.diff(found.correlation[found.best]) <= 0).all()
    assert discriminating_pairs(outcomes, most=3).best.tolist() == found.best[:3].tolist()


def test_a_pair_that_few_models_know_tells_nothing() -> None:
    outcomes = (np.arange(10)[:, None] >= np.arange(10)).astype(float)
    outcomes[:4, 5] = np.nan
    known_by_six = discriminating_pairs(outcomes, least_models=6).correlation
    assert not np.isnan(known_by_six[5])
    assert np.isnan(discriminating_pairs(outcomes, least_models=7).correlation[5])
    assert discriminating_pairs(outcomes, least_models=11).best.tolist() == []


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
    real = read_real_outcomes(shared_data)
    subsets = np.unique(real.subsets, return_inverse=True)[1]
    listed = []
    for seed in range(10):
        swapped = np.random.default_rng(seed).choice(len(subsets), 60, replace=False)
        outcomes = real.matrix.copy()
        outcomes[:, swapped] = 1 - outcomes[:, swapped]
        listed.append(np.isin(swapped, discriminating_pairs(outcomes, subsets).negative).sum())
    assert min(listed) >= 53
    assert np.mean(listed) >= 56
