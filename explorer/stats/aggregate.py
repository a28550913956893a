"""Pair -> subset -> section -> score, by a `Rule`, with what stands behind each number.

Source: `calculate_scores_per_section` in upstream's rewardbench/utils.py and
`get_average_over_rewardbench` in analysis/get_benchmark_results.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from explorer.data.facets import Coded
from explorer.stats.matrix import Outcomes
from explorer.stats.rules import Rule
from scoring.benchmarks import weighted_mean
from scoring.results.order import PairOrder
from scoring.rules import is_ties
from scoring.ties import TiesRow, ties_score

_Outcomes = NDArray[np.floating[Any]]
"""0 to 1 (1 a win), NaN where missing; the last axis is pairs."""

Ties = Literal["official", "half"]
"""What a pair counts whose two scores are equal. Officially half for judges and raters, and nothing
for others, which is how results are stored (`scoring.summary.tie_worth`); or half for all."""

Missing = Literal["left out", "loss"]
"""What a missing outcome counts: nothing, or 0, as upstream has it."""


@dataclass(frozen=True, slots=True)
class Counted:
    """An accuracy and the pairs it was counted from.

    accuracy: the mean outcome, 0 to 1 (RewardBench 2's Ties: -0.01 to 1.01); None where n is 0.
    n: pairs in that mean.
    wins: outcomes of exactly 1.
    halves: outcomes between 0 and 1: a judge's 0.5, a share of four-way credit.
    losses: outcomes of exactly 0.
    missing: pairs without an outcome, in n only where they are to count as losses.
    """

    accuracy: float | None
    n: int
    wins: int
    halves: int
    losses: int
    missing: int

    @property
    def failures(self) -> int:
        """Pairs that were not won: lost, or won in part."""
        return self.losses + self.halves


def by_language(rule: Rule, pairs: PairOrder, outcomes: _Outcomes) -> _Outcomes:
    """The outcomes of one model in each language of a benchmark, (languages, pairs): NaN for pairs
    of the others.
    """
    of_pair = np.array([each.partition(":")[0] for each in pairs.ids or [""] * len(pairs)])
    names = np.array(rule.benchmark.languages, str)
    return np.where(names[:, None] == of_pair, outcomes, np.nan)


def settled(
    outcomes: _Outcomes,
    known_equal: NDArray[np.bool_] | None = None,
    ties: Ties = "official",
    missing: Missing = "left out",
) -> _Outcomes:
    """Outcomes of one model or of many as they are to count.

    Officially they count as they are stored. "half" makes 0.5 of the pairs in `known_equal` and
    changes no others.

    >>> stored, equal = np.array([1, 0, 0, 0.5, np.nan]), np.array([0, 1, 0, 0, 1], bool)
    >>> settled(stored, equal).tolist(), settled(stored, equal, "half", "loss").tolist()
    ([1.0, 0.0, 0.0, 0.5, nan], [1.0, 0.5, 0.0, 0.5, 0.0])
    """
    absent = np.isnan(outcomes)
    if ties == "half" and known_equal is not None:
        outcomes = np.where(known_equal & ~absent, np.float32(0.5), outcomes)
    if missing == "loss":
        outcomes = np.where(absent, np.float32(0), outcomes)
    return outcomes


def accuracies_of(
    outcomes: _Outcomes,
    subsets: Coded,
    known_equal: NDArray[np.bool_] | None = None,
    ties: Ties = "official",
    missing: Missing = "left out",
) -> dict[str, Counted]:
    """One model's accuracy on each subset.

    outcomes: (pairs,), 0 to 1, else a ValueError.
    subsets: of the same pairs. A name without pairs has no accuracy.
    known_equal: (pairs,), where both scores are there and equal; None where nobody knows.
    ties, missing: see `settled`.

    >>> outcomes = np.array([1, 0.5, 0, np.nan], np.float32)
    >>> found = accuracies_of(outcomes, Coded(["a", "b"], np.array([0, 0, 0, 1], np.int32)))
    >>> found["a"]
    Counted(accuracy=0.5, n=3, wins=1, halves=1, losses=1, missing=0)
    >>> found["b"]
    Counted(accuracy=None, n=0, wins=0, halves=0, losses=0, missing=1)
    """
    absent = np.isnan(outcomes)
    values = settled(outcomes, known_equal, ties, missing).astype(np.float64)
    wrong = values[(values < 0) | (values > 1)]
    if len(wrong):
        raise ValueError(f"an outcome of {wrong[0]}, not between 0 and 1")

    def per_subset(column: NDArray[Any]) -> list[float]:
        sums = np.bincount(subsets.codes, weights=column, minlength=len(subsets.names))
        return [float(value) for value in sums]

    counted = ~np.isnan(values)
    columns = zip(
        subsets.names,
        per_subset(np.where(counted, values, 0.0)),
        *(
            map(int, per_subset(mask))
            for mask in (counted, values == 1, (values == 0) & ~absent, counted & ~absent, absent)
        ),
        strict=True,
    )
    return {
        name: Counted(total / n if n else None, n, wins, there - wins - losses, losses, gone)
        for name, total, n, wins, losses, there, gone in columns
    }


def composites(found: Outcomes, missing: Missing = "left out") -> dict[str, dict[str, Counted]]:
    """Model -> subset -> its composite, of the models whose files have scores and ids.

    That is RewardBench 2's Ties: wins are accurate rows, but the accuracy is the composite. Ids of
    Ties say which prompt a row is of, and unlike those of other subsets no stored one is known to
    be wrong.
    """
    counted: dict[str, dict[str, Counted]] = {}
    for result in found.results:
        order, scores, correct = result.order, result.scores, result.num_correct
        if scores is None or correct is None or order.ids is None:
            continue
        of_ties = np.array([is_ties(name) for name in order.names], np.bool_)[order.codes]
        ties = ties_score(
            (
                TiesRow(order.ids[row], int(correct[row]), scores.row(row).tolist())
                for row in np.flatnonzero(of_ties).tolist()
            ),
            missing,
        )
        if ties.score is not None:
            n, hits, misses = ties.n_tied + ties.n_ref, ties.accurate, ties.inaccurate
            composite = Counted(ties.score, n, hits, 0, misses, ties.missing)
            counted.setdefault(result.model, {"Ties": composite})
    return counted


@dataclass(frozen=True, slots=True)
class SubsetShare:
    """What one subset adds to its section.

    share: of the section, 0 to 1, after those that are not known were left out.
    counted: the pairs behind the accuracy; None where only the accuracy is known.
    """

    subset: str
    accuracy: float | None
    weight: int
    share: float
    counted: Counted | None


@dataclass(frozen=True, slots=True)
class Aggregated:
    """A model's scores by a rule, and what they were made of.

    sections: every section of the rule; None where it is not known.
    score: None where no section is known.
    accuracies, counts: what was given, of the rule's subsets; `counts` is empty where only
        accuracies are known.
    """

    rule: Rule
    sections: dict[str, float | None]
    score: float | None
    accuracies: dict[str, float | None]
    counts: dict[str, Counted]

    def behind(self, section: str) -> tuple[SubsetShare, ...]:
        """The subsets that make a section of the rule."""
        weights = self.rule.sections[section]
        known = sum(w for subset, w in weights.items() if self.accuracies[subset] is not None)
        return tuple(
            SubsetShare(
                subset,
                accuracy := self.accuracies[subset],
                weight,
                0.0 if accuracy is None else weight / known,
                self.counts.get(subset),
            )
            for subset, weight in weights.items()
        )


def aggregate(
    rule: Rule, accuracies: Mapping[str, float | None], counts: Mapping[str, Counted] | None = None
) -> Aggregated:
    """Sections and score from subset accuracies.

    accuracies: subset -> accuracy. Subsets may be missing, None or NaN, all of which leave them
        out; those that the rule does not know are ignored.
    counts: the pairs behind them, as `accuracies_of` counts; carried, not used.
    """
    known = {subset: _finite(accuracies.get(subset)) for subset in rule.subsets}
    sections = {
        section: _as_counted(
            rule,
            section,
            weighted_mean((known[subset], weight) for subset, weight in weights.items()),
        )
        for section, weights in rule.sections.items()
    }
    counted = {each: counts[each] for each in rule.subsets if each in counts} if counts else {}
    if rule.is_of_rows:
        score = weighted_mean((each.accuracy, each.n) for each in counted.values() if each.n)
    else:
        score = overall(rule, sections)
    return Aggregated(rule, sections, score, known, counted)


def aggregate_counted(rule: Rule, counts: Mapping[str, Counted]) -> Aggregated:
    """Sections and score from what `accuracies_of` counted."""
    return aggregate(rule, {subset: each.accuracy for subset, each in counts.items()}, counts)


def overall(rule: Rule, sections: Mapping[str, float | None]) -> float | None:
    """The score from sections, 0 to 1 or percent: the weighted mean of those that are known; None
    where the benchmark asks for all of them, and one is not.
    """
    if rule.benchmark.overall == "mean of all sections" and None in sections.values():
        return None
    return weighted_mean(
        (_as_counted(rule, section, _finite(sections.get(section))), weight)
        for section, weight in rule.weights.items()
    )


def _as_counted(rule: Rule, section: str, value: float | None) -> float | None:
    """A section as it enters the score."""
    if value == 0 and section in rule.zero_is_missing:
        return None
    return 0.0 if value is None and rule.missing == "zero" else value


def _finite(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else value
