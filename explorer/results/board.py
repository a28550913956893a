"""Results -> a leaderboard: every model's scores by a rule, ranked, and how sure they are."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from explorer.results.board_certainty import certainties, comparable, frame_of, rivals
from explorer.results.published import Results, ResultsSource, model_url
from explorer.runs.model_list import base_licence, size_of
from explorer.stats.aggregate import Aggregated, Counted, Missing, Ties, accuracies_of, aggregate
from explorer.stats.matrix import OutcomeMatrix, of_models
from explorer.stats.rules import (
    COMPOSITES,
    PRIOR,
    PRIOR_KEY,
    PRIOR_PAIRS,
    RULES,
    V1,
    Rule,
    pair_totals,
)
from explorer.stats.uncertainty import Uncertainty, intervals, subsets_by
from scoring.errors import counted
from scoring.interval import wilson
from scoring.results.accuracies import Benchmark
from scoring.strata import DECIMALS

if TYPE_CHECKING:
    import pandas as pd

_ENOUGH = 0.9
"""What part of each section's pairs must have outcomes for a model to be ranked by them."""
_SAME = 1e-4
"""Accuracies in files are rounded to four decimals at worst."""
_FEW_NAMES = 3


COMPOSITE = (
    "In RewardBench 2, Ties is a composite, not a mean over pairs: scores have unpaired "
    "intervals and no tie groups."
)
"""A remark on a board."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """How models are ranked. own: whether a visitor's own runs and files are among them."""

    rule: str = V1.name
    ties: Ties = "official"
    missing: Missing = "left out"
    own: bool = True


BoardRow = dict[str, Any]
"""A model of a board's table, None where something is not known."""


