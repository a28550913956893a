"""What a comparison of models comes to: who wins more, where, and how sure that is."""

from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from explorer.data.filters import NO_FILTERS
from explorer.data.table import Rows
from explorer.reader import links
from explorer.reader.state import PairsState
from explorer.results.field import Doubles
from explorer.stats.difficulty import correlations
from explorer.stats.duels import Cell, Duel, DuelPart, cells_of, duel, headline
from explorer.stats.matrix import is_reward_bench
from explorer.stats.rules import V1
from explorer.stats.strata import one_stratum, score_models
from explorer.stats.uncertainty import strata_by
from explorer.tabs.models.scene import Compared, subsets_in
from scoring.benchmark import section_of

Change = Literal["improved", "regressed", "higher", "lower", "same"]
"""Of a against b: significant at 5 % after the correction, else by the count alone."""
CHANGES: tuple[Change, ...] = get_args(Change)
MOST_POINTS = 3_000


@dataclass(frozen=True, slots=True)
class Standing:
    """How several models do on the pairs that all of them have.

    section: "" for all pairs, which then weigh alike; a section's weigh as in its score.
    n: pairs. scores: 0 to 1, in the order of the models; None without pairs.
    """

    section: str
    n: int
    scores: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MarginPoints:
    """Pairs with the margins of two models.

    rows: of the table. a, b: margins. cells: places in `explorer.stats.duels.CELLS`.
    n: pairs that have both margins; `rows` are some of them where there are too many.
    """

    rows: Rows
    a: Doubles
    b: Doubles
    cells: NDArray[np.int8]
    n: int


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike two models win and lose.

    n: pairs that are known of both. correlation: Pearson's r of their outcomes; None where one of
    them has the same on all. same: the share of pairs that both win or neither does; None without
    pairs. won: the share of pairs that the first wins minus that of this one, -1 to 1; None without
    pairs. A tie is no win, not even a judge's.
    """

    model: str
    n: int
    correlation: float | None
    same: float | None
    won: float | None


def change_of(part: DuelPart) -> Change:
    """What became of some pairs from b to a.

    >>> from scoring.results.order import PairOrder
    >>> pairs = PairOrder(("own",), np.zeros(3, np.int32))
    >>> [in_subset] = duel([1, 1, 0], [1, 0, 0], pairs, V1).subsets
    >>> change_of(in_subset)
    'higher'
    """
    if part.better:
        return "improved" if part.better == "a" else "regressed"
    if not part.difference:
        return "same"
    return "higher" if part.difference > 0 else "lower"


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
    """What all models score, over all pairs and by section, on the pairs that all have."""
    groups = strata_by(V1, now.field.matrix.pairs)
    parts = {"": one_stratum(len(now.shared))}
    parts |= {name: groups.only(at) for at, name in enumerate(V1.sections)}
    found = []
    for section, part in parts.items():
        scores = score_models(_shared(now), part).tolist()
        n = int((part.counting() & now.shared).sum())
        found.append(
            Standing(section, n, tuple(None if np.isnan(each) else each for each in scores))
        )
    return tuple(found)


def scores(now: Compared) -> tuple[float | None, ...]:
    """Of all models by RewardBench's rule, on the pairs that all have; None where none counts."""
    found = score_models(_shared(now), strata_by(V1, now.field.matrix.pairs))
    return tuple(None if np.isnan(each) else float(each) for each in found)


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


def likenesses(now: Compared) -> list[Likeness]:
    """How alike the model is to every other of the field, the most alike first.

    On the pairs of the section that are known of both.
    """
    field, place = now.field, now.field.place(now.state.a)
    outcomes = field.matrix.outcomes[:, now.looked_at]
    r = correlations(outcomes)[place]
    known = ~np.isnan(outcomes) & ~np.isnan(outcomes[place])
    wins = outcomes == 1
    n = known.sum(axis=1)
    same = (known & (wins == wins[place])).sum(axis=1)
    ahead = (known & wins[place]).sum(axis=1) - (known & wins).sum(axis=1)
    found = [
        Likeness(
            model,
            int(n[at]),
            None if np.isnan(r[at]) else float(r[at]),
            float(same[at] / n[at]) if n[at] else None,
            float(ahead[at] / n[at]) if n[at] else None,
        )
        for at, model in enumerate(field.matrix.models)
        if at != place
    ]
    return sorted(found, key=_alikeness, reverse=True)


def cell_query(now: Compared, cell: Cell, section: str = "", subset: str = "") -> str:
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


def _shared(now: Compared) -> Doubles:
    """The outcomes of the models on the pairs that all of them have, NaN elsewhere."""
    return np.where(now.shared, now.outcomes, np.nan)


def _alikeness(each: Likeness) -> tuple[float, float]:
    r = -2.0 if each.correlation is None else each.correlation
    return r, -1.0 if each.same is None else each.same


def _evenly(rows: Rows, most: int) -> Rows:
    if len(rows) <= most:
        return rows
    kept: Rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]
    return kept
