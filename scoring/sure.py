"""When a run is sure enough to be stopped: intervals that stay valid however often one looks.

Pairs are scored in a seeded random order, so the first n of it are a sample of the selection, drawn
without replacement. A pack sorts its pairs by cost, so a look takes exactly the first n of the
order, once the last of them is scored. When to look is fixed before the run, and each look has an
equal part of the 5 % of error: with a probability of at least 95 %, all intervals hold what the
number will be when every pair of *this selection* is scored (Bonferroni's inequality; of looks at a
trial, S. Pocock, Biometrika 64 (1977)).

Looks make an accuracy's interval 1.4 times as wide as one look's, a confidence sequence 1.8 times.
In simulated runs of 52 kinds of models and selections, all looks held the true score in 97.0 % of
1,500 or more, the true accuracy in 96.0 % of 400.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor
from operator import mul
from typing import Literal, get_args

import numpy as np

from scoring.benchmark import WEIGHTS, overall_score, section_of, section_scores
from scoring.engine.packing import random_order
from scoring.errors import KnownError, shown
from scoring.interval import Interval
from scoring.spec import ScoredPair
from scoring.summary import Tally

Target = Literal["accuracy", "score"]
TARGETS: tuple[Target, ...] = get_args(Target)
ALPHA = 0.05
"""The probability that any of a run's intervals misses."""
_STEP = 1.4
"""Each look has so many times the pairs of the one before."""
_LATEST = 0.8
"""Share of all pairs of the last look but one: later ones save little, and each costs width."""
_WORTH = 0.6
"""Worth of a pair for the score, against one for a plain share, at worst."""
_BORROWED = 5.0
"""Pairs with the spread of all that a section's own are mixed with: a few may have none."""
_ROUNDING = 1 + 1e-9
"""A probability is more than another where it is so many times as large."""


def finite_interval(wins: int, n: int, total: int, alpha: float) -> Interval | None:
    """An exact interval of the share of wins among `total` pairs, n of them drawn; None of none.

    From the fewest to the most wins that a one-sided test at alpha / 2 does not reject: it misses
    any true share with a probability of at most alpha. It has no width if all were drawn. Source:
    W. G. Cochran, Sampling Techniques (1977), 3.6; of infinitely many it is Clopper and Pearson's.

    wins: among those drawn. alpha: 0 to 1, both excluded.

    >>> finite_interval(46, 100, 100, 0.05)
    Interval(low=0.46, high=0.46)
    """
    if n == 0:
        return None
    high = most_marked(wins, n, total, alpha / 2)
    low = total - most_marked(n - wins, n, total, alpha / 2)
    return Interval(low / total, high / total)


@lru_cache(maxsize=4096)
def most_marked(found: int, n: int, total: int, alpha: float) -> int:
    """The most of `total` that may be marked if n drawn have `found` marked ones.

    The greatest number for which so few, or fewer, come with a probability of more than alpha.
    They do if, with the marked ones first, the drawn one after `found` others is behind them all.

    >>> [most_marked(0, 10, total, 0.05) for total in (10, 20, 10**6)]
    [0, 3, 258864]
    """
    if found == n:
        return total
    from scipy.stats import nhypergeom  # type: ignore[import-untyped]

    not_drawn = np.arange(total - n, -1, -1)
    tails = nhypergeom.pmf(not_drawn, total, total - n, found + 1).cumsum()
    return found + int((tails > alpha * _ROUNDING).sum()) - 1


@dataclass(slots=True)
class SubsetTally(Tally):
    """Outcomes of a subset so far. total: its pairs in the selection."""

    total: int = 0

    @property
    def countable(self) -> int:
        """The most pairs that may count at last."""
        return self.total - self.counts["missing"]


