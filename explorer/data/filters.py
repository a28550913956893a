"""Which pairs of a table are in view: a value, the rows it keeps, and what else could be picked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray

from explorer.core.validation import repaired
from explorer.data.facets import FACETS, Facet, Mask
from explorer.data.search import EVERYTHING, Query
from explorer.data.table import MEASURES, UNITS, Measure, PairTable, Rows, Unit
from scoring.errors import KnownError, shown

MOST_NAMES = 500
LONGEST_NAME = 1_000
_LONGEST_LENGTH = 10**9


@dataclass(frozen=True, slots=True)
class LengthRange:
    """Lengths to keep, `low` and `high` among them; None leaves that end open.

    tokenizer: which one counted, as `PairTable.tokens` names it; "" unless the unit is tokens.
    """

    measure: Measure
    unit: Unit
    low: int | None
    high: int | None
    tokenizer: str = ""

    @property
    def what(self) -> tuple[Measure, Unit]:
        """There is one range for each of these."""
        return self.measure, self.unit

    @classmethod
    def of(cls, measure: object, unit: object, low: object, high: object, name: object) -> Self:
        """A range from values that anybody may have sent.

        Raises:
            KnownError: a value that no range can have.
        """
        known_measure = next((each for each in MEASURES if each == measure), None)
        known_unit = next((each for each in UNITS if each == unit), None)
        if known_measure is None or known_unit is None:
            raise KnownError(
                f"A length is of {', '.join(MEASURES)}, in {', '.join(UNITS)}; "
                f"not of {shown(measure)} in {shown(unit)}."
            )
        ends = [_end(value) for value in (low, high)]
        if ends == [None, None] or (None not in ends and ends[0] > ends[1]):  # type: ignore[operator]
            raise KnownError(f"A range of lengths cannot go from {shown(low)} to {shown(high)}.")
        tokenizer = name if known_unit == "tokens" else ""
        if not isinstance(tokenizer, str) or len(tokenizer) > LONGEST_NAME:
            raise KnownError("A range of tokens needs the name of its tokenizer.")
        return cls(known_measure, known_unit, ends[0], ends[1], tokenizer)


def _end(value: object) -> int | None:
    if value is None:
        return None
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    if not whole or not -_LONGEST_LENGTH <= value <= _LONGEST_LENGTH:  # type: ignore[operator]
        raise KnownError(f"A length is a whole number, not {shown(value)}.")
    return int(value)  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True, slots=True)
class Filters:
    """What to keep. What is empty keeps everything; all is joined by "and".

    picked: facet -> names, of which a row must have one; facets in the order of `FACETS`, names
        in alphabetical order. A name that the table lacks keeps nothing.
    ranges: one of each measure and unit at most, in the order of `MEASURES` and `UNITS`.
    """

    picked: tuple[tuple[Facet, tuple[str, ...]], ...] = ()
    ranges: tuple[LengthRange, ...] = ()
    query: Query = EVERYTHING

    def names(self, facet: Facet) -> tuple[str, ...]:
        """The names picked of a facet; () keeps all."""
        return dict(self.picked).get(facet, ())

    def picking(self, facet: object, names: object) -> Self:
        """With these names of a facet, in place of those picked before.

        Raises:
            KnownError: no such facet, or no list of names.
        """
        known = next((each for each in FACETS if each == facet), None)
        if known is None:
            raise KnownError(f"One can pick by {', '.join(FACETS)}, not {shown(facet)}.")
        picked: dict[Facet, tuple[str, ...]] = {**dict(self.picked), known: _names(names)}
        return replace(
            self, picked=tuple((each, picked[each]) for each in FACETS if picked.get(each))
        )

    def keeping(self, added: LengthRange) -> Self:
        """With one more range, in place of one of the same measure and unit."""
        return replace(self, ranges=ranges_in_order([*self.ranges, added]))


NO_FILTERS = Filters()


def ranges_in_order(ranges: Iterable[LengthRange]) -> tuple[LengthRange, ...]:
    """Ranges in the order of `MEASURES` and `UNITS`, the last of each kind."""
    last = {each.what: each for each in ranges}
    return tuple(last[what] for what in product(MEASURES, UNITS) if what in last)


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(
        isinstance(name, str) and len(name) <= LONGEST_NAME for name in value
    ):
        raise KnownError(f"What is picked must be a list of names, not {shown(value)}.")
    if len(value) > MOST_NAMES:
        raise KnownError(f"At most {MOST_NAMES} names can be picked, not {len(value):,}.")
    return tuple(sorted(set(map(repaired, value))))


@dataclass(frozen=True, slots=True)
class Filtered:
    """What passes a table's filters.

    rows: in table order.
    counts: facet -> how many rows each of its names would have, in the order of the table's names,
        with all filters but those of that facet.
    by_subset: the counts of subsets without the filter of sections, too.
    """

    rows: Rows
    counts: Mapping[Facet, NDArray[np.int64]]
    by_subset: NDArray[np.int64]


def select(table: PairTable, filters: Filters, among: Mask | None = None) -> Filtered:
    """The rows that pass, and the counts of every facet.

    among: whether each row is looked at at all; None looks at all.

    Raises:
        KnownError: the search takes too long, or a range needs tokens that were not counted.
    """
    base = _both(among, _match_text_and_length(table, filters))
    masks = {facet: _has_name(table, facet, names) for facet, names in filters.picked}
    rows = _rows(table, reduce(_both, masks.values(), base))

    def count(facet: Facet, *free: Facet) -> NDArray[np.int64]:
        counted = rows
        if not masks.keys().isdisjoint(free):
            others = (mask for each, mask in masks.items() if each not in free)
            counted = _rows(table, reduce(_both, others, base))
        column = table.facets[facet]
        codes = column.codes if len(counted) == len(table) else column.codes[counted]
        return np.bincount(codes, minlength=len(column.names))

    counts = {facet: count(facet, facet) for facet in FACETS}
    by_subset = count("subset", "section", "subset") if "section" in masks else counts["subset"]
    return Filtered(rows, counts, by_subset)


def matching_rows(table: PairTable, filters: Filters) -> Rows:
    """The rows that pass, in table order.

    Raises:
        KnownError: the search takes too long, or a range needs tokens that were not counted.
    """
    keep = _match_text_and_length(table, filters)
    for facet, names in filters.picked:
        keep = _both(keep, _has_name(table, facet, names))
    return _rows(table, keep)


def _rows(table: PairTable, keep: Mask | None) -> Rows:
    return np.arange(len(table)) if keep is None else np.flatnonzero(keep)


def _both(one: Mask | None, other: Mask | None) -> Mask | None:
    """Rows that both keep; None keeps all."""
    if one is None or other is None:
        return one if other is None else other
    return one & other


def _has_name(table: PairTable, facet: Facet, names: tuple[str, ...]) -> Mask:
    column = table.facets[facet]
    wanted = set(names)
    return np.array([name in wanted for name in column.names], dtype=bool)[column.codes]


def _match_text_and_length(table: PairTable, filters: Filters) -> Mask | None:
    keep = table.matching(filters.query) if filters.query.words else None
    for each in filters.ranges:
        try:
            lengths = table.lengths(each.measure, each.unit, each.tokenizer)
        except KeyError as error:
            raise KnownError(
                f"The tokens of {each.tokenizer[:80]!r} have not been counted here yet."
            ) from error
        if each.low is not None:
            keep = _both(keep, lengths >= each.low)
        if each.high is not None:
            keep = _both(keep, lengths <= each.high)
    return keep


def rows_per_subset(table: PairTable, per_subset: int, seed: int) -> Rows:
    """A seeded random sample of each subset, in table order.

    per_subset: pairs to take from each; a smaller subset is taken whole.
    """
    generator = np.random.default_rng(seed)
    # Sorted once by subset: to look for each subset in all rows takes for ever where they are many.
    by_subset = np.argsort(table.subsets.codes, kind="stable")
    ends = np.cumsum(list(table.subset_counts.values()))
    taken = [
        generator.permutation(rows)[: max(0, per_subset)] for rows in np.split(by_subset, ends[:-1])
    ]
    return np.sort(np.concatenate(taken))
