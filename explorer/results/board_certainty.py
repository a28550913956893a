"""How sure the rows of a board are: from `Uncertainty` where it is of the same numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, TypeVar

import numpy as np

from explorer.stats.aggregate import Aggregated
from explorer.stats.intervals import unpaired_interval
from explorer.stats.rules import Rule
from explorer.stats.strata import strata
from explorer.stats.uncertainty import COMPOSITES, ModelUncertainty, Uncertainty
from scoring.interval import Interval

_EQUAL = 1e-9
"""Scores that differ by less are the same number."""


class Standing(Protocol):
    """What of a board's row is asked here."""

    @property
    def model(self) -> str:
        """Its name."""

    @property
    def rank(self) -> int | None:
        """From 1; None for one that cannot be compared."""

    @property
    def own(self) -> bool:
        """Whether it is the person's own."""

    @property
    def by_pairs(self) -> bool:
        """Whether its accuracies were counted from results of each pair."""

    @property
    def counted(self) -> Aggregated:
        """Its scores."""


S = TypeVar("S", bound=Standing)


@dataclass(frozen=True, slots=True)
class Certainty:
    """Of one row; `explorer.results.board.BoardRow` says what each is."""

    interval: Interval | None
    paired: bool
    paired_sections: frozenset[str]
    best_rank: int | None
    worst_rank: int | None
    tie_group: int | None
    section_intervals: Mapping[str, Interval | None]
    section_groups: Mapping[str, int | None]


def rivals(rows: Iterable[S]) -> list[S]:
    """The rows that ranks are counted among: the published, or the person's own where none are.

    What is said of published models is thereby the same for everybody.
    """
    ranked = [row for row in rows if row.rank is not None]
    return [row for row in ranked if not row.own] or ranked


def comparable(rows: Iterable[S]) -> list[S]:
    """Those that can be ranked by their outcomes: to be measured against each other."""
    return rivals(row for row in rows if row.by_pairs)


def certainties(
    rows: Sequence[Standing], rule: Rule, uncertainty: Uncertainty | None, alone: Uncertainty | None
) -> list[Certainty]:
    """How sure each row is.

    What was measured is used where it is of the very score that the row has. Ranks and groups
    are used where all `comparable` rows were, and no others; rivals that have accuracies
    alone then widen the intervals of ranks, as far as their own unpaired intervals overlap.

    uncertainty: measured among the comparable. alone: intervals of others.
    """
    measured = {
        model: each
        for known in (alone, uncertainty)
        if known is not None
        for model, each in known.by_model().items()
    }
    compared = {row.model for row in comparable(rows)}
    fits = uncertainty is not None and compared == {
        model for model, yes in zip(uncertainty.models, uncertainty.ranked, strict=True) if yes
    }
    unpaired = _Unpaired(rule)
    found = [
        _certainty(row, measured.get(row.model), unpaired, fits and row.model in compared)
        for row in rows
    ]
    if not all(each.paired for row, each in zip(rows, found, strict=True) if row.model in compared):
        return [replace(each, best_rank=None, worst_rank=None, tie_group=None) for each in found]
    ranked = {row.model for row in rivals(rows)}
    others = [
        each.interval
        for row, each in zip(rows, found, strict=True)
        if row.model in ranked and each.best_rank is None and each.interval is not None
    ]
    return _among(found, others)


def _certainty(
    row: Standing, of: ModelUncertainty | None, unpaired: "_Unpaired", compared: bool
) -> Certainty:
    found = row.counted
    alone, intervals = unpaired.of(found)
    groups: dict[str, int | None] = dict.fromkeys(found.sections)
    if of is None or not row.by_pairs:
        return Certainty(alone, False, frozenset(), None, None, None, intervals, groups)
    sections = frozenset(
        name
        for name, score in found.sections.items()
        if of.section_intervals.get(name) and _equal(of.sections[name], score)
    )
    for name in sections:
        intervals[name] = of.section_intervals[name]
        groups[name] = of.section_groups[name] if compared else None
    lacking = any(
        score is not None and of.sections.get(name) is None
        for name, score in found.sections.items()
    )
    paired = not lacking and of.interval is not None and _equal(of.score, found.score)
    if not (paired and compared):
        overall = of.interval if paired else alone
        return Certainty(overall, paired, sections, None, None, None, intervals, groups)
    ranks = (of.best, of.worst, of.tie_group)
    return Certainty(of.interval, True, sections, *ranks, intervals, groups)


def _among(found: Sequence[Certainty], others: Sequence[Interval]) -> list[Certainty]:
    """Rank intervals with the rows that were not measured.

    >>> sure = Certainty(Interval(0.4, 0.6), True, frozenset(), 1, 2, 1, {}, {})
    >>> [each] = _among([sure], [Interval(0.7, 0.8), Interval(0.5, 0.7), Interval(0.1, 0.2)])
    >>> each.best_rank, each.worst_rank
    (2, 4)
    """
    lows = np.sort([each.low for each in others])
    highs = np.sort([each.high for each in others])

    def widened(one: Certainty) -> Certainty:
        if one.best_rank is None or one.worst_rank is None or one.interval is None:
            return one
        better = len(lows) - int(np.searchsorted(lows, one.interval.high, side="right"))
        rivals = len(highs) - int(np.searchsorted(highs, one.interval.low, side="right"))
        return replace(one, best_rank=one.best_rank + better, worst_rank=one.worst_rank + rivals)

    return [widened(each) for each in found] if others else list(found)


class _Unpaired:
    """Intervals from accuracies and counts alone."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        groups = strata(
            [],
            [weight for of in rule.sections.values() for weight in of.values()],
            [place for place, of in enumerate(rule.sections.values()) for _ in of],
            [rule.weights[section] for section in rule.sections],
        )
        alone = {name: groups.only(place) for place, name in enumerate(rule.sections)}
        self._groups = {"": groups, **alone}
        self._subsets = rule.subsets
        self._proportions = [
            name for name, subsets in rule.sections.items() if not COMPOSITES & set(subsets)
        ]
        self._interval = lru_cache(maxsize=100_000)(self._compute)

    def of(self, found: Aggregated) -> tuple[Interval | None, dict[str, Interval | None]]:
        """Of the overall score and of each section; a composite is no proportion."""
        counts = self._counts(found)
        sections = dict.fromkeys(found.sections) | {
            name: self._interval(found.sections[name], name, counts) for name in self._proportions
        }
        return self._interval(found.score, "", counts), sections

    def _counts(self, found: Aggregated) -> tuple[int, ...]:
        return tuple(
            0
            if found.accuracies[subset] is None
            else found.counts[subset].n
            if subset in found.counts
            else self._rule.pairs[subset]
            for subset in self._subsets
        )

    def _compute(
        self, score: float | None, section: str, counts: tuple[int, ...]
    ) -> Interval | None:
        if score is None:
            return None
        return unpaired_interval(min(max(score, 0.0), 1.0), self._groups[section], counts)


def _equal(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) < _EQUAL
