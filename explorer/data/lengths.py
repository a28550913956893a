"""Lengths of prompts and responses: binned for a chart, and summed up for each subset.

All is counted here, so that a chart of 300,000 pairs is a few hundred numbers for the browser.
"""

from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from explorer.data.table import Measure, PairTable, Rows, Unit

Measured = Literal["responses", "with_prompt", "chosen", "rejected", "prompt", "difference"]
"""What a chart shows; "responses" is chosen and rejected in one, "with_prompt" each of them and its
prompt together, as the paper counts."""

Scale = Literal["log", "linear"]
SCALES: tuple[Scale, ...] = get_args(Scale)

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
_ByMeasure = dict[Measure, _Lengths]


def measures_of(shown: Measured) -> tuple[Measure, ...]:
    """The lengths that a chart shows, as filters have them: none where it shows sums."""
    if shown == "with_prompt":
        return ()
    return ("chosen", "rejected") if shown == "responses" else (shown,)


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many pairs have each length.

    edges: one more than there are bins, multiples of a round width, or each so many times the one
        before: bin i holds the lengths from edges[i] up to edges[i + 1] - 1. The first and the last
        bin hold the rest as well.
    counts: measure -> pairs a bin. Without rows there are no edges and no bins.
    low, high: the least and the greatest length there is.
    equal: of differences, pairs whose responses are equally long.
    """

    edges: list[int]
    counts: dict[Measure, list[int]]
    low: int
    high: int
    equal: int = 0

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return max(0, len(self.edges) - 1)

    def bin_range(self, place: int) -> Range:
        """The lengths that a bin counts, as a filter has them."""
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
    """How the lengths of one measure are spread; percentiles are linear, as numpy's are.

    sd: standard deviation, by their number and not one less, as in the paper's figure.
    """

    mean: float
    sd: float
    median: float
    p95: float
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class LengthStats:
    """One line of the table beside a chart. subset: None for all rows together."""

    subset: str | None
    n: int
    spreads: dict[Measure, Spread]


@dataclass(frozen=True, slots=True)
class Longer:
    """Which response is the longer one in some pairs.

    name: of a subset or a section; None for all rows together.
    chosen, rejected: median lengths.
    chosen_longer, equal, rejected_longer: pairs.
    """

    name: str | None
    is_section: bool
    chosen: float
    rejected: float
    chosen_longer: int
    equal: int
    rejected_longer: int

    @property
    def n(self) -> int:
        """Pairs."""
        return self.chosen_longer + self.equal + self.rejected_longer


def histogram(
    table: PairTable,
    rows: Rows,
    shown: Measured,
    unit: Unit,
    tokenizer: str = "",
    *,
    scale: Scale = "linear",
) -> Histogram:
    """Bin the lengths of some rows, by bins of a round width or, on a log scale, of equal ratios.

    Differences, which may be below 0, have no log scale.

    The bins reach from the 1st to the 99th percentile, so that one very long text does not flatten
    the rest. Of differences, 0 is always an edge: the bin that begins there holds the pairs whose
    responses are equally long, and no bin holds both signs.

    Raises:
        KeyError: the tokens of that tokenizer were not counted yet.
    """
    values = _values(table, rows, shown, unit, tokenizer)
    if not len(rows):
        return Histogram([], {measure: [] for measure in values}, 0, 0)
    is_log = scale == "log" and "difference" not in values
    return _binned(values, (_log_edges if is_log else _edges)(values, BINS))


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
    subsets, left_out = _by_subset(table, rows, values, MOST_CHARTS)
    return SubsetHistograms({name: _binned(each, edges) for name, each in subsets}, left_out)


def length_stats(
    table: PairTable, rows: Rows, shown: Measured, unit: Unit, tokenizer: str = ""
) -> list[LengthStats]:
    """How lengths are spread: a line a subset, and one for all rows at the end.

    Only the `MOST_LINES` largest subsets have a line of their own. No rows give no lines.

    Raises:
        KeyError: the tokens of that tokenizer were not counted yet.
    """
    values = _values(table, rows, shown, unit, tokenizer)
    if not len(rows):
        return []
    subsets, _ = _by_subset(table, rows, values, MOST_LINES)
    return [
        LengthStats(
            name,
            len(next(iter(each.values()))),
            {measure: _spread(lengths) for measure, lengths in each.items()},
        )
        for name, each in [*subsets, (None, values)]
    ]


def longer_lines(table: PairTable, rows: Rows, unit: Unit, tokenizer: str = "") -> list[Longer]:
    """Which response is longer: a line a section with its subsets after it, and one for all rows.

    Only the `MOST_LINES` largest subsets have a line of their own. No rows give no lines.

    Raises:
        KeyError: the tokens of that tokenizer were not counted yet.
    """
    values = _values(table, rows, "responses", unit, tokenizer)
    if not len(rows):
        return []
    subsets, _ = _by_subset(table, rows, values, MOST_LINES)
    lines = []
    for section, group in groupby(subsets, lambda each: table.benchmark.group_of(each[0])):
        of_section = list(group)
        if section:
            parts = [each for _, each in of_section]
            together = {name: np.concatenate([each[name] for each in parts]) for name in parts[0]}
            lines.append(_longer(section, together, is_section=True))
        if [name for name, _ in of_section] != [section]:
            lines += [_longer(name, each) for name, each in of_section]
    return [*lines, _longer(None, values)]


def _longer(name: str | None, values: _ByMeasure, *, is_section: bool = False) -> Longer:
    chosen, rejected = values["chosen"], values["rejected"]
    medians = float(np.median(chosen)), float(np.median(rejected))
    counts = [
        int(each.sum()) for each in (chosen > rejected, chosen == rejected, chosen < rejected)
    ]
    return Longer(name, is_section, *medians, *counts)


def round_width(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... that is not below `least`."""
    width = 1
    while width < least:
        width = width * 5 // 2 if str(width).startswith("2") else width * 2
    return width


