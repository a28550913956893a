"""A comparison of models: who wins more, where, and how sure that is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from explorer.core.links import as_dropped, ignored
from explorer.data.facets import Mask
from explorer.data.search import matching_names
from explorer.data.table import Rows
from explorer.reader import links
from explorer.reader.state import PairsState
from explorer.results.board import BoardRow, board_rows
from explorer.results.field import MAJORITY, Doubles, Field
from explorer.stats.difficulty import correlations
from explorer.stats.duels import Cell, Duel, DuelPart, cells_of, duel, headline
from explorer.stats.rules import has_all_pairs
from explorer.stats.uncertainty import strata_by
from explorer.tabs.models.state import COMPARES_NOTHING, ModelsState
from scoring.benchmark import section_of
from scoring.errors import KnownError, shown
from scoring.spec import JUDGES
from scoring.strata import Strata, one_stratum, score_models

Difference = Literal["improved", "regressed", "unclear", "same"]
"""Of a against b: significant at 5 % after the correction, not significant, or none at all."""
MOST_POINTS = 3_000


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Models side by side, as a state shows them.

    outcomes: (models, pairs) of a, of b, and of more; no row if nothing is compared.
    shared: pairs with outcomes of all of them; all pairs if nothing is compared.
    in_section: pairs of the state's section.
    """

    state: ModelsState
    field: Field
    outcomes: Doubles
    shared: Mask
    in_section: Mask

    def searched(self, models: Sequence[str]) -> list[str]:
        """Those of some models that the search finds, own runs only if they are listed."""
        found = zip(models, matching_names(models, self.state.search), strict=True)
        hidden = () if self.state.own else self.field.runs
        return [model for model, is_found in found if is_found and model not in hidden]


def compared(state: ModelsState, field: Field) -> Compared:
    """The models of a state on the pairs of a field, which has outcomes of all of them."""
    rows = [field.outcomes(state.a)] if state.a else []
    rows += [field.rival(state.a, other) for other in (state.b, *state.more)] if state.a else []
    outcomes = np.array(rows).reshape(len(rows), len(field.table))
    shared: Mask = np.logical_and.reduce(~np.isnan(outcomes))
    return Compared(state, field, outcomes, shared, in_section(field, state.section))


def comparable(
    state: ModelsState, field_of: Callable[[str], Field]
) -> tuple[ModelsState, Field, tuple[str, ...]]:
    """A state without models that cannot be compared with its first, the field, and why.

    field_of: gives the field that has outcomes of a model, of "" the largest; raises `KnownError`
        if none has.
    """
    try:
        field = field_of(state.a)
    except KnownError as error:
        alone = replace(state, **COMPARES_NOTHING, a="", b=MAJORITY)
        return alone, field_of(""), (str(error),)
    notes: list[str] = []
    others: tuple[str, ...] = ()
    for model in (each for each in (state.b, *state.more) if each != MAJORITY):
        if model in field.place_of:
            others += (model,)
        else:
            try:
                notes.append(
                    f"{shown(model)} and {shown(state.a)} have results of different pairs, so they "
                    f"cannot be compared: {field_of(model).table.caption} Against: "
                    f"{field.table.caption} Choose a model with results of the same pairs, or "
                    "score both on them."
                )
            except KnownError as error:
                notes.append(str(error))
    members = tuple(each for each in state.members if each in field.place_of)
    notes += ignored(as_dropped("member", each) for each in state.members if each not in members)
    section = state.section if state.section in field.rule.benchmark.groups else ""
    notes += ignored(as_dropped("section", each) for each in {state.section} - {section})
    notes += _other_questions(field, (state.a, *others))
    b = (*others, MAJORITY)[0]
    kept = replace(state, b=b, more=others[1:], members=members, section=section)
    return kept, field, tuple(notes)


def _other_questions(field: Field, models: Sequence[str]) -> list[str]:
    """That judges among a person's own runs were not asked alike, if so."""
    asked = {
        model: field.runs[model].facts.template.rpartition(", ")[2]
        for model in models
        if model in field.runs and field.runs[model].facts.family in JUDGES
    }
    if len({*asked.values()}) < 2:
        return []
    how = "; ".join(f"{shown(model)}: {words}" for model, words in asked.items())
    return [f"These judges were not asked alike, so what differs may be the question. {how}."]


def subsets_in(field: Field, section: str) -> tuple[str, ...]:
    """The subsets of the field's pairs that a section of their benchmark has; of "" all."""
    of, names = field.rule.benchmark.section_of, field.matrix.pairs.names
    return tuple(name for name in names if not section or of(name) == section)


def in_section(field: Field, section: str) -> Mask:
    """Which pairs of the field are of a section; of "" all."""
    pairs, wanted = field.matrix.pairs, subsets_in(field, section)
    mask: Mask = np.array([name in wanted for name in pairs.names], np.bool_)[pairs.codes]
    return mask