@dataclass(frozen=True, eq=False)
class Board:
    """Models, best first; those without a rank come after all others.

    source: of the accuracies.
    table: a row a model, which is also its index; scores are 0 to 1, what is not known is null:
        rank: from 1, equal scores sharing the better one; null where a subset is not known.
        model; model_type: as its file has it; size: parameters in 10^9, as its name tells it.
        organisation: whose it is; licence: of the model that it is built from, by its name.
        url: its page on the Hub.
        own: whether it is a run or file of the person who looks.
        by_pairs: whether its accuracies were counted from results of each pair.
        opens: whether these can be looked at pair by pair, and compared; of RewardBench 2, the
            person's own.
        failures: pairs that are not won, None where they cannot be looked at.
        score, each part of the rule, and each section and subset by its name; a name of both is a
            section's.
        The ends of 95 % intervals of these, as "score_low" and "score_high"; a subset's is
        Wilson's, of its accuracy alone.
        paired: whether the score's comes from results of each pair; else it is mostly wider, and
        says nothing of differences. "Chat_paired": of a section's.
        best_rank, worst_rank: ends of the rank's 95 % interval.
        tie_group: from 1; "Chat_group": of a section.
    counted: model -> how its score was made.
    ties, missing: how outcomes were counted.
    rewarded: models whose rewards are known of any pair, which alone tell equal scores.
    noticed: remarks on the numbers alone, however sure they are, a sentence each.
    alone: intervals of the person's own models.
    totals: as of `pair_totals`, of the pairs that outcomes are known of; () without outcomes.
    """

    source: ResultsSource
    rule: Rule
    table: "pd.DataFrame"
    counted: Mapping[str, Aggregated]
    ties: Ties = "official"
    missing: Missing = "left out"
    rewarded: int = 0
    noticed: tuple[str, ...] = ()
    alone: Uncertainty | None = None
    totals: tuple[int, ...] = ()

    @cached_property
    def rows(self) -> Mapping[str, BoardRow]:
        """Model -> its row, in the table's order."""
        return {row["model"]: row for row in board_rows(self.table)}

    @cached_property
    def has(self) -> frozenset[str]:
        """What there is of any row; of RewardBench 2 and with prior sets, groups of sections only.

        "by pairs": results of each pair, and "unpaired prior" where such a row's prior sets are
        known. "paired", "unpaired": intervals of a score. "ranks": intervals of these. "groups".
        """
        table, sections = self.table, self.rule.sections
        groups = ["tie_group", *(f"{section}_group" for section in sections)]
        of_any = {
            "by pairs": table["by_pairs"],
            "unpaired prior": table.loc[table["by_pairs"], table.columns.isin([PRIOR])].notna(),
            "paired": table[["paired", *(f"{section}_paired" for section in sections)]],
            "unpaired": ~table["paired"],
            "ranks": table["best_rank"].notna(),
            "groups": table[groups].notna(),
        }
        return frozenset(name for name, is_so in of_any.items() if is_so.to_numpy().any())

    @property
    def has_published(self) -> bool:
        """Whether ranks are those of published models."""
        return not rivals(self.table)["own"].any()

    def is_part(self, row: BoardRow) -> bool:
        """Whether a row is the person's own on a part of the benchmark's pairs."""
        if self.rule.weights:
            return row["own"] and row["rank"] is None
        return row["own"] and self.n_pairs(row) < _ENOUGH * min(self.totals, default=0)

    def n_pairs(self, row: BoardRow) -> int:
        """How many pairs a row was counted from; 0 where it is known by accuracies alone."""
        return sum(each.n for each in self.counted[row["model"]].counts.values())

    @cached_property
    def model_types(self) -> frozenset[str | None]:
        """Those of published models, as their files have them."""
        return frozenset(self.table["model_type"][~self.table["own"]])

    def ranks_by(self, column: str) -> dict[str, int]:
        """Model -> its rank by one column of numbers, from 1, equal ones sharing the better one.

        Models without a rank, or without that number, are left out; the person's own have the rank
        that they would have among the published.
        """
        if column == "score":
            known = self.table["rank"].dropna()
            return dict(zip(known.index, known.astype(int).to_list(), strict=True))
        among = np.sort(rivals(self.table)[column].dropna().round(DECIMALS))
        values = self.table.loc[self.table["rank"].notna(), column].dropna().round(DECIMALS)
        ranks = 1 + len(among) - np.searchsorted(among, values, side="right")
        return dict(zip(values.index, ranks.tolist(), strict=True))

    @property
    def subsets(self) -> tuple[str, ...]:
        """The subsets that rows have, in the benchmark's order."""
        return _subsets(self.rule) if len(self.table) else self.rule.subsets

    @property
    def comparable(self) -> tuple[str, ...]:
        """The models that can be ranked by their outcomes: to be measured against each other."""
        return tuple(comparable(self.table).index)

    def measured(self, uncertainty: Uncertainty | None) -> "Board":
        """The same board, as sure as was measured among the `comparable`.

        uncertainty: of the same outcomes, rule and options; what does not fit is not used.
        """
        sure = certainties(self.table, self.counted, self.rule, uncertainty, self.alone)
        table = self.table.drop(columns=sure.columns, errors="ignore").join(sure).copy()
        return replace(self, table=table)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What to know of the numbers, a sentence each."""
        table, said = self.table, [*self.noticed]
        if self.ties != "official":
            changed = (
                "Not the official rule: ties count half here, for "
                f"{counted(self.rewarded, 'model', 'models')} with known rewards."
            )
            said.append(
                changed
                if self.rewarded
                else (
                    "How ties count has no effect: these results have no rewards, so ties are "
                    "unknown."
                )
            )
        if self.missing != "left out":
            said.append(
                "Not the rule above: missing results count as losses, as in the original code."
            )
        prior = list(self.rule.zero_is_missing)
        if len(table) and prior and table[prior].isna().all(axis=None):
            said.append(
                f"No effect: none of {counted(len(table), 'model', 'models')} has results on prior "
                "sets."
            )
        if self.has_published and (table["own"] & table["rank"].notna()).any():
            said.append(
                "Ranks, rank intervals and tie groups are those of the published models. A rank "
                "in brackets is where your model would rank among them. Compare it with any of "
                "them to test the difference."
            )
        without = int((~table["by_pairs"]).sum())
        if without:
            said.append(
                f"{counted(without, 'model has', 'models have')} only accuracies, no per-pair "
                "results. The options for ties and missing results do not affect them, and their "
                "intervals are wider and unpaired."
            )
        measured = int(table["best_rank"].notna().sum())
        if measured and rivals(table)["best_rank"].isna().any():
            said.append(
                f"{counted(measured, 'model has', 'models have')} per-pair results and others do "
                "not. Rank intervals use unpaired intervals for the others, and tie groups "
                "exclude them."
            )
        if self.rule.has_composites and without < len(table):
            said.append(COMPOSITE)
        return tuple(said)


def board_rows(table: "pd.DataFrame") -> list[BoardRow]:
    """The rows of a board's table, or of some of its columns, one by one."""
    values = table.astype(object).where(table.notna(), None).to_numpy().tolist()
    return [dict(zip(table.columns, each, strict=True)) for each in values]