def bounds(
    tallies: Mapping[str, SubsetTally], number: Target, alpha: float
) -> tuple[float | None, float, float]:
    """An estimate of a number over a whole selection, and an interval that misses it with alpha.

    The accuracy's is `finite_interval`. If a tie counts t, it is 1 - t of the interval of the share
    won and t of that of the share won or tied, each at alpha / 2. The score's is the same, of all
    credit, at the number of pairs that would tell as much of a plain share. A pair weighs a_i, the
    official weight of its subset by the pairs of it. Of K sections, the k-th has n_k of N_k pairs
    scored, with the weighted mean p_k and the spread s_k = sum a_i^2 (x_i - p_k)^2 / sum a_i^2, and
    its n_k tell as much as e_k = n_k (sum a_i)^2 / (N_k sum a_i^2), the sums over all N_k. Then
        p = sum p_k / K,  V = sum s_k / e_k / K^2,  effective pairs = p (1 - p) / V,
    s_k mixed with p (1 - p) as if of 5 more pairs. They are a sample of effective pairs / (1 - r),
    where r V is V with each section's part taken times 1 - n_k / N_k. Whole numbers are rounded
    so that it gets wider, and what one unscored pair may be worth is added at both ends.
    Source: E. Korn and B. Graubard, Survey Methodology 24 (1998); W. G. Cochran, Sampling
    Techniques (1977), 2.6 and 2.11.

    tallies: of each subset. alpha: 0 to 1, both excluded. Pairs without a reward do not count;
    those not scored yet do. If nothing counts, or nothing yet of some section: None, 0 and 1.
    """
    if number == "accuracy":
        return _accuracy_bounds(list(tallies.values()), alpha)
    sections: dict[str, list[tuple[float, SubsetTally]]] = {}
    for subset, each in tallies.items():
        section = section_of(subset)
        if section and each.countable:
            sections.setdefault(section, []).append((WEIGHTS[subset] / each.countable, each))
    if not sections or not all(any(each.n for _, each in subsets) for subsets in sections.values()):
        return None, 0.0, 1.0
    if any(each.n < each.countable for subsets in sections.values() for _, each in subsets):
        return _score_bounds([*sections.values()], alpha)
    # As every other view has it.
    known = {name: each.accuracy for name, each in tallies.items() if each.accuracy is not None}
    score = overall_score(section_scores(known)) or 0.0
    return score, score, score


def _accuracy_bounds(
    tallies: Sequence[SubsetTally], alpha: float
) -> tuple[float | None, float, float]:
    counted, total = sum(each.n for each in tallies), sum(each.countable for each in tallies)
    won, tied = sum(each.wins for each in tallies), sum(each.counts["tie"] for each in tallies)
    tie = max(each.tie for each in tallies)
    at = alpha / 2 if tie else alpha
    strict = finite_interval(won, counted, total, at)
    lenient = finite_interval(won + tied, counted, total, at)
    if strict is None or lenient is None:
        return None, 0.0, 1.0
    low, high = ((1 - tie) * s + tie * m for s, m in zip(strict, lenient, strict=True))
    return (won + tie * tied) / counted, low, high


def _score_bounds(
    sections: Sequence[Sequence[tuple[float, SubsetTally]]], alpha: float
) -> tuple[float, float, float]:
    """sections: of each, its subsets with the weight of a pair; some pair of it is scored."""
    means, spreads, effective, unscored, heaviest = [], [], [], [], []
    for subsets in sections:
        n, total = sum(each.n for _, each in subsets), sum(each.countable for _, each in subsets)
        mean = sum(a * each.credit for a, each in subsets) / sum(a * each.n for a, each in subsets)
        squares = sum(
            a * a * (won * (1 - mean) ** 2 + tied * (each.tie - mean) ** 2 + lost * mean**2)
            for a, each in subsets
            for won, tied, lost in [(each.wins, each.counts["tie"], each.counts["loss"])]
        )
        whole = sum(a * each.countable for a, each in subsets)
        worth = whole**2 / (total * sum(a * a * each.countable for a, each in subsets))
        means.append(mean)
        spreads.append(squares / sum(a * a * each.n for a, each in subsets))
        effective.append(n * worth)
        unscored.append(1 - n / total)
        unfinished = (a for a, each in subsets if each.n < each.countable)
        heaviest.append(max(unfinished, default=0.0) / whole)
    mean = sum(means) / len(means)
    spread = mean * (1 - mean)
    variances = [
        (e * (own / spread if spread else 1.0) + _BORROWED) / (e + _BORROWED) / e / len(means) ** 2
        for own, e in zip(spreads, effective, strict=True)
    ]
    left = sum(map(mul, variances, unscored)) / sum(variances)
    n = max(1, floor(1 / sum(variances)))
    total = max(n, ceil(n / (1 - left)))
    high = most_marked(min(n, ceil(mean * n)), n, total, alpha / 2) / total
    low = 1 - most_marked(min(n, ceil((1 - mean) * n)), n, total, alpha / 2) / total
    one = max(heaviest) / len(means)
    return mean, max(0.0, low - one), min(1.0, high + one)


