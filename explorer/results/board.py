"""Results -> a leaderboard: every model's scores by a rule, ranked, and how sure they are."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from explorer.core.text import text
from explorer.results.board_certainty import certainties, comparable, rivals
from explorer.results.board_counts import Noticed, counts_of, covers, taken
from explorer.results.published import Results, ResultsSource, model_url
from explorer.runs.model_list import marks_of, size_of
from explorer.stats.aggregate import Aggregated, Counted, Missing, Ties, aggregate
from explorer.stats.matrix import OutcomeMatrix, of_models
from explorer.stats.rules import PRIOR_PAIRS, RULES, Rule, RuleName
from explorer.stats.uncertainty import COMPOSITES, Uncertainty, intervals
from scoring.interval import Interval, wilson
from scoring.results.accuracies import Aggregate, Benchmark

_DECIMALS = 12
"""Scores that differ by less are equal: what is left is rounding."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """How models are ranked. own: whether a visitor's own runs and files are among them."""

    rule: RuleName = "v1"
    ties: Ties = "official"
    missing: Missing = "left out"
    own: bool = True


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One model. Scores and accuracies are 0 to 1, None where they are not known.

    rank: from 1, equal scores sharing the better one; None where a subset is not known.
    size: parameters in 10^9, None where the name does not tell it.
    url: its page on the Hub, None where there is none.
    marks: upstream's, as in assets/models.toml.
    own: whether it is a run of the person who looks.
    by_pairs: whether its accuracies were counted from results of each pair.
    sections, subsets: name -> score or accuracy.
    counted: how the score was made.
    interval: 95 %, of the score. paired: whether it comes from results of each pair; else it is
        mostly wider, and says nothing of differences.
    paired_sections: those whose intervals come from results of each pair.
    best_rank, worst_rank: ends of the rank's 95 % interval.
    tie_group: from 1.
    section_intervals, section_groups: the same by section.
    """

    rank: int | None
    model: str
    model_type: str | None
    size: float | None
    url: str | None
    marks: tuple[str, ...]
    own: bool
    by_pairs: bool
    sections: dict[str, float | None]
    subsets: dict[str, float | None]
    score: float | None
    counted: Aggregated
    interval: Interval | None = None
    paired: bool = False
    paired_sections: Collection[str] = ()
    best_rank: int | None = None
    worst_rank: int | None = None
    tie_group: int | None = None
    section_intervals: Mapping[str, Interval | None] = field(default_factory=dict)
    section_groups: Mapping[str, int | None] = field(default_factory=dict)

    def interval_of(self, column: str) -> Interval | None:
        """The 95 % interval of "score", of a section or of a subset; a name of both is a section's.

        A subset's is Wilson's, of its accuracy alone; see `subset_interval`.
        """
        if column == "score":
            return self.interval
        if column in self.sections:
            return self.section_intervals.get(column)
        return self.subset_interval(column)

    def subset_interval(self, subset: str) -> Interval | None:
        """Wilson's 95 % interval of one subset's accuracy; of a composite there is none."""
        accuracy, rule = self.subsets.get(subset), self.counted.rule
        if accuracy is None or subset in COMPOSITES:
            return None
        counted = self.counted.counts.get(subset)
        n = counted.n if counted else rule.pairs.get(subset, PRIOR_PAIRS.get(subset, 0))
        return wilson(accuracy * n, n)


@dataclass(frozen=True, slots=True)
class BoardOptions:
    """How outcomes were counted."""

    ties: Ties = "official"
    missing: Missing = "left out"


@dataclass(frozen=True, slots=True)
class Board:
    """Models, best first; those without a rank come after all others.

    source: of the accuracies.
    remarks: what is to be known of the numbers, a sentence each.
    rewarded: models whose rewards are known of any pair, which alone tell equal scores.
    counted: those of the remarks that are of the numbers alone, however sure they are.
    alone: intervals of the person's own models.
    """

    source: ResultsSource
    rule: Rule
    rows: tuple[BoardRow, ...]
    remarks: tuple[str, ...] = ()
    options: BoardOptions = BoardOptions()
    rewarded: int = 0
    counted: tuple[str, ...] = ()
    alone: Uncertainty | None = field(default=None, compare=False, repr=False)

    def find(self, model: str) -> BoardRow | None:
        """The row of a model."""
        return next((row for row in self.rows if row.model == model), None)

    @property
    def subsets(self) -> tuple[str, ...]:
        """The subsets that rows have, in the benchmark's order."""
        return tuple(self.rows[0].subsets) if self.rows else self.rule.subsets

    @property
    def comparable(self) -> tuple[str, ...]:
        """The models of `explorer.results.board_certainty.comparable`."""
        return tuple(row.model for row in comparable(self.rows))

    def measured(self, uncertainty: Uncertainty | None) -> "Board":
        """The same board, as sure as was measured.

        uncertainty: of the same outcomes, measured by the same rule and options among the
            `comparable`; what does not fit is not used.
        """
        sure = certainties(self.rows, self.rule, uncertainty, self.alone)
        rows = tuple(
            replace(row, **{name: getattr(each, name) for name in each.__slots__})
            for row, each in zip(self.rows, sure, strict=True)
        )
        said = _said(self.rule, rows, self.options, self.rewarded)
        return replace(self, rows=rows, remarks=(*self.counted, *said))


