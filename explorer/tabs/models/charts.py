"""What charts of a leaderboard are made of: points, how hard subsets were, how alike models are,
and whether they go by length.

Lengths are characters. Pairs with the longer response chosen are of other subsets than the rest,
so the difference of the two accuracies is not the effect of length alone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from math import hypot, isnan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.datacard import LengthCategory, length_category
from explorer.data.facets import Coded
from explorer.data.table import PairTable
from explorer.results.board import Board
from explorer.stats.aggregate import Ties, accuracies_of, aggregate_counted, by_language, settled
from explorer.stats.difficulty import correlations, leaf_order
from explorer.stats.matrix import OutcomeMatrix, order_of
from explorer.stats.rules import COMPOSITES, V1, Rule, rule_of_pairs
from explorer.stats.uncertainty import subsets_by
from explorer.tabs.models.state import ModelsState, type_of
from scoring.clusters import has_counts, is_reward_bench
from scoring.errors import KnownError
from scoring.hub.access import DEFAULT_DATASET
from scoring.interval import Interval, wilson
from scoring.results.order import PairOrder, align
from scoring.strata import Floats

if TYPE_CHECKING:
    import pandas as pd

OWN = "own"
"""The kind of a person's own models."""


@dataclass(frozen=True, slots=True)
class Point:
    """A model in a scatter.

    x, y: 0 to 100, or above 0 for a size in 10^9.
    kind: one of `explorer.tabs.models.state.MODEL_TYPES`, or `OWN`.
    interval: 95 %, of y, 0 to 100.
    """

    model: str
    x: float
    y: float
    kind: str
    pinned: bool = False
    interval: Interval | None = None


def number_columns(board: Board) -> tuple[str, ...]:
    """The columns of numbers that rows have, whatever the table shows."""
    rule = board.rule
    return tuple(dict.fromkeys(("size", "score", *rule.parts, *rule.sections, *board.subsets)))


def axes_of(board: Board, state: ModelsState) -> tuple[str, str]:
    """The two columns that a state's trade-off shows; what the board has not is the usual one."""
    columns = number_columns(board)
    sections = tuple(board.rule.sections)
    two = board.rule.benchmark.tradeoff
    usual = two if two and {*two} <= {*sections} else sections
    x, y = usual[:2] if len(usual) > 1 else (*board.subsets, *columns)[:2]
    return state.x if state.x in columns else x, state.y if state.y in columns else y


def points_of(
    rows: "pd.DataFrame", x: str, y: str, pins: Sequence[str], *, intervals: bool = False
) -> list[Point]:
    """The models of which both columns are known.

    intervals: whether to give those of y, where it is the score.
    """
    known = rows[rows[x].notna() & rows[y].notna()]
    for axis in {x, y} & {"size"}:
        known = known[known[axis] > 0]
    across, up = (known[each] if each == "size" else 100 * known[each] for each in (x, y))
    ends: Iterable[Interval | None] = repeat(None)
    if intervals and y == "score":
        lows, highs = 100 * known["score_low"], 100 * known["score_high"]
        ends = [
            None if isnan(low) else Interval(low, high)
            for low, high in zip(lows, highs, strict=True)
        ]
    pinned = known.index.isin(pins).tolist()
    return list(map(Point, known.index, across, up, kinds(known), pinned, ends))


def kinds(rows: "pd.DataFrame") -> "pd.Series[str]":
    """What the point of each model is told apart by."""
    return rows["model_type"].map(type_of).mask(rows["own"], OWN)


@dataclass(frozen=True, slots=True)
class SubsetSpread:
    """The accuracies of models in one subset, 0 to 1; there is at least one.

    section: None where the rule leaves the subset out.
    n: models of which it is known.
    q1, q3: quartiles, linear between two models.
    """

    subset: str
    section: str | None
    n: int
    mean: float
    low: float
    q1: float
    median: float
    q3: float
    high: float


def subset_spreads(board: Board, rows: "pd.DataFrame") -> list[SubsetSpread]:
    """The accuracies of some models in each subset that any knows, in the benchmark's order."""
    spreads = []
    for subset in dict.fromkeys([*board.rule.subsets, *board.subsets]):
        known = rows[subset].dropna().to_list() if subset in rows else []
        if known:
            ends = np.quantile(known, (0, 0.25, 0.5, 0.75, 1)).tolist()
            mean, section = sum(known) / len(known), board.rule.section_of(subset)
            spreads.append(SubsetSpread(subset, section, len(known), mean, *ends))
    return spreads


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """The correlation of the outcomes of each two models.

    models: those that are alike stand together.
    correlation: (models, models), as `explorer.stats.difficulty.correlations` gives it.
    """

    models: tuple[str, ...]
    correlation: Floats


