"""The rules by which leaderboards are made, as data: subset -> section -> score.

Sections and weights stand in assets/benchmarks.toml, with where they are from; the arithmetic in
`explorer.stats.aggregate`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from scoring.benchmarks import Benchmark, BoardRule, benchmarks
from scoring.clusters import has_counts
from scoring.results.order import PairOrder
from scoring.rules import plain_subset

COMPOSITES = frozenset({"Ties"})
"""Subsets whose accuracy is no mean over pairs; of them, outcomes say nothing."""
ALL = "All pairs"
"""The one section of a benchmark that has none."""


@dataclass(frozen=True, slots=True, eq=False)  # a rule is itself: it may be a key of a cache
class Rule:
    """How subset accuracies become sections, and those a score.

    benchmark: whose subsets they are.
    title: its name on screen. formula: how a score is made, in words.
    sections: section -> subset -> weight in the section's mean. Of a benchmark whose rows count
        alike, each section is its one subset.
    weights: section -> weight in the mean that is the score; {} where there is none. Of a benchmark
        whose score is of all rows, each section has as much weight as it has rows.
    pairs: subset -> pairs (or rows) that the benchmark has of it; of those that are fixed.
    missing: what a section is of which no subset is known: left out of the score, or 0.
        A subset that is not known is left out of its section in either case.
    zero_is_missing: sections that were not measured where they are exactly 0.
    """

    name: str
    benchmark: Benchmark
    title: str
    formula: str
    sections: Mapping[str, Mapping[str, int]]
    weights: Mapping[str, int]
    pairs: Mapping[str, int]
    missing: Literal["left out", "zero"] = "left out"
    zero_is_missing: frozenset[str] = frozenset()

    @property
    def has_composites(self) -> bool:
        """Whether a subset's accuracy is no mean over pairs, so that outcomes give no score."""
        return not COMPOSITES.isdisjoint(self.subsets)

    @property
    def is_of_rows(self) -> bool:
        """Whether the score is a mean of all rows, whatever their sections."""
        return self.benchmark.overall == "all rows"

    @property
    def parts(self) -> tuple[str, ...]:
        """Numbers that stand beside the score: hard, normal and easy, or the score by language."""
        return (*self.benchmark.rule.parts, *self.benchmark.languages)

    def name_of(self, subset: str) -> str:
        """What the rule calls a subset of its benchmark, however it is spelled; its own name for
        one that it leaves out.
        """
        plain = plain_subset(subset)
        exact = (name for name in self.subsets if plain_subset(name) == plain)
        if self.benchmark.weighs_subsets:
            return next(exact, subset)
        section = self.benchmark.section_of(subset)
        return section or (ALL if ALL in self.sections else subset)

    @property
    def subsets(self) -> tuple[str, ...]:
        """Every subset that counts, section by section."""
        return tuple(subset for weights in self.sections.values() for subset in weights)

    def section_of(self, subset: str) -> str | None:
        """The section a subset counts in; None where the rule leaves it out."""
        return next((name for name, weights in self.sections.items() if subset in weights), None)


def _rule(benchmark: Benchmark, board: BoardRule) -> Rule:
    every = [benchmark, *([benchmarks()[board.beside]] if board.beside else [])]
    sections: dict[str, dict[str, int]] = {}
    for each in every:
        of_board = board.subset_weights
        for section, subsets in each.strata.items():
            beside = {name: of_board[name] for name in each.beside if name in of_board}
            own = {name: of_board.get(name, weight) for name, weight in subsets.items()}
            sections[section] = own | beside
    if not sections:
        sections = {ALL: {ALL: 1}}
    weights = {} if benchmark.overall == "none" else board.weights or dict.fromkeys(sections, 1)
    pairs = {name: n for each in every for name, n in {**each.counts, **each.beside}.items()}
    return Rule(
        board.name,
        benchmark,
        board.title,
        board.formula,
        sections,
        weights,
        {name: pairs[name] for of in sections.values() for name in of if pairs.get(name)},
        board.missing,
        frozenset(board.zero_is_missing),
    )


def _own_board(benchmark: Benchmark) -> BoardRule:
    score = {
        "mean of sections": "The score is the plain mean of its sections.",
        "mean of all sections": "The score is the plain mean of its sections.",
        "all rows": "The score is the mean of all rows.",
        "none": "The benchmark defines no overall score, so none is shown.",
    }[benchmark.overall]
    formula = f"{benchmark.rule.method} Each row of a section counts alike. {score}"
    return BoardRule(name=benchmark.key, title=benchmark.title, formula=formula)


def rule_of_pairs(pairs: PairOrder) -> Rule:
    """The official rule of the benchmark that pairs are of."""
    return RULES[pairs.benchmark]


def pair_totals(rule: Rule, pairs: PairOrder) -> tuple[int, ...]:
    """How many pairs the benchmark of a list may have, fewest first: one number, but where it has
    several parts and nothing says which of them the list is of.
    """
    n, totals = len(pairs), rule.benchmark.totals(pairs.dataset or "")
    return (n,) if n in totals else tuple(each for each in totals if each > n) or (n,)


def has_all_pairs(pairs: PairOrder) -> bool:
    """Whether these are all pairs of a benchmark with fixed counts, so that outcomes give its
    official score.
    """
    rule = rule_of_pairs(pairs)
    return not rule.has_composites and has_counts(pairs, rule.pairs)


RULES: dict[str, Rule] = {
    board.name: _rule(benchmark, board)
    for benchmark in benchmarks().values()
    for board in benchmark.boards or (_own_board(benchmark),)
}
"""By their names, those of RewardBench first."""
V1 = next(iter(RULES.values()))
V2 = next(rule for rule in RULES.values() if rule.benchmark.rule_name == "rewardbench_2")
_PRIOR = next(benchmarks()[board.beside] for board in V1.benchmark.boards if board.beside)
PRIOR_KEY, PRIOR = _PRIOR.key, next(iter(_PRIOR.sections))
"""Key and section of the test sets that were there before RewardBench."""
PRIOR_PAIRS = {name: n for name, n in {**_PRIOR.counts, **_PRIOR.beside}.items() if n}
"""Pairs of the prior sets that are published; only the first four enter a RewardBench score."""
V2_PAIRS = V2.pairs
