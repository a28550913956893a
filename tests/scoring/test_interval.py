"""Wilson's interval."""

from math import sqrt
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.interval import Z_95, wilson


@pytest.mark.parametrize(
    ("wins", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (9, 10, 0.5958, 0.9821),
        (46, 100, 0.3656, 0.5574),
        (1, 1, 0.2065, 1.0),
        (2000, 2985, 0.6529, 0.6867),
    ],
)
def test_the_interval_has_the_known_ends(wins: int, n: int, low: float, high: float) -> None:
    assert wilson(wins, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_both_ends_solve_wilsons_equation(case: tuple[int, int]) -> None:
    """|wins/n - p| = z * sqrt(p (1 - p) / n), on either side, unless the end is 0 or 1."""
    wins, n = case
    interval = wilson(wins, n)
    assert interval is not None
    assert 0 <= interval.low <= interval.high <= 1
    assert interval.low - 1e-12 <= wins / n <= interval.high + 1e-12
    for end, extreme in ((interval.low, wins == 0), (interval.high, wins == n)):
        off = abs(wins / n - end) - Z_95 * sqrt(max(0, end * (1 - end)) / n)
        assert extreme or off == pytest.approx(0, abs=1e-9)


def test_z_is_the_quantile_of_the_normal_distribution() -> None:
    assert pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-12) == Z_95
