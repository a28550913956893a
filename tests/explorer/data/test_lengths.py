"""Histograms that lose no pair, ranges that filter what a bar counts, the card's own figures."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.lengths import (
    BINS,
    MEASURED,
    SCALES,
    SUBSET_BINS,
    Measured,
    Range,
    Scale,
    histogram,
    histograms_by_subset,
    length_stats,
    longer_lines,
    measures_of,
    round_width,
)
from explorer.data.table import PairTable, Rows
from tests.support.tables import small_table


class Texts(NamedTuple):
    """The lengths of one pair's texts."""

    prompt: int
    chosen: int
    rejected: int
    subset: str = "own"


def table_of(pairs: Sequence[Texts]) -> PairTable:
    """Pairs whose texts have these lengths in characters."""
    rows = (
        {name: each if name == "subset" else "x" * each for name, each in pair._asdict().items()}
        for pair in pairs
    )
    return small_table(*rows)


def every_row(table: PairTable) -> Rows:
    return np.arange(len(table))


def let_through(lengths: np.ndarray, ends: Range) -> int:
    """How many lengths a filter of that range keeps."""
    low, high = ends
    return sum((low is None or n >= low) and (high is None or n <= high) for n in lengths.tolist())


length = st.one_of(st.integers(0, 60), st.integers(0, 3000))
some_pairs = st.lists(
    st.builds(Texts, length, length, length, st.sampled_from(["own", "hep-go", "math-prm"])),
    min_size=1,
    max_size=25,
)
any_shown = st.sampled_from([each for each in MEASURED if measures_of(each)])


@given(some_pairs, any_shown, st.sampled_from(SCALES))
def test_a_bar_counts_what_its_range_lets_through(
    pairs: list[Texts], shown: Measured, scale: Scale
) -> None:
    table = table_of(pairs)
    found = histogram(table, every_row(table), shown, "chars", scale=scale)
    assert found.bins <= BINS
    assert 0 in found.edges or shown != "difference" or scale != "linear", "both signs in a bin"
    assert tuple(found.counts) == measures_of(shown)
    ranges = [found.bin_range(place) for place in range(found.bins)]
    assert (ranges[0][0], ranges[-1][1]) == (None, None)
    for (_, high), (low, _) in pairwise(ranges):
        assert high is not None and low == high + 1
    for measure, counts in found.counts.items():
        lengths = table.lengths(measure, "chars")
        assert counts == [let_through(lengths, ends) for ends in ranges]
        assert sum(counts) == len(pairs)


def test_which_response_is_longer_is_counted_by_section_and_subset() -> None:
    pairs = [Texts(1, 5, 2, "hep-go"), Texts(1, 2, 2, "math-prm"), Texts(1, 1, 9, "own")]
    found = longer_lines(table_of(pairs), np.arange(3), "chars")
    counts = {each.name: (each.chosen_longer, each.equal, each.rejected_longer) for each in found}
    assert counts == {
        "Reasoning": (1, 1, 0),
        "math-prm": (0, 1, 0),
        "hep-go": (1, 0, 0),
        "own": (0, 0, 1),
        None: (1, 1, 1),
    }
    assert [each.name for each in found if each.is_section] == ["Reasoning"]
    assert (found[0].chosen, found[0].rejected, found[-1].chosen) == (3.5, 2.0, 2.0)


@given(some_pairs, any_shown)
def test_each_subset_has_its_own_counts_on_common_edges(
    pairs: list[Texts], shown: Measured
) -> None:
    table = table_of(pairs)
    found = histograms_by_subset(table, every_row(table), shown, "chars")
    assert list(found.by_subset) == table.subsets.names and found.left_out == 0
    assert len({tuple(each.edges) for each in found.by_subset.values()}) == 1
    for subset, each in found.by_subset.items():
        assert 1 <= each.bins <= SUBSET_BINS
        ends = [each.bin_range(place) for place in range(each.bins)]
        for name, counts in each.counts.items():
            of_side = table.lengths(name, "chars")[table.subset_of_row == subset]
            assert counts == [let_through(of_side, end) for end in ends]


@given(some_pairs, any_shown)
def test_stats_are_those_of_numpy(pairs: list[Texts], shown: Measured) -> None:
    table = table_of(pairs)
    lines = length_stats(table, every_row(table), shown, "chars")
    assert [line.subset for line in lines] == [*table.subsets.names, None]
    for line in lines:
        rows = every_row(table)
        if line.subset is not None:
            rows = np.flatnonzero(table.subset_of_row == line.subset)
        assert line.n == len(rows) and tuple(line.spreads) == measures_of(shown)
        for measure, spread in line.spreads.items():
            lengths = table.lengths(measure, "chars")[rows]
            found = (spread.mean, spread.median, spread.p95, spread.sd)
            assert found == pytest.approx(
                (lengths.mean(), np.median(lengths), np.percentile(lengths, 95), lengths.std())
            )
            assert (spread.minimum, spread.maximum) == (lengths.min(), lengths.max())


def test_a_prompt_counts_with_each_of_its_responses() -> None:
    table = table_of([Texts(10, 1, 200), Texts(30, 5, 100)])
    chosen = length_stats(table, every_row(table), "with_prompt", "chars")[0].spreads["chosen"]
    assert (chosen.mean, chosen.sd, chosen.minimum, chosen.maximum) == (23, 12, 11, 35)


@pytest.mark.parametrize(
    ("least", "width"),
    [(0, 1), (1, 1), (1.01, 2), (2.5, 5), (5, 5), (5.5, 10), (249.9, 500)],
)
def test_a_width_is_the_smallest_that_is_not_below(least: float, width: int) -> None:
    assert round_width(least) == width
