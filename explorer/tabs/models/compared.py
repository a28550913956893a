"""What a comparison of models comes to: who wins more, where, and how sure that is."""

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from explorer.data.filters import NO_FILTERS
from explorer.data.table import Rows
from explorer.reader import links
from explorer.reader.state import PairsState
from explorer.results.board import BoardRow, board_rows
from explorer.results.field import Doubles
from explorer.stats.difficulty import correlations
from explorer.stats.duels import Cell, Duel, DuelPart, cells_of, duel, headline
from explorer.stats.matrix import is_reward_bench
from explorer.stats.rules import V1
from explorer.stats.strata import Strata, one_stratum, score_models
from explorer.stats.uncertainty import strata_by
from explorer.tabs.models.scene import Compared, subsets_in
from scoring.benchmark import section_of

Difference = Literal["improved", "regressed", "unclear", "same"]
"""Of a against b: significant at 5 % after the correction, not significant, or none at all."""
MOST_POINTS = 3_000


@dataclass(frozen=True, slots=True)
class Standing:
    """How several models do on the pairs that all of them have.

    section: "" for all pairs, which then weigh alike; a section's weigh as in its score. None for
    all by RewardBench's rule.
    n: pairs. scores: 0 to 1, in the order of the models; None without pairs.
    """

    section: str | None
    n: int
    scores: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MarginPoints:
    """Some rows of a table with the margins of two models, of n rows that have both.

    cells: places in `explorer.stats.duels.CELLS`.
    """

    rows: Rows
    a: Doubles
    b: Doubles
    cells: NDArray[np.int8]
    n: int


def change_of(part: DuelPart) -> Difference:
    """What became of some pairs from b to a."""
    if part.better:
        return "improved" if part.better == "a" else "regressed"
    return "unclear" if part.difference else "same"


def first_duel(now: Compared) -> Duel:
    """The model against what it is compared with, on the pairs that both have."""
    return duel(now.outcomes[0], now.outcomes[1], now.field.matrix.pairs, V1)


def each_headline(now: Compared) -> list[tuple[str, str, DuelPart]]:
    """Every two of the models against each other, each on the pairs that both have."""
    names = now.state.named
    pairs = now.field.matrix.pairs
    return [
        (names[one], names[other], headline(now.outcomes[one], now.outcomes[other], pairs, V1))
        for one, other in combinations(range(len(names)), 2)
    ]


def standings(now: Compared) -> tuple[Standing, ...]:
    """What all models score on the pairs that all have: over all, by section, and by the rule."""
    groups = strata_by(V1, now.field.matrix.pairs)
    parts: dict[str | None, Strata] = {"": one_stratum(len(now.shared))}
    parts |= {name: groups.only(at) for at, name in enumerate(V1.sections)}
    parts[None] = groups
    outcomes = np.where(now.shared, now.outcomes, np.nan)
    found = []
    for section, part in parts.items():
        scores = score_models(outcomes, part).tolist()
        n = int((part.counting() & now.shared).sum())
        found.append(Standing(section, n, tuple(None if np.isnan(x) else x for x in scores)))
    return tuple(found)


def is_whole(now: Compared, n_models: int) -> bool:
    """Whether the first so many models have all pairs of RewardBench: its rule gives its score."""
    known = ~np.isnan(now.outcomes[:n_models])
    return bool(known.all()) and is_reward_bench(now.field.matrix.pairs)


def margin_points(now: Compared) -> MarginPoints | None:
    """The pairs of the section with the margins of a and b; None where either has no rewards.

    Of more than `MOST_POINTS`, those in which they differ go first, the rest evenly.
    """
    state, field = now.state, now.field
    if len(state.named) < 2 or not all(map(field.has_rewards, state.named[:2])):
        return None
    a, b = (field.margins(model) for model in state.named[:2])
    cells = cells_of(now.outcomes[0], now.outcomes[1])
    known = now.looked_at & ~np.isnan(a + b) & (cells >= 0)
    differing = (cells == 1) | (cells == 2)
    first, rest = np.flatnonzero(known & differing), np.flatnonzero(known & ~differing)
    n = len(first) + len(rest)
    kept = _evenly(first, MOST_POINTS)
    rows = np.sort(np.concatenate([kept, _evenly(rest, MOST_POINTS - len(kept))]))
    return MarginPoints(rows, a[rows], b[rows], cells[rows], n)


def likenesses(now: Compared) -> list[BoardRow]:
    """How alike the model is to every other of the field, the most alike first, on the section.

    Each has its `model`; n: pairs that are known of both; correlation: Pearson's r of their
    outcomes, None where one of them has the same on all; same: the share of pairs that both win or
    neither does; won: the share of pairs that the first wins minus that of this one, -1 to 1; both
    None without pairs. A tie is no win, not even a judge's.
    """
    import pandas as pd

    field, place = now.field, now.field.place(now.state.a)
    outcomes = field.matrix.outcomes[:, now.looked_at]
    known = ~np.isnan(outcomes) & ~np.isnan(outcomes[place])
    wins = outcomes == 1
    n = known.sum(axis=1)
    same = (known & (wins == wins[place])).sum(axis=1)
    ahead = (known & wins[place]).sum(axis=1) - (known & wins).sum(axis=1)
    pairs = np.where(n > 0, n, np.nan)
    found = pd.DataFrame(
        {
            "model": field.matrix.models,
            "n": n,
            "correlation": correlations(outcomes)[place],
            "same": same / pairs,
            "won": ahead / pairs,
        }
    )
    order = ["correlation", "same"]
    return board_rows(found.drop(index=place).sort_values(order, ascending=False, kind="stable"))


def compared_query(now: Compared, cell: Cell, section: str = "", subset: str = "") -> str:
    """What the Pairs tab is asked for to list a cell of a against b.

    section, subset: whose pairs, as the field names them; "" for all.
    """
    filters, subsets = NO_FILTERS, subsets_in(now.field, section)
    if subset:
        filters = filters.picking("subset", [subset])
    elif section and all(section_of(each) == section for each in subsets):
        filters = filters.picking("section", [section])
    elif section:
        filters = filters.picking("subset", subsets)
    pairs = PairsState(now.state.source, filters=filters)
    return links.cell_query(now.state.a, now.state.b, cell, pairs)


def _evenly(rows: Rows, most: int) -> Rows:
    if len(rows) <= most:
        return rows
    kept: Rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]
    return kept