def alike(
    matrix: OutcomeMatrix, models: Sequence[str], rule: Rule, ties: Ties = "official"
) -> Alike:
    """How alike some models of a matrix win and lose, over the pairs that are known of both.

    Pairs count alike, and those of composites (`explorer.stats.rules.COMPOSITES`), whose
    outcomes say nothing, not at all. rule: of the benchmark that the pairs are of.
    """
    place = {model: row for row, model in enumerate(matrix.models)}
    rows = [place[model] for model in models if model in place]
    subsets = subsets_by(rule, matrix.pairs)
    composite = [code for code, name in enumerate(subsets.names) if name in COMPOSITES]
    columns = np.flatnonzero(~np.isin(subsets.codes, composite))
    at = np.ix_(np.array(rows, np.intp), columns)
    found = correlations(settled(matrix.outcomes[at], matrix.known_equal[at], ties))
    order = leaf_order(found)
    names = tuple(matrix.models[rows[row]] for row in order.tolist())
    return Alike(names, found[np.ix_(order, order)])


CATEGORIES: tuple[LengthCategory, ...] = ("chosen", "neutral", "rejected")
"""Kinds of subsets by the side that upstream lists as the longer one."""


@dataclass(frozen=True, slots=True, eq=False)
class PairLengths:
    """How much longer the chosen response of each pair is.

    pairs: what was measured, in words.
    difference: (pairs,) characters, chosen minus rejected.
    """

    pairs: str
    difference: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Share:
    """A mean outcome, 0 to 1, None where n is 0; n counts the pairs whose outcome is known."""

    n: int
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class LengthBias:
    """Accuracies of one model, by which side is longer.

    difference: chosen_longer minus rejected_longer, -1 to 1; None where one of them is not known.
    interval: 95 %, of the difference.
    categories: the mean over the subsets of each, which weigh alike; None where none is known.
    """

    chosen_longer: Share
    rejected_longer: Share
    equal: Share
    difference: float | None
    interval: Interval | None
    categories: dict[LengthCategory, float | None]


def lengths_of(tables: Iterable[PairTable], pairs: PairOrder) -> PairLengths | None:
    """Lengths of the pairs, from the first table that has all of them; the benchmark's own first.

    Only a table with RewardBench's subsets, as many pairs in each, is looked at. None without one.
    """
    fitting = [table for table in tables if len(table) == len(pairs)]
    for table in sorted(fitting, key=lambda table: table.source.name != DEFAULT_DATASET):
        order = order_of(table)
        if not is_reward_bench(order):
            continue
        try:
            found = align(pairs, order, lambda: table.hashes)  # noqa: B023
        except KnownError:
            continue
        if not found.missing:
            difference = np.empty(len(pairs), np.int64)
            difference[found.rows] = table.lengths("difference", "chars")
            return PairLengths(table.caption, difference)
    return None


def length_baseline(difference: NDArray[np.int64], *, longer: bool) -> Floats:
    """Outcomes of preferring the longer response, or the shorter: a baseline without a model.

    Responses of the same length are a tie, which officially is a loss.
    """
    return (difference > 0 if longer else difference < 0).astype(np.float64)


LENGTH_BASELINES = {"The longer response wins": True, "The shorter response wins": False}
"""What goes by length alone, and whether it prefers the longer response."""


def scores_by_length(
    board: Board, matrix: OutcomeMatrix | None, tables: Sequence[PairTable]
) -> dict[str, dict[str, float | None]]:
    """Each of `LENGTH_BASELINES` -> its share of wins by subset, section, and as "score".

    {} where lengths are not known; of RewardBench 2 they are those of an open table, and composites
    and the score are left out.
    """
    found = _length_preference(board, matrix, tables)
    if found is None:
        return {}
    subsets, prefer = found
    without = COMPOSITES & {*board.rule.subsets}
    shares = {}
    for words, longer in LENGTH_BASELINES.items():
        outcomes, *parts = np.atleast_2d(prefer(longer=longer))
        shares[words] = shares_won(board.rule, outcomes, subsets)
        for name, credits_ in zip(board.rule.parts, parts, strict=True):
            shares[words][name] = shares_won(board.rule, credits_, subsets)["score"]
        for name in (*without, "score") if without else ():
            del shares[words][name]
    return shares


def shares_won(rule: Rule, outcomes: Floats, subsets: Coded) -> dict[str, float | None]:
    """What outcomes come to in each subset and section, and as "score"."""
    of = aggregate_counted(rule, accuracies_of(outcomes, subsets))
    return {**of.accuracies, **of.sections, "score": of.score}


