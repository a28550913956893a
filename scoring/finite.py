"""How many of a known number of things are marked, judged by some drawn at random, none twice."""

from functools import lru_cache
from math import exp, lgamma

from scoring.interval import Interval

_NEGLIGIBLE = 1e-12
"""Of a sum: terms below it are left out."""


def finite_interval(wins: int, n: int, total: int, alpha: float) -> Interval | None:
    """An exact interval of the share of wins among `total` pairs, of which n were drawn.

    From the fewest to the most wins that are not rejected, each by a one-sided test at alpha / 2
    of the hypergeometric distribution: whatever the true share, the interval misses it with a
    probability of at most alpha. Where all were drawn it has no width.
    Source: W. G. Cochran, Sampling Techniques (1977), 3.6; for infinitely many pairs it is Clopper
    and Pearson's.

    Args:
        wins: among the pairs drawn.
        n: pairs drawn; 0 gives None.
        total: pairs that there are, n or more.
        alpha: 0 to 1, both excluded.

    >>> low, high = finite_interval(46, 100, 10**6, 0.05)
    >>> round(low, 3), round(high, 3)
    (0.36, 0.563)
    >>> finite_interval(46, 100, 100, 0.05)
    Interval(low=0.46, high=0.46)
    """
    if n == 0:
        return None
    high = most_marked(wins, n, total, alpha / 2)
    low = total - most_marked(n - wins, n, total, alpha / 2)
    return Interval(low / total, high / total)


@lru_cache(maxsize=4096)
def most_marked(seen: int, n: int, total: int, alpha: float) -> int:
    """The most of `total` that may be marked where n drawn have `seen` marked ones.

    The greatest number for which so few, or fewer, come with a probability of more than alpha.

    >>> [most_marked(0, 10, total, 0.05) for total in (10, 20, 10**6)]
    [0, 3, 258864]
    """
    low, high = seen, total - (n - seen)
    while low < high:
        middle = (low + high + 1) // 2
        if _at_most(seen, n, middle, total) > alpha:
            low = middle
        else:
            high = middle - 1
    return low


def _at_most(seen: int, n: int, marked: int, total: int) -> float:
    """The probability of at most `seen` marked among n drawn, summed over the shorter tail."""
    if seen * total >= n * marked:
        return 1 - _tail(n - seen - 1, n, total - marked, total)
    return _tail(seen, n, marked, total)


def _tail(seen: int, n: int, marked: int, total: int) -> float:
    """The same of fewer than can be expected: each term is smaller than the one before."""
    rest = total - marked
    if seen < max(0, n - rest):
        return 0.0
    term = exp(_log_ways(marked, seen) + _log_ways(rest, n - seen) - _log_ways(total, n))
    found = term
    for k in range(seen, max(0, n - rest), -1):
        term *= k * (rest - n + k) / ((marked - k + 1) * (n - k + 1))
        found += term
        if term < _NEGLIGIBLE * found:
            break
    return found


def _log_ways(n: int, k: int) -> float:
    """The logarithm of how many ways there are to choose k of n."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