def build_board(
    results: Results,
    rule_name: str,
    *,
    outcomes: OutcomeMatrix | None = None,
    ties: Ties = "official",
    missing: Missing = "left out",
    own: Collection[str] = (),
    opened: Collection[str] = (),
    composites: Mapping[str, Mapping[str, Counted]] | None = None,
    parts: Mapping[str, BoardRow] | None = None,
) -> Board:
    """Score and rank every model of the results.

    A model's accuracies are counted from its outcomes where there are any, which is what `ties` and
    `missing` (see `explorer.stats.aggregate.settled`) act on; else they are those of its file. A
    model that lacks a subset has a score but no rank, and stands below: a mean of its easiest
    subsets is no rival of a whole one.

    results: the accuracies; prior sets join by the model's name. outcomes: of each pair, of the
    rule's benchmark; of models without accuracies, too. own: names of the person's own models.
    opened: those of them whose rows of RewardBench 2 can be opened; of RewardBench, all can.
    composites: model -> subset -> score, where outcomes tell it.
    parts: model -> the columns of the rule's parts, shown where it has a score.
    """
    rule = RULES[rule_name]
    benchmark = rule.benchmark.key
    base = results.of(benchmark)
    joined = results.of(PRIOR_KEY) if benchmark == V1.name else {}
    counted = _counts_of(outcomes, rule, ties, missing) if outcomes is not None else {}
    totals = () if outcomes is None else pair_totals(rule, outcomes.pairs)
    noticed = _Noticed()
    rows, scored = [], {}
    for model in dict.fromkeys([*base, *counted]):
        file, prior, says = base.get(model), joined.get(model), counted.get(model)
        accuracies = (prior.accuracies if prior else {}) | (file.accuracies if file else {})
        counts = _taken(model, says, accuracies, noticed)
        if counts and composites:
            counts |= composites.get(model, {})
        known = accuracies | {name: each.accuracy for name, each in counts.items()}
        found = scored[model] = aggregate(rule, known, counts)
        whole = _has_all(found)
        if counts and says is not None:
            whole &= says.enough and (model not in own or _covers(found, totals))
        if not whole and rule.weights:
            noticed.not_whole.append(model)
        kind = file.model_type if file else says.model_type if says else None
        opens = bool(counts) and (not rule.has_composites or model in opened)
        row: BoardRow = {
            "model": model,
            "model_type": kind,
            "size": size_of(model),
            "organisation": model.partition("/")[0] if "/" in model else None,
            "licence": None if model in own else base_licence(model)[1] or None,
            "url": None if model in own else model_url(model),
            "rank": 0 if whole else None,
            "score": found.score,
            "by_pairs": bool(counts),
            "own": model in own,
            "opens": opens,
            "failures": sum(each.failures for each in counts.values()) if opens else None,
        }
        if parts and found.score is not None:
            row |= parts.get(model, {})
        rows.append(row | _accuracies(found, known))
    mine = None
    if outcomes is not None and set(own) & set(outcomes.models):
        mine = intervals(of_models(outcomes, own), rule, ties=ties, missing=missing)
    said = (*noticed.said(), *_rowless(results, benchmark, outcomes, scored))
    rewarded = 0 if outcomes is None else int(outcomes.rewarded.sum())
    table = _ranked(rows, rule)
    source = results.source_of(benchmark)
    board = Board(source, rule, table, scored, ties, missing, rewarded, said, mine, totals)
    return board.measured(None)


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