def build_board(
    results: Results,
    rule_name: RuleName,
    *,
    outcomes: OutcomeMatrix | None = None,
    ties: Ties = "official",
    missing: Missing = "left out",
    own: Collection[str] = (),
    composites: Mapping[str, Mapping[str, Counted]] | None = None,
) -> Board:
    """Score and rank every model of the results.

    A model's accuracies are counted from its outcomes where there are any, which is what `ties` and
    `missing` act on; else they are those of its file. A model that lacks a subset has a score but
    no rank, and stands below: a mean of its easiest subsets is no rival of a whole one.

    Args:
        results: the accuracies. Prior sets join by the model's name.
        rule_name: by what rule.
        outcomes: of each pair, of the rule's benchmark; of models without accuracies, too.
        ties: as of `explorer.stats.aggregate.settled`.
        missing: likewise.
        own: names of models that are the person's own runs; see `explorer.results.own`.
        composites: model -> subset -> score of a composite, where its outcomes tell it; see
            `explorer.stats.ties`.
    """
    rule = RULES[rule_name]
    base, joined = _aggregates(results, rule)
    counted = counts_of(outcomes, rule, ties, missing) if outcomes is not None else {}
    noticed = Noticed()
    rows = []
    for model in dict.fromkeys([*base, *counted]):
        file, prior, says = base.get(model), joined.get(model), counted.get(model)
        accuracies = (prior.accuracies if prior else {}) | (file.accuracies if file else {})
        counts = taken(model, says, accuracies, noticed)
        if counts and composites:
            counts |= composites.get(model, {})
        known = accuracies | {name: each.accuracy for name, each in counts.items()}
        found = aggregate(rule, known, counts)
        whole = _has_all(found)
        if counts and says is not None:
            whole &= says.enough and (model not in own or covers(found))
        if not whole:
            noticed.not_whole.append(model)
        kind = file.model_type if file else says.model_type if says else None
        origin = {"by_pairs": bool(counts), "own": model in own, "whole": whole}
        rows.append(_row(model, kind, found, known, **origin))
    ranked = _with_ranks(rows)
    mine = None
    if outcomes is not None and set(own) & set(outcomes.models):
        mine = intervals(of_models(outcomes, own), rule, ties=ties, missing=missing)
    said = (*noticed.said(), *_rowless(results, rule, outcomes, {row.model for row in rows}))
    rewarded = 0 if outcomes is None else int(outcomes.rewarded.sum())
    options = BoardOptions(ties, missing)
    board = Board(
        results.source, rule, tuple(ranked), (), options, rewarded, counted=said, alone=mine
    )
    return board.measured(None)


def benchmark_of(rule: Rule) -> Benchmark:
    """Whose subsets a rule is of, prior sets apart.

    >>> benchmark_of(RULES["paper"]), benchmark_of(RULES["prior_all"])
    ('v1', 'prior')
    """
    if rule.name == "v2":
        return "v2"
    return "prior" if rule.name in ("prior", "prior_all") else "v1"


