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


@pytest.mark.parametrize("rate", [0.0, 0.003, 0.5, 0.9, 0.999, 1.0])
def test_in_a_large_population_probabilities_do_not_vanish(rate: float) -> None:
    total, n = 100_000, 40_000
    found = finite_interval(round(rate * n), n, total, 0.005)
    assert found is not None
    assert found.low <= rate <= found.high
    assert found.high - found.low < 0.012


def test_of_infinitely_many_it_is_clopper_and_pearsons() -> None:
    for wins, n in ((0, 7), (46, 100), (99, 100), (100, 100)):
        found = finite_interval(wins, n, 10**6, 0.05)
        low = beta.ppf(0.025, wins, n - wins + 1) if wins else 0.0
        high = beta.ppf(0.975, wins + 1, n - wins) if wins < n else 1.0
        assert found == pytest.approx((low, high), abs=2e-5)


def test_the_more_are_drawn_the_narrower_to_nothing() -> None:
    found = [finite_interval(9 * n // 10, n, 200, 0.05) for n in (20, 60, 120, 180, 200)]
    widths = [each.high - each.low for each in found if each]
    assert widths == sorted(widths, reverse=True) and widths[-1] == 0
    assert finite_interval(0, 0, 200, 0.05) is None


@pytest.mark.parametrize("marked", [0, 1, 3, 60, 199])
def test_it_misses_as_rarely_as_is_said(marked: int) -> None:
    total, n, alpha = 200, 80, 0.05
    missed = 0.0
    for seen in range(max(0, n - (total - marked)), min(n, marked) + 1):
        found = finite_interval(seen, n, total, alpha)
        if found and not found.low <= marked / total <= found.high:
            missed += float(hypergeom.pmf(seen, total, marked, n))
    assert missed <= alpha
