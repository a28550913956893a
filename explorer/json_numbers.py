"""Numbers as JSON has them."""

from math import isfinite


def plain(value: float | None) -> float | None:
    """A float that JSON has; None where there is none, or no number.

    >>> plain(1), plain(float("nan")), plain(None)
    (1.0, None, None)
    """
    return None if value is None or not isfinite(value) else float(value)
