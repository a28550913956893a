"""Student's t distribution, for means of a few values."""

from math import atan, cos, pi, sin, sqrt

import numpy as np

_MOST = 1_000.0
"""What is looked for is below; with one degree of freedom, 99.9 % lies within 637."""
_HALVINGS = 60


def within(t: float, df: int) -> float:
    """How likely it is that |T| <= |t|; 0 to 1.

    A finite series. Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964),
    26.7.3 and 26.7.4.

    Args:
        t: any number.
        df: degrees of freedom, 1 or more.

    >>> round(within(2.5706, 5), 4), round(within(1.96, 100_000), 4)
    (0.95, 0.95)
    """
    angle = atan(abs(t) / sqrt(df))
    steps = np.arange(1, (df - 1) // 2 if df % 2 else df // 2)
    ratios = 2 * steps / (2 * steps + 1) if df % 2 else (2 * steps - 1) / (2 * steps)
    series = 1 + float(np.cumprod(ratios * cos(angle) ** 2).sum())
    if df % 2 == 0:
        return min(1.0, sin(angle) * series)
    further = sin(angle) * cos(angle) * series if df > 1 else 0.0
    return min(1.0, 2 / pi * (angle + further))


def reach(share: float, df: int) -> float:
    """The t within which |T| is with a chance of `share`, 0 to 0.999.

    >>> round(reach(0.95, 10), 4)
    2.2281
    """
    low, high = 0.0, _MOST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle, df) < share else (low, middle)
    return high
