from typing import Any

import numpy as np
import pytest

from explorer.stats.difficulty import correlations, difficulty, item_rest, leaf_order


def drawn(seed: int, missing: float = 0.0) -> Any:
    """Twelve models of rising skill on forty pairs."""
    generator = np.random.default_rng(seed)
    wins = generator.random((12, 40)) < np.linspace(0.3, 0.9, 12)[:, None]
    return np.where(generator.random(wins.shape) < missing, np.nan, wins.astype(float))


def test_correlations_are_those_of_numpy() -> None:
    outcomes = drawn(1)
    assert correlations(outcomes) == pytest.approx(np.corrcoef(outcomes))


def test_correlations_are_over_the_pairs_known_of_both() -> None:
    outcomes = drawn(2, missing=0.3)
    found = correlations(outcomes)
    for i, one in enumerate(outcomes):
        for j, other in enumerate(outcomes):
            both = ~np.isnan(one + other)
            if min(one[both].std(), other[both].std()) > 0:
                expected = np.corrcoef(one[both], other[both])[0, 1]
                assert found[i, j] == pytest.approx(expected, abs=1e-9)
            else:
                assert np.isnan(found[i, j])
    assert np.array_equal(found, found.T, equal_nan=True)


def test_who_never_varies_correlates_with_no_one() -> None:
    always, sometimes = np.ones(5), np.array([1.0, 0.0, 1.0, 0.0, np.nan])
    unknown = np.full(5, np.nan)
    found = correlations(np.array([always, sometimes, sometimes, unknown]))
    assert found[1, 2] == found[1, 1] == 1.0
    assert np.isnan(found[[0, 3]]).all()


def test_copies_stand_together() -> None:
    outcomes = drawn(3)
    order = leaf_order(correlations(np.concatenate([outcomes, outcomes]))).tolist()
    assert sorted(order) == list(range(24))
    for model in range(12):
        assert abs(order.index(model) - order.index(model + 12)) == 1


def test_a_half_is_no_win_and_missing_is_no_failure() -> None:
    found = difficulty(np.array([[1.0, 0.5, np.nan], [np.nan, 0.0, np.nan], [0.0, 1.0, np.nan]]))
    assert found.failed.tolist() == [1, 2, 0]
    assert found.known.tolist() == [2, 3, 0]
    assert found.share == pytest.approx([1 / 2, 2 / 3, np.nan], nan_ok=True)


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_item_rest_is_the_correlation_with_the_mean_of_the_others(missing: float) -> None:
    outcomes = drawn(4, missing)
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


def test_a_pair_with_its_label_turned_stands_out() -> None:
    outcomes = (np.arange(20)[:, None] >= np.arange(20)[None, :]).astype(float)
    outcomes[:, 10] = 1 - outcomes[:, 10]
    found = item_rest(outcomes)
    assert found[10] < -0.8
    assert np.nanmin(np.delete(found, 10)) > 0
