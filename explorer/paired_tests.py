"""Whether two models differ, judged on the same pairs."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from explorer.strata import Floats, Strata, Whole, checked_outcomes, stratum_sums

_NOTHING = 1e-12
"""What a difference is rounded to 0 below, and its standard error too."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """What a paired z test says of two models, the first minus the second.

    n: pairs that are known of both and count.
    difference: of the scores over those pairs, -1 to 1; NaN where n is 0.
    standard_error: of the difference; NaN where n is 0.
    z: difference / standard_error; infinite or 0 where that is 0, NaN where n is 0.
    p: two-sided, 0 to 1; 1 where n is 0.
    """

    n: int
    difference: float
    standard_error: float
    z: float
    p: float


@dataclass(frozen=True, slots=True, eq=False)
class PairedTests:
    """`PairedTest` of one model against each of several, as arrays (models,)."""

    n: Whole
    difference: Floats
    standard_error: Floats
    z: Floats
    p: Floats


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """McNemar's exact test: the two-sided p of models a and b being equally good.

    p = min(1, 2 * P(X <= min(only_a, only_b))), X binomial of n = only_a + only_b and 1/2.
    Source: Q. McNemar, Psychometrika 12 (1947), in its exact form, the sign test.

    Args:
        only_a: pairs that a wins and b does not, 0 or more.
        only_b: pairs that b wins and a does not, 0 or more.

    Returns:
        0 to 1; 1 where both are 0 or equal, 0 where p is too small for a float.

    Raises:
        ValueError: a count is negative.

    >>> mcnemar_exact(1, 5), mcnemar_exact(0, 0)
    (0.21875, 1.0)
    """
    if min(only_a, only_b) < 0:
        raise ValueError(f"counts of pairs are 0 or more, not {only_a} and {only_b}")
    n, few = only_a + only_b, min(only_a, only_b)
    k = np.arange(few, 0, -1)
    tail = 1 + float(np.cumprod(k / (n - k + 1)).sum())  # P(X <= few) / P(X = few)
    return min(1.0, 2 * (math.comb(n, few) / (1 << n)) * tail)


def discordant(leader: Floats, others: Floats, groups: Strata) -> tuple[Whole, Whole]:
    """How many pairs the leader alone wins, and each other alone, of those that count.

    To win alone is to have the higher outcome, so where there are outcomes between 0 and 1, what
    `mcnemar_exact` makes of these counts is the sign test. Missing for either, a pair is left out.

    Args:
        leader: (pairs,), 0 to 1, NaN for missing.
        others: (models, pairs), likewise.
        groups: the strata of the pairs.

    >>> from explorer.strata import plain
    >>> discordant(np.array([1.0, 1.0, 0.0]), np.array([[0.0, 0.5, np.nan]]), plain(3))
    (array([2]), array([0]))
    """
    at = groups.counting()
    return (leader[at] > others[:, at]).sum(axis=1), (leader[at] < others[:, at]).sum(axis=1)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values: to reject those at most alpha keeps the family's error at alpha.

    Of m values, the i-th smallest, i from 1, becomes the largest of p_j * (m - j + 1) over j <= i,
    at most 1. Equal values stay equal.
    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979).

    Args:
        p_values: (m,), 0 to 1 each, in any order; m may be 0.

    Returns:
        (m,), in the order given.

    Raises:
        ValueError: a value is not between 0 and 1.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"a p-value is not between 0 and 1: {p}")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def paired_z(a: ArrayLike, b: ArrayLike, groups: Strata) -> PairedTest:
    """Whether a and b have the same overall score: a z test of the weighted difference.

    With d_i = a_i - b_i over the pairs known of both, stratum s having n_s of them, share W_s
    (`Strata.shares` of these n_s), mean m_s and variance v_s = sum (d_i - m_s)**2 / (n_s - 1):
        D = sum_s W_s m_s,  SE**2 = sum_s W_s**2 v_s / n_s,  z = D / SE,  p = erfc(|z| / sqrt(2)).
    Source: W. G. Cochran, Sampling Techniques (1977), 5.3 to 5.6, of the paired differences.

    A stratum of one pair has no variance of its own: d**2, whose mean is the variance if the models
    do not differ, stands in for it. Where SE is 0, p is 1 if D is 0 too, else 0: there the normal
    approximation says too much if the pairs are few. Without a pair of both, p is 1.

    Args:
        a: (pairs,), 0 to 1, NaN for missing.
        b: the same of the other model.
        groups: the strata of the pairs.

    Raises:
        ValueError: of `checked_outcomes`.

    >>> from explorer.strata import plain
    >>> found = paired_z([1, 1, 1, 0], [0, 1, 0, 0], plain(4))
    >>> found.difference, round(found.standard_error, 4), round(found.p, 4)
    (0.5, 0.2887, 0.0833)
    >>> paired_z([1, 0], [1, 0], plain(2)).p, paired_z([1, 1], [0, 0], plain(2)).p
    (1.0, 0.0)
    """
    both = checked_outcomes(np.stack([np.asarray(a, float), np.asarray(b, float)]), groups)
    found = paired_z_tests(both[0], both[1:], groups)
    return PairedTest(
        int(found.n[0]),
        float(found.difference[0]),
        float(found.standard_error[0]),
        float(found.z[0]),
        float(found.p[0]),
    )


def paired_z_tests(leader: Floats, others: Floats, groups: Strata) -> PairedTests:
    """`paired_z` of one model (pairs,) against each of others (models, pairs), as checked."""
    differences = leader - others
    sums, counts = stratum_sums(differences, groups)
    shares = groups.shares(counts)
    one_if_none = np.maximum(counts, 1)
    means = np.where(counts > 1, sums / one_if_none, 0.0)
    padded = np.append(means, np.zeros((len(means), 1)), axis=1)
    squares, _ = stratum_sums((differences - padded[:, groups.of_pair]) ** 2, groups)
    variances = squares / np.maximum(counts - 1, 1) / one_if_none
    difference = (shares * sums / one_if_none).sum(axis=1)
    error = np.sqrt((shares**2 * variances).sum(axis=1))
    difference[abs(difference) < _NOTHING] = 0.0
    error[error < _NOTHING] = 0.0
    z = np.divide(difference, error, out=np.copysign(np.inf, difference), where=(error > 0))
    z[difference == 0] = 0.0
    n = (counts * (shares > 0)).sum(axis=1)
    p = np.array([math.erfc(abs(each) / math.sqrt(2)) for each in z.tolist()])
    for values in (difference, error, z):
        values[n == 0] = np.nan
    return PairedTests(n, difference, error, z, p)
