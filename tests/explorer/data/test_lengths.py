"""Histograms that lose no pair, ranges that filter what a bar counts, the card's own figures."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data import lengths
from explorer.data.lengths import Measured, Range, Scale, histogram, length_stats, measures_of
from explorer.data.table import PairTable
from tests.support.tables import row, small_table


def texts(prompt: int, chosen: int, rejected: int, subset: str = "own") -> dict[str, object]:
    """A row whose texts have these lengths in characters."""
    return row(prompt="x" * prompt, chosen="x" * chosen, rejected="x" * rejected, subset=subset)


def let_through(found: np.ndarray, ends: Range) -> int:
    """How many lengths a filter of that range keeps."""
    low, high = ends
    return sum((low is None or n >= low) and (high is None or n <= high) for n in found.tolist())


length = st.one_of(st.integers(0, 60), st.integers(0, 3000))
some_texts = st.builds(texts, length, length, length, st.sampled_from(["own", "hep-go"]))
some_pairs = st.lists(some_texts, min_size=1, max_size=25).map(lambda rows: small_table(*rows))
any_shown = st.sampled_from([each for each in lengths.MEASURED if measures_of(each)])


@given(some_pairs, any_shown, st.sampled_from(lengths.SCALES))
def test_a_bar_counts_what_its_range_lets_through(
    table: PairTable, shown: Measured, scale: Scale
) -> None:
    found = histogram(table, np.arange(len(table)), shown, "chars", scale=scale)
    assert found.bins <= lengths.BINS
    assert 0 in found.edges or shown != "difference" or scale != "linear", "both signs in a bin"
    assert tuple(found.counts) == measures_of(shown)
    ranges = [found.bin_range(place) for place in range(found.bins)]
    assert (ranges[0][0], ranges[-1][1]) == (None, None)
    for (_, high), (low, _) in pairwise(ranges):
        assert high is not None and low == high + 1
    for measure, counts in found.counts.items():
        of_pairs = table.lengths(measure, "chars")
        assert counts == [let_through(of_pairs, ends) for ends in ranges]
        assert sum(counts) == len(table)


def test_which_response_is_longer_is_counted_by_section_and_subset() -> None:
    table = small_table(texts(1, 5, 2, "hep-go"), texts(1, 2, 2, "math-prm"), texts(1, 1, 9))
    found = lengths.longer_lines(table, np.arange(3), "chars")
    assert [
        (each.name, each.is_section, each.chosen_longer, each.equal, each.rejected_longer)
        for each in found
    ] == [
        ("Reasoning", True, 1, 1, 0),
        ("math-prm", False, 0, 1, 0),
        ("hep-go", False, 1, 0, 0),
        ("own", False, 0, 0, 1),
        (None, False, 1, 1, 1),
    ]
    assert (found[0].chosen, found[0].rejected, found[-1].chosen) == (3.5, 2.0, 2.0)


@given(some_pairs, any_shown)
def test_stats_are_those_of_numpy(table: PairTable, shown: Measured) -> None:
    lines = length_stats(table, np.arange(len(table)), shown, "chars")
    assert [line.subset for line in lines] == [*table.subsets.names, None]
    for line in lines:
        rows = np.array([line.subset in (None, subset) for subset in table.subset_of_row])
        assert line.n == rows.sum() and tuple(line.spreads) == measures_of(shown)
        for measure, spread in line.spreads.items():
            of = table.lengths(measure, "chars")[rows]
            found = spread.mean, spread.median, spread.p95, spread.sd
            wanted = of.mean(), np.median(of), np.percentile(of, 95), of.std()
            assert found == pytest.approx(wanted)
            assert (spread.minimum, spread.maximum) == (of.min(), of.max())


def test_a_prompt_counts_with_each_of_its_responses() -> None:
    table = small_table(texts(10, 1, 200), texts(30, 5, 100))
    chosen = length_stats(table, np.arange(2), "with_prompt", "chars")[0].spreads["chosen"]
    assert (chosen.mean, chosen.sd, chosen.minimum, chosen.maximum) == (23, 12, 11, 35)


def test_a_width_is_the_smallest_that_is_not_below() -> None:
    given = 0, 1, 1.01, 2.5, 5, 249.9
    assert [*map(lengths.round_width, given)] == [1, 1, 2, 5, 5, 500]