@dataclass(frozen=True, slots=True)
class Standing:
    """How several models do on the pairs that all of them have.

    section: "" for all pairs, which then weigh alike; a section's weigh as in its score. None for
    all by the benchmark's rule.
    n: pairs. scores: 0 to 1, in the order of the models; None without pairs.
    """

    section: str | None
    n: int
    scores: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MarginPoints:
    """Some rows of a table with the margins of two models, of n rows that have both.

    cells: places in `explorer.stats.duels.CELLS`. correlation: Pearson's r of the margins of all n;
    None where one of them is the same everywhere.
    """

    rows: Rows
    a: Doubles
    b: Doubles
    cells: NDArray[np.int8]
    n: int
    correlation: float | None


def change_of(part: DuelPart) -> Difference:
    """What became of some pairs from b to a."""
    if part.better:
        return "improved" if part.better == "a" else "regressed"
    return "unclear" if part.difference else "same"


def first_duel(now: Compared) -> Duel:
    """The model against what it is compared with, on the pairs that both have."""
    return duel(now.outcomes[0], now.outcomes[1], now.field.matrix.pairs, now.field.rule)


def each_headline(now: Compared) -> list[tuple[str, str, DuelPart]]:
    """Every two of the models against each other, each on the pairs that both have."""
    names = now.state.named
    by = (now.field.matrix.pairs, now.field.rule)
    return [
        (names[one], names[other], headline(now.outcomes[one], now.outcomes[other], *by))
        for one, other in combinations(range(len(names)), 2)
    ]


def standings(now: Compared) -> tuple[Standing, ...]:
    """What all models score on the pairs that all have: over all, by section, and by the rule."""
    groups = strata_by(now.field.rule, now.field.matrix.pairs)
    parts: dict[str | None, Strata] = {"": one_stratum(len(now.shared))}
    parts |= {name: groups.only(at) for at, name in enumerate(now.field.rule.sections)}
    parts[None] = groups
    outcomes = np.where(now.shared, now.outcomes, np.nan)
    found = []
    for section, part in parts.items():
        scores = score_models(outcomes, part).tolist()
        n = int((part.counting() & now.shared).sum())
        found.append(Standing(section, n, tuple(None if np.isnan(x) else x for x in scores)))
    return tuple(found)


def is_whole(now: Compared, n_models: int) -> bool:
    """Whether the first so many models have all pairs of the benchmark, so its score is known."""
    known = ~np.isnan(now.outcomes[:n_models])
    return bool(known.all()) and has_all_pairs(now.field.matrix.pairs)


def margin_points(now: Compared) -> MarginPoints | None:
    """The pairs of the section with the margins of a and b; None where either has no rewards.

    Of more than `MOST_POINTS`, those in which they differ go first, the rest evenly.
    """
    state, field = now.state, now.field
    if len(state.named) < 2 or not all(map(field.has_rewards, state.named[:2])):
        return None
    a, b = (field.margins(model) for model in state.named[:2])
    cells = cells_of(now.outcomes[0], now.outcomes[1])
    known = now.in_section & ~np.isnan(a + b) & (cells >= 0)
    differing = (cells == 1) | (cells == 2)
    first, rest = np.flatnonzero(known & differing), np.flatnonzero(known & ~differing)
    n = len(first) + len(rest)
    kept = _evenly(first, MOST_POINTS)
    rows = np.sort(np.concatenate([kept, _evenly(rest, MOST_POINTS - len(kept))]))
    [r] = correlations(np.stack([a, b])[:, known])[0, 1:].tolist()
    return MarginPoints(rows, a[rows], b[rows], cells[rows], n, None if np.isnan(r) else r)


def likenesses(now: Compared) -> list[BoardRow]:
    """How alike the model is to every other of the field, the most alike first, on the section.

    Each has its `model`; n: pairs that are known of both; correlation: Pearson's r of their
    outcomes, None where one of them has the same on all; same: the share of pairs that both win or
    neither does; won: the share of pairs that the first wins minus that of this one, -1 to 1; both
    None without pairs. A tie is no win, not even a judge's.
    """
    import pandas as pd

    field, place = now.field, now.field.place(now.state.a)
    outcomes = field.matrix.outcomes[:, now.in_section]
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


def cell_href(now: Compared, cell: Cell, section: str = "", subset: str = "") -> str:
    """The link to the pairs of a cell of a against b.

    section, subset: whose pairs, as the field names them; "" for all.
    """
    pairs, subsets = _pairs_of(now), subsets_in(now.field, section)
    if subset:
        pairs = replace(pairs, subset=(subset,))
    elif section and all(section_of(each) == section for each in subsets):
        pairs = replace(pairs, section=(section,))
    elif section:
        pairs = replace(pairs, subset=tuple(subsets))
    return f"?tab=pairs&{links.cell_query(now.state.a, now.state.b, cell, pairs)}"


def pair_href(now: Compared) -> str:
    """The link to all pairs of a against b, in which a pair can be opened."""
    return replace(_pairs_of(now).of(now.state.a), kind="all", against=now.state.b).href()


def _pairs_of(now: Compared) -> PairsState:
    source = now.field.table.id if now.field.has_texts else ""
    return PairsState(source, now.state.results)


def _evenly(rows: Rows, most: int) -> Rows:
    if len(rows) <= most:
        return rows
    kept: Rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]
    return kept
