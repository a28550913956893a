"""Scored pairs -> subsets -> sections -> the score of their benchmark.

Stored outcomes are win, loss, tie and missing. What a tie is worth is said when they are counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from statistics import fmean
from typing import NamedTuple

from scoring.benchmarks import Benchmark, benchmark_named, benchmark_of
from scoring.interval import Interval, weighted_wilson, wilson
from scoring.rules import Outcome, is_ties, plain_subset
from scoring.spec import RunFacts, ScoredPair
from scoring.ties import TiesRow, TiesScore, ties_score


def tie_worth(family: str, benchmark: str = "") -> float:
    """What a tie counts by a benchmark's rule, as a part of a win.

    >>> tie_worth("judge"), tie_worth("classifier"), tie_worth("judge", "judgebench")
    (0.5, 0.0, 0.0)
    """
    return benchmark_named(benchmark).rule.tie_of(family)


@dataclass(slots=True)
class Tally:
    """How often each outcome came.

    tie: what a tie of a pair counts, as a part of a win.
    shared: beyond that, what rows with more responses count.
    parts: of a rule that has them, the sum of each over the rows that count.
    """

    counts: dict[Outcome, int] = field(
        default_factory=lambda: {"win": 0, "loss": 0, "tie": 0, "missing": 0}
    )
    tie: float = 0.0
    shared: float = 0.0
    parts: list[float] = field(default_factory=list)

    def add(self, row: ScoredPair) -> None:
        """Count one pair."""
        outcome = row.outcome
        self.counts[outcome] += 1
        if row.rewards and outcome != "missing":
            whole = {"win": 1.0, "tie": self.tie, "loss": 0.0}[outcome]
            self.shared += (row.credit(self.tie) or 0.0) - whole
            parts = row.part_credits
            self.parts = list(map(add, self.parts or [0.0] * len(parts), parts))

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

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval of the accuracy; wider than need be where a row counts in part."""
        return wilson(self.credit, self.n)


class Part(NamedTuple):
    """A number that a rule has besides, 0 to 1, and its 95 % interval, which is wider than need be:
    a row counts in thirds.
    """

    mean: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Summary:
    """What scored pairs come to.

    benchmark: whose rule they are summed up by.
    total: all, unweighted.
    subsets: those that were scored, in the benchmark's order.
    sections: the scores of its sections, None where no pair counts. Where rows count alike, of
        those alone that there are rows of. RewardBench 2's *Ties* goes by its own formula.
    section_tallies: the pairs behind each of them, unweighted; of no section, as "".
    score: as the benchmark takes it; None where it takes none, or none is known.
    parts: section -> the numbers that the rule has besides, such as hard, normal and easy; of the
        whole benchmark, as "", where every section is known.
    truncated: pairs of which a side was cut.
    several: rows with more responses than two; several_tied: of them, those that are ties.
    ties: of RewardBench 2's *Ties*, where there are any.
    """

    benchmark: Benchmark
    total: Tally
    subsets: dict[str, Tally]
    sections: dict[str, float | None]
    section_tallies: dict[str, Tally]
    score: float | None
    truncated: int
    several: int = 0
    several_tied: int = 0
    parts: dict[str, dict[str, Part]] = field(default_factory=dict)
    ties: TiesScore | None = None

    @property
    def whole(self) -> bool:
        """Whether these are the benchmark's own pairs, all of them, as far as counts can tell."""
        found = {
            plain_subset(name): sum(each.counts.values()) for name, each in self.subsets.items()
        }
        counts = {plain_subset(name): n for name, n in self.benchmark.counts.items()}
        return bool(counts) and found == counts

    def section_interval(self, section: str) -> Interval | None:
        """The 95 % interval of its score by `weighted_wilson`; None without pairs, and of *Ties*,
        which is no mean over rows.
        """
        if self.ties is not None and is_ties(section):
            return None
        return self._interval_of(self.sections[section], [section])

    @property
    def interval(self) -> Interval | None:
        """The same of the score; None where there is none."""
        if self.benchmark.overall == "all rows":
            return self.total.interval
        known = [name for name, score in self.sections.items() if score is not None]
        return self._interval_of(self.score, known)

    def _interval_of(self, mean: float | None, sections: Sequence[str]) -> Interval | None:
        """Of a mean over these sections, of which those subsets count that have pairs that do."""
        if mean is None:
            return None
        if self.benchmark.weighs_subsets:
            counting = {name for name, tally in self.subsets.items() if tally.n}
            names = {name for name in counting if self.benchmark.section_of(name) in sections}
            shares = self.benchmark.score_shares(names)
            parts = [(share, self.subsets[name].n) for name, share in shares.items()]
        else:
            parts = [(1 / len(sections), self.section_tallies[name].n) for name in sections]
        return weighted_wilson(min(max(mean, 0.0), 1.0), parts)


def summarise(scored: Iterable[ScoredPair], family: str, benchmark: str = "") -> Summary:
    """Tally pairs that a family's model scored, and apply their benchmark's rule.

    benchmark: its name; "" means what their subsets tell.
    """
    scored = list(scored)
    by = benchmark_of({pair.subset for pair in scored}, benchmark)
    tie = by.rule.tie_of(family)
    total, truncated, several, several_tied = Tally(tie=tie), 0, 0, 0
    subsets: dict[str, Tally] = {}
    tallies: dict[str, Tally] = {}
    of_ties: list[TiesRow] = []
    for pair in scored:
        total.add(pair)
        subsets.setdefault(pair.subset, Tally(tie=tie)).add(pair)
        tallies.setdefault(by.section_of(pair.subset) or "", Tally(tie=tie)).add(pair)
        truncated += pair.chosen_truncated or pair.rejected_truncated
        several += bool(pair.rewards)
        several_tied += bool(pair.rewards) and pair.outcome == "tie"
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
    about = (score, truncated, several, several_tied, _parts(by, tallies), ties)
    return Summary(by, total, subsets, sections, tallies, *about)


def summarise_run(scored: Iterable[ScoredPair], facts: RunFacts | None) -> Summary:
    """As `summarise`, of a run's pairs; facts: None where nothing is known of it yet."""
    return summarise(scored, *((facts.family, facts.benchmark) if facts else ("", "")))


def _parts(by: Benchmark, tallies: Mapping[str, Tally]) -> dict[str, dict[str, Part]]:
    names = by.rule.parts
    known = {name: tallies[name] for name in by.sections if name in tallies and tallies[name].n}
    if not names or not known:
        return {}
    found = {
        section: {
            name: Part(total / tally.n, wilson(total, tally.n))
            for name, total in zip(names, tally.parts, strict=True)
        }
        for section, tally in known.items()
    }
    if len(known) == len(by.sections):
        shares = [(1 / len(known), tally.n) for tally in known.values()]
        means = {name: fmean(found[section][name].mean for section in known) for name in names}
        whole = {name: Part(mean, weighted_wilson(mean, shares)) for name, mean in means.items()}
        found[""] = whole
    return found
