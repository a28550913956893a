"""Scored pairs -> subsets -> sections -> the score of their benchmark.

Stored outcomes are win, loss, tie and missing. What a tie is worth is said when they are counted.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from statistics import stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.benchmarks import Benchmark, benchmark_named, benchmark_of
from scoring.clusters import clusters_of
from scoring.interval import Interval, weighted_wilson
from scoring.results.order import PairOrder, coded
from scoring.rules import Outcome, is_ties
from scoring.spec import RunFacts, ScoredPair
from scoring.strata import (
    Floats,
    Strata,
    benchmark_strata,
    one_stratum,
    score_intervals,
    score_models,
)
from scoring.ties import TiesRow, TiesScore, ties_score


def tie_worth(family: str, benchmark: str = "") -> float:
    """The worth of a tie by a benchmark's rule, as a part of a win.

    >>> tie_worth("judge"), tie_worth("classifier"), tie_worth("judge", "judgebench")
    (0.5, 0.0, 0.0)
    """
    return benchmark_named(benchmark).rule.tie_of(family)


@dataclass(slots=True)
class Tally:
    """How often each outcome came.

    tie: what a tie of a pair counts, as a part of a win.
    shared: beyond that, what rows with more responses count.
    """

    counts: dict[Outcome, int] = field(
        default_factory=lambda: {"win": 0, "loss": 0, "tie": 0, "missing": 0}
    )
    tie: float = 0.0
    shared: float = 0.0

    def add(self, row: ScoredPair) -> None:
        """Count one pair."""
        self.count(row.outcome, row.credit(self.tie))

    def count(self, outcome: Outcome, credit: float | None) -> None:
        """Count a pair by its outcome and credit; credit: None if it is missing."""
        self.counts[outcome] += 1
        if credit is not None:
            self.shared += credit - {"win": 1.0, "tie": self.tie}.get(outcome, 0.0)

    @property
    def wins(self) -> int:
        """Pairs that were won."""
        return self.counts["win"]

    @property
    def lost(self) -> int:
        """Losses, ties and missing rewards."""
        return sum(self.counts.values()) - self.wins

    @property
    def n(self) -> int:
        """Pairs that count: all but those with a missing reward."""
        return sum(self.counts.values()) - self.counts["missing"]

    @property
    def credit(self) -> float:
        """Wins, and what ties count."""
        return self.wins + self.tie * self.counts["tie"] + self.shared

    @property
    def accuracy(self) -> float | None:
        """The credit of a counting pair, 0 to 1; None where none counts."""
        return self.credit / self.n if self.n else None


class Spread(NamedTuple):
    """A number over repeats, 0 to 1: the lowest, the highest, and the standard deviation."""

    low: float
    high: float
    deviation: float


class Part(NamedTuple):
    """A further number of a rule, 0 to 1, and its 95 % interval."""

    mean: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Intervals:
    """95 % intervals of scored pairs' numbers, over other prompts like these; None if no pair
    counts.

    By `scoring.strata.score_intervals`, as on the leaderboard: pairs of one prompt are taken
    together as far as `clusters_of` knows them without texts. Each holds for one look alone.

    total: of the accuracy of all pairs, unweighted.
    score: of the benchmark's score. With RewardBench 2's *Ties*, which is no mean over rows, each
        row is taken alone.
    sections: of each of the benchmark's, but *Ties*; of all other pairs, as "".
    subsets: of each that there are pairs of, unweighted.
    """

    total: Interval | None = None
    score: Interval | None = None
    sections: dict[str, Interval | None] = field(default_factory=dict)
    subsets: dict[str, Interval | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    """The numbers of scored pairs; parts and intervals are computed when they are first read.

    benchmark: whose rule they are summed up by.
    total: all, unweighted.
    subsets: those that were scored, in the benchmark's order.
    sections: the scores of its sections, None where no pair counts. Where rows count alike, of
        those alone that there are rows of. RewardBench 2's *Ties* goes by its own formula.
    section_tallies: the pairs behind each of them, unweighted; of no section, as "".
    score: as the benchmark takes it; None where it takes none, or none is known.
    truncated: pairs of which a side was cut.
    several: rows with more responses than two; several_tied: of them, those that are ties.
    ties: of RewardBench 2's *Ties*, where there are any.
    order: the pairs. credits: (pairs,), what each counts, NaN if it is missing.
    part_credits: (parts, pairs), what each counts in the rule's parts.
    repeats: the summary of each time that a judge was asked, by itself; () if it was asked once.
    """

    benchmark: Benchmark
    total: Tally
    subsets: dict[str, Tally]
    sections: dict[str, float | None]
    section_tallies: dict[str, Tally]
    score: float | None
    truncated: int
    several: int
    several_tied: int
    ties: TiesScore | None
    order: PairOrder = field(compare=False, repr=False)
    credits: Floats = field(compare=False, repr=False)
    part_credits: Floats = field(compare=False, repr=False)
    repeats: "tuple[Summary, ...]" = ()

    @cached_property
    def spreads(self) -> dict[str, Spread]:
        """The spread of "accuracy" and "score" over repeats, which `intervals` do not count."""
        numbers = {
            "accuracy": [each.total.accuracy for each in self.repeats],
            "score": [each.score for each in self.repeats],
        }
        known = {name: [x for x in each if x is not None] for name, each in numbers.items()}
        return {
            name: Spread(min(each), max(each), stdev(each))
            for name, each in known.items()
            if len(each) == len(self.repeats) > 1
        }

    @cached_property
    def parts(self) -> dict[str, dict[str, Part]]:
        """Section -> the rule's further numbers (hard, normal, easy); of all, if known, as ""."""
        by, of, values = self.benchmark, self._parts_of, self.part_credits
        known = [section for section in by.sections if self.sections.get(section) is not None]
        if not by.rule.parts or not known:
            return {}
        places = {section: place for place, section in enumerate(by.sections)}
        found = {section: of(values, self._strata.only(places[section])) for section in known}
        return found | ({"": of(values, self._strata)} if len(known) == len(by.sections) else {})

    @cached_property
    def subset_parts(self) -> dict[str, dict[str, Part]]:
        """Subset -> the rule's further numbers, if any pair of it has a reward."""
        found, clusters = {}, self._strata.clusters
        for code, name in enumerate(self.order.names if self.benchmark.rule.parts else ()):
            at = self.order.codes == code
            values = self.part_credits[:, at]
            if not np.isnan(values).all():
                of = one_stratum(int(at.sum()), None if clusters is None else clusters[at])
                found[name] = self._parts_of(values, of)
        return found

    def _parts_of(self, values: Floats, groups: Strata) -> dict[str, Part]:
        means, spreads = score_models(values, groups), score_intervals(values, groups)
        parts = map(Part, means.tolist(), spreads)
        return dict(zip(self.benchmark.rule.parts, parts, strict=True))

    @cached_property
    def intervals(self) -> Intervals:
        """Intervals of all its numbers."""
        by, order, groups = self.benchmark, self.order, self._strata
        codes, unweighted, total = order.codes, self._unweighted, self.total_interval

        def weighted(of: Strata) -> Interval | None:
            return score_intervals(self.credits[None], of)[0]

        others = [code for code, name in enumerate(order.names) if by.section_of(name) is None]
        sections = {name: weighted(groups.only(at)) for at, name in enumerate(by.sections)}
        sections[""] = unweighted(np.isin(codes, others))
        if self.score is None:
            score = None
        elif self.ties is None:
            score = total if by.overall == "all rows" else weighted(groups)
        else:
            known = [name for name, each in self.sections.items() if each is not None]
            shares = [(1 / len(known), self.section_tallies[name].n) for name in known]
            score = weighted_wilson(min(max(self.score, 0.0), 1.0), shares)
        if self.ties is not None:
            sections["Ties"] = None
        subsets = {name: unweighted(codes == code) for code, name in enumerate(order.names)}
        return Intervals(total, score, sections, subsets)

    @cached_property
    def total_interval(self) -> Interval | None:
        """As `Intervals.total`, computed without the others."""
        return self._unweighted(np.full(len(self.order), True))

    def _unweighted(self, at: NDArray[np.bool_]) -> Interval | None:
        clusters = None if self._strata.clusters is None else self._strata.clusters[at]
        return score_intervals(self.credits[None, at], one_stratum(int(at.sum()), clusters))[0]

    @cached_property
    def _strata(self) -> Strata:
        by, names = self.benchmark, self.order.names
        if not by.weighs_subsets:
            names = tuple(by.section_of(name) or "" for name in names)
        clusters = clusters_of(self.order)
        weights = dict.fromkeys(by.strata, 1)
        return benchmark_strata(names, self.order.codes, by.strata, weights, clusters)

    @property
    def whole(self) -> bool:
        """Whether these are the benchmark's own pairs, all of them, as far as counts can tell."""
        counts = {name: sum(each.counts.values()) for name, each in self.subsets.items()}
        return self.benchmark.is_complete(counts)


