"""Lengths of prompts and responses: binned for a chart, and summed up for each subset.

All is counted here, so that a chart of 300,000 pairs is a few hundred numbers for the browser.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from explorer.data.table import Measure, PairTable, Rows, Unit

Measured = Literal["responses", "chosen", "rejected", "prompt", "difference"]
"""What a chart shows; "responses" is chosen and rejected in one."""

Range = tuple[int | None, int | None]
"""The least and the greatest length, both included; None where there is no end."""

MEASURED: tuple[Measured, ...] = get_args(Measured)
BINS = 40
"""Bins a histogram has at most."""
SUBSET_BINS = 20
"""The same, where there is a histogram for each subset."""
MOST_CHARTS = 30
"""Subsets that get a histogram of their own."""
MOST_LINES = 200
"""Subsets that get a line of their own in a table."""

_Lengths = NDArray[np.signedinteger[Any]]


def measures_of(shown: Measured) -> tuple[Measure, ...]:
    """What has to be measured for a chart.

    >>> measures_of("responses"), measures_of("prompt")
    (('chosen', 'rejected'), ('prompt',))
    """
    return ("chosen", "rejected") if shown == "responses" else (shown,)


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many pairs have each length.

    edges: one more than there are bins, multiples of a round width: bin i holds the lengths from
        edges[i] up to edges[i + 1] - 1. The first and the last bin hold the rest as well.
    counts: measure -> pairs a bin. Without rows there are no edges and no bins.
    low, high: the least and the greatest length there is.
    """

    edges: list[int]
    counts: dict[Measure, list[int]]
    low: int
    high: int

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return max(0, len(self.edges) - 1)

    def bin_range(self, place: int) -> Range:
        """The lengths that a bin counts, as a filter would have them.

        >>> histogram = Histogram([0, 50, 100, 150], {"prompt": [1, 2, 3]}, 7, 480)
        >>> [histogram.bin_range(place) for place in range(3)]
        [(None, 49), (50, 99), (100, None)]
        """
        first, last = place == 0, place == self.bins - 1
        return (None if first else self.edges[place], None if last else self.edges[place + 1] - 1)

    def bin_ends(self, place: int) -> tuple[int, int]:
        """The lengths that a bin counts, in numbers to read: an open end reaches `low` or `high`.

        >>> Histogram([0, 50, 100, 150], {"prompt": [1, 2, 3]}, 7, 480).bin_ends(2)
        (100, 480)
        """
        least, most = self.edges[place], self.edges[place + 1] - 1
        return (
            min(least, self.low) if place == 0 else least,
            max(most, self.high) if place == self.bins - 1 else most,
        )


@dataclass(frozen=True, slots=True)
class SubsetHistograms:
    """A histogram for each subset, all with the same edges.

    by_subset: in the benchmark's order. `low` and `high` are the subset's own.
    left_out: smaller subsets for which there was no room.
    """

    by_subset: dict[str, Histogram]
    left_out: int


@dataclass(frozen=True, slots=True)
class Spread:
    """How the lengths of one measure are spread."""

    mean: float
    median: float
    p95: float
    maximum: int


@dataclass(frozen=True, slots=True)
class LengthStats:
    """One line of the table beside a chart. subset: None for all rows together."""

    subset: str | None
    n: int
    spreads: dict[Measure, Spread]


def histogram(
    table: PairTable, rows: Rows, shown: Measured, unit: Unit, tokenizer: str = ""
) -> Histogram:
    """Bin the lengths of some rows by bins of a round width.

    The bins reach from the 1st to the 99th percentile, so that one very long text does not flatten
    the rest. Of differences, 0 is always an edge: the bin that begins there holds the pairs whose
    responses are equally long, and no bin holds both signs.

    Raises:
        KeyError: the tokens of that tokenizer were not counted yet.
    """
    values = _values(table, rows, shown, unit, tokenizer)
    if not len(rows):
        return Histogram([], {measure: [] for measure in values}, 0, 0)
    edges = _edges(values, BINS)
    counts = {
        measure: np.bincount(_bins(lengths, edges), minlength=len(edges) - 1).tolist()
        for measure, lengths in values.items()
    }
    return Histogram(
        edges.tolist(),
        counts,
        int(min(lengths.min() for lengths in values.values())),
        int(max(lengths.max() for lengths in values.values())),
    )


def histograms_by_subset(
    table: PairTable, rows: Rows, shown: Measured, unit: Unit, tokenizer: str = ""
) -> SubsetHistograms:
    """A histogram for each of the `MOST_CHARTS` largest subsets among some rows.

    Raises:
        KeyError: the tokens of that tokenizer were not counted yet.
    """
    values = _values(table, rows, shown, unit, tokenizer)
    if not len(rows):
        return SubsetHistograms({}, 0)
    edges = _edges(values, SUBSET_BINS)
    groups = _grouped(table, rows, MOST_CHARTS)
    bins = len(edges) - 1
    shape = (len(groups.names), bins)
    counts: dict[Measure, list[list[int]]] = {}
    ordered = []
    for measure, lengths in values.items():
        taken = lengths[groups.taken]
        cells = groups.numbers * bins + _bins(taken, edges)
        counts[measure] = np.bincount(cells, minlength=shape[0] * bins).reshape(shape).tolist()
        ordered.append(groups.ordered(taken))
    lows = np.min([lengths[groups.starts] for lengths in ordered], axis=0).tolist()
    highs = np.max([lengths[groups.stops - 1] for lengths in ordered], axis=0).tolist()
    return SubsetHistograms(
        {
            name: Histogram(
                edges.tolist(),
                {measure: each[number] for measure, each in counts.items()},
                lows[number],
                highs[number],
            )
            for number, name in enumerate(groups.names)
        },
        groups.left_out,
    )


