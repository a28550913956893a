"""How far a score and a rank can be trusted: intervals over the choice of pairs.

All of it speaks of other pairs like these. It says nothing of pairs of another kind, nor of how a
model scores when run again.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.strata import Floats, Strata, Whole, checked_outcomes, score_models
from scoring.interval import Interval, wilson

REPLICATES = 10_000
"""Ends of 95 % intervals then vary by some 3 % of a standard error from seed to seed."""
_ENDS = (0.025, 0.975)
_DECIMALS = 12
"""Scores that differ by less are equal: what is left is rounding."""
_CHUNK = 4_000_000
"""Draws that are held at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """A score and a rank of each model with their 95 % intervals; all are (models,).

    score, low, high: 0 to 1, low <= score <= high; NaN where the model has no pair that counts.
    rank, best, worst: 1 for the highest score, equal scores have the same rank;
        best <= rank <= worst; 0 where there is no score.
    """

    score: Floats
    low: Floats
    high: Floats
    rank: Whole
    best: Whole
    worst: Whole


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrap:
    """What one stratified bootstrap says of the overall score and of each section, in order."""

    overall: Intervals
    sections: tuple[Intervals, ...]
    replicates: int
    seed: int


def bootstrap(
    outcomes: ArrayLike, groups: Strata, replicates: int = REPLICATES, seed: int = 0
) -> Bootstrap:
    """Percentile intervals of scores and ranks, from pairs drawn anew within each stratum.

    Each replicate draws, from the n pairs of every stratum, n with replacement, the same for all
    models, and scores all of them by the rule of `groups`. The intervals run from the 2.5 % to the
    97.5 % quantile of the replicates, and are widened to hold the score or rank itself. Missing
    outcomes are drawn like others and then left out, as the rule says.
    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), 8.3 and 13.3; of ranks,
    Goldstein and Spiegelhalter, JRSS A 159 (1996).

    A model that wins, or loses, every pair of a stratum has no spread there: with nothing but such
    strata its interval has no width, which does not say that it is certain (`unpaired_interval`
    has a width even then). Nor has a stratum of one pair any spread. Equal rows have equal results.

    Args:
        outcomes: (models, pairs), 0 to 1, NaN for missing. No models give empty arrays.
        groups: the strata of the pairs.
        replicates: how many, 1 or more.
        seed: the same seed gives the same intervals.

    Raises:
        ValueError: of `checked_outcomes`, or no replicates.

    >>> from explorer.strata import plain
    >>> found = bootstrap([[1, 1, 1, 1, 0, 1, 1, 1], [0, 0, 0, 0, 1, 0, 0, 0]], plain(8)).overall
    >>> found.score, found.low, found.high
    (array([0.875, 0.125]), array([0.625, 0.   ]), array([1.   , 0.375]))
    >>> found.rank, found.best, found.worst
    (array([1, 2]), array([1, 2]), array([1, 2]))
    """
    steps = bootstrapping(outcomes, groups, replicates, seed)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            found: Bootstrap = ended.value
            return found


def bootstrapping(
    outcomes: ArrayLike, groups: Strata, replicates: int = REPLICATES, seed: int = 0
) -> Generator[float, None, Bootstrap]:
    """As `bootstrap`, telling after every few million draws what share of them is done, to 1.

    Closing the generator stops. The numbers are the same to the last bit.
    """
    if replicates < 1:
        raise ValueError(f"{replicates} replicates, not 1 or more")
    matrix = checked_outcomes(outcomes, groups)
    scores = score_models(matrix, groups)
    columns = groups.columns()
    drawn, n_draws = 0, replicates * sum(map(len, columns))
    above = np.zeros((replicates, len(matrix)))
    below = np.zeros((replicates, len(matrix)))
    sections = []
    for section, weight in enumerate(groups.section_weights):
        total, known = np.zeros_like(above), np.zeros_like(below)
        for stratum in np.flatnonzero((groups.sections == section) & (groups.weights > 0)):
            if not len(columns[stratum]):
                continue
            generator = np.random.default_rng([seed, int(stratum)])
            means = np.empty((replicates, len(matrix)))
            n = len(columns[stratum])
            for done in _resample(matrix[:, columns[stratum]], generator, means):
                yield (drawn + done * n) / n_draws
            drawn += replicates * n
            present = ~np.isnan(means)
            total += groups.weights[stratum] * np.where(present, means, 0.0)
            known += groups.weights[stratum] * present
        replicated = _ratio_or_nan(total, known)
        sections.append(_intervals(scores.sections[section], replicated))
        above += weight * np.where(known > 0, replicated, 0.0)
        below += weight * (known > 0)
    overall = _intervals(scores.overall, _ratio_or_nan(above, below))
    return Bootstrap(overall, tuple(sections), replicates, seed)


