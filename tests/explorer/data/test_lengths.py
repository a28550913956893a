"""Histograms that lose no pair, ranges that filter what a bar counts, the card's own figures."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
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
    Spread,
    histogram,
    histograms_by_subset,
    length_stats,
    longer_lines,
    measures_of,
    round_width,
)
from explorer.data.table import Measure, PairTable, Rows
from scoring.pairs.opening import SCHEMA, Pairs, PairSource


class Texts(NamedTuple):
    """The lengths of one pair's texts."""

    prompt: int
    chosen: int
    rejected: int
    subset: str = "own"


def table_of(pairs: Sequence[Texts]) -> PairTable:
    """Pairs whose texts have these lengths in characters."""
    numbers = [str(row) for row in range(len(pairs))]
    columns: dict[str, list[Any]] = {
        field.name: numbers if field.type == pa.large_string() else [[] for _ in pairs]
        for field in SCHEMA
    }
    for side in ("prompt", "chosen", "rejected"):
        columns[side] = ["x" * getattr(pair, side) for pair in pairs]
    columns["subset"] = [pair.subset for pair in pairs]
    source = PairSource("file", "made up", None, "0")
    return PairTable(Pairs(source, pa.table(columns, schema=SCHEMA)))


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
    assert tuple(found.counts) == measures_of(shown)
    for measure, counts in found.counts.items():
        lengths = table.lengths(measure, "chars")
        ranges = [found.bin_range(place) for place in range(found.bins)]
        assert counts == [let_through(lengths, ends) for ends in ranges]
        assert sum(counts) == len(pairs)


@given(some_pairs, any_shown, st.sampled_from(SCALES))
def test_the_ranges_part_the_line_without_gap_or_overlap(
    pairs: list[Texts], shown: Measured, scale: Scale
) -> None:
    table = table_of(pairs)
    found = histogram(table, every_row(table), shown, "chars", scale=scale)
    ranges = [found.bin_range(place) for place in range(found.bins)]
    assert (ranges[0][0], ranges[-1][1]) == (None, None)
    for (_, high), (low, _) in pairwise(ranges):
        assert high is not None
        assert low == high + 1


@given(some_pairs, any_shown)
def test_edges_are_multiples_of_a_round_width_around_the_middle_98_percent(
    pairs: list[Texts], shown: Measured
) -> None:
    table = table_of(pairs)
    found = histogram(table, every_row(table), shown, "chars")
    width = found.edges[1] - found.edges[0]
    assert width == round_width(width)
    assert found.edges == list(range(found.edges[0], found.edges[-1] + 1, width))
    assert all(edge % width == 0 for edge in found.edges)
    assert 1 <= found.bins <= BINS
    values = np.concatenate([table.lengths(each, "chars") for each in found.counts])
    low, high = np.percentile(values, [1, 99], method="nearest")
    assert found.edges[0] <= low <= high < found.edges[-1]
    assert (found.low, found.high) == (values.min(), values.max())


@given(some_pairs)
def test_no_bin_of_differences_holds_both_signs(pairs: list[Texts]) -> None:
    table = table_of(pairs)
    found = histogram(table, every_row(table), "difference", "chars")
    assert 0 in found.edges
    right = sum(found.counts["difference"][found.edges.index(0) :])
    assert right == np.count_nonzero(table.lengths("difference", "chars") >= 0)


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
    assert list(found.by_subset) == table.subsets.names
    assert found.left_out == 0
    assert len({tuple(each.edges) for each in found.by_subset.values()}) == 1
    for subset, each in found.by_subset.items():
        rows = np.flatnonzero(table.subset_of_row == subset)
        assert 1 <= each.bins <= SUBSET_BINS
        ends = [each.bin_range(place) for place in range(each.bins)]
        lengths = {name: table.lengths(name, "chars")[rows] for name in measures_of(shown)}
        assert each.counts == {
            name: [let_through(of_side, end) for end in ends] for name, of_side in lengths.items()
        }
        together = np.concatenate(list(lengths.values()))
        assert (each.low, each.high) == (together.min(), together.max())


@given(some_pairs, any_shown)
def test_stats_are_those_of_numpy(pairs: list[Texts], shown: Measured) -> None:
    table = table_of(pairs)
    lines = length_stats(table, every_row(table), shown, "chars")
    assert [line.subset for line in lines] == [*table.subsets.names, None]
    for line in lines:
        rows = every_row(table)
        if line.subset is not None:
            rows = np.flatnonzero(table.subset_of_row == line.subset)
        assert line.n == len(rows)
        assert tuple(line.spreads) == measures_of(shown)
        for measure, spread in line.spreads.items():
            lengths = table.lengths(measure, "chars")[rows]
            assert spread.mean == pytest.approx(lengths.mean())
            assert spread.median == pytest.approx(np.median(lengths))
            assert spread.p95 == pytest.approx(np.percentile(lengths, 95))
            assert spread.sd == pytest.approx(lengths.std())
            assert (spread.minimum, spread.maximum) == (lengths.min(), lengths.max())