def _values(
    table: PairTable, rows: Rows, shown: Measured, unit: Unit, tokenizer: str
) -> _ByMeasure:
    def of(measure: Measure) -> _Lengths:
        return table.lengths(measure, unit, tokenizer)[rows]

    if shown == "with_prompt":
        prompt = of("prompt")
        return {"chosen": prompt + of("chosen"), "rejected": prompt + of("rejected")}
    return {measure: of(measure) for measure in measures_of(shown)}


def _edges(values: _ByMeasure, most: int) -> _Lengths:
    """The edges of at most so many bins for all measures in common. There is at least one value."""
    together = np.concatenate(list(values.values()))
    low, high = _percentiles(together)
    if "difference" in values:
        low = min(low, 0, max(-1, int(together.min())))
        high = max(high, 0)
    # A bin less, as the ends seldom lie on edges.
    width = round_width((high - low) / (most - 1))
    return width * np.arange(low // width, high // width + 2)


def _log_edges(values: _ByMeasure, most: int) -> _Lengths:
    """The same, each as many times the one before as the last, in whole numbers from 1 on."""
    low, high = _percentiles(np.concatenate(list(values.values())).clip(1))
    return np.unique(np.geomspace(low, high + 1, most + 1).round().astype(np.int64))


def _percentiles(lengths: _Lengths) -> tuple[int, int]:
    """The 1st and the 99th."""
    last = len(lengths) - 1
    ends = [last // 100, last - last // 100]
    low, high = np.partition(lengths, ends)[ends].tolist()
    return low, high


def _binned(values: _ByMeasure, edges: _Lengths) -> Histogram:
    """There is at least one value."""
    bins = len(edges) - 1
    counts = {
        measure: np.bincount(
            (np.searchsorted(edges, lengths, side="right") - 1).clip(0, bins - 1), minlength=bins
        ).tolist()
        for measure, lengths in values.items()
    }
    low = min(int(lengths.min()) for lengths in values.values())
    high = max(int(lengths.max()) for lengths in values.values())
    equal = int((values["difference"] == 0).sum()) if "difference" in values else 0
    return Histogram(edges.tolist(), counts, low, high, equal)


def _by_subset(
    table: PairTable, rows: Rows, values: _ByMeasure, most: int
) -> tuple[list[tuple[str, _ByMeasure]], int]:
    """The lengths of the largest subsets in the table's order, and how many are left out."""
    codes = table.subsets.codes[rows]
    sizes = np.bincount(codes, minlength=len(table.subsets.names))
    kept = np.sort(np.argsort(-sizes, kind="stable")[: min(most, np.count_nonzero(sizes))])
    # Of small integers numpy's stable order is a radix sort, many times faster.
    order = np.argsort(codes.astype(np.min_scalar_type(len(sizes))), kind="stable")
    ends = np.cumsum(sizes)
    ordered = {measure: lengths[order] for measure, lengths in values.items()}
    found = [
        (
            table.subsets.names[code],
            {name: each[ends[code] - sizes[code] : ends[code]] for name, each in ordered.items()},
        )
        for code in kept.tolist()
    ]
    return found, int(np.count_nonzero(sizes)) - len(kept)


def _spread(lengths: _Lengths) -> Spread:
    median, p95 = np.quantile(lengths, (0.5, 0.95)).tolist()
    ends = int(lengths.min()), int(lengths.max())
    return Spread(float(lengths.mean()), float(lengths.std()), median, p95, *ends)
