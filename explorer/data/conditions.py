"""Named subsets of pairs, to ask where a model fails: by origin, by length, by looks.

Each has an id that says what it is of, so that a link can hold it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from explorer.data.facets import NONE, Mask
from explorer.data.table import PairTable
from scoring.errors import KnownError, counted, shown

ConditionKind = Literal[
    "section", "subset", "chosen_model", "rejected_model", "longer", "longer_by", "chosen_chars",
    "marker",
]  # fmt: skip
CONDITION_KINDS: tuple[ConditionKind, ...] = get_args(ConditionKind)

Named = Literal["section", "subset", "chosen_model", "rejected_model"]
"""Kinds with a condition for each of the names of a facet."""
Who = Literal["chosen", "rejected", "only_chosen", "only_rejected", "both"]
"""Whose response has a marker; "only" says that the other one has not."""

LEAST_WRITTEN = 20
"""Pairs of a model that has a condition of its own."""
MOST_OF_KIND = 50
"""Names of a kind that have one: those with the most pairs."""

_SIDES: tuple[Literal["chosen", "rejected"], ...] = ("chosen", "rejected")


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """Some pairs of a table, and what they have in common.

    kind: two conditions of different kinds can be joined.
    id: kind and what of it, as "marker:refusal:rejected"; the same for the same table.
    name: in words, for the screen; names of subsets and models in it may be anything.
    mask: (pairs,), whether each pair of the table is in it; at least one is.
    """

    kind: ConditionKind
    id: str
    name: str
    mask: Mask

    @property
    def n(self) -> int:
        """How many pairs it has."""
        return int(self.mask.sum())


def conditions(table: PairTable) -> tuple[Condition, ...]:
    """All conditions of a table that have pairs, kind by kind.

    section, subset: of the benchmark.
    chosen_model, rejected_model: who wrote the response; those with `LEAST_WRITTEN` pairs.
    longer: the side with more characters; longer_by: the same, cut in three by how many more.
    chosen_chars: characters of chosen, cut in four.
    marker: which side's response has what `explorer.data.facets.markers` finds.

    Cuts are at quantiles, rounded to two digits.
    """
    return tuple(each for kind in CONDITION_KINDS for each in _of_kind(table, kind))


def condition_of(table: PairTable, wanted: object) -> Condition:
    """The condition with that id, which may have come from anywhere.

    Raises:
        KnownError: the table has none.
    """
    kinds = [
        kind
        for kind in CONDITION_KINDS
        if isinstance(wanted, str) and wanted.startswith(f"{kind}:")
    ]
    found = (each for kind in kinds for each in _of_kind(table, kind))
    condition = next((each for each in found if each.id == wanted), None)
    if condition is None:
        raise KnownError(
            f"These pairs have no condition {shown(wanted)}. Conditions are of "
            f"{', '.join(CONDITION_KINDS)}, such as longer:rejected; choose one of the list."
        )
    return condition


def _of_kind(table: PairTable, kind: ConditionKind) -> Iterator[Condition]:
    for of_it, name, mask in _FAMILIES[kind](table):
        if mask.any():
            yield Condition(kind, f"{kind}:{of_it}", name, mask)


_Found = Iterator[tuple[str, str, Mask]]
"""What follows the kind in the id, the name, the mask."""


_OF_FACET: Mapping[Named, str] = {
    "section": "section",
    "subset": "subset",
    "chosen_model": "chosen from",
    "rejected_model": "rejected from",
}
_OF_MARKER = {
    "fence": "a code fence",
    "list": "a list",
    "heading": "a heading",
    "bold": "bold words",
    "table": "a table",
    "refusal": "a refusal",
    "apology": "an apology",
}


def _named(facet: Named, least: int, table: PairTable) -> _Found:
    column = table.facets[facet]
    counts = np.bincount(column.codes, minlength=len(column.names))
    largest = np.argsort(-counts, kind="stable")[:MOST_OF_KIND]
    for code in np.sort(largest[counts[largest] >= least]).tolist():
        name = column.names[code]
        if not (facet == "section" and name == NONE):
            yield name, f"{_OF_FACET[facet]} {name}", column.codes == code


def _longer(table: PairTable) -> _Found:
    column = table.facets["longer"]
    for code, side in enumerate(column.names):
        yield side, "equally long" if side == "equal" else f"{side} longer", column.codes == code


def _longer_by(table: PairTable) -> _Found:
    difference = table.lengths("difference", "chars")
    for side, more in zip(_SIDES, (difference, -difference), strict=True):
        words = f"{side} longer by"
        for of_it, bounds, mask in _cut(more, more > 0, 3):
            yield f"{side}:{of_it}", f"{words} {bounds}", mask


def _chosen_chars(table: PairTable) -> _Found:
    lengths = table.chars["chosen"]
    for of_it, bounds, mask in _cut(lengths, np.ones(len(lengths), dtype=bool), 4):
        yield of_it, f"chosen {bounds}", mask


def _markers(table: PairTable) -> _Found:
    for marker, marked in table.markers.items():
        chosen, rejected = marked
        whose: dict[Who, tuple[str, Mask]] = {
            "chosen": ("chosen has", chosen),
            "rejected": ("rejected has", rejected),
            "only_chosen": ("only chosen has", chosen & ~rejected),
            "only_rejected": ("only rejected has", rejected & ~chosen),
            "both": ("both have", chosen & rejected),
        }
        for who, (words, mask) in whose.items():
            yield f"{marker}:{who}", f"{words} {_OF_MARKER[marker]}", mask


_FAMILIES: Mapping[ConditionKind, Callable[[PairTable], _Found]] = {
    "section": partial(_named, "section", 1),
    "subset": partial(_named, "subset", 1),
    "chosen_model": partial(_named, "chosen_model", LEAST_WRITTEN),
    "rejected_model": partial(_named, "rejected_model", LEAST_WRITTEN),
    "longer": _longer,
    "longer_by": _longer_by,
    "chosen_chars": _chosen_chars,
    "marker": _markers,
}


def _cut(lengths: NDArray[np.signedinteger[Any]], of: Mask, parts: int) -> _Found:
    """Some lengths in so many parts of about as many pairs, as an id, words and a mask each.

    >>> [each[:2] for each in _cut(np.arange(1, 3001), np.ones(3000, dtype=bool), 3)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('-1000', 'up to 1,000 characters'),
     ('1001-2000', '1,001–2,000 characters'),
     ('2001-', 'over 2,000 characters')]
    """
    if not of.any():
        return
    cuts = np.quantile(lengths[of], np.arange(1, parts) / parts)
    edges = sorted({int(float(f"{cut:.1e}")) for cut in cuts})
    yield (
        f"-{edges[0]}",
        f"up to {counted(edges[0], 'character', 'characters')}",
        of & (lengths <= edges[0]),
    )
    for low, high in pairwise(edges):
        words = f"{low + 1:,}–{counted(high, 'character', 'characters')}"
        yield f"{low + 1}-{high}", words, of & (lengths > low) & (lengths <= high)
    last = edges[-1]
    yield f"{last + 1}-", f"over {counted(last, 'character', 'characters')}", of & (lengths > last)