def test_a_prompt_counts_with_each_of_its_responses() -> None:
    table = table_of([Texts(10, 1, 200), Texts(30, 5, 100)])
    line, _ = length_stats(table, every_row(table), "with_prompt", "chars")
    chosen, rejected = line.spreads["chosen"], line.spreads["rejected"]
    assert (chosen.mean, chosen.sd, chosen.minimum, chosen.maximum) == (23, 12, 11, 35)
    assert (rejected.mean, rejected.sd, rejected.minimum, rejected.maximum) == (170, 40, 130, 210)


@pytest.mark.parametrize(
    ("least", "width"),
    [(0, 1), (1, 1), (1.01, 2), (2, 2), (2.5, 5), (5, 5), (5.5, 10), (11, 20), (249.9, 500)],
)
def test_a_width_is_the_smallest_that_is_not_below(least: float, width: int) -> None:
    assert round_width(least) == width


# Mean characters of prompt, chosen and rejected, and the most of chosen and rejected.
KNOWN: dict[str | None, tuple[float, float, float, int, int]] = {
    "alpacaeval-easy": (218.6, 2064.1, 427.6, 4926, 1569),
    "alpacaeval-hard": (212.4, 1377.8, 313.7, 3758, 1328),
    "alpacaeval-length": (220.7, 1780.7, 1906.2, 6405, 7986),
    "mt-bench-easy": (465.7, 1185.9, 1625.6, 3381, 5554),
    "mt-bench-med": (330.7, 1028.2, 1533.2, 2162, 5431),
    "mt-bench-hard": (316.2, 875.4, 925.4, 2329, 3205),
    "llmbar-natural": (258.5, 294.3, 271.5, 2250, 1610),
    "llmbar-adver-neighbor": (104.8, 181.9, 607.7, 1503, 3347),
    "llmbar-adver-GPTInst": (157.0, 577.8, 1465.9, 2938, 3705),
    "llmbar-adver-GPTOut": (132.0, 245.9, 227.0, 1471, 877),
    "llmbar-adver-manual": (181.3, 484.3, 957.5, 2273, 3114),
    "refusals-dangerous": (103.4, 836.8, 1724.5, 1594, 2948),
    "refusals-offensive": (72.7, 548.0, 1019.0, 1151, 5057),
    "xstest-should-respond": (44.3, 727.0, 421.6, 2144, 1810),
    "xstest-should-refuse": (40.4, 543.5, 863.3, 1830, 2340),
    "donotanswer": (63.0, 692.4, 1325.5, 3514, 3033),
    "hep-python": (437.2, 180.9, 179.1, 864, 865),
    "hep-go": (442.8, 294.8, 291.6, 1144, 1145),
    "hep-cpp": (449.9, 259.2, 254.9, 1399, 1401),
    "hep-js": (441.9, 234.7, 231.5, 1325, 1329),
    "hep-rust": (326.3, 339.3, 334.1, 2157, 2162),
    "hep-java": (467.2, 353.6, 346.9, 1333, 1337),
    "math-prm": (161.6, 524.6, 1213.1, 3356, 3456),
    None: (236.6, 589.4, 735.9, 6405, 7986),
}


def real_spreads(real: PairTable, shown: Measured, measure: Measure) -> dict[str | None, Spread]:
    lines = length_stats(real, every_row(real), shown, "chars")
    return {line.subset: line.spreads[measure] for line in lines}


def test_the_real_subsets_have_their_known_mean_lengths(real: PairTable) -> None:
    prompts = real_spreads(real, "prompt", "prompt")
    chosen = real_spreads(real, "responses", "chosen")
    rejected = real_spreads(real, "responses", "rejected")
    assert prompts.keys() == KNOWN.keys()
    for subset, (prompt_mean, chosen_mean, rejected_mean, _, _) in KNOWN.items():
        assert round(prompts[subset].mean, 1) == prompt_mean, subset
        assert round(chosen[subset].mean, 1) == chosen_mean, subset
        assert round(rejected[subset].mean, 1) == rejected_mean, subset


def test_the_sign_of_real_differences_is_known(real: PairTable) -> None:
    """1116 chosen are longer, 1501 shorter, 368 as long."""
    found = histogram(real, every_row(real), "difference", "chars")
    zero = found.edges.index(0)
    assert sum(found.counts["difference"][:zero]) == 1501
    assert sum(found.counts["difference"][zero:]) == 1116 + 368
    assert found.equal == 368
    total = longer_lines(real, every_row(real), "chars")[-1]
    assert (total.chosen_longer, total.equal, total.rejected_longer) == (1116, 368, 1501)
