"""Whether a model wins surprisingly few or many of some pairs, given how hard these are.

Pairs are sorted into levels by how many other models win them. What is tested is that within each
level, winning has nothing to do with being in the slice. Nothing is supposed of how a model's
chances go with difficulty: they are its own, level by level.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.patterns import difficulty
from explorer.strata import Floats, Whole

MOST_LEVELS = 20
LEAST_IN_LEVEL = 50
"""There is at most one level for so many pairs, as levels of few pairs tell nothing."""
FLOOR = 1e-12
"""Smaller p-values are given as this: below it they are rounding."""
LARGEST_EXACT = 4_095
"""Pairs of a slice up to which its p-value is exact."""

_AT_ONCE = 2_000_000
"""Numbers that are held at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """A model's pairs, sorted by how hard they are for others.

    used: (pairs,), pairs that are known of the model, and of another one if there are others.
    won: (used,), which of them it wins.
    level: (used,) of each, from 0, the hardest; all 0 without others.
    others: (used,), the share of the others that win it, 0 to 1; None without others.
    """

    used: NDArray[np.bool_]
    won: NDArray[np.bool_]
    level: Whole
    others: Floats | None

    @property
    def pairs(self) -> Whole:
        """(levels,), how many each has."""
        return np.bincount(self.level, minlength=1)

    @property
    def wins(self) -> Whole:
        """(levels,), of them."""
        return np.bincount(self.level, self.won, len(self.pairs)).astype(np.intp)


