from typing import Any

import numpy as np
import pytest

from explorer.stats.margins import (
    CALIBRATION_BINS,
    MARGIN_BINS,
    REWARD_BINS,
    calibration,
    confident_losses,
    margin_histogram,
    margins,
    near_misses,
    reward_histogram,
)
from scoring.interval import wilson


def drawn(seed: int, n: int = 2985) -> tuple[Any, Any]:
    """Rewards as stored: float32, some equal, some missing."""
    generator = np.random.default_rng(seed)
    chosen, rejected = generator.normal(1, 2, n), generator.normal(0, 2, n)
    rejected[:20] = chosen[:20]
    chosen[20:30], rejected[30:35], chosen[35] = np.nan, np.inf, -np.inf
    return chosen.astype(np.float32), rejected.astype(np.float32)


CHOSEN, REJECTED = drawn(1)
MARGINS = margins(CHOSEN, REJECTED)
KNOWN = MARGINS[~np.isnan(MARGINS)]
NOTHING = np.full(3, np.nan)


def test_each_margin_is_in_its_bin_and_zero_parts_wins_from_losses_and_ties() -> None:
    found = margin_histogram(CHOSEN, REJECTED)
    edges = [-np.inf, *found.edges[1:-1], np.inf]
    assert np.array(found.edges) == pytest.approx(-np.array(found.edges)[::-1])
    for low, high, count in zip(edges[:-1], edges[1:], found.counts, strict=True):
        assert count == ((low < KNOWN) & (high >= KNOWN)).sum()
    assert found.edges[MARGIN_BINS] == 0
    assert sum(found.counts[MARGIN_BINS:]) == found.wins == (KNOWN > 0).sum()
    assert (found.losses, found.ties) == ((KNOWN < 0).sum(), 20)
    assert (found.low, found.high) == (KNOWN.min(), KNOWN.max())
    wild = margin_histogram(np.append(CHOSEN, 1e9), np.append(REJECTED, 0.0))
    assert (wild.edges[-1] < 20, wild.high, sum(wild.counts)) == (True, 1e9, len(KNOWN) + 1)


@pytest.mark.parametrize("width", [0.0, 5e-324])
def test_margins_that_are_all_alike(width: float) -> None:
    found = margin_histogram(np.full(5, width), np.zeros(5))
    assert (found.wins, found.ties) == ((5, 0) if width else (0, 5))
    assert len(set(found.edges)) == 2 * MARGIN_BINS + 1


def test_rewards_of_both_sides_have_the_same_edges() -> None:
    found = reward_histogram(CHOSEN, REJECTED)
    known = ~np.isnan(MARGINS)
    assert len(found.edges) == REWARD_BINS + 1
    for counts, side in ((found.chosen, CHOSEN[known]), (found.rejected, REJECTED[known])):
        assert sum(counts) == known.sum()
        middle = np.histogram(side, found.edges)[0]
        assert counts[1:-1] == tuple(middle[1:-1])


def test_calibration_counts_each_pair_once_in_bins_alike() -> None:
    found = calibration(CHOSEN, REJECTED)
    assert len(found.bins) == CALIBRATION_BINS
    assert sum(each.n for each in found.bins) == found.n == len(KNOWN)
    assert all(len(KNOWN) // 10 - 1 <= each.n <= len(KNOWN) // 10 + 1 for each in found.bins)
    width = abs(KNOWN)
    for each in found.bins:
        inside = (width >= each.low) & (width <= each.high)
        assert (each.n, each.wins) == (inside.sum(), (KNOWN[inside] > 0).sum())
        assert each.confidence == pytest.approx((1 / (1 + np.exp(-width[inside]))).mean())
        assert each.interval == wilson(each.wins, each.n)
    error = sum(each.n * abs(each.accuracy - each.confidence) for each in found.bins) / found.n
    assert found.error == pytest.approx(error)


def test_who_means_what_he_says_is_calibrated() -> None:
    generator = np.random.default_rng(2)
    width = generator.exponential(1.5, 20_000)
    right = generator.random(len(width)) < 1 / (1 + np.exp(-width))
    found = calibration(np.where(right, width, -width), np.zeros(len(width)))
    boaster = calibration(np.where(right, 10 * width, -10 * width), np.zeros(len(width)))
    assert (found.error or 1) < 0.02 < 0.1 < (boaster.error or 0)
    assert [each.accuracy for each in boaster.bins] == [each.accuracy for each in found.bins]


def test_equal_margins_are_in_one_bin() -> None:
    found = calibration(np.array([1.0] * 40 + [3.0] * 20), np.array([0.0] * 30 + [2.0] * 30), 4)
    assert [(each.low, each.high, each.n, each.wins) for each in found.bins] == [(1, 1, 60, 50)]


def test_near_misses_and_confident_losses_are_of_the_outer_quarters() -> None:
    near, sure = near_misses(CHOSEN, REJECTED), confident_losses(CHOSEN, REJECTED)
    low, high = np.quantile(abs(KNOWN), [0.25, 0.75])
    for row, margin in enumerate(MARGINS):
        assert near[row] == (not np.isnan(margin) and margin <= 0 and -margin <= low)
        assert sure[row] == (not np.isnan(margin) and margin < 0 and -margin >= high)
    assert near[:20].all()
    assert near_misses(np.ones(4), np.ones(4)).all()
    assert not confident_losses(np.ones(4), np.ones(4)).any()


def test_without_rewards_there_is_nothing() -> None:
    assert margin_histogram(NOTHING, NOTHING).counts == ()
    assert reward_histogram(NOTHING, NOTHING).edges == ()
    assert calibration(NOTHING, NOTHING).bins == ()
    assert calibration(NOTHING, NOTHING).error is None
    assert not near_misses(NOTHING, NOTHING).any()
    assert not confident_losses(NOTHING, NOTHING).any()
