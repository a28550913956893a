"""Ensembles of reward models, from rewards that are there already.

Source: upstream's analysis/run_ensemble_offline.py. There two pairs of one id count as one; here
each counts.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from explorer.stats.strata import Floats, Whole
from scoring.errors import KnownError, shown

Way = Literal["mean", "worst", "mean_minus_std"]
"""How members' rewards of a response become one: upstream's Mean, Worst (the least of them) and
Uncertainty (the mean minus the standard deviation, whose divisor is the number of members)."""
WAYS: tuple[Way, ...] = get_args(Way)

MOST_COMBINATIONS = 1_000
LEAST_MEMBERS = 2

_ROUNDING = 1e-9
"""Standard deviations by which rewards differ that are equal but for rounding."""
_AT_ONCE = 1_000_000
"""Outcomes that are held at once."""

Score = Callable[[Floats], Floats]
"""Outcomes (ensembles, pairs), NaN for missing -> a score of each, higher is better."""


@dataclass(frozen=True, slots=True, eq=False)
class Normalised:
    """Rewards of models on one scale.

    rewards: (models, 2, pairs), z-normalised, chosen first; NaN where either is missing.
    """

    rewards: Floats

    @property
    def known(self) -> NDArray[np.bool_]:
        """(models, pairs), which pairs each has rewards of."""
        return ~np.isnan(self.rewards[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """What members say together.

    chosen, rejected: (pairs,), in standard deviations; NaN where it is missing for any member.
    outcomes: (pairs,), 1 where chosen is strictly higher, else 0; NaN where they are.
    missing: pairs that some member, but not all, has no rewards of, and that are lost thereby.
    """

    chosen: Floats
    rejected: Floats
    outcomes: Floats
    missing: int


@dataclass(frozen=True, slots=True)
class Combination:
    """An ensemble of some models and how it scores. members: rows of the models, ascending."""

    members: tuple[int, ...]
    way: Way
    score: float


def normalised(chosen: NDArray[np.floating], rejected: NDArray[np.floating]) -> Normalised:
    """Rewards minus their mean, over their standard deviation, model by model.

    Both are over all chosen and rejected rewards of the model's pairs, the divisor being their
    number. A model whose rewards are all equal has 0 everywhere: it says nothing.

    Args:
        chosen: (models, pairs), unbounded; NaN or infinite where missing.
        rejected: likewise.

    Raises:
        ValueError: the shapes do not fit.
        KnownError: a model has no rewards.

    >>> normalised(np.array([[3.0, 1.0, np.nan]]), np.array([[1.0, 3.0, 9.0]])).rewards
    array([[[ 1., -1., nan],
            [-1.,  1., nan]]])
    """
    if chosen.ndim != 2 or chosen.shape != rejected.shape:
        raise ValueError(f"rewards of shapes {chosen.shape} and {rejected.shape}")
    both = np.stack([chosen, rejected], axis=1).astype(np.float64)
    known = np.isfinite(both).all(axis=1, keepdims=True)
    without = int((known.sum(axis=(1, 2)) == 0).sum())
    if without:
        raise KnownError(
            f"An ensemble is made of rewards, and {without} of {len(both)} models have none here. "
            "Choose models with a chosen and a rejected reward of each pair."
        )
    both = np.where(known, both, np.nan)
    mean = np.nanmean(both, axis=(1, 2), keepdims=True)
    spread = np.nanstd(both, axis=(1, 2), keepdims=True)
    return Normalised((both - mean) / np.where(spread > 0, spread, 1.0))


def normalised_together(
    chosen: NDArray[np.floating], rejected: NDArray[np.floating], usable: NDArray[np.bool_] | None
) -> Normalised:
    """As `normalised`, over the pairs that all models have: else members' scales would differ.

    usable: (models, pairs), what to take; None takes all.

    Raises:
        KnownError: a model has no rewards, or there is no pair that all have.

    >>> rewards = np.array([[3.0, 1.0, 9.0], [3.0, 1.0, np.nan]])
    >>> normalised_together(rewards, np.ones((2, 3)), None).rewards[:, 0].round(2)
    array([[ 1.73, -0.58,   nan],
           [ 1.73, -0.58,   nan]])
    """
    known = normalised(chosen, rejected).known
    shared = np.logical_and.reduce(known if usable is None else known & usable)
    if not shared.any():
        raise KnownError("There is no pair that all of these models have rewards of.")
    return normalised(np.where(shared, chosen, np.nan), np.where(shared, rejected, np.nan))


def ensemble(models: Normalised, members: Sequence[int], way: Way) -> Ensemble:
    """Join some models.

    Args:
        models: of `normalised`.
        members: their rows; at least one.
        way: see `Way`.

    Raises:
        KnownError: there is no such way or no such member.

    >>> models = normalised(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> ensemble(models, [0, 1], "mean").outcomes, ensemble(models, [0], "worst").outcomes
    (array([0., 0.]), array([1., 0.]))
    """
    at = _members(models, members)
    chosen, rejected = _joined(models.rewards, np.array([at]), _way(way))[0]
    outcomes = _won(chosen, rejected)
    lost = models.known[at].any(axis=0) & np.isnan(outcomes)
    return Ensemble(chosen, rejected, outcomes, int(lost.sum()))


def all_combinations(models: Normalised, score: Score) -> list[Combination]:
    """Every ensemble of at least two of the models in every way, the best first.

    The best of many is better by chance than it will be on other pairs. Where models have rewards
    of different pairs, ensembles are scored on different pairs, too.

    Args:
        models: of `normalised`.
        score: of outcomes, for all ensembles of a size at once; equal scores keep the order of
            size, members and ways, and NaN comes last.

    Raises:
        KnownError: there would be more than `MOST_COMBINATIONS`.

    >>> models = normalised(np.array([[1.0, 0.0], [6.0, 9.0]]), np.array([[0.0, 1.0], [0.0, 0.0]]))
    >>> found = all_combinations(models, lambda outcomes: outcomes.mean(axis=1))
    >>> [(each.way, each.score) for each in found]
    [('mean', 1.0), ('worst', 0.5), ('mean_minus_std', 0.5)]
    """
    n = len(models.rewards)
    wanted = len(WAYS) * sum(math.comb(n, size) for size in range(LEAST_MEMBERS, n + 1))
    if wanted > MOST_COMBINATIONS:
        raise KnownError(
            f"{n} models make {wanted:,} ensembles; at most {MOST_COMBINATIONS:,} are tried. "
            "Choose fewer models."
        )
    found = [
        Combination(tuple(members), way, value)
        for size in range(LEAST_MEMBERS, n + 1)
        for batch in _batches(n, size, models.rewards.shape[2])
        for way in WAYS
        for members, value in zip(
            batch.tolist(), _scores(models.rewards, batch, way, score), strict=True
        )
    ]
    return sorted(found, key=_rank)


def _rank(each: Combination) -> tuple[float, int, tuple[int, ...], int]:
    value = math.inf if math.isnan(each.score) else -each.score
    return value, len(each.members), each.members, WAYS.index(each.way)


def _scores(rewards: Floats, batch: Whole, way: Way, score: Score) -> list[float]:
    joined = _joined(rewards, batch, way)
    return [float(each) for each in score(_won(joined[:, 0], joined[:, 1]))]


def _batches(n: int, size: int, n_pairs: int) -> Iterator[Whole]:
    """All sets of so many members, (sets, members), a few at a time."""
    sets = np.array([*combinations(range(n), size)], dtype=np.intp)
    step = max(1, _AT_ONCE // max(1, n_pairs))
    for start in range(0, len(sets), step):
        yield sets[start : start + step]


def _joined(rewards: Floats, sets: Whole, way: Way) -> Floats:
    """(sets, 2, pairs): the rewards of each set of members; NaN where any of them has none.

    Member by member, as all members of all sets at once would take much memory.
    """
    total = rewards[sets[:, 0]]
    if way == "worst":
        for member in sets.T[1:]:
            np.minimum(total, rewards[member], out=total)
        return total
    for member in sets.T[1:]:
        total += rewards[member]
    total /= sets.shape[1]
    if way == "mean_minus_std":
        squares = np.zeros_like(total)
        for member in sets.T:
            squares += (rewards[member] - total) ** 2
        total -= np.sqrt(squares / sets.shape[1])
    return total


def _won(chosen: Floats, rejected: Floats) -> Floats:
    won = chosen - rejected > _ROUNDING
    return np.where(np.isnan(chosen) | np.isnan(rejected), np.nan, won)


def _members(models: Normalised, members: Sequence[int]) -> Whole:
    n = len(models.rewards)
    if not len(members) or not all(0 <= each < n for each in members):
        raise KnownError(f"Members are rows 0 to {n - 1}, at least one; not {list(members)[:10]}.")
    return np.array(members, dtype=np.intp)


def _way(way: object) -> Way:
    known = next((each for each in WAYS if each == way), None)
    if known is None:
        raise KnownError(f"Rewards are joined by {', '.join(WAYS)}, not {shown(way)}.")
    return known