def levels_of(outcome: NDArray[np.floating], field: NDArray[np.floating] | None) -> Levels:
    """Sort the pairs of a model into levels of about as many pairs; equal shares stay together.

    Args:
        outcome: (pairs,) of the model, 0 to 1, a win is exactly 1, NaN is missing.
        field: (models, pairs) of the others, without itself; None, or none that knows a pair that
            the model knows, takes all pairs to be equally hard.

    Raises:
        ValueError: the shapes do not fit.

    >>> found = levels_of(np.array([1.0, 0.0, np.nan]), np.array([[1.0, 0.0, 1.0]]))
    >>> found.used, found.won, found.level, found.others
    (array([ True,  True, False]), array([ True, False]), array([0, 0]), array([1., 0.]))
    """
    if outcome.ndim != 1 or (field is not None and field.shape[1:] != outcome.shape):
        shape = None if field is None else field.shape
        raise ValueError(f"outcomes of shape {outcome.shape}, of the others {shape}")
    known = ~np.isnan(outcome)
    hard = difficulty(np.zeros((0, len(outcome))) if field is None else field)
    used = known & (hard.known > 0)
    if not used.any():
        return Levels(known, outcome[known] == 1, np.zeros(known.sum(), np.intp), None)
    share = 1 - hard.share[used]
    n_levels = min(MOST_LEVELS, max(1, len(share) // LEAST_IN_LEVEL))
    inner = np.quantile(share, np.arange(1, n_levels) / n_levels, method="higher")
    _, level = np.unique(np.searchsorted(inner, share, side="right"), return_inverse=True)
    return Levels(used, outcome[used] == 1, level, share)


def expected_wins(n: Whole, pairs: Whole, wins: Whole) -> Floats:
    """How many wins slices would have if in each level they had their part of them.

    Args:
        n: (..., levels), pairs of each slice.
        pairs: likewise, or (levels,): of all.
        wins: of these pairs.

    >>> expected_wins(np.array([[2, 4]]), np.array([10, 20]), np.array([5, 15]))
    array([4.])
    """
    total: Floats = (n * wins / np.maximum(pairs, 1)).sum(axis=-1)
    return total


def tails(n: Whole, won: Whole, pairs: Whole, wins: Whole) -> Floats:
    """How likely so few wins, and so many, are in slices that do not differ from the other pairs.

    Within a level of N pairs and W wins, a slice that has n of the pairs has k wins with
    probability C(W, k) C(N - W, n - k) / C(N, n); the levels add up. With one level this is
    Fisher's exact test. The sum's distribution is computed exactly, by Fourier transforms; of
    slices of more than `LARGEST_EXACT` pairs it is `normal_tail`.
    Sources: N. Mantel and W. Haenszel, J. Natl. Cancer Inst. 22 (1959); of such levels, P. Holland
    and D. Thayer in Test Validity (1988), chapter 9.

    Pairs are taken to be independent, which those with the same prompt are not quite.

    Args:
        n: (slices, levels), pairs of each slice.
        won: (slices,), of them.
        pairs: (levels,), of all.
        wins: (levels,), of these.

    Returns:
        (2, slices): P(so many or fewer), P(so many or more); `FLOOR` to 1.

    >>> sizes, won = np.array([[10]]), np.array([2])
    >>> tails(sizes, won, np.array([30]), np.array([15])).round(6)
    array([[0.025087],
           [0.997401]])
    """
    found = np.ones((2, len(n)))
    totals = n.sum(axis=1)
    for at, length in _batches(totals):
        chance = _distribution(n[at], pairs, wins, length)
        few = np.arange(length) <= won[at, None]
        exactly = chance[np.arange(len(at)), won[at]]
        found[0, at] = (chance * few).sum(axis=1)
        found[1, at] = (chance * ~few).sum(axis=1) + exactly
    large = totals > LARGEST_EXACT
    found[0, large] = normal_tail(n[large], won[large], pairs, wins)
    found[1, large] = normal_tail(n[large], totals[large] - won[large], pairs, pairs - wins)
    return np.clip(found, FLOOR, 1.0)


def normal_tail(n: Whole, won: Whole, pairs: Whole, wins: Whole) -> Floats:
    """P(so few wins), (slices,), by the normal distribution with a correction for continuity.

    Args:
        n: (slices, levels), pairs of each slice.
        won: (slices,), of them.
        pairs: (slices, levels) or (levels,), of all.
        wins: likewise, of these.

    >>> sizes = np.array([[100]])
    >>> normal_tail(sizes, np.array([40]), np.array([300]), np.array([150])).round(4)
    array([0.0101])
    """
    rate = wins / np.maximum(pairs, 1)
    spread = n * rate * (1 - rate) * (pairs - n) / np.maximum(pairs - 1, 1)
    error = np.sqrt(spread.sum(axis=-1))
    above = won + 0.5 - expected_wins(n, pairs, wins)
    z = np.divide(above, error, out=np.full(len(n), np.inf), where=error > 0)
    return np.array([math.erfc(-each / math.sqrt(2)) / 2 for each in z.tolist()])


def _batches(totals: Whole) -> Iterator[tuple[Whole, int]]:
    """Slices of about as many pairs, and a round number above these."""
    lengths = 1 << np.maximum(4, np.ceil(np.log2(totals + 1))).astype(np.intp)
    for length in np.unique(lengths[totals <= LARGEST_EXACT]).tolist():
        at = np.flatnonzero((lengths == length) & (totals <= LARGEST_EXACT))
        for start in range(0, len(at), size := max(1, _AT_ONCE // length)):
            yield at[start : start + size], length


def _distribution(n: Whole, pairs: Whole, wins: Whole, length: int) -> Floats:
    """(slices, length): how likely each number of wins is; length is above every slice's pairs."""
    product = np.ones((len(n), length // 2 + 1), dtype=np.complex128)
    logs = np.append(0.0, np.cumsum(np.log(np.arange(1, pairs.max() + 1))))
    for of_level, total, won in zip(n.T, pairs.tolist(), wins.tolist(), strict=True):
        sizes, which = np.unique(of_level, return_inverse=True)
        product *= np.fft.rfft(_hypergeometric(sizes, total, won, logs), length, axis=1)[which]
    chance: Floats = np.clip(np.fft.irfft(product, length, axis=1), 0.0, None)
    return chance


def _hypergeometric(n: Whole, total: int, won: int, logs: Floats) -> Floats:
    """(slices, wins): how likely each number of wins is among n of total pairs, won of them."""
    k = np.arange(min(int(n.max()), won) + 1)
    rest = n[:, None] - k
    possible = (rest >= 0) & (rest <= total - won)

    def choose(of: int, taken: Whole) -> Floats:
        some = np.clip(taken, 0, of)
        log_ways: Floats = logs[of] - logs[some] - logs[of - some]
        return log_ways

    log_chance = choose(won, k) + choose(total - won, rest) - choose(total, n)[:, None]
    return np.where(possible, np.exp(np.where(possible, log_chance, 0.0)), 0.0)
