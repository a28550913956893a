"""Scored pairs -> subsets -> sections -> the RewardBench score.

Stored outcomes are win, loss, tie and missing. What a tie is worth is said when they are counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scoring.benchmark import (
    COUNTS,
    SECTIONS,
    WEIGHTS,
    overall_score,
    section_of,
    section_scores,
    subsets_in_order,
)
from scoring.interval import Interval, weighted_wilson, wilson
from scoring.spec import Outcome, ScoredPair


def tie_worth(family: str) -> float:
    """What a tie counts by the official rule, as a part of a win.

    Source: upstream's run_generative.py for judges and raters, run_rm.py and run_dpo.py for others.

    >>> tie_worth("judge"), tie_worth("classifier")
    (0.5, 0.0)
    """
    return 0.5 if family in ("judge", "rater") else 0.0


def credit_of(outcome: Outcome, tie: float) -> float | None:
    """What an outcome counts, as a part of a win; None where it is missing. tie: of `tie_worth`."""
    return {"win": 1, "loss": 0, "tie": tie, "missing": None}[outcome]


@dataclass(slots=True)
class Tally:
    """How often each outcome came. tie: what a tie counts, as a part of a win."""

    counts: dict[Outcome, int] = field(
        default_factory=lambda: {"win": 0, "loss": 0, "tie": 0, "missing": 0}
    )
    tie: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Count one pair."""
        self.counts[outcome] += 1

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
        return self.wins + self.tie * self.counts["tie"]

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
    sections: the four scores by the official weights, None where no pair counts.
    section_tallies: the pairs behind each of them, unweighted.
    score: the mean of the sections known; None where none is.
    truncated: pairs of which a side was cut.
    """

    total: Tally
    subsets: dict[str, Tally]
    sections: dict[str, float | None]
    section_tallies: dict[str, Tally]
    score: float | None
    truncated: int

    @property
    def whole(self) -> bool:
        """Whether these are the benchmark's own pairs, all of them, as far as counts can tell."""
        return {name: sum(tally.counts.values()) for name, tally in self.subsets.items()} == COUNTS

    def section_interval(self, section: str) -> Interval | None:
        """The 95 % interval of its score by `weighted_wilson`; None without pairs."""
        return _interval(self.sections[section], self._parts(section))

    @property
    def interval(self) -> Interval | None:
        """The same of the score; None where there is none."""
        sections = [parts for parts in map(self._parts, SECTIONS) if parts]
        shares = [(share / len(sections), tally) for parts in sections for share, tally in parts]
        return _interval(self.score, shares)

    def _parts(self, section: str) -> list[tuple[float, Tally]]:
        """The subsets of a section that have pairs that count, with their shares of its score."""
        known = ((WEIGHTS[name], self.subsets.get(name)) for name in SECTIONS[section])
        found = [(weight, tally) for weight, tally in known if tally is not None and tally.n]
        whole = sum(weight for weight, _ in found)
        return [(weight / whole, tally) for weight, tally in found]


def _interval(mean: float | None, parts: Sequence[tuple[float, Tally]]) -> Interval | None:
    """Of the mean of accuracies with these shares."""
    if mean is None:
        return None
    return weighted_wilson(mean, [(share, tally.n) for share, tally in parts])


def summarise(scored: Iterable[ScoredPair], family: str) -> Summary:
    """Tally pairs that a family's model scored, and apply the benchmark's rule."""
    tie = tie_worth(family)
    total, truncated = Tally(tie=tie), 0
    subsets: dict[str, Tally] = {}
    section_tallies: dict[str, Tally] = {}
    for pair in scored:
        outcome = pair.outcome
        total.add(outcome)
        if pair.subset not in subsets:
            subsets[pair.subset] = Tally(tie=tie)
            section_tallies.setdefault(section_of(pair.subset) or "", Tally(tie=tie))
        subsets[pair.subset].add(outcome)
        section_tallies[section_of(pair.subset) or ""].add(outcome)
        truncated += pair.chosen_truncated or pair.rejected_truncated
    subsets = {subset: subsets[subset] for subset in subsets_in_order(subsets)}
    accuracies = {
        name: tally.accuracy for name, tally in subsets.items() if tally.accuracy is not None
    }
    sections = section_scores(accuracies)
    return Summary(total, subsets, sections, section_tallies, overall_score(sections), truncated)