def _aggregates(results: Results, rule: Rule) -> tuple[dict[str, Aggregate], dict[str, Aggregate]]:
    """The files that rows are made of, and those of prior sets that join them."""
    benchmark = benchmark_of(rule)
    prior = results.of("prior") if benchmark == "v1" else {}
    return results.of(benchmark), prior


def _has_all(found: Aggregated) -> bool:
    """Whether all subsets are known that a model needs for a rank.

    Prior sets may be missing, of some published models too: where a score is made of nothing else,
    most of them are needed.
    """
    rule = found.rule
    needed = [name for name in rule.sections if name not in rule.zero_is_missing]
    known = [
        found.accuracies[subset] is not None
        for section in needed or rule.sections
        for subset in rule.sections[section]
    ]
    enough = all(known) if needed else sum(known) > len(known) / 2
    return found.score is not None and enough


def _row(
    model: str,
    kind: str | None,
    found: Aggregated,
    known: Mapping[str, float | None],
    *,
    by_pairs: bool,
    own: bool,
    whole: bool,
) -> BoardRow:
    names = PRIOR_PAIRS if benchmark_of(found.rule) == "prior" else found.rule.subsets
    return BoardRow(
        rank=0 if whole else None,
        model=model,
        model_type=kind,
        size=size_of(model),
        url=None if own else model_url(model),
        marks=() if own else marks_of(model),
        own=own,
        by_pairs=by_pairs,
        sections=found.sections,
        subsets={name: known.get(name) for name in names},
        score=found.score,
        counted=found,
    )


def _with_ranks(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """Best first. A mean of fewer sections is no rival of a whole one: those come below."""

    def order(row: BoardRow) -> tuple[bool, bool, float, str]:
        score = 0.0 if row.score is None else round(row.score, _DECIMALS)
        return row.rank is None, row.score is None, -score, row.model

    def score_of(row: BoardRow) -> float | None:
        return None if row.rank is None or row.score is None else round(row.score, _DECIMALS)

    scores = [score for row in rivals(rows) if (score := score_of(row)) is not None]
    ranked = []
    for row in sorted(rows, key=order):
        score = score_of(row)
        rank = None if score is None else 1 + sum(other > score for other in scores)
        ranked.append(replace(row, rank=rank))
    return ranked


def _rowless(
    results: Results, rule: Rule, outcomes: OutcomeMatrix | None, models: Collection[str]
) -> list[str]:
    """Which of a visitor's files of results of each pair give no row, and why."""
    if results.uploaded is None or benchmark_of(rule) == "prior":
        return []
    found = results.uploaded.outcomes.of_benchmark(benchmark_of(rule))
    left_out = outcomes.left_out if outcomes is not None else ()
    reasons = {each.file: each.reason for each in left_out if each.whole}
    return [
        text("board.no_row", file=file, reason=reasons.get(file, text("board.no_row_reason")))
        for file, each in zip(found.files, found.results, strict=True)
        if each.model not in models
    ]


def _said(rule: Rule, rows: Sequence[BoardRow], options: BoardOptions, rewarded: int) -> list[str]:
    """What is to be known of the rows together, a sentence each."""
    said = []
    usual = BoardOptions()
    if options.ties != usual.ties:
        changed = text("board.changed_ties", n=f"{rewarded:,}")
        said.append(changed if rewarded else text("board.unknown_ties"))
    if options.missing != usual.missing:
        said.append(text("board.changed_missing"))
    if (
        rows
        and rule.zero_is_missing
        and all(
            row.sections.get(section) is None for row in rows for section in rule.zero_is_missing
        )
    ):
        said.append(text("board.no_prior", n=f"{len(rows):,}"))
    if any(row.own and row.rank is not None for row in rows):
        said.append(text("board.own_ranks"))
    if without := [row for row in rows if not row.by_pairs]:
        said.append(text("board.without_outcomes", n=f"{len(without):,}"))
    measured = [row for row in rows if row.best_rank is not None]
    if measured and any(row.best_rank is None for row in rivals(rows)):
        said.append(text("board.mixed", n=f"{len(measured):,}"))
    if COMPOSITES & set(rule.subsets) and len(without) < len(rows):
        said.append(text("board.composite"))
    return said
