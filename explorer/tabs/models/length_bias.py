"""Whether a model goes by length: its accuracy where the chosen response is longer, and where not.

Lengths are characters. Pairs with the longer response chosen are of other subsets than the rest,
so the difference of the two accuracies is not the effect of length alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np
from numpy.typing import NDArray

from explorer.data.datacard import LengthCategory, length_category
from explorer.data.facets import Coded
from explorer.data.table import PairTable
from explorer.stats.matrix import is_reward_bench, order_of
from scoring.errors import KnownError
from scoring.hub.access import DEFAULT_DATASET
from scoring.interval import Interval, wilson
from scoring.results.order import PairOrder, align

Floats = NDArray[np.float64]

CATEGORIES: tuple[LengthCategory, ...] = ("chosen", "neutral", "rejected")
"""Kinds of subsets by the side that upstream lists as the longer one."""


@dataclass(frozen=True, slots=True, eq=False)
class PairLengths:
    """How much longer the chosen response of each pair is.

    pairs: what was measured, in words.
    difference: (pairs,) characters, chosen minus rejected.
    """

    pairs: str
    difference: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Share:
    """A mean outcome, 0 to 1, None where n is 0; n counts the pairs whose outcome is known."""

    n: int
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class LengthBias:
    """Accuracies of one model, by which side is longer.

    chosen_longer, rejected_longer, equal: of the pairs of which that is true.
    difference: chosen_longer minus rejected_longer, -1 to 1; None where one of them is not known.
    interval: 95 %, of the difference.
    categories: the mean over the subsets of each length category, each subset alike; None where no
        subset is known.
    """

    chosen_longer: Share
    rejected_longer: Share
    equal: Share
    difference: float | None
    interval: Interval | None
    categories: dict[LengthCategory, float | None]


def lengths_of(tables: Iterable[PairTable], pairs: PairOrder) -> PairLengths | None:
    """Lengths of the pairs, from the first table that has all of them; the benchmark's own first.

    Only a table with RewardBench's subsets, as many pairs in each, is looked at. None without one.
    """
    fitting = [table for table in tables if len(table) == len(pairs)]
    for table in sorted(fitting, key=lambda table: table.source.name != DEFAULT_DATASET):
        order = order_of(table)
        if not is_reward_bench(order):
            continue
        try:
            found = align(order, pairs)
        except KnownError:
            continue
        if not found.missing:
            difference = table.lengths("difference", "chars").astype(np.int64)
            return PairLengths(table.caption, difference[found.rows])
    return None


def length_alone(difference: NDArray[np.int64], *, longer: bool) -> Floats:
    """Outcomes of preferring the longer response, or the shorter: a baseline without a model.

    Responses of the same length are a tie, which officially is a loss.

    >>> length_alone(np.array([5, -5, 0]), longer=True).tolist()
    [1.0, 0.0, 0.0]
    """
    won = difference > 0 if longer else difference < 0
    return won.astype(np.float64)


def length_bias(
    outcomes: NDArray[np.floating], difference: NDArray[np.int64], subsets: Coded
) -> list[LengthBias]:
    """Accuracies of each model, by which side is longer.

    Args:
        outcomes: (models, pairs), 0 to 1, NaN where missing.
        difference: (pairs,) characters, chosen minus rejected.
        subsets: of the pairs. Those that are not RewardBench's are in no category.

    >>> subsets = Coded(["mt-bench-easy", "math-prm"], np.array([0, 0, 1], np.int32))
    >>> (found,) = length_bias(np.array([[1.0, 0.0, 1.0]]), np.array([9, -9, -9]), subsets)
    >>> found.chosen_longer, found.rejected_longer, found.difference
    (Share(n=1, accuracy=1.0), Share(n=2, accuracy=0.5), 0.5)
    >>> found.categories
    {'chosen': None, 'neutral': 1.0, 'rejected': 0.5}
    """
    known = (~np.isnan(outcomes)).astype(np.float64)
    won = np.nan_to_num(np.asarray(outcomes, np.float64), nan=0.0)
    sides = np.stack([difference > 0, difference < 0, difference == 0]).astype(np.float64)
    n, wins = known @ sides.T, won @ sides.T
    in_subset = np.equal.outer(subsets.codes, np.arange(len(subsets.names))).astype(np.float64)
    counts, sums = known @ in_subset, won @ in_subset
    means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    kinds = [length_category(name) for name in subsets.names]
    return [_of_model(*model, kinds) for model in zip(n, wins, means, strict=True)]


def difference_interval(wins_a: float, n_a: int, wins_b: float, n_b: int) -> Interval | None:
    """A 95 % interval of the difference of two independent proportions, a minus b, -1 to 1.

    None where one of them has nothing counted.
    Source: R. G. Newcombe, Interval estimation for the difference between independent proportions,
    Statistics in Medicine 17 (1998), method 10, from Wilson's intervals of both.

    >>> low, high = difference_interval(56, 70, 48, 80)
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    """
    a, b = wilson(wins_a, n_a), wilson(wins_b, n_b)
    if a is None or b is None:
        return None
    rate_a, rate_b = wins_a / n_a, wins_b / n_b
    difference = rate_a - rate_b
    return Interval(
        difference - hypot(rate_a - a.low, b.high - rate_b),
        difference + hypot(a.high - rate_a, rate_b - b.low),
    )


def _of_model(
    n: Floats, wins: Floats, means: Floats, kinds: Sequence[LengthCategory | None]
) -> LengthBias:
    chosen, rejected, equal = (
        Share(int(count), float(won / count) if count else None)
        for count, won in zip(n, wins, strict=True)
    )
    difference = None
    if chosen.accuracy is not None and rejected.accuracy is not None:
        difference = chosen.accuracy - rejected.accuracy
    interval = difference_interval(float(wins[0]), chosen.n, float(wins[1]), rejected.n)
    categories: dict[LengthCategory, float | None] = {}
    for category in CATEGORIES:
        of = [mean for mean, kind in zip(means, kinds, strict=True) if kind == category]
        there = [float(mean) for mean in of if not np.isnan(mean)]
        categories[category] = sum(there) / len(there) if there else None
    return LengthBias(chosen, rejected, equal, difference, interval, categories)
