"""Slices of a model's pairs, where one condition holds or two do, with their tests; the panel."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from explorer.core.html import note, render
from explorer.data.conditions import CONDITION_KINDS, Condition, ConditionKind, conditions
from explorer.data.facets import Mask
from explorer.data.table import PairTable
from explorer.reader.scene import Scene
from explorer.results.field import Field
from explorer.stats.paired import ALPHA, holm
from explorer.stats.slices import LEAST_RIVALS, SliceTest, SliceTester
from scoring.errors import counted
from scoring.interval import Interval, wilson
from scoring.strata import Whole

LEAST_PAIRS = 20
"""Pairs of a slice of two conditions that is tested."""
ALIKE = 0.8
"""Common share of pairs, from which on the more surprising of two slices stands for both."""
_MOST_LISTED = 50
_COLUMNS = ("slice", "won", "interval", "others", "expected", "difference", "n", "p")
_OF_TESTS = ("expected", "difference", "p")
"""Columns of models that have enough rivals."""
_Slice = tuple[tuple[Condition, ...], Mask]


@dataclass(frozen=True, slots=True)
class SliceResult:
    """A slice of one condition or two, and the model's wins in it.

    mask: (pairs,), the pairs that are used.
    p: of one condition, of a difference as large; of two, of so few wins.
    p_adjusted: by Holm, over all slices of as many conditions.
    """

    conditions: tuple[Condition, ...]
    mask: Mask
    test: SliceTest
    p: float
    p_adjusted: float

    @property
    def name(self) -> str:
        """The conditions in words, for the screen; names in it may be anything."""
        names = [each.name for each in self.conditions]
        return names[0] if len(names) == 1 else f"{names[0]} and {names[1]}"

    @property
    def won(self) -> float:
        """The share of pairs won, 0 to 1; a tie is no win, not even a judge's."""
        return self.test.wins / self.test.n

    @property
    def interval(self) -> Interval:
        """Wilson's 95 % interval of the share won."""
        return wilson(self.test.wins, self.test.n) or Interval(0.0, 1.0)

    @property
    def difference(self) -> float | None:
        """The share won minus the expected one, -1 to 1; None if nothing is expected."""
        return None if self.test.expected is None else self.won - self.test.expected


@dataclass(frozen=True, slots=True)
class SliceComparison:
    """A model's slices, the most surprising first.

    n_rivals, can_test: as of `SliceTester`.
    by_condition: each condition with pairs; by share won if nothing can be tested.
    n_tested: slices of two conditions; those of the very same pairs count as one.
    n_worse: how many of them the model wins less of than expected, p_adjusted being at most 0.05.
    worst: of these, those that neither condition explains, one of several that are `ALIKE`.
    """

    n_rivals: int
    can_test: bool
    by_condition: tuple[SliceResult, ...]
    n_tested: int = 0
    n_worse: int = 0
    worst: tuple[SliceResult, ...] = ()

    def about(self, in_report: bool = False) -> str:
        """Describe the tests. in_report: for a report, which has no slices to press."""
        if not self.can_test:
            return (
                f"Testing slices needs at least {LEAST_RIVALS} other models with results on these "
                f"pairs; there are {self.n_rivals:,}. Add result files on the Models tab."
            )
        worse = counted(self.n_worse, "slice is", "slices are") if self.n_worse else "No slice is"
        how = " Expected: the share on equally hard pairs outside." if in_report else ""
        return (
            f"{worse} significantly worse than expected. {self.n_tested:,} slices of two "
            f"conditions and at least {LEAST_PAIRS} pairs were tested against "
            f"{counted(self.n_rivals, 'other model', 'other models')}, Holm-corrected. "
            f"Overlapping slices are listed once.{how}"
        )


def slices_of(field: Field, model: str) -> SliceComparison:
    """The slices of a model, by every condition that is known of its pairs."""
    known = conditions(field.table)
    if not field.has_texts:
        known = tuple(each for each in known if each.kind in ("section", "subset"))
    return compare_slices(field.outcomes(model), field.others(model), known, field.clusters)


def about_won(table: PairTable) -> str:
    """What "won" means in a slice; whose texts slices are of, where rows have several responses."""
    rule, styles = table.benchmark.rule, table.benchmark.row.styles
    ties = "Ties do not count as wins here, not even for judges."
    if not rule.reads_several:
        return f"Won is the share of pairs the model won. {ties}"
    won = rule.margin if rule.parts else ties
    which = f" ({styles[0]})" if styles else ""
    return (
        f"Won is the share of rows the model won. {won} Lengths, format, refusals and authors are "
        f"those of the first chosen and the first rejected response of a row{which}."
    )