def _length_preference(
    board: Board, matrix: OutcomeMatrix | None, tables: Sequence[PairTable]
) -> tuple[Coded, Callable[..., Floats]] | None:
    """The subsets of pairs, and their outcomes by length; None where lengths are not known."""
    benchmark = board.rule.benchmark
    if benchmark == V1.benchmark:
        if matrix is None or (lengths := lengths_of(tables, matrix.pairs)) is None:
            return None
        return subsets_by(V1, matrix.pairs), partial(length_baseline, lengths.difference)
    for table in tables:
        is_its = table.benchmark == benchmark and table.source.kind != "textless"
        is_free = not board.rule.pairs or benchmark.languages
        if is_its and (is_free or has_counts(order_of(table), board.rule.pairs)):
            return subsets_by(board.rule, order_of(table)), partial(credits_by_length, table)
    return None


def credits_by_length(table: PairTable, *, longer: bool) -> Floats:
    """What each row counts by its benchmark's rule, and in each of its parts, or language,
    where longer or shorter responses have higher rewards: (1 + parts, rows).
    """
    columns = ("chosen", "more_chosen", "rejected", "more_rejected")
    texts = (table.arrow.column(name).to_pylist() for name in columns)
    rule, sign = table.benchmark.rule, 1 if longer else -1
    found = np.empty((1 + len(rule.parts), len(table)))
    for row, (chosen, more_chosen, rejected, more_rejected) in enumerate(zip(*texts, strict=True)):
        right = [chosen, *(each["text"] for each in more_chosen)]
        wrong = [rejected, *(each["text"] for each in more_rejected)]
        rewards = [float(sign * len(each)) for each in (*right, *wrong)]
        credit = rule.credit(rewards, len(right), table.subset_of(row), 0.0)
        found[:, row] = credit, *rule.part_credits(rewards, len(right))
    order = order_of(table)
    return np.vstack([found, by_language(rule_of_pairs(order), order, found[0])])


def length_bias(
    outcomes: NDArray[np.floating], difference: NDArray[np.int64], subsets: Coded
) -> list[LengthBias]:
    """Accuracies of each model, by which side is longer.

    Args:
        outcomes: (models, pairs), 0 to 1, NaN where missing.
        difference: (pairs,) characters, chosen minus rejected.
        subsets: of the pairs. Those that are not RewardBench's are in no category.
    """
    known = (~np.isnan(outcomes)).astype(np.float64)
    won = np.nan_to_num(np.asarray(outcomes, np.float64), nan=0.0)
    sides = np.stack([difference > 0, difference < 0, difference == 0]).astype(np.float64)
    n, wins = known @ sides.T, won @ sides.T
    in_subset = np.equal.outer(subsets.codes, np.arange(len(subsets.names))).astype(np.float64)
    counts, sums = known @ in_subset, won @ in_subset
    means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    categories = [length_category(name) for name in subsets.names]
    return [_of_model(*model, categories) for model in zip(n, wins, means, strict=True)]


def difference_interval(wins_a: float, n_a: int, wins_b: float, n_b: int) -> Interval | None:
    """A 95 % interval of the difference of two independent proportions, a minus b, -1 to 1.

    None where one of them has nothing counted.
    Source: R. G. Newcombe, Interval estimation for the difference between independent proportions,
    Statistics in Medicine 17 (1998), method 10, from Wilson's intervals of both.

    >>> low, high = difference_interval(56, 70, 48, 80)
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    """
    a, b = wilson(wins_a, n_a), wilson(wins_b, n_b)
    if a is None or b is None:
        return None
    rate_a, rate_b = wins_a / n_a, wins_b / n_b
    difference = rate_a - rate_b
    return Interval(
        difference - hypot(rate_a - a.low, b.high - rate_b),
        difference + hypot(a.high - rate_a, rate_b - b.low),
    )


def _of_model(
    n: Floats, wins: Floats, means: Floats, categories: Sequence[LengthCategory | None]
) -> LengthBias:
    chosen, rejected, equal = (
        Share(int(count), float(won / count) if count else None)
        for count, won in zip(n, wins, strict=True)
    )
    difference = None
    if chosen.accuracy is not None and rejected.accuracy is not None:
        difference = chosen.accuracy - rejected.accuracy
    interval = difference_interval(float(wins[0]), chosen.n, float(wins[1]), rejected.n)
    of: dict[LengthCategory, list[float]] = {category: [] for category in CATEGORIES}
    for mean, category in zip(means.tolist(), categories, strict=True):
        if category is not None and not isnan(mean):
            of[category].append(mean)
    mean_of = {each: sum(means) / len(means) if means else None for each, means in of.items()}
    return LengthBias(chosen, rejected, equal, difference, interval, mean_of)
