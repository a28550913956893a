"""Where a model is surprisingly bad: conditions, and two of them together; the panel of these.

What is expected of a model in a slice is how often it wins other pairs that are as hard for the
other models; `explorer.tabs.pairs.slice_tests` says how that is found and tested.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.core.html import note, render
from explorer.core.text import text
from explorer.data.conditions import CONDITION_KINDS, Condition, conditions
from explorer.reader.scene import Scene
from explorer.stats.paired import holm
from explorer.stats.strata import Floats, Whole
from explorer.tabs.pairs.slice_tests import (
    LEAST_RIVALS,
    AmongRivals,
    Expectation,
    Expected,
    among_rivals,
    tails,
)
from scoring.interval import Interval, wilson

LEAST_PAIRS = 20
"""Pairs of a slice of two conditions that is looked at."""
ALPHA = 0.05
_MOST_SHOWN = 50
ALIKE = 0.8
"""Of two slices that share so much of their pairs, only the more surprising one is listed."""

SURPRISING = 0.05

_COLUMNS = ("slice", "won", "interval", "others", "expected", "difference", "n", "p")
_OF_TESTS = ("expected", "difference", "p")
"""Columns that are known where slices are tested."""
_EXACT = 2**52
"""Whole numbers up to which sums are exact."""


@dataclass(frozen=True, slots=True)
class SliceResult:
    """What a model does in a slice.

    conditions: one, or two that both hold.
    n: pairs there that are known of the model, and of enough others if there are; at least 1.
    wins: of them; a half is none.
    interval: Wilson's 95 %, of the share won.
    others: the mean over these pairs of the share of the other models that win them; None where
        none is known.
    expected: the share that the model would win if it won as many of these pairs as it wins of
        pairs outside that are as hard; None where too few models or pairs are known to tell.
    p: how likely it is to be so far from that by chance: to both sides, of `by_condition`; to be so
        far below, of `worst_slices`; 1 where nothing is expected.
    p_adjusted: by Holm, for all slices looked at.
    """

    conditions: tuple[Condition, ...]
    n: int
    wins: int
    interval: Interval
    others: float | None
    expected: float | None
    p: float
    p_adjusted: float

    @property
    def name(self) -> str:
        """The conditions in words, for the screen; names in it may be anything."""
        names = [each.name for each in self.conditions]
        return names[0] if len(names) == 1 else text("condition.and", one=names[0], other=names[1])

    @property
    def mask(self) -> NDArray[np.bool_]:
        """(pairs,), which pairs of the table are in it, known or not."""
        found: NDArray[np.bool_] = np.logical_and.reduce([each.mask for each in self.conditions])
        return found

    @property
    def won(self) -> float:
        """The share of pairs won, 0 to 1; a tie is no win, not even a judge's."""
        return self.wins / self.n

    @property
    def difference(self) -> float | None:
        """The share won minus what is expected, -1 to 1: below 0, it is worse than expected."""
        return None if self.expected is None else self.won - self.expected


@dataclass(frozen=True, slots=True)
class WorstSlices:
    """The slices in which a model is worse than expected, the most surprising first.

    rivals: other models that know half of its pairs, or more.
    tested: whether these are enough; else no slice is looked at.
    looked_at: slices that were tested; those of the very same pairs count as one.
    significant: how many of them are worse after the correction, 5 % being allowed for all.
    slices: of these, those that neither of their two conditions explains, without those that are
        much like one before them (`ALIKE`).
    """

    rivals: int
    tested: bool
    looked_at: int = 0
    significant: int = 0
    slices: tuple[SliceResult, ...] = ()

    def about(self, in_report: bool = False) -> str:
        """What was tested, in words. in_report: those of a report, which has no slices to press."""
        rivals = f"{self.rivals:,}"
        if not self.tested:
            return text("fails.few_rivals", least=str(LEAST_RIVALS), rivals=rivals)
        return text(
            "failreport.about_slices" if in_report else "fails.worst_about",
            rivals=rivals,
            looked_at=f"{self.looked_at:,}",
            n=f"{self.significant:,}",
        )