def _subsets(rule: Rule) -> tuple[str, ...]:
    """Whose accuracies a row has."""
    return tuple(PRIOR_PAIRS) if rule.benchmark.key == PRIOR_KEY else rule.subsets


def _accuracies(found: Aggregated, known: Mapping[str, float | None]) -> BoardRow:
    """A row's sections, and its subsets with their intervals; of a composite there is none."""
    row: BoardRow = dict(found.sections)
    for subset in _subsets(found.rule):
        if subset not in row:
            accuracy, counted = known.get(subset), found.counts.get(subset)
            n = counted.n if counted else found.rule.pairs.get(subset, PRIOR_PAIRS.get(subset, 0))
            ends = None
            if accuracy is not None and subset not in COMPOSITES:
                ends = wilson(accuracy * n, n)
            row[f"{subset}_low"], row[f"{subset}_high"] = ends or (None, None)
            row[subset] = accuracy
    return row


_WORDS = ("model", "model_type", "organisation", "licence", "url")


def _ranked(rows: Sequence[BoardRow], rule: Rule) -> "pd.DataFrame":
    """Best first. A mean of fewer sections is no rival of a whole one: those come below."""
    import pandas as pd

    kinds = dict.fromkeys(("rank", "failures"), "Int64")
    kinds |= dict.fromkeys(("own", "by_pairs", "opens"), "bool")
    kinds |= dict.fromkeys(_WORDS, "object")
    accuracies = _accuracies(aggregate(rule, {}, {}), {})
    of_parts = (f"{part}{end}" for part in rule.parts for end in ("", "_low", "_high", "_paired"))
    table = frame_of(rows, [*kinds, "size", "score", *of_parts, *accuracies], kinds)
    # Whole before others, then by what is left of the score without rounding, then by name.
    table = table.assign(part=table["rank"].isna(), rounded=table["score"].round(DECIMALS))
    order = ["part", "rounded", "model"]
    table = table.sort_values(order, ascending=[True, False, True], ignore_index=True)
    among = np.sort(rivals(table)["rounded"])
    better = len(among) - np.searchsorted(among, table["rounded"], side="right")
    table["rank"] = (table["rank"] + 1 + better).astype("Int64")
    return table.drop(columns=["part", "rounded"]).set_axis(
        pd.Index(table["model"].to_list(), dtype=object)
    )


def _rowless(
    results: Results, benchmark: Benchmark, outcomes: OutcomeMatrix | None, models: Collection[str]
) -> list[str]:
    """Which of a visitor's files of results of each pair give no row, and why."""
    if results.uploaded is None or benchmark == PRIOR_KEY:
        return []
    found = results.uploaded.outcomes.of_benchmark(benchmark)
    left_out = outcomes.left_out if outcomes is not None else ()
    reasons = {each.file: each.reason for each in left_out if each.whole}
    return [
        (
            f"Your file {file} gives no row here: "
            f"{reasons.get(file, 'it has no result for a pair of this benchmark')}"
        )
        for file, each in zip(found.files, found.results, strict=True)
        if each.model not in models
    ]


@dataclass(frozen=True, slots=True)
class _Counts:
    """What the outcomes say of a model.

    counts: of the rule's subsets, as ties and missing outcomes are to count.
    official: accuracies with missing outcomes left out, and with them as losses.
    enough: whether each section that there are pairs of has outcomes for most of them.
    complete: whether no outcome is missing.
    """

    counts: dict[str, Counted]
    official: tuple[Mapping[str, float | None], ...]
    enough: bool
    complete: bool
    model_type: str | None


