from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from explorer.slice_tests import (
    FLOOR,
    LARGEST_EXACT,
    LEAST_IN_LEVEL,
    MOST_LEVELS,
    expected_wins,
    levels_of,
    normal_tail,
    tails,
)
from tests.explorer.real_outcomes import read_real_outcomes


def by_counting(n: list[int], won: int, pairs: list[int], wins: list[int]) -> tuple[float, float]:
    """Both tails, over every way in which the wins can lie in the slice."""
    few = many = whole = 0
    for each in product(*(range(size + 1) for size in n)):
        ways = 1
        for k, size, total, of_level in zip(each, n, pairs, wins, strict=True):
            ways *= comb(of_level, k) * comb(total - of_level, size - k)
        whole += ways
        few += ways * (sum(each) <= won)
        many += ways * (sum(each) >= won)
    return few / whole, many / whole


@pytest.mark.parametrize(
    ("n", "pairs", "wins"),
    [
        ([3], [10], [4]),
        ([2, 3], [4, 9], [1, 5]),
        ([0, 5, 2], [7, 5, 6], [3, 4, 6]),
        ([4, 4, 4], [4, 8, 12], [2, 0, 11]),
        ([1, 20, 30], [40, 30, 35], [20, 25, 5]),
    ],
)
def test_tails_are_those_of_counting(n: list[int], pairs: list[int], wins: list[int]) -> None:
    least = sum(max(0, s - (p - w)) for s, p, w in zip(n, pairs, wins, strict=True))
    most = sum(min(s, w) for s, w in zip(n, wins, strict=True))
    possible = range(least, most + 1)
    found = tails(
        np.array([n] * len(possible)), np.array(possible), np.array(pairs), np.array(wins)
    )
    for place, won in enumerate(possible):
        assert found[:, place] == pytest.approx(by_counting(n, won, pairs, wins), abs=1e-12)


@pytest.mark.parametrize(("n", "won"), [(1, 0), (20, 3), (150, 100), (1500, 1300), (2985, 2400)])
def test_with_one_level_it_is_fishers_test(n: int, won: int) -> None:
    few, many = tails(np.array([[n]]), np.array([won]), np.array([2985]), np.array([2400]))[:, 0]
    chance = stats.hypergeom(2985, 2400, n)
    assert few == pytest.approx(max(FLOOR, chance.cdf(won)), rel=1e-6, abs=1e-12)
    assert many == pytest.approx(max(FLOOR, chance.sf(won - 1)), rel=1e-6, abs=1e-12)


def test_slices_of_any_size_together_are_each_by_itself() -> None:
    generator = np.random.default_rng(1)
    pairs = np.array([300, 500, 200])
    wins = np.array([50, 400, 180])
    n = generator.integers(0, pairs + 1, size=(40, 3))
    n[0], n[1] = 0, pairs
    won = np.round(expected_wins(n, pairs, wins)).astype(int)
    found = tails(n, won, pairs, wins)
    for place in range(len(n)):
        alone = tails(n[[place]], won[[place]], pairs, wins)
        assert found[:, [place]] == pytest.approx(alone)
    assert found[:, :2] == pytest.approx(np.ones((2, 2)))


def test_a_very_large_slice_is_tested_by_the_normal_distribution() -> None:
    n, pairs, wins = np.array([[LARGEST_EXACT + 1]]), np.array([20_000]), np.array([12_000])
    won = np.array([2400])
    few, many = tails(n, won, pairs, wins)[:, 0]
    chance = stats.hypergeom(20_000, 12_000, LARGEST_EXACT + 1)
    assert few == pytest.approx(chance.cdf(2400), rel=0.01)
    assert many == pytest.approx(chance.sf(2399), rel=0.01)


def test_the_normal_tail_is_near_the_exact_one() -> None:
    pairs, wins = np.array([300, 500, 200]), np.array([100, 400, 150])
    n, won = np.array([[100, 150, 80]] * 3), np.array([180, 200, 210])
    exact = tails(n, won, pairs, wins)[0]
    assert normal_tail(n, won, pairs, wins) == pytest.approx(exact, rel=0.15)
    of_each = np.tile(pairs, (3, 1)), np.tile(wins, (3, 1))
    assert normal_tail(n, won, *of_each) == pytest.approx(normal_tail(n, won, pairs, wins))