def slices_html(now: Scene) -> str:
    """The worst slices of two conditions, then every condition, kind by kind."""
    model, field = now.state.model, now.known
    if not model:
        return note(text("fails.kinds_model"))
    known = conditions(field.table)
    if not field.has_texts:
        known = tuple(each for each in known if each.kind in ("section", "subset"))
    outcome, others = field.outcomes(model), field.others(model)
    worst = worst_slices(outcome, others, known, clusters=field.clusters)
    results = by_condition(outcome, others, known, clusters=field.clusters)
    by_kind = {
        kind: of_kind
        for kind in CONDITION_KINDS
        if (of_kind := [each for each in results if each.conditions[0].kind == kind])
    }
    columns = [name for name in _COLUMNS if worst.tested or name not in _OF_TESTS]
    rivals = f"{worst.rivals:,}"
    return render(
        "tabs/pairs/kinds.html",
        said=worst.about(),
        worst=worst,
        by_kind=by_kind,
        columns=columns,
        heads=[text(f"fails.slice_{name}", rivals=rivals) for name in columns],
        surprise=_surprise,
    )


def _surprise(result: SliceResult) -> str:
    """Whether a slice is lost, or won, significantly more often than expected, as a class."""
    difference = result.difference
    if difference is None or result.p_adjusted > SURPRISING:
        return ""
    return "worse" if difference < 0 else "better"


def by_condition(
    outcome: NDArray[np.floating],
    field: NDArray[np.floating] | None,
    known: Sequence[Condition],
    *,
    clusters: Whole | None = None,
) -> list[SliceResult]:
    """What a model does where each condition holds, the most surprising first.

    Good is good in comparison: a model that is bad in one half of the pairs is better than expected
    in the other half. Where too few other models are known, the smallest share won comes first.

    Args:
        outcome: (pairs,) of the model, 0 to 1, a win is exactly 1, NaN is missing.
        field: (models, pairs) of the others, without itself; None where there are none.
        known: conditions of the same pairs; those of which it knows no pair are left out.
        clusters: (pairs,), `clusters_of`; None where each pair has a prompt of its own.

    Raises:
        ValueError: the shapes do not fit.

    >>> odd = Condition("longer", "longer:odd", "odd", np.arange(40) % 2 == 1)
    >>> [found] = by_condition(np.arange(40) % 2 == 0, None, [odd])
    >>> found.n, found.won, found.expected
    (20, 0.0, None)
    """
    model = _Sliced(np.asarray(outcome, dtype=np.float64), field, known, clusters)
    slices = [(each,) for each in model.conditions]
    if not (model.among.tested and slices):
        return sorted(map(model.untested, slices), key=lambda each: each.won)
    found = Expectation(model.among).of(model.sparse())
    p = np.minimum(2 * tails(found).min(axis=0), 1.0)
    return model.results(slices, found, p, holm(p))


def worst_slices(
    outcome: NDArray[np.floating],
    field: NDArray[np.floating] | None,
    known: Sequence[Condition],
    *,
    clusters: Whole | None = None,
    least_pairs: int = LEAST_PAIRS,
    most: int = _MOST_SHOWN,
) -> WorstSlices:
    """Where two conditions of different kinds hold and a model is worse than expected.

    All of them with enough pairs are looked at, but for those that are no smaller than one of their
    conditions. One is listed if its p-value stays at most 0.05 after Holm's correction, and if
    it is worse, at 0.05, than the rest of either condition: else that condition explains it.

    outcome, field, known, clusters: as of `by_condition`.
    least_pairs: known pairs of a slice; at least 1.
    most: slices that are listed.

    Raises:
        ValueError: the shapes do not fit.
    """
    model = _Sliced(np.asarray(outcome, dtype=np.float64), field, known, clusters)
    nothing = WorstSlices(model.among.rivals, model.among.tested)
    one, other = model.conjunctions(max(1, least_pairs))
    if not (model.among.tested and len(one)):
        return nothing
    expectation, members = Expectation(model.among), model.sparse()
    found = expectation.of(members[one].multiply(members[other]))
    p = tails(found)[0]
    adjusted = holm(p)
    bad = np.flatnonzero(adjusted <= ALPHA)
    single, of_bad = expectation.of(members), found.at(bad)
    unexplained = [
        tails(of_bad.within(single.at(parent[bad])))[0] <= ALPHA for parent in (one, other)
    ]
    kept = bad[unexplained[0] & unexplained[1]]
    pairs = [(model.conditions[one[at]], model.conditions[other[at]]) for at in kept.tolist()]
    results = model.results(pairs, found.at(kept), p[kept], adjusted[kept])
    slices = tuple(islice(_unlike(results), most))
    return replace(nothing, looked_at=len(p), significant=len(bad), slices=slices)


