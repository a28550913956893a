"""Exact intervals of a share in a finite population, against scipy's distributions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, hypergeom  # type: ignore[import-untyped]

from scoring.sure import finite_interval, most_marked


@st.composite
def draws(draw: st.DrawFn) -> tuple[int, int, int]:
    """(seen, n, total)"""
    total = draw(st.integers(1, 400))
    n = draw(st.integers(1, total))
    return draw(st.integers(0, n)), n, total


@given(draws(), st.sampled_from([0.1, 0.025, 0.002]))
def test_it_is_the_last_number_that_is_not_rejected(
    drawn: tuple[int, int, int], alpha: float
) -> None:
    seen, n, total = drawn
    found = most_marked(seen, n, total, alpha)
    assert seen <= found <= total - (n - seen)
    assert found == seen or hypergeom.cdf(seen, total, found, n) > alpha * (1 - 1e-9)
    if found < total - (n - seen):
        assert hypergeom.cdf(seen, total, found + 1, n) <= alpha * (1 + 1e-9)


@pytest.mark.parametrize(("wins", "n"), [(0, 7), (46, 100), (39_880, 40_000)])
def test_of_very_many_it_is_clopper_and_pearsons(wins: int, n: int) -> None:
    """But narrower by what was drawn of them; no probability vanishes."""
    found = finite_interval(wins, n, 10**5, 0.05)
    assert found is not None
    low, high = (
        beta.ppf(0.025, wins, n - wins + 1) if wins else 0.0,
        beta.ppf(0.975, wins + 1, n - wins),
    )
    assert found == pytest.approx((low, high), abs=2e-4)
    assert finite_interval(0, 0, 200, 0.05) is None


@pytest.mark.parametrize("marked", [1, 60])
def test_it_misses_as_rarely_as_is_said(marked: int) -> None:
    total, n, alpha = 200, 80, 0.05
    missed = 0.0
    for seen in range(max(0, n - (total - marked)), min(n, marked) + 1):
        found = finite_interval(seen, n, total, alpha)
        if found and not found.low <= marked / total <= found.high:
            missed += float(hypergeom.pmf(seen, total, marked, n))
    assert missed <= alpha