def summarise(scored: Iterable[ScoredPair], family: str, benchmark: str = "") -> Summary:
    """Tally scored pairs by their benchmark's rule. benchmark: its name; "" if subsets tell it."""
    scored, about = list(scored), (family, benchmark)
    by = benchmark_of({pair.subset for pair in scored}, benchmark)
    tie = tie_worth(family, benchmark)  # as in the result files
    total, truncated, several, several_tied = Tally(tie=tie), 0, 0, 0
    subsets: dict[str, Tally] = {}
    tallies: dict[str, Tally] = {}
    of_ties: list[TiesRow] = []
    credits: list[float | None] = []
    for pair in scored:
        outcome, credit = pair.outcome, pair.credit(tie)
        credits.append(credit)
        total.count(outcome, credit)
        subsets.setdefault(pair.subset, Tally(tie=tie)).count(outcome, credit)
        section = by.section_of(pair.subset) or ""
        tallies.setdefault(section, Tally(tie=tie)).count(outcome, credit)
        truncated += pair.chosen_truncated or pair.rejected_truncated
        several += bool(pair.rewards)
        several_tied += bool(pair.rewards) and outcome == "tie"
        if is_ties(pair.subset):
            of_ties.append(TiesRow(pair.id, pair.n_chosen, pair.all_rewards))
    subsets = {subset: subsets[subset] for subset in by.in_order(subsets)}
    ties = ties_score(of_ties) if of_ties and by.rule_name == "rewardbench_2" else None
    if by.weighs_subsets:
        known = {name: each.accuracy for name, each in subsets.items() if each.accuracy is not None}
        sections = by.section_scores(known)
    else:
        sections = {name: tallies[name].accuracy for name in by.sections if name in tallies}
    if ties is not None:
        sections["Ties"] = ties.score
    score = total.accuracy if by.overall == "all rows" else by.score_of(sections)
    unknown = (np.nan,) * len(by.rule.parts)
    parts = [pair.part_credits or unknown for pair in scored] if unknown else []
    repeats = tuple(
        summarise([row.with_rewards(row.repeats[at]) for row in scored if row.repeats[at:]], *about)
        for at in range(max((len(row.repeats) for row in scored), default=0))
    )
    return Summary(
        *(by, total, subsets, sections, tallies, score, truncated, several, several_tied, ties),
        order=PairOrder(
            *coded([pair.subset for pair in scored]),
            [pair.id for pair in scored],
            named_benchmark=by.name,
        ),
        credits=np.array(credits, np.float64),
        part_credits=np.array(parts, np.float64).reshape(len(scored), len(unknown)).T,
        repeats=repeats,
    )


def summarise_run(scored: Iterable[ScoredPair], facts: RunFacts | None) -> Summary:
    """As `summarise`, of a run's pairs; facts: None where nothing is known of it yet."""
    return summarise(scored, *((facts.family, facts.benchmark) if facts else ("", "")))
