"""Whether two models differ, judged on the same pairs.

Of both models' difference per pair, d_i = a_i - b_i, the tests ask whether its weighted mean, the
difference D of two scores, could come of chance. Pairs of one prompt (`Strata.clusters`) are one
piece of evidence: what is summed, and what may change its sign, is a cluster.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from scoring.interval import Z_95
from scoring.strata import (
    Floats,
    Strata,
    Whole,
    checked_outcomes,
    cluster_sums,
    effective_pairs,
    score_weights,
)

ALPHA = 0.05
"""At which a difference is called significant."""
MOST_EXACT = 20
"""Clusters in which two models differ, up to which the test is exact."""
_NOTHING = 1e-12
"""What a difference is rounded to 0 below, and its standard error too."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """What two models' scores on the same pairs say of the first minus the second.

    n: pairs that are known of both and count.
    difference: of the scores over those pairs, -1 to 1; NaN where n is 0.
    p: two-sided, 0 to 1; 1 where n is 0.
    interval: of the difference, 95 %, within -1 and 1; None where n is 0.
    """

    n: int
    difference: float
    p: float
    interval: tuple[float, float] | None


@lru_cache(maxsize=10_000)
def mcnemar_exact(only_a: int, only_b: int) -> float:
    """McNemar's exact test: the two-sided p of models a and b being equally good.

    p = min(1, 2 * P(X <= min(only_a, only_b))), X binomial of n = only_a + only_b and 1/2.
    Source: Q. McNemar, Psychometrika 12 (1947), in its exact form, the sign test.

    only_a, only_b: pairs that a wins and b does not, and the other way round, 0 or more.

    Returns:
        0 to 1; 1 where both are 0 or equal, 0 where p is too small for a float.

    >>> mcnemar_exact(1, 5), mcnemar_exact(0, 0)
    (0.21875, 1.0)
    """
    n, few = only_a + only_b, min(only_a, only_b)
    k = np.arange(few, 0, -1)
    tail = 1 + float(np.cumprod(k / (n - k + 1)).sum())  # P(X <= few) / P(X = few)
    return min(1.0, 2 * (math.comb(n, few) / (1 << n)) * tail)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values: to reject those at most alpha keeps the family's error at alpha.

    Of m values, the i-th smallest, i from 1, becomes the largest of p_j * (m - j + 1) over j <= i,
    at most 1. Equal values stay equal.
    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979).

    p_values: (m,), 0 to 1 each, in any order, which is that of the result; m may be 0.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def paired_test(a: ArrayLike, b: ArrayLike, groups: Strata) -> PairedTest:
    """Whether a and b have the same overall score.

    With w_i the weights of the pairs known of both (`score_weights`) and t_c = sum_i w_i d_i over
    the pairs of cluster c, D = sum_c t_c. If neither is better, each t_c could as well have the
    other sign. Where at most `MOST_EXACT` of them are not 0, or all of those are of one size, p is
    the share of all signs that give a sum as far from 0 as D. Else, with SE**2 = sum_c t_c**2, the
    variance of those sums, z = D / SE and p = erfc(|z| / sqrt(2)).
    Where pairs weigh alike, are won or lost, and each is its own cluster, the exact p is McNemar's.
    Source: R. A. Fisher, The Design of Experiments (1935), 21, for the signs.

    a, b: (pairs,), 0 to 1, NaN for missing.

    >>> from scoring.strata import one_stratum
    >>> found = paired_test([1, 1, 1, 0], [0, 0, 0, 0], one_stratum(4))
    >>> found.difference, found.p
    (0.75, 0.25)
    >>> paired_test([1, 1, 1, 0], [0, 0, 0, 0], one_stratum(4, [0, 0, 0, 1])).p
    1.0
    """
    both = checked_outcomes(np.stack([a, b]), groups)
    found = _Differences(both[0] - both[1:], groups)
    n = int(found.n[0])
    return PairedTest(
        n,
        float(found.difference[0]) if n else math.nan,
        float(sign_p_values(found.totals)[0]),
        found.interval() if n else None,
    )


def paired_p_values(model: Floats, others: Floats, groups: Strata) -> Floats:
    """The p of `paired_test` of one model (pairs,) against each of others (models, pairs)."""
    return sign_p_values(_Differences(model - others, groups).totals)


def sign_p_values(totals: Floats) -> Floats:
    """The p of `paired_test` from the sums over clusters, t_c; (tests, clusters) -> (tests,)."""
    difference = _rounded(totals.sum(axis=1))
    sizes = np.abs(totals)
    sizes[sizes < _NOTHING] = 0.0
    largest = sizes.max(axis=1, initial=0.0)
    smallest = np.where(sizes > 0, sizes, np.inf).min(axis=1, initial=np.inf)
    n_differing = (sizes > 0).sum(axis=1)
    of_one_size = largest - smallest < _NOTHING
    p = np.ones(len(sizes))
    for at in np.flatnonzero(difference != 0).tolist():
        known = totals[at][sizes[at] > 0]
        if of_one_size[at]:
            p[at] = mcnemar_exact(int((known > 0).sum()), int((known < 0).sum()))
        elif n_differing[at] <= MOST_EXACT:
            p[at] = _by_signs(known)
        else:
            p[at] = math.erfc(abs(difference[at]) / math.sqrt(2 * (known**2).sum()))
    return p


def _rounded(difference: Floats) -> Floats:
    return np.where(abs(difference) < _NOTHING, 0.0, difference)


class _Differences:
    """Of one model minus each of some others, (models, pairs)."""

    def __init__(self, differences: Floats, groups: Strata) -> None:
        known = ~np.isnan(differences)
        self._groups = groups
        self._weights = score_weights(groups, known)
        self._differences = np.where(known, differences, 0.0)
        self.n: Whole = (self._weights > 0).sum(axis=1)
        self.totals = cluster_sums(self._weights * self._differences, groups)
        self.difference = _rounded(self.totals.sum(axis=1))

    def interval(self) -> tuple[float, float]:
        """Of the first difference."""
        middle = float(self.difference[0])
        square = float((self._weights[0] * self._differences[0] ** 2).sum())
        variance = (self.totals[:1] ** 2).sum(axis=1)
        n = effective_pairs(self._weights, self._groups, variance, np.array([square]))
        return _difference_interval(middle, square, float(n[0]))


def _difference_interval(difference: float, square: float, n: float) -> tuple[float, float]:
    """A 95 % interval of the mean of n differences, each between -1 and 1.

    With D their mean, Q the mean of their squares, D' = n D / (n + 2), Q' = (n Q + 2) / (n + 2):
        D' +- 1.96 sqrt((Q' - D'**2) / (n + 2)),
    within -1 and 1. It holds D itself.
    Source: D. Bonett and R. Price, J. Educational and Behavioral Statistics 37 (2012), where each
    difference is -1, 0 or 1.

    >>> low, high = _difference_interval(0.1, 0.3, 100)
    >>> round(low, 4), round(high, 4)
    (-0.009, 0.2051)
    """
    middle, square = n * difference / (n + 2), (n * square + 2) / (n + 2)
    spread = Z_95 * math.sqrt((square - middle**2) / (n + 2))
    return max(-1.0, middle - spread), min(1.0, middle + spread)


def _by_signs(totals: Floats) -> float:
    """The share of all signs of the totals whose sum is as far from 0 as theirs, or farther."""
    middle = len(totals) // 2
    first, second = _sums(totals[:middle]), np.sort(_sums(totals[middle:]))
    least = abs(float(totals.sum())) - _NOTHING
    above = len(second) - np.searchsorted(second, least - first)
    return min(1.0, float(2 * above.sum() / 2 ** len(totals)))


def _sums(totals: Floats) -> Floats:
    """The sums of the totals with every choice of their signs."""
    found = np.zeros(1)
    for each in totals:
        found = np.concatenate([found + each, found - each])
    return found