def test_what_cannot_vary_surprises_no_one() -> None:
    pairs, wins = np.array([50, 50]), np.array([0, 50])
    assert tails(np.array([[20, 30]]), np.array([30]), pairs, wins).ravel().tolist() == [1, 1]
    assert normal_tail(np.array([[20, 30]]), np.array([30]), pairs, wins).tolist() == [1]


def drawn(seed: int, missing: float = 0.0) -> Any:
    """Forty models on a thousand pairs of all difficulties."""
    generator = np.random.default_rng(seed)
    skill, ease = generator.normal(0, 1, (40, 1)), generator.normal(0.5, 1.5, 1000)
    wins = generator.random((40, 1000)) < 1 / (1 + np.exp(-skill - ease))
    return np.where(generator.random(wins.shape) < missing, np.nan, wins.astype(float))


def test_levels_are_of_equal_difficulty() -> None:
    outcomes = drawn(2, missing=0.2)
    found = levels_of(outcomes[0], outcomes[1:])
    share = np.nanmean(outcomes[1:] == 1, axis=0, where=~np.isnan(outcomes[1:]))[found.used]
    assert found.used.tolist() == (~np.isnan(outcomes[0])).tolist()
    assert found.others == pytest.approx(share)
    assert len(found.pairs) == int(found.used.sum()) // LEAST_IN_LEVEL <= MOST_LEVELS
    for level in range(len(found.pairs) - 1):
        easier = share[found.level == level + 1].min()
        assert share[found.level == level].max() < easier
    assert found.pairs.min() > LEAST_IN_LEVEL / 2
    assert found.wins.sum() == np.nansum(outcomes[0])


def test_few_pairs_are_one_level() -> None:
    outcomes = drawn(3)[:, : 2 * LEAST_IN_LEVEL - 1]
    assert levels_of(outcomes[0], outcomes[1:]).pairs.tolist() == [2 * LEAST_IN_LEVEL - 1]


def test_a_pair_that_no_other_model_knows_is_left_out() -> None:
    field = np.array([[1.0, np.nan, 0.0, 1.0]])
    found = levels_of(np.array([1.0, 1.0, 0.5, np.nan]), field)
    assert found.used.tolist() == [True, False, True, False]
    assert found.won.tolist() == [True, False]  # a half is no win


@pytest.mark.parametrize("field", [None, np.zeros((0, 3)), np.full((2, 3), np.nan)])
def test_without_others_all_pairs_are_alike(field: Any) -> None:
    found = levels_of(np.array([1.0, 0.0, np.nan]), field)
    assert found.used.tolist() == [True, True, False]
    assert (found.pairs.tolist(), found.wins.tolist(), found.others) == ([2], [1], None)


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="shape"):
        levels_of(np.zeros(3), np.zeros((2, 4)))


def small_p_values(outcome: Any, field: Any, seed: int) -> float:
    """How many of a thousand slices made by chance have a p-value of at most 5 %."""
    found = levels_of(outcome, field)
    inside = np.random.default_rng(seed).random((1000, len(found.won))) < 0.1
    n = np.stack([inside[:, found.level == at].sum(axis=1) for at in range(len(found.pairs))], 1)
    few, many = tails(n, (inside & found.won).sum(axis=1), found.pairs, found.wins)
    return float(np.mean(np.minimum(few, many) <= 0.025))


def test_it_errs_no_more_often_than_it_says() -> None:
    outcomes = drawn(4)
    assert 0.02 <= small_p_values(outcomes[0], outcomes[1:], seed=5) <= 0.06


def test_of_real_models_too(shared_data: Path) -> None:
    outcomes = read_real_outcomes(shared_data).matrix
    for model in (0, 20, 40):
        others = np.delete(outcomes, model, axis=0)
        assert 0.02 <= small_p_values(outcomes[model], others, seed=model) <= 0.06
