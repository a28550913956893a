"""How far a score and a rank can be trusted: intervals over the choice of prompts and pairs.

All of it speaks of other pairs like these. It says nothing of pairs of another kind, nor of how a
model scores when run again.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.interval import Interval, weighted_wilson
from scoring.strata import (
    DECIMALS,
    Floats,
    Strata,
    Whole,
    checked_outcomes,
    score_models,
    stratum_sums,
)

REPLICATES = 10_000
"""Ends of 95 % intervals then vary by some 3 % of a standard error from seed to seed."""
_ENDS = (0.025, 0.975)
_CHUNK = 2_000_000
"""Weights that are held at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Ranks with their 95 % intervals; all are (models,).

    rank, best, worst: 1 for the highest score, equal scores have the same rank;
        best <= rank <= worst; 0 where there is no score.
    """

    rank: Whole
    best: Whole
    worst: Whole


def rank_intervals(
    outcomes: ArrayLike,
    groups: Strata,
    replicates: int = REPLICATES,
    seed: int = 0,
    tell: Callable[[float], None] = lambda share: None,
) -> Ranks:
    """Ranks of the overall score with 95 % intervals.

    Each replicate gives every cluster an exponential weight of mean 1, the same for all models, and
    scores all of them by the rule of `groups` with pairs that weigh so. The intervals run from the
    2.5 % to the 97.5 % quantile of the replicates' ranks, and are widened to hold the rank itself.
    Equal rows have equal results.
    Source: D. B. Rubin, Annals of Statistics 9 (1981), of clusters; of ranks, H. Goldstein and
    D. Spiegelhalter, JRSS A 159 (1996).

    outcomes: (models, pairs), 0 to 1, NaN for missing. No models give empty arrays.
    seed: the same gives the same intervals.
    tell: is told what share of the replicates is done, to 1; where it raises, this ends.
    """
    matrix = checked_outcomes(outcomes, groups)
    rank = ranks(score_models(matrix, groups))
    if not len(matrix):
        return Ranks(rank, rank, rank)
    shares = groups.shares(stratum_sums(matrix, groups)[1])
    strata = [
        (matrix[:, at], shares[:, stratum], at)
        for stratum, at in enumerate(groups.columns())
        if shares[:, stratum].any()
    ]
    numbers = np.arange(matrix.shape[1]) if groups.clusters is None else groups.clusters
    distinct, clusters = np.unique(numbers, return_inverse=True)
    generator = np.random.default_rng(seed)
    found = np.zeros((replicates, len(matrix)), dtype=np.intp)
    step = max(1, _CHUNK // max(1, len(distinct)))
    for start in range(0, replicates, step):
        drawn = generator.exponential(size=(min(step, replicates - start), len(distinct)))
        scores = np.zeros((len(drawn), len(matrix)))
        for values, share, at in strata:
            scores += share * _weighted_means(values, drawn[:, clusters[at]])
        found[start : start + step] = ranks(np.where(rank == 0, np.nan, scores))
        tell(min(1.0, (start + step) / replicates))
    best, worst = np.quantile(found, _ENDS, axis=0, method="inverted_cdf").astype(np.intp)
    return Ranks(rank, np.minimum(best, rank), np.maximum(worst, rank))


def unpaired_interval(score: float, groups: Strata, counts: ArrayLike) -> Interval | None:
    """A 95 % interval of an overall score of which only aggregates are known.

    By `scoring.interval.weighted_wilson`. Being unpaired, it cannot say whether two models differ:
    what is hard for one is often hard for the other, and that cancels in a paired test only.

    score: 0 to 1.
    groups: the strata; which pairs are in them does not matter.
    counts: (strata,) pairs that the score comes from.

    Returns:
        None where no pair counts, or the score is NaN.

    >>> from scoring.interval import wilson
    >>> from scoring.strata import strata
    >>> chat = strata([], [1.0, 1.0], [0, 0], [1.0])
    >>> unpaired_interval(0.46, chat, [50, 50]) == wilson(46, 100)
    True
    >>> unpaired_interval(0.46, chat, [10, 1000]) == wilson(0.46 * 39, 39)
    True
    >>> unpaired_interval(0.46, chat, [0, 0]) is None
    True
    """
    n = np.asarray(counts, dtype=np.float64)
    shares = groups.shares(n)
    if np.isnan(score):
        return None
    counting = shares > 0
    return weighted_wilson(score, zip(shares[counting].tolist(), n[counting].tolist(), strict=True))


def ranks(scores: Floats) -> Whole:
    """Ranks along the last axis: 1 + how many are higher; equal ones share theirs, NaN has 0.

    >>> ranks(np.array([0.5, 0.9, np.nan, 0.5, 0.1]))
    array([2, 1, 0, 2, 4])
    """
    import pandas as pd

    rows = pd.DataFrame(np.round(np.atleast_2d(scores), DECIMALS))
    placed = rows.rank(axis=1, method="min", ascending=False).fillna(0).to_numpy(np.intp)
    found: Whole = placed.reshape(scores.shape)
    return found


def _weighted_means(values: Floats, weights: Floats) -> Floats:
    """Means of the known values (models, pairs) by weights (replicates, pairs); 0 of none."""
    known: NDArray[np.bool_] = ~np.isnan(values)
    if known.all():
        every: Floats = (weights @ values.T) / weights.sum(axis=1, keepdims=True)
        return every
    sums = weights @ np.where(known, values, 0.0).T
    totals = weights @ known.T.astype(np.float64)
    means: Floats = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
    return means
