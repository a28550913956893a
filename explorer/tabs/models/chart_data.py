"""What charts of a leaderboard are made of: points, how hard subsets were, how alike models are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from explorer.results.board import Board, Row
from explorer.stats.aggregate import Ties, settled
from explorer.stats.difficulty import correlations, leaf_order
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import Rule
from explorer.stats.strata import Floats
from explorer.stats.uncertainty import COMPOSITES, subsets_by
from explorer.tabs.models.state import FACTS, ModelsState, kind_of
from scoring.interval import Interval

if TYPE_CHECKING:
    import pandas as pd

OWN = "own"
"""The kind of a person's own models."""
USUAL = ("Chat Hard", "Safety")
"""What a trade-off sets against each other where the benchmark has both."""


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
    """The columns of numbers that rows have, whatever the table shows.

    >>> from explorer.results.board import build_board
    >>> from explorer.results.published import read_snapshot
    >>> number_columns(build_board(read_snapshot(), "v1"))[:4]
    ('size', 'score', 'Chat', 'Chat Hard')
    """
    return tuple(dict.fromkeys((*FACTS[2:], *board.rule.sections, *board.subsets)))


def axes_of(board: Board, state: ModelsState) -> tuple[str, str]:
    """The two columns that a state's trade-off shows; what the board has not is the usual one.

    >>> from explorer.results.board import build_board
    >>> from explorer.results.published import read_snapshot
    >>> axes_of(build_board(read_snapshot(), "v1"), ModelsState(x="Focus", y="hep-go"))
    ('Chat Hard', 'hep-go')
    """
    columns = number_columns(board)
    sections = tuple(board.rule.sections)
    usual = USUAL if set(USUAL) <= set(sections) else sections
    x, y = usual[:2] if len(usual) > 1 else board.subsets[:2]
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
    kinds = known["model_type"].map(kind_of).mask(known["own"], OWN)
    across, up = (known[each] if each == "size" else 100 * known[each] for each in (x, y))
    ends: Iterable[Interval | None] = repeat(None)
    if intervals and y == "score":
        lows, highs = 100 * known["score_low"], 100 * known["score_high"]
        ends = [
            None if isnan(low) else Interval(low, high)
            for low, high in zip(lows, highs, strict=True)
        ]
    pinned = known.index.isin(pins).tolist()
    return list(map(Point, known.index, across, up, kinds, pinned, ends))


def kind(row: Row) -> str:
    """What a point is told apart by."""
    return OWN if row["own"] else kind_of(row["model_type"])


@dataclass(frozen=True, slots=True)
class SubsetSpread:
    """The accuracies of models in one subset, 0 to 1; there is at least one.

    section: None where the rule leaves the subset out.
    n: models of which it is known.
    q1, q3: quartiles; those that fall between two models are linear, as numpy's are by default.
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
    """The accuracies of some models in each subset, section by section in the benchmark's order.

    Subsets that no model knows are left out.

    >>> from explorer.results.board import build_board
    >>> from explorer.results.published import read_snapshot
    >>> board = build_board(read_snapshot(), "v1")
    >>> easiest = max(subset_spreads(board, board.table), key=lambda spread: spread.mean)
    >>> easiest.subset, easiest.section
    ('alpacaeval-easy', 'Chat')
    """
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
    """How alike some models win and lose, over the pairs that are known of both.

    Pairs count alike, and those of composites (`explorer.stats.uncertainty.COMPOSITES`), whose
    outcomes say nothing, not at all.

    Args:
        matrix: the outcomes.
        models: those to compare; what the matrix does not have is left out.
        rule: of the benchmark that the pairs are of.
        ties: as of `explorer.stats.aggregate.settled`.
    """
    place = {model: row for row, model in enumerate(matrix.models)}
    rows = [place[model] for model in models if model in place]
    subsets = subsets_by(rule, matrix.pairs)
    composite = [code for code, name in enumerate(subsets.names) if name in COMPOSITES]
    columns = np.flatnonzero(~np.isin(subsets.codes, composite))
    at = np.ix_(np.array(rows, np.intp), columns)
    found = correlations(settled(matrix.outcomes[at], matrix.known_equal[at], ties))
    order = leaf_order(found)
    return Alike(
        tuple(matrix.models[rows[row]] for row in order.tolist()), found[np.ix_(order, order)]
    )
