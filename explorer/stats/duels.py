"""Two models on the same pairs, and the majority of several as one more model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.stats.difficulty import difficulty
from explorer.stats.paired import ALPHA, PairedTest, holm, paired_test
from explorer.stats.rules import Rule
from explorer.stats.uncertainty import strata_by
from scoring.results.order import PairOrder
from scoring.strata import Floats, Strata, checked_outcomes, one_stratum, score_models, strata

Cell = Literal["both", "only_a", "only_b", "neither"]
"""Who wins a pair: the outcome is exactly 1. A half, as judges give, is no win."""
CELLS: tuple[Cell, ...] = get_args(Cell)


@dataclass(frozen=True, slots=True)
class DuelPart:
    """Two models on some pairs that are known of both.

    name: of the section or subset; "" for all pairs.
    both, only_a, only_b, neither: pairs that so wins; each counts once, whatever it weighs.
    n_differing: pairs whose outcomes differ, those that one ties and the other loses among them.
    a, b: the score of each over these pairs, 0 to 1; None without pairs.
    test: of a minus b, by the same weights.
    p_adjusted: by Holm, over the sections or over the subsets that have pairs; of all pairs, p.
    """

    name: str
    both: int
    only_a: int
    only_b: int
    neither: int
    n_differing: int
    a: float | None
    b: float | None
    test: PairedTest
    p_adjusted: float

    @property
    def n(self) -> int:
        """Pairs known of both."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def difference(self) -> float | None:
        """A minus b, -1 to 1; None without pairs."""
        return self.test.difference if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the difference, 95 %; None where it is not known."""
        return self.test.interval

    @property
    def better(self) -> Literal["a", "b"] | None:
        """Whose score is higher, if that is significant at 5 % after the correction; else None."""
        if not self.difference or self.p_adjusted > ALPHA:
            return None
        return "a" if self.difference > 0 else "b"


@dataclass(frozen=True, slots=True)
class Duel:
    """Model a against model b.

    all_pairs: those known of both, whether the rule counts them or not; they weigh alike.
    score: those that count, weighing as in the rule's score.
    sections: of the rule, in its order; pairs weigh as in the section's score.
    subsets: of the pairs, in their order, whether the rule has them or not; pairs weigh alike.
    """

    all_pairs: DuelPart
    score: DuelPart
    sections: tuple[DuelPart, ...]
    subsets: tuple[DuelPart, ...]

    @property
    def headline(self) -> DuelPart:
        """What the two are compared by: the score, and the accuracy where no pair counts in it."""
        return self.score if self.score.n else self.all_pairs


def duel(a: ArrayLike, b: ArrayLike, pairs: PairOrder, rule: Rule) -> Duel:
    """Compare two models, by `paired_test` with pairs of one prompt taken together.

    a, b: (pairs,), 0 to 1, a win is exactly 1, NaN is missing.

    Raises:
        ValueError: the shapes do not fit, or an outcome is not between 0 and 1.
    """
    two, groups = _of_both(a, b, pairs, rule)
    of_subsets = [
        strata(np.where(pairs.codes == code, 0, -1), [1.0], [0], [1.0], groups.clusters)
        for code in range(len(pairs.names))
    ]
    of_sections = [groups.only(section) for section in range(len(rule.sections))]
    return Duel(
        _part("", two, one_stratum(len(pairs), groups.clusters)),
        _score_part(two, groups, rule),
        _parts(list(rule.sections), two, of_sections),
        _parts(pairs.names, two, of_subsets),
    )


def headline(a: ArrayLike, b: ArrayLike, pairs: PairOrder, rule: Rule) -> DuelPart:
    """The `Duel.headline` of the same two models alone."""
    two, groups = _of_both(a, b, pairs, rule)
    score = _score_part(two, groups, rule)
    return score if score.n else _part("", two, one_stratum(len(pairs), groups.clusters))


def cells_of(a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.int8]:
    """Who wins each pair, as places in `CELLS`; -1 where it is missing for either.

    >>> cells_of(np.array([1, 1, 0, 0.5, np.nan]), np.array([1, 0, 1, 0, 1.0]))
    array([ 0,  1,  2,  3, -1], dtype=int8)
    """
    code = 3 - 2 * (a == 1) - (b == 1)
    return np.where(np.isnan(a) | np.isnan(b), -1, code).astype(np.int8)


def majority_of(models: NDArray[np.floating]) -> Floats:
    """What most of some models make of each pair; (models, pairs), of which there may be none.

    Returns:
        (pairs,), 1 where more than half of the models that are known win the pair, 0 where fewer
        do, NaN where exactly half do or none is known.

    >>> majority_of(np.array([[1, 1, 0, 0], [1, 0, 0, np.nan], [0, np.nan, 0, 0]]))
    array([ 1., nan,  0.,  0.])
    """
    share = 1 - difficulty(models).share
    return np.where(np.isnan(share) | (share == 0.5), np.nan, share > 0.5)


def _of_both(a: ArrayLike, b: ArrayLike, pairs: PairOrder, rule: Rule) -> tuple[Floats, Strata]:
    """(2, pairs), NaN where either is missing; and the rule's strata."""
    groups = strata_by(rule, pairs)
    two = checked_outcomes(np.stack([a, b]), groups)
    return np.where(np.isnan(two).any(axis=0), np.nan, two), groups


def _score_part(two: Floats, groups: Strata, rule: Rule) -> DuelPart:
    """The score; of no pairs where the rule wants all sections and one has none."""
    if rule.benchmark.overall == "mean of all sections":
        known = ~np.isnan(two).any(axis=0)
        sections = (groups.only(place).counting() for place in range(len(rule.sections)))
        if not all((known & of).any() for of in sections):
            two = np.full_like(two, np.nan)
    return _part("", two, groups)


def _parts(names: Sequence[str], two: Floats, groups: Sequence[Strata]) -> tuple[DuelPart, ...]:
    """A part for each name, corrected for those that have pairs."""
    parts = [_part(name, two, each) for name, each in zip(names, groups, strict=True)]
    adjusted = iter(holm([part.test.p for part in parts if part.n]).tolist())
    return tuple(replace(part, p_adjusted=next(adjusted)) if part.n else part for part in parts)


def _part(name: str, two: Floats, groups: Strata) -> DuelPart:
    values, counted = two[:, groups.counting()], groups.counted()
    cells = cells_of(values[0], values[1])
    both, only_a, only_b, neither = (int((cells == at).sum()) for at in range(len(CELLS)))
    scores = score_models(values, counted).tolist()
    a, b = (None if np.isnan(score) else score for score in scores)
    n_differing = int(((cells >= 0) & (values[0] != values[1])).sum())
    test = paired_test(values[0], values[1], counted)
    return DuelPart(name, both, only_a, only_b, neither, n_differing, a, b, test, test.p)