class _Sliced:
    """A model's pairs and the conditions that hold for some of them.

    members: (conditions, used pairs), 1 where the condition holds, else 0.
    """

    def __init__(
        self,
        outcome: Floats,
        field: NDArray[np.floating] | None,
        known: Sequence[Condition],
        clusters: Whole | None,
    ) -> None:
        self.among: AmongRivals = among_rivals(outcome, field, clusters)
        if any(each.mask.shape != outcome.shape for each in known):
            raise ValueError(f"a condition is of other pairs than these {len(outcome):,}")
        used = self.among.used
        self.conditions = [each for each in known if each.mask[used].any()]
        present = [each.mask[used] for each in self.conditions]
        shape = (len(present), len(self.among.won))
        self.members: Floats = np.array(present, dtype=np.float64).reshape(shape)
        self.others: Floats = self.among.others

    def sparse(self) -> Any:
        """The members as a sparse array of scipy."""
        from scipy import sparse  # type: ignore[import-untyped]

        return sparse.csr_array(self.members)

    def conjunctions(self, least_pairs: int) -> tuple[Whole, Whole]:
        """The two conditions of each slice to look at, as places; no two have the same pairs."""
        n_pairs = max(1, self.members.shape[1])
        random = np.random.default_rng(0).integers(0, _EXACT // n_pairs, self.members.shape[1])
        sizes = self.members @ self.members.T
        marks = (self.members * random) @ self.members.T  # those of the same pairs have the same
        single = np.diagonal(sizes)
        kinds = np.array([each.kind for each in self.conditions])
        looked_at = (
            np.triu(kinds[:, None] != kinds)
            & (sizes >= least_pairs)
            & (sizes < np.minimum(single[:, None], single))
        )
        one, other = np.nonzero(looked_at)
        _, first = np.unique(marks[one, other], return_index=True)
        first.sort()
        return one[first], other[first]

    def results(
        self, slices: Sequence[tuple[Condition, ...]], found: Expected, p: Floats, adjusted: Floats
    ) -> list[SliceResult]:
        """One for each slice, by p-value; of equal ones the one farthest from its wins first."""
        expected = found.wins / found.n
        missed = np.nan_to_num(np.abs(found.won - found.wins))
        return [
            replace(
                self.untested(slices[at]),
                expected=None if np.isnan(expected[at]) else float(expected[at]),
                p=float(p[at]),
                p_adjusted=float(adjusted[at]),
            )
            for at in np.lexsort((-missed, p)).tolist()
        ]

    def untested(self, slice_: tuple[Condition, ...]) -> SliceResult:
        """What is known of a slice without expecting anything."""
        mask = np.logical_and.reduce([each.mask for each in slice_])[self.among.used]
        n, wins = int(mask.sum()), int(self.among.won[mask].sum())
        others = self.others[mask]
        known = others[~np.isnan(others)]
        return SliceResult(
            conditions=slice_,
            n=n,
            wins=wins,
            interval=wilson(wins, n) or Interval(0.0, 1.0),
            others=float(known.mean()) if len(known) else None,
            expected=None,
            p=1.0,
            p_adjusted=1.0,
        )


def _unlike(results: Iterable[SliceResult]) -> Iterator[SliceResult]:
    """Those that do not share `ALIKE` of their pairs with one before them."""
    masks: list[NDArray[np.bool_]] = []
    for each in results:
        mask = each.mask
        if all((mask & other).sum() < ALIKE * (mask | other).sum() for other in masks):
            masks.append(mask)
            yield each