_HEADS = {
    "slice": "Slice",
    "won": "Won",
    "interval": "95 %",
    "expected": "Expected",
    "difference": "Difference",
    "n": "Pairs",
    "p": "p, corrected",
}
_KINDS: dict[ConditionKind, str] = {
    "section": "Section",
    "subset": "Subset",
    "chosen_model": "Who wrote the chosen response",
    "rejected_model": "Who wrote the rejected response",
    "longer": "Which response is longer",
    "longer_by": "By how much it is longer",
    "chosen_chars": "Length of the chosen response",
    "marker": "Format and refusals",
}


def slices_html(now: Scene, compare: Callable[[Field, str], SliceComparison] = slices_of) -> str:
    """The worst slices of two conditions, then every condition, kind by kind.

    compare: `slices_of`, or what keeps its results.
    """
    if not now.model:
        return note("Choose a model under “Model results” to see which kinds of pairs it fails.")
    found = compare(now.known, now.model)
    by_kind = {
        kind: of_kind
        for kind in CONDITION_KINDS
        if (of_kind := [each for each in found.by_condition if each.conditions[0].kind == kind])
    }
    columns = [name for name in _COLUMNS if found.can_test or name not in _OF_TESTS]
    words = {**_HEADS, "others": f"Other models ({found.n_rivals:,})"}
    return render(
        "tabs/pairs/slices.html",
        found=found,
        by_kind=by_kind,
        kinds=_KINDS,
        about_won=about_won(now.table),
        columns=columns,
        heads=[words[name] for name in columns],
        surprise=_surprise,
        leading=lambda result: now.state.narrowed(
            slices=tuple(each.id for each in result.conditions), panel="pairs"
        ),
    )


def _surprise(result: SliceResult) -> str:
    """The class of a slice won significantly less often than expected, or more often; else ""."""
    if result.difference is None or result.p_adjusted > ALPHA:
        return ""
    return "worse" if result.difference < 0 else "better"


def compare_slices(
    outcome: NDArray[np.floating],
    others: NDArray[np.floating],
    known: Sequence[Condition],
    clusters: Whole,
    *,
    least_pairs: int = LEAST_PAIRS,
    most: int = _MOST_LISTED,
) -> SliceComparison:
    """Test the slices of each condition, and of each two conditions of different kinds.

    A condition explains a slice of two unless, at 0.05, the model wins fewer pairs of the slice
    than expected from the condition's other pairs. Slices with all pairs of one are left out.

    outcome, others, clusters: as of `SliceTester`. known: conditions of the same pairs.
    least_pairs: of a slice of two conditions, at least 1. most: slices in `worst`.
    """
    tester = SliceTester(outcome, others, [each.mask for each in known], clusters)
    masks = {each: mask for each in known if (mask := each.mask[tester.used]).any()}
    singles = [((each,), mask) for each, mask in masks.items()]
    by_condition = _results(tester, singles, lambda test: 2 * min(test.p_fewer, test.p_more, 0.5))
    if not tester.can_test:
        return SliceComparison(tester.n_rivals, False, by_condition)
    by_two = _results(tester, _conjunctions(masks, least_pairs), lambda test: test.p_fewer)
    worse = [each for each in by_two if each.p_adjusted <= ALPHA]
    unexplained = (
        each
        for each in worse
        if all(
            tester.test(each.mask, masks[condition] & ~each.mask).p_fewer <= ALPHA
            for condition in each.conditions
        )
    )
    worst = tuple(islice(_unlike(unexplained), most))
    return SliceComparison(tester.n_rivals, True, by_condition, len(by_two), len(worse), worst)


def _conjunctions(masks: Mapping[Condition, Mask], least_pairs: int) -> list[_Slice]:
    """Slices of two conditions, smaller than either; of those with the same pairs, the first."""
    sizes = {each: mask.sum() for each, mask in masks.items()}
    found: dict[bytes, _Slice] = {}
    for one, other in combinations(masks, 2):
        if one.kind != other.kind:
            mask = masks[one] & masks[other]
            if least_pairs <= mask.sum() < min(sizes[one], sizes[other]):
                found.setdefault(mask.tobytes(), ((one, other), mask))
    return list(found.values())


def _results(
    tester: SliceTester, slices: Sequence[_Slice], p_of: Callable[[SliceTest], float]
) -> tuple[SliceResult, ...]:
    """Results by p; of equal ones, those farthest from the expected wins first."""
    tests = [tester.test(mask) for _, mask in slices]
    p = [p_of(test) for test in tests]
    results = [
        SliceResult(*slice_, *values)
        for slice_, *values in zip(slices, tests, p, holm(p).tolist(), strict=True)
    ]
    return tuple(
        sorted(results, key=lambda it: (it.p, -abs(it.difference or 0.0) * it.test.n, it.won))
    )


def _unlike(results: Iterable[SliceResult]) -> Iterator[SliceResult]:
    """Results that do not share `ALIKE` of their pairs with one before them."""
    masks: list[Mask] = []
    for each in results:
        if all((each.mask & mask).sum() < ALIKE * (each.mask | mask).sum() for mask in masks):
            masks.append(each.mask)
            yield each
