"""How sure a number is."""

from collections.abc import Iterable
from math import sqrt
from typing import NamedTuple

Z_95 = 1.959963984540054


class Interval(NamedTuple):
    """A 95 % confidence interval, both ends 0 to 1."""

    low: float
    high: float


def wilson(wins: float, n: float) -> Interval | None:
    """Wilson's score interval for a proportion; None where nothing was counted.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference,
    JASA 22 (1927).

    n: pairs; an effective number need not be whole.

    >>> low, high = wilson(46, 100)
    >>> round(low, 4), round(high, 4)
    (0.3656, 0.5574)
    >>> wilson(0, 0) is None
    True
    """
    if n == 0:
        return None
    rate = min(1.0, wins / n)
    centre = rate + Z_95**2 / (2 * n)
    spread = Z_95 * sqrt(rate * (1 - rate) / n + Z_95**2 / (4 * n**2))
    scale = 1 + Z_95**2 / n
    return Interval(max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale))


def weighted_wilson(mean: float, strata: Iterable[tuple[float, float]]) -> Interval | None:
    """Wilson's interval of a weighted mean of proportions, at the effective number of pairs.

    With s_h the share of stratum h, shares adding up to 1, and n_h its pairs, that number is
    1 / sum_h s_h**2 / n_h, rounded down: all pairs are taken to be equally hard and drawn one by
    one. Source: L. Kish, Survey Sampling (1965), 11.7, for the effective number.

    mean: 0 to 1. strata: (s_h, n_h), n_h above 0; none gives None.

    >>> weighted_wilson(0.46, [(0.5, 50), (0.5, 50)]) == wilson(46, 100)
    True
    """
    variance = sum(share**2 / n for share, n in strata)
    n = int(1 / variance + 1e-9) if variance else 0
    return wilson(mean * n, n)