@dataclass(frozen=True, slots=True)
class SureRule:
    """Target of a run: the width of a number's interval, 0.005 to 0.5, else a `KnownError`.

    number: accuracy of all pairs alike, or RewardBench's score of the pairs that it has.
    """

    number: Target
    width: float

    def __post_init__(self) -> None:
        if not 0.005 <= self.width <= 0.5:
            width = shown(100 * self.width)
            raise KnownError(f"An interval can be 0.5 to 50 points wide, not {width}.")


@dataclass(frozen=True, slots=True)
class SureInterval:
    """The interval of the last look.

    estimate: from the pairs of the last look; None before the first, and if none of them counts.
    low, high: at least 95 % for all looks together; 0 and 1 if nothing is known.
    look: number of the last one, from 1, of `looks`; 0 before the first.
    n, following: pairs of the order that this look took and the next will; None after the last.
    """

    rule: SureRule
    estimate: float | None
    low: float
    high: float
    look: int
    looks: int
    n: int
    following: int | None

    @property
    def width(self) -> float:
        """High minus low, 0 to 1."""
        return self.high - self.low

    @property
    def is_enough(self) -> bool:
        """Whether it is as narrow as its rule asks."""
        return self.width <= self.rule.width


class SequentialMonitor:
    """The interval of a run that is under way, renewed at each look."""

    def __init__(
        self, subsets: Mapping[str, str], seed: int, rule: SureRule, tie: float = 0.0
    ) -> None:
        """subsets: key -> subset of every pair of the run, as its plan counts them.

        Raises a `KnownError` if the score is asked for, and no pair is RewardBench's.

        seed: of the run's order. tie: what a tie counts, as a part of a win.
        """
        self.rule = rule
        keys = list(subsets)
        self._order = [keys[place] for place in random_order(len(keys), seed)]
        self._subsets = subsets
        self._waiting: dict[str, ScoredPair] = {}
        self._tallies = {subset: SubsetTally(tie=tie) for subset in subsets.values()}
        for subset in subsets.values():
            self._tallies[subset].total += 1
        if rule.number == "score" and not any(map(section_of, self._tallies)):
            raise KnownError(
                "None of these pairs belongs to RewardBench, so they have no score. "
                "Be sure of the accuracy instead."
            )
        # Of an accuracy in which ties count, the interval is made of two at half the error each.
        halves = 2 if tie and rule.number == "accuracy" else 1
        self._looks = look_sizes(len(keys), rule.width, ALPHA / halves)
        self._n = 0
        self.now = SureInterval(rule, None, 0.0, 1.0, 0, len(self._looks), 0, self._looks[0])

    def add(self, scored: Iterable[ScoredPair]) -> SureInterval:
        """Count further pairs, in any order; return the interval then."""
        self._waiting.update((pair.key, pair) for pair in scored)
        while self._n < len(self._order) and self._order[self._n] in self._waiting:
            key = self._order[self._n]
            self._tallies[self._subsets[key]].add(self._waiting.pop(key))
            self._n += 1
            if self._n == self.now.following:
                look, looks = self.now.look + 1, len(self._looks)
                alpha = ALPHA / max(1, len(self._looks) - 1)
                interval = bounds(self._tallies, self.rule.number, alpha)
                following = self._looks[look] if look < looks else None
                self.now = SureInterval(self.rule, *interval, look, looks, self._n, following)
        return self.now


def look_sizes(total: int, width: float, error: float = ALPHA) -> list[int]:
    """Return after how many pairs of the order to look.

    From the fewest pairs at which an interval can be so narrow at all (all of them won), each time
    1.4 times as many, up to four fifths or to where it is so narrow in any case, and at last all.

    total: pairs of the run, at least 1. error: of all intervals together.

    >>> look_sizes(2985, 0.06), look_sizes(46, 0.06)
    ([97, 136, 190, 266, 373, 522, 730, 1023, 1432, 2004, 2985], [32, 46])
    """
    sizes: list[int] = []
    for _ in range(2):  # the more looks, the later the first can be of use
        alpha = error / max(1, len(sizes) - 1)
        # As many as, all won, leave so wide a share of losses possible: n and marked are symmetric.
        size = 1.0 + most_marked(0, floor(width * total) + 1, total, alpha / 2)
        sizes = []
        while round(size) <= _LATEST * total:
            sizes.append(round(size))
            # So narrow, whatever comes and however pairs weigh?
            plain = max(1, round(_WORTH * sizes[-1]))
            interval = finite_interval(plain // 2, plain, total, alpha)
            if interval is not None and interval.high - interval.low <= width:
                break
            size = max(size * _STEP, size + 1)
        sizes.append(total)
    return sizes
