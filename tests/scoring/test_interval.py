"""Wilson's interval."""

from math import sqrt
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.interval import Z_95, wilson


def bound(wins: int, n: int, low: float, high: float) -> float:
    """Where |wins/n - p| = z * sqrt(p (1 - p) / n), found by halving between two ends."""
    rate = wins / n
    rising = (rate - low) > 0
    for _ in range(200):
        middle = (low + high) / 2
        outside = abs(rate - middle) > Z_95 * sqrt(middle * (1 - middle) / n)
        low, high = (middle, high) if outside == rising else (low, middle)
    return (low + high) / 2


@pytest.mark.parametrize(
    ("wins", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (1, 10, 0.0179, 0.4042),
        (5, 10, 0.2366, 0.7634),
        (9, 10, 0.5958, 0.9821),
        (10, 10, 0.7225, 1.0),
        (46, 100, 0.3656, 0.5574),
        (0, 1, 0.0, 0.7935),
        (1, 1, 0.2065, 1.0),
        (2000, 2985, 0.6529, 0.6867),
    ],
)
def test_the_interval_has_the_known_ends(wins: int, n: int, low: float, high: float) -> None:
    interval = wilson(wins, n)
    assert interval is not None
    assert interval == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_both_ends_solve_wilsons_equation(case: tuple[int, int]) -> None:
    wins, n = case
    interval = wilson(wins, n)
    assert interval is not None
    assert 0 <= interval.low <= interval.high <= 1
    assert interval.low - 1e-12 <= wins / n <= interval.high + 1e-12
    if wins > 0:
        assert interval.low == pytest.approx(bound(wins, n, 0.0, wins / n), abs=1e-9)
    if wins < n:
        assert interval.high == pytest.approx(bound(wins, n, wins / n, 1.0), abs=1e-9)


@given(st.integers(0, 1000), st.integers(1, 1000))
def test_losing_mirrors_winning(wins: int, losses: int) -> None:
    won, lost = wilson(wins, wins + losses), wilson(losses, wins + losses)
    assert won is not None
    assert lost is not None
    assert won == pytest.approx((1 - lost.high, 1 - lost.low), abs=1e-12)


def test_more_pairs_make_it_narrower() -> None:
    widths = []
    for n in (2, 20, 200, 2000):
        interval = wilson(n / 2, n)
        assert interval is not None
        widths.append(interval.high - interval.low)
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 4


def test_z_is_the_quantile_of_the_normal_distribution_and_nothing_has_no_interval() -> None:
    assert wilson(0, 0) is None
    assert pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-12) == Z_95
