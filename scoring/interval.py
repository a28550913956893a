"""How sure a number is."""

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

    Args:
        wins: 0 to n.
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
