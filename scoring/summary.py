"""Scored pairs -> subsets -> sections -> the RewardBench score.

Stored outcomes are win, loss, tie and missing. What a tie is worth is said when they are counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scoring.benchmark import (
    COUNTS,
    SECTIONS,
    V2_COUNTS,
    overall_score,
    score_shares,
    section_of,
    section_scores,
    subsets_in_order,
)
from scoring.interval import Interval, weighted_wilson, wilson
from scoring.results.accuracies import is_v2, v2_names
from scoring.spec import Outcome, ScoredPair, is_ties
from scoring.ties import TiesRow, TiesScore, ties_score


def tie_worth(family: str) -> float:
    """What a tie counts by the official rule, as a part of a win.

    Source: upstream's run_generative.py for judges and raters, run_rm.py and run_dpo.py for others.

    >>> tie_worth("judge"), tie_worth("classifier")
    (0.5, 0.0)
    """
    return 0.5 if family in ("judge", "rater") else 0.0


@dataclass(slots=True)
class Tally:
    """How often each outcome came.

    tie: what a tie of a pair counts, as a part of a win.
    shared: beyond that, what ties of rows with more responses count.
    """

    counts: dict[Outcome, int] = field(
        default_factory=lambda: {"win": 0, "loss": 0, "tie": 0, "missing": 0}
    )
    tie: float = 0.0
    shared: float = 0.0

    def add(self, row: ScoredPair) -> None:
        """Count one pair."""
        outcome = row.outcome
        self.counts[outcome] += 1
        if outcome == "tie" and row.rewards:
            self.shared += (row.credit(self.tie) or 0.0) - self.tie

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
        """Wilson's 95 % interval of the accuracy."""
        return wilson(self.credit, self.n)


@dataclass(frozen=True, slots=True)
class Summary:
    """What scored pairs come to.

    total: all, unweighted.
    subsets: those that were scored, `subsets_in_order`.
    sections: the four scores by the official weights, None where no pair counts. Of RewardBench 2
        each subset is a section, *Ties* by its own formula.
    section_tallies: the pairs behind each of them, unweighted.
    score: the mean of the sections known; None where none is.
    truncated: pairs of which a side was cut.
    several: rows with more responses than two; several_tied: of them, those that are ties.
    v2: whether all subsets are RewardBench 2's. ties: of its *Ties*, where there are any.
    """

    total: Tally
    subsets: dict[str, Tally]
    sections: dict[str, float | None]
    section_tallies: dict[str, Tally]
    score: float | None
    truncated: int
    several: int = 0
    several_tied: int = 0
    v2: bool = False
    ties: TiesScore | None = None

    @property
    def whole(self) -> bool:
        """Whether these are the benchmark's own pairs, all of them, as far as counts can tell."""
        tallies, counts = (self.section_tallies, V2_COUNTS) if self.v2 else (self.subsets, COUNTS)
        return {name: sum(tally.counts.values()) for name, tally in tallies.items()} == counts

    def section_interval(self, section: str) -> Interval | None:
        """The 95 % interval of its score by `weighted_wilson`; None without pairs, and of *Ties*,
        which is no mean over rows.
        """
        if self.v2 and is_ties(section):
            return None
        return self._interval_of(self.sections[section], [section])

    @property
    def interval(self) -> Interval | None:
        """The same of the score; None where there is none."""
        known = [name for name, score in self.sections.items() if score is not None]
        return self._interval_of(self.score, known)

    def _interval_of(self, mean: float | None, sections: Sequence[str]) -> Interval | None:
        """Of a mean over these sections, of which those subsets count that have pairs that do."""
        if mean is None:
            return None
        if self.v2:
            parts = [(1 / len(sections), self.section_tallies[name].n) for name in sections]
        else:
            tallies = {name: tally for name, tally in self.subsets.items() if tally.n}
            names = [name for section in sections for name in SECTIONS[section] if name in tallies]
            parts = [(share, tallies[name].n) for name, share in score_shares(names).items()]
        return weighted_wilson(min(max(mean, 0.0), 1.0), parts)


def summarise(scored: Iterable[ScoredPair], family: str) -> Summary:
    """Tally pairs that a family's model scored, and apply the benchmark's rule."""
    tie = tie_worth(family)
    total, truncated, several, several_tied = Tally(tie=tie), 0, 0, 0
    subsets: dict[str, Tally] = {}
    section_tallies: dict[str, Tally] = {}
    of_ties: list[TiesRow] = []
    for pair in scored:
        total.add(pair)
        subsets.setdefault(pair.subset, Tally(tie=tie)).add(pair)
        section_tallies.setdefault(section_of(pair.subset) or "", Tally(tie=tie)).add(pair)
        truncated += pair.chosen_truncated or pair.rejected_truncated
        several += bool(pair.rewards)
        several_tied += bool(pair.rewards) and pair.outcome == "tie"
        if is_ties(pair.subset):
            of_ties.append(TiesRow(pair.id, pair.n_chosen, pair.all_rewards))
    subsets = {subset: subsets[subset] for subset in subsets_in_order(subsets)}
    v2 = is_v2(tuple(subsets))
    ties: TiesScore | None = None
    if v2:
        section_tallies = {name: subsets[each] for name, each in v2_names(subsets).items()}
        sections = {name: tally.accuracy for name, tally in section_tallies.items()}
        if of_ties:
            ties = ties_score(of_ties)
            sections["Ties"] = ties.score
    else:
        known = {name: each.accuracy for name, each in subsets.items() if each.accuracy is not None}
        sections = section_scores(known)
    about = (overall_score(sections), truncated, several, several_tied, v2, ties)
    return Summary(total, subsets, sections, section_tallies, *about)
