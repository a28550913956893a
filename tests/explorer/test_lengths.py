import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.lengths import BINS, LengthHistogram, length_histogram, round_width
from explorer.table import PairTable
from scoring.pairs import SCHEMA, Pairs, PairSource


def table_of(chosen: list[int], rejected: list[int]) -> PairTable:
    """Pairs whose responses have these lengths."""
    number = [str(row) for row in range(len(chosen))]
    columns = dict.fromkeys(SCHEMA.names, number)
    columns["chosen"] = ["c" * length for length in chosen]
    columns["rejected"] = ["r" * length for length in rejected]
    source = PairSource("file", "made up", None, "0")
    return PairTable(Pairs(source, pa.table(columns, schema=SCHEMA)))


def histogram_of(chosen: list[int], rejected: list[int]) -> LengthHistogram:
    return length_histogram(table_of(chosen, rejected), np.arange(len(chosen)))


lengths = st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 3000)), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(lengths)
def test_every_response_is_counted_in_the_bin_of_its_length(pairs: list[tuple[int, int]]) -> None:
    histogram = histogram_of([c for c, _ in pairs], [r for _, r in pairs])
    width, bins = histogram.edges[1], len(histogram.edges) - 1
    assert histogram.edges == [width * edge for edge in range(bins + 1)]
    assert 1 <= bins <= BINS
    for side, counts in enumerate((histogram.chosen, histogram.rejected)):
        expected = [0] * bins
        for pair in pairs:
            expected[min(pair[side] // width, bins - 1)] += 1
        assert counts == expected
    assert histogram.longest == max(max(pair) for pair in pairs)


@settings(max_examples=60, deadline=None)
@given(lengths)
def test_the_bins_reach_the_99th_percentile_and_not_a_bin_further(
    pairs: list[tuple[int, int]],
) -> None:
    edges = histogram_of([c for c, _ in pairs], [r for _, r in pairs]).edges
    reach = float(np.percentile(np.array(pairs), 99))
    assert int(reach) <= edges[-1]
    assert len(edges) == 2 or edges[-2] < reach


def test_counts_sum_to_the_rows_asked_for(demo: PairTable) -> None:
    rows = np.arange(0, len(demo), 3)
    histogram = length_histogram(demo, rows)
    assert sum(histogram.chosen) == sum(histogram.rejected) == len(rows)
    everything = length_histogram(demo, np.arange(len(demo)))
    assert sum(everything.chosen) == len(demo) > len(rows)


def test_one_very_long_response_goes_to_the_last_bin_and_does_not_stretch_it() -> None:
    histogram = histogram_of([100] * 98 + [149, 1_000_000], [100] * 99 + [149])
    assert histogram.edges[-1] == 150
    assert (histogram.chosen[-1], sum(histogram.chosen)) == (2, 100)
    assert (histogram.rejected[-1], sum(histogram.rejected)) == (1, 100)
    assert histogram.longest == 1_000_000


def test_no_rows_give_an_empty_histogram(demo: PairTable) -> None:
    assert length_histogram(demo, np.array([], dtype=np.int64)) == LengthHistogram([], [], [], 0)


def test_a_single_row(demo: PairTable) -> None:
    histogram = length_histogram(demo, np.array([5]))
    assert sum(histogram.chosen) == sum(histogram.rejected) == 1
    longer = max(demo.chars["chosen"][5], demo.chars["rejected"][5])
    assert histogram.longest == longer <= histogram.edges[-1]


def test_empty_responses_lie_in_one_bin() -> None:
    histogram = histogram_of([0, 0], [0, 0])
    assert histogram == LengthHistogram(edges=[0, 1], chosen=[2], rejected=[2], longest=0)


def test_widths_are_1_2_5_10_20_50_and_so_on() -> None:
    widths = sorted({round_width(least) for least in np.geomspace(0.5, 10_000, 5000)})
    assert widths == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]


@pytest.mark.parametrize(
    ("least", "width"),
    [(0, 1), (1, 1), (1.01, 2), (2, 2), (2.5, 5), (5, 5), (5.5, 10), (11, 20), (249.9, 500)],
)
def test_a_width_is_the_smallest_that_is_not_below(least: float, width: int) -> None:
    assert round_width(least) == width


def test_the_real_split_is_binned_whole(real: PairTable) -> None:
    histogram = length_histogram(real, np.arange(len(real)))
    assert sum(histogram.chosen) == sum(histogram.rejected) == 2985
    assert histogram.longest == 7986
    assert histogram.edges[1] == 100