def unpaired_interval(score: float, groups: Strata, counts: ArrayLike) -> Interval | None:
    """A 95 % interval of an overall score of which only aggregates are known.

    Wilson's interval at the effective number of pairs 1 / sum_i w_i**2, rounded down, w_i being
    the weights of the pairs (`explorer.strata.score_weights`). It takes all pairs to be equally
    hard, so it is as a rule wider than the bootstrap's; and being unpaired, it cannot say whether
    two models differ: what is hard for one is often hard for the other, and that cancels in a
    paired test only.
    Source: L. Kish, Survey Sampling (1965), 11.7, for the effective number.

    Args:
        score: 0 to 1; NaN gives None.
        groups: the strata; which pairs are in them does not matter.
        counts: (strata,) pairs that the score comes from.

    Returns:
        None where no pair counts.

    >>> from explorer.strata import strata
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
    if np.isnan(score) or not shares.any():
        return None
    effective = int(1 / float((shares[shares > 0] ** 2 / n[shares > 0]).sum()) + 1e-9)
    return wilson(float(score) * effective, effective)


def ranks(scores: Floats) -> Whole:
    """Ranks along the last axis: 1 + how many are higher; equal ones share theirs, NaN has 0.

    >>> ranks(np.array([0.5, 0.9, np.nan, 0.5, 0.1]))
    array([2, 1, 0, 2, 4])
    """
    known = ~np.isnan(scores)
    rounded = np.where(known, np.round(scores, _DECIMALS), -np.inf)
    order = np.argsort(-rounded, axis=-1, kind="stable")
    ordered = np.take_along_axis(rounded, order, axis=-1)
    places = np.broadcast_to(np.arange(scores.shape[-1]), scores.shape)
    is_lower = np.ones(scores.shape, dtype=bool)
    is_lower[..., 1:] = ordered[..., 1:] < ordered[..., :-1]
    first = np.maximum.accumulate(np.where(is_lower, places, 0), axis=-1)
    found = np.empty(scores.shape, dtype=np.intp)
    np.put_along_axis(found, order, first + 1, axis=-1)
    return np.where(known, found, 0)


def _resample(
    values: Floats, generator: np.random.Generator, means: Floats
) -> Generator[int, None, None]:
    """Fill (replicates, models) means of the known values of pairs drawn with replacement.

    Yields how many replicates are done.
    """
    n, replicates = values.shape[1], len(means)
    known = ~np.isnan(values)
    complete = bool(known.all())
    filled = values if complete else np.where(known, values, 0.0)
    step = max(1, _CHUNK // n)
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        drawn = generator.integers(0, n, size=(size, n))
        drawn += np.arange(size)[:, None] * n
        times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
        sums = times @ filled.T
        means[start : start + size] = (
            sums / n if complete else _ratio_or_nan(sums, times @ known.T.astype(np.float64))
        )
        yield start + size


def _intervals(scores: Floats, replicated: Floats) -> Intervals:
    low, high = _quantiles(replicated)
    rank = ranks(scores)
    without: NDArray[np.bool_] = np.isnan(scores)
    if scores.size:
        found = ranks(np.where(without, np.nan, replicated))
        found[(found == 0) & ~without] = (~without).sum()
        best, worst = np.quantile(found, _ENDS, axis=0, method="inverted_cdf").astype(np.intp)
    else:
        best, worst = rank, rank
    return Intervals(
        scores,
        np.minimum(low, scores),
        np.maximum(high, scores),
        rank,
        np.minimum(best, rank),
        np.maximum(worst, rank),
    )


def _quantiles(replicated: Floats) -> tuple[Floats, Floats]:
    """Both ends of each column, over the replicates in which it is known."""
    if not replicated.size:
        nothing = np.zeros(replicated.shape[1])
        return nothing, nothing
    ends = np.quantile(replicated, _ENDS, axis=0)
    for model in np.flatnonzero(np.isnan(ends[0])):
        values = replicated[:, model]
        if (known := values[~np.isnan(values)]).size:
            ends[:, model] = np.quantile(known, _ENDS)
    return ends[0], ends[1]


def _ratio_or_nan(above: Floats, below: Floats) -> Floats:
    ratio: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return ratio
