"""Two models on the same pairs, and one model against the majority of the others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.paired_tests import PairedTest, holm, mcnemar_exact, paired_z
from explorer.patterns import difficulty
from explorer.rules import Rule
from explorer.strata import Floats, Whole, checked_outcomes, plain, score_models
from explorer.uncertainty import strata_by, subsets_by
from scoring.interval import Z_95
from scoring.pair_order import PairOrder

Cell = Literal["both", "only_a", "only_b", "neither"]
"""Who wins a pair: the outcome is exactly 1. A half, as judges give, is no win."""
CELLS: tuple[Cell, ...] = get_args(Cell)
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class DuelPart:
    """Two models on some pairs that are known of both.

    name: of the section or subset; "" for all pairs.
    both, only_a, only_b, neither: pairs that so wins. Pairs count alike.
    p: McNemar's exact test, two-sided; 1 where only_a and only_b are 0.
    p_adjusted: by Holm, over the sections or over the subsets that have pairs; of all pairs, p.
    """

    name: str
    both: int
    only_a: int
    only_b: int
    neither: int
    p: float
    p_adjusted: float

    @property
    def n(self) -> int:
        """Pairs known of both."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def accuracy_a(self) -> float | None:
        """The share that a wins; None without pairs."""
        return (self.both + self.only_a) / self.n if self.n else None

    @property
    def accuracy_b(self) -> float | None:
        """The share that b wins; None without pairs."""
        return (self.both + self.only_b) / self.n if self.n else None

    @property
    def difference(self) -> float | None:
        """Accuracy of a minus that of b, -1 to 1; None without pairs."""
        return (self.only_a - self.only_b) / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the difference, 95 %; None without pairs."""
        return paired_interval(self.only_a, self.only_b, self.n)

    @property
    def better(self) -> Literal["a", "b"] | None:
        """Who wins more, if that is significant at 5 % after the correction; else None."""
        if self.p_adjusted > ALPHA or self.only_a == self.only_b:
            return None
        return "a" if self.only_a > self.only_b else "b"


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """Two models by the rule of a benchmark, over the pairs known of both.

    a, b: overall scores, 0 to 1; NaN where no pair counts.
    test: `paired_z` of their difference.
    """

    a: float
    b: float
    test: PairedTest

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the difference, 95 %: 1.96 standard errors to both sides, within -1 and 1.

        Where every stratum is all alike it has no width, which does not say that it is certain.
        None where no pair counts.
        """
        if not self.test.n:
            return None
        middle, spread = self.test.difference, Z_95 * self.test.standard_error
        return max(-1.0, middle - spread), min(1.0, middle + spread)


@dataclass(frozen=True, slots=True)
class Duel:
    """Model a against model b.

    overall: all pairs known of both, whether the rule counts them or not.
    score: by the rule.
    sections: of the rule, in its order.
    subsets: of the pairs, in their order, whether the rule has them or not.
    """

    overall: DuelPart
    score: ScoreDifference
    sections: tuple[DuelPart, ...]
    subsets: tuple[DuelPart, ...]

    def subsets_better(self, who: Literal["a", "b"] | None) -> tuple[str, ...]:
        """Subsets in which that model is significantly better; None for those in which none is."""
        return tuple(each.name for each in self.subsets if each.n and each.better == who)

    def subsets_ahead(self, sign: Literal[1, 0, -1]) -> tuple[str, ...]:
        """Subsets in which a wins more pairs (1), fewer (-1) or as many (0), however few."""
        signs = {each.name: np.sign(each.only_a - each.only_b) for each in self.subsets if each.n}
        return tuple(name for name, of_subset in signs.items() if of_subset == sign)


def duel(a: ArrayLike, b: ArrayLike, pairs: PairOrder, rule: Rule) -> Duel:
    """Compare two models.

    Args:
        a: (pairs,), 0 to 1, a win is exactly 1, NaN is missing.
        b: the same of the other model.
        pairs: which pairs these are.
        rule: the benchmark's.

    Raises:
        ValueError: the shapes do not fit, or an outcome is not between 0 and 1.

    >>> from explorer.rules import RULES
    >>> pairs = PairOrder(("hep-go", "own"), np.array([0, 0, 0, 1], np.int32))
    >>> found = duel([1, 1, 0, 1], [0, 0, 0, np.nan], pairs, RULES["v1"])
    >>> found.overall
    DuelPart(name='', both=0, only_a=2, only_b=0, neither=1, p=0.5, p_adjusted=0.5)
    >>> found.subsets_ahead(1), found.subsets_better("a"), [each.n for each in found.sections]
    (('hep-go',), (), [0, 0, 0, 3])
    """
    groups, subsets = strata_by(rule, pairs), subsets_by(rule, pairs)
    two = checked_outcomes(np.stack([np.asarray(a, float), np.asarray(b, float)]), groups)
    two = np.where(np.isnan(two).any(axis=0), np.nan, two)
    cells = cells_of(two[0], two[1])
    section = np.append(groups.sections, -1)[groups.of_pair]
    score_a, score_b = score_models(two, groups).overall.tolist()
    return Duel(
        _overall(cells),
        ScoreDifference(score_a, score_b, paired_z(two[0], two[1], groups)),
        _parts(list(rule.sections), np.where(groups.counting(), section, -1), cells),
        _parts(subsets.names, subsets.codes, cells),
    )


