"""Histograms that lose no pair, ranges that filter what a bar counts, lengths of the real pairs."""

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


def let_through(lengths_of_pairs: np.ndarray, ends: Range) -> int:
    """How many lengths a filter of that range keeps."""
    low, high = ends
    return sum(
        (low is None or n >= low) and (high is None or n <= high) for n in lengths_of_pairs.tolist()
    )


length = st.one_of(st.integers(0, 60), st.integers(0, 3000))
some_texts = st.builds(texts, length, length, length, st.sampled_from(["own", "hep-go"]))
some_pairs = st.lists(some_texts, min_size=1, max_size=25).map(lambda rows: small_table(*rows))
with_ranges = st.sampled_from([each for each in lengths.MEASURED if measures_of(each)])


@given(some_pairs, with_ranges, st.sampled_from(lengths.SCALES))
def test_a_bar_counts_what_its_range_lets_through(
    table: PairTable, shown: Measured, scale: Scale
) -> None:
    bars = histogram(table, np.arange(len(table)), shown, "chars", scale=scale)
    assert bars.bins <= lengths.BINS
    assert 0 in bars.edges or shown != "difference" or scale != "linear", "both signs in a bin"
    assert tuple(bars.counts) == measures_of(shown)
    ranges = [bars.bin_range(place) for place in range(bars.bins)]
    assert (ranges[0][0], ranges[-1][1]) == (None, None)
    for (_, high), (low, _) in pairwise(ranges):
        assert high is not None and low == high + 1
    for measure, counts in bars.counts.items():
        of_pairs = table.lengths(measure, "chars")
        assert counts == [let_through(of_pairs, ends) for ends in ranges]
        assert sum(counts) == len(table)


@given(some_pairs, st.sampled_from(lengths.MEASURED))
def test_stats_are_those_of_numpy(table: PairTable, shown: Measured) -> None:
    """Of each response with its prompt, too."""
    prompts = table.lengths("prompt", "chars") if shown == "with_prompt" else 0
    measures = measures_of(shown) or ("chosen", "rejected")
    lines = length_stats(table, np.arange(len(table)), shown, "chars")
    assert [line.subset for line in lines] == [*table.subsets.names, None]
    for line in lines:
        rows = np.array([line.subset in (None, subset) for subset in table.subset_of_row])
        assert line.n == rows.sum() and tuple(line.spreads) == measures
        for measure, spread in line.spreads.items():
            of = (table.lengths(measure, "chars") + prompts)[rows]
            found = spread.mean, spread.median, spread.p95, spread.sd
            wanted = of.mean(), np.median(of), np.percentile(of, 95), of.std()
            assert found == pytest.approx(wanted)
            assert (spread.minimum, spread.maximum) == (of.min(), of.max())


KNOWN: dict[str | None, tuple[float, float, float, int, int]] = {
    "alpacaeval-length": (220.7, 1780.7, 1906.2, 6405, 7986),
    "hep-java": (467.2, 353.6, 346.9, 1333, 1337),
    "math-prm": (161.6, 524.6, 1213.1, 3356, 3456),
    None: (236.6, 589.4, 735.9, 6405, 7986),
}
"""Mean characters of prompt, chosen and rejected, and the most of chosen and rejected."""


def test_the_real_subsets_have_the_lengths_that_others_counted(real: PairTable) -> None:
    shown: tuple[Measured, ...] = ("prompt", "responses")
    lines = [length_stats(real, np.arange(len(real)), each, "chars") for each in shown]
    prompts, responses = ({line.subset: line.spreads for line in each} for each in lines)
    for subset, known in KNOWN.items():
        chosen, rejected = responses[subset]["chosen"], responses[subset]["rejected"]
        means = [round(each.mean, 1) for each in (prompts[subset]["prompt"], chosen, rejected)]
        assert (*means, chosen.maximum, rejected.maximum) == known