def length_stats(
    table: PairTable, rows: Rows, shown: Measured, unit: Unit, tokenizer: str = ""
) -> list[LengthStats]:
    """Mean, median, 95th percentile and maximum: a line a subset, and one for all rows at the end.

    Percentiles that fall between two lengths are linear, as numpy's are by default. Only the
    `MOST_LINES` largest subsets have a line of their own. No rows give no lines.

    Raises:
        KeyError: the tokens of that tokenizer were not counted yet.
    """
    values = _values(table, rows, shown, unit, tokenizer)
    if not len(rows):
        return []
    groups = _grouped(table, rows, MOST_LINES)
    spreads = {
        measure: _spreads(groups.ordered(lengths[groups.taken]), groups.starts, groups.stops)
        for measure, lengths in values.items()
    }
    lines = [
        LengthStats(name, n, {measure: each[number] for measure, each in spreads.items()})
        for number, (name, n) in enumerate(
            zip(groups.names, (groups.stops - groups.starts).tolist(), strict=True)
        )
    ]
    ends = np.array([0]), np.array([len(rows)])
    total = {measure: _spreads(np.sort(lengths), *ends)[0] for measure, lengths in values.items()}
    return [*lines, LengthStats(None, len(rows), total)]


def round_width(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... that is not below `least`.

    >>> round_width(0), round_width(31.4), round_width(50)
    (1, 50, 50)
    """
    width = 1
    while width < least:
        width = width * 5 // 2 if str(width).startswith("2") else width * 2
    return width


def _values(
    table: PairTable, rows: Rows, shown: Measured, unit: Unit, tokenizer: str
) -> dict[Measure, _Lengths]:
    return {
        measure: table.lengths(measure, unit, tokenizer)[rows] for measure in measures_of(shown)
    }


def _edges(values: dict[Measure, _Lengths], most: int) -> _Lengths:
    """The edges of at most so many bins for all measures in common. There is at least one value."""
    together = np.concatenate(list(values.values()))
    last = len(together) - 1
    ends = sorted({last // 100, last - last // 100})
    ordered = np.partition(together, ends)
    low, high = int(ordered[ends[0]]), int(ordered[ends[-1]])
    if "difference" in values:
        low = min(low, 0, max(-1, int(together.min())))
        high = max(high, 0)
    # A bin less, as the ends seldom lie on edges.
    width = round_width((high - low) / (most - 1))
    return width * np.arange(low // width, high // width + 2)


def _bins(lengths: _Lengths, edges: _Lengths) -> _Lengths:
    """The bin of each length."""
    width, bins = edges[1] - edges[0], len(edges) - 1
    found: _Lengths = np.clip((lengths - edges[0]) // width, 0, bins - 1)
    return found


@dataclass(frozen=True, slots=True)
class _Groups:
    """The largest subsets among some rows.

    names: in the table's order.
    taken: which of the rows are theirs, as places among the rows, and `numbers` whose each is.
    starts, stops: where each subset's rows are, once they are ordered by subset.
    """

    names: list[str]
    taken: _Lengths
    numbers: _Lengths
    starts: _Lengths
    stops: _Lengths
    left_out: int

    def ordered(self, lengths: _Lengths) -> _Lengths:
        """The lengths of `taken`, by subset and within each by length."""
        low = int(lengths.min())
        span = int(lengths.max()) - low + 1
        # One number that orders by both: numpy sorts it many times faster than a pair of keys.
        return np.sort(self.numbers * span + (lengths - low)) % span + low


def _grouped(table: PairTable, rows: Rows, most: int) -> _Groups:
    codes = table.subsets.codes[rows]
    sizes = np.bincount(codes, minlength=len(table.subsets.names))
    present = int(np.count_nonzero(sizes))
    kept = np.sort(np.argsort(-sizes, kind="stable")[: min(most, present)])
    number_of = np.full(len(sizes), -1)
    number_of[kept] = np.arange(len(kept))
    numbers = number_of[codes]
    taken = np.flatnonzero(numbers >= 0)
    stops = np.cumsum(sizes[kept])
    return _Groups(
        [table.subsets.names[code] for code in kept],
        taken,
        numbers[taken],
        stops - sizes[kept],
        stops,
        present - len(kept),
    )


def _spreads(ordered: _Lengths, starts: _Lengths, stops: _Lengths) -> list[Spread]:
    """The spread of each stretch of lengths; each stretch is in order and not empty."""
    sums = np.add.reduceat(ordered, starts, dtype=np.int64)
    columns = (
        sums / (stops - starts),
        _quantiles(ordered, starts, stops, 0.5),
        _quantiles(ordered, starts, stops, 0.95),
        ordered[stops - 1],
    )
    return [Spread(*line) for line in zip(*(column.tolist() for column in columns), strict=True)]


def _quantiles(
    ordered: _Lengths, starts: _Lengths, stops: _Lengths, share: float
) -> NDArray[np.float64]:
    place = starts + share * (stops - starts - 1)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, stops - 1)
    found: NDArray[np.float64] = ordered[below] * (1 + below - place) + ordered[above] * (
        place - below
    )
    return found