def cells_of(a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.int8]:
    """Who wins each pair, as places in `CELLS`; -1 where it is missing for either.

    >>> cells_of(np.array([1, 1, 0, 0.5, np.nan]), np.array([1, 0, 1, 0, 1.0]))
    array([ 0,  1,  2,  3, -1], dtype=int8)
    """
    code = 3 - 2 * (a == 1) - (b == 1)
    return np.where(np.isnan(a) | np.isnan(b), -1, code).astype(np.int8)


def paired_interval(only_a: int, only_b: int, n: int) -> tuple[float, float] | None:
    """A 95 % interval of the difference of two shares of wins on the same pairs.

    With p = (only_a + 1) / (n + 2), q = (only_b + 1) / (n + 2):
        p - q +- 1.96 sqrt((p + q - (p - q)**2) / (n + 2)),
    within -1 and 1. It holds the difference itself. In simulations it holds the true one in 93.5 %
    or more of cases, in 95 % on the whole.
    Source: D. Bonett and R. Price, J. Educational and Behavioral Statistics 37 (2012).

    Args:
        only_a: pairs that a wins and b does not.
        only_b: the other way round.
        n: all pairs; 0 gives None.

    >>> low, high = paired_interval(20, 10, 100)
    >>> round(low, 4), round(high, 4)
    (-0.009, 0.2051)
    """
    if n == 0:
        return None
    p, q = (only_a + 1) / (n + 2), (only_b + 1) / (n + 2)
    spread = Z_95 * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    return max(-1.0, p - q - spread), min(1.0, p - q + spread)


def _overall(cells: NDArray[np.int8]) -> DuelPart:
    return _parts([""], np.zeros(len(cells), dtype=np.intp), cells)[0]


def _parts(
    names: Sequence[str], of_pair: NDArray[np.integer], cells: NDArray[np.int8]
) -> tuple[DuelPart, ...]:
    """A part for each name; pairs of a number below 0 are in none."""
    used = (cells >= 0) & (of_pair >= 0)
    counts = np.bincount(4 * of_pair[used] + cells[used], minlength=4 * len(names)).reshape(-1, 4)
    p = np.array([mcnemar_exact(only_a, only_b) for _, only_a, only_b, _ in counts.tolist()])
    adjusted = np.ones(len(names))
    present = counts.any(axis=1)
    adjusted[present] = holm(p[present])
    return tuple(
        DuelPart(name, both, only_a, only_b, neither, float(p[at]), float(adjusted[at]))
        for at, (name, (both, only_a, only_b, neither)) in enumerate(
            zip(names, counts.tolist(), strict=True)
        )
    )


@dataclass(frozen=True, slots=True, eq=False)
class AgainstField:
    """One model against the majority of others, over the pairs known of it and of one of them.

    majority: (pairs,), 1 where more than half of the others that are known win the pair, 0 where
        fewer do, NaN where exactly half do or none is known.
    share: (pairs,), of the others that win it, 0 to 1; NaN where none is known.
    overall: as a duel of the model, a, with the majority, b.
    both, only_model, only_majority, neither: the rows of its cells, in table order.
    split: rows in which the others are split in half.
    alone_wins: rows that it wins and none of the others does.
    alone_fails: rows that it does not win and all of the others do.
    """

    majority: Floats
    share: Floats
    overall: DuelPart
    both: Whole
    only_model: Whole
    only_majority: Whole
    neither: Whole
    split: Whole
    alone_wins: Whole
    alone_fails: Whole


def against_field(outcome: NDArray[np.floating], field: NDArray[np.floating]) -> AgainstField:
    """Compare a model with the majority vote of others.

    Args:
        outcome: (pairs,) of the model, 0 to 1, a win is exactly 1, NaN is missing.
        field: (models, pairs) of the others, without itself; there may be none.

    Raises:
        ValueError: the shapes do not fit, or an outcome is not between 0 and 1.

    >>> field = np.array([[1, 1, 0, 0], [1, 0, 0, np.nan], [0, np.nan, 0, 0]])
    >>> found = against_field(np.array([0.0, 1.0, 1.0, 0.0]), field)
    >>> found.only_majority, found.split, found.only_model, found.alone_wins, found.neither
    (array([0]), array([1]), array([2]), array([2]), array([3]))
    """
    checked = checked_outcomes(np.vstack([outcome, field]), plain(len(outcome)))
    model, known = checked[0], ~np.isnan(checked[0])
    share = 1 - difficulty(checked[1:]).share
    majority = np.where(np.isnan(share) | (share == 0.5), np.nan, share > 0.5)
    cells = cells_of(model, majority)
    both, only_model, only_majority, neither = (np.flatnonzero(cells == at) for at in range(4))
    return AgainstField(
        majority=majority,
        share=share,
        overall=_overall(cells),
        both=both,
        only_model=only_model,
        only_majority=only_majority,
        neither=neither,
        split=np.flatnonzero(known & (share == 0.5)),
        alone_wins=np.flatnonzero((model == 1) & (share == 0)),
        alone_fails=np.flatnonzero(known & (model != 1) & (share == 1)),
    )