@dataclass(slots=True)
class _Noticed:
    """Models to be told of, noticed while a board is built, and the largest difference."""

    differ: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    not_whole: list[str] = field(default_factory=list)
    most: float = 0.0

    def said(self) -> list[str]:
        """A sentence for each."""
        said = []
        if self.not_whole:
            n = counted(len(self.not_whole), "model has", "models have")
            said.append(
                f"{n} no rank: a subset is missing, or results cover less than "
                f"{100 * _ENOUGH:.0f} % of a section's pairs."
            )
        if self.differ:
            n = counted(len(self.differ), "model", "models")
            said.append(
                f"Per-pair results contradict the accuracies of {n}, by {100 * self.most:.2f} "
                f"points at most; the per-pair results are used: {_few(self.differ)}"
            )
        if self.incomplete:
            n = counted(len(self.incomplete), "model", "models")
            said.append(
                f"Per-pair results contradict the accuracies of {n} but are too few; the "
                f"accuracies are used: {_few(self.incomplete)}"
            )
        return said


def _few(names: Iterable[str]) -> str:
    cut = [name if len(name) <= 80 else f"{name[:80]}…" for name in names]
    more = f" + {len(cut) - _FEW_NAMES:,}" if len(cut) > _FEW_NAMES else ""
    return ", ".join(cut[:_FEW_NAMES]) + more


def _counts_of(
    outcomes: OutcomeMatrix, rule: Rule, ties: Ties, missing: Missing
) -> dict[str, _Counts]:
    """Model -> what its outcomes say; models without an outcome of the rule's subsets are left out.

    Of composites (`explorer.stats.rules.COMPOSITES`) outcomes say nothing.
    """
    subsets = subsets_by(rule, outcomes.pairs)
    sections = [
        np.array([name in of for name in subsets.names], np.bool_)[subsets.codes]
        for of in rule.sections.values()
    ]
    columns = [column for column in sections if column.any()]
    wanted = set(rule.subsets) - COMPOSITES
    found: dict[str, _Counts] = {}
    for row, model in enumerate(outcomes.models):
        values, equal = outcomes.outcomes[row], outcomes.known_equal[row]
        known = ~np.isnan(values)

        def counted(ties: Ties = "official", missing: Missing = "left out") -> dict[str, Counted]:
            every = accuracies_of(values, subsets, equal, ties, missing)  # noqa: B023 - used here
            return {name: each for name, each in every.items() if name in wanted and each.n}

        counts = counted(ties, missing)
        if not any(map(_n_known, counts.values())):
            continue
        official = tuple(
            {name: each.accuracy for name, each in counted(missing=how).items()}
            for how in get_args(Missing)
        )
        enough = all(known[column].mean() >= _ENOUGH for column in columns)
        kind = outcomes.model_types[row]
        found[model] = _Counts(counts, official, enough, bool(known.all()), kind)
    return found


def _taken(
    model: str, says: _Counts | None, accuracies: Mapping[str, float], noticed: _Noticed
) -> dict[str, Counted]:
    """The counts to go by; none where outcomes are missing and the file's accuracies differ."""
    if says is None:
        return {}
    off = min(_difference(official, accuracies) for official in says.official)
    if off > _SAME and not says.complete:
        noticed.incomplete.append(model)
        return {}
    if off > _SAME:
        noticed.differ.append(model)
        noticed.most = max(noticed.most, off)
    return dict(says.counts)


def _difference(one: Mapping[str, float | None], other: Mapping[str, float]) -> float:
    """The largest, over what both know."""
    both = ((each, other[name]) for name, each in one.items() if name in other)
    return max((abs(each - known) for each, known in both if each is not None), default=0.0)


def _covers(found: Aggregated, totals: Sequence[int]) -> bool:
    """Whether the pairs are about as many as the benchmark has, in each subset that counts."""
    rule, n = found.rule, sum(map(_n_known, found.counts.values()))
    return n >= _ENOUGH * min(totals) and all(
        subset in found.counts
        and _n_known(found.counts[subset]) >= _ENOUGH * rule.pairs.get(subset, 1)
        for section, subsets in rule.sections.items()
        if section not in rule.zero_is_missing or len(rule.sections) == 1
        for subset in subsets
        if subset not in COMPOSITES
    )


def _n_known(counted: Counted) -> int:
    return counted.wins + counted.halves + counted.losses
