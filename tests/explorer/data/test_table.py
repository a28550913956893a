"""What is known of each row: its place, lengths, facets, markers, conditions; and the data card."""

import re
from itertools import pairwise
from typing import get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest  # type: ignore[import-untyped]

from explorer.data import lengths
from explorer.data.conditions import CONDITION_KINDS, LEAST_WRITTEN, condition_of, conditions
from explorer.data.datacard import data_card
from explorer.data.facets import NONE, Facet, Marker, count_chars, count_words
from explorer.data.lengths import Measured, Scale, histogram, length_stats, measures_of
from explorer.data.table import PairTable
from scoring.benchmark import COUNTS, SUBSETS, WEIGHTS, section_of
from scoring.pairs.opening import TEXT_COLUMNS, Pairs, PairSource
from scoring.spec import text_hash
from tests.support.tables import file_table, row, small_table


def test_subsets_stand_in_the_benchmarks_order_and_unknown_ones_after_them() -> None:
    subsets = ["zebra", "hep-rust", "my-own", "alpacaeval-easy", "donotanswer", "zebra"]
    table = small_table(*(row(subset=subset) for subset in subsets))
    order = ["alpacaeval-easy", "donotanswer", "hep-rust", "my-own", "zebra"]
    assert table.subset_counts == dict.fromkeys(order, 1) | {"zebra": 2}
    assert [*table.subset_counts] == order and table.subset_of_row.tolist() == subsets


def test_rows_are_found_by_key_and_by_texts(demo: PairTable) -> None:
    for number in (0, len(demo) - 1):
        cells = demo.cells(number)
        assert demo.row_of(cells["key"]) == number
        assert demo.hashes[number] == text_hash(*(cells[name] for name in TEXT_COLUMNS))
        assert (demo.key_of(number), demo.subset_of(number)) == (cells["key"], cells["subset"])
    assert len(set(demo.keys)) == len(set(demo.hashes)) == len(demo)
    for key in (None, "no:such", "\ud800", "\0", "x" * 10**6):
        assert demo.row_of(key) is None


@pytest.mark.parametrize(
    ("source", "benchmark", "name"),
    [
        (PairSource("hub", "allenai/reward-bench", "raw", "1f"), "", "RewardBench, unfiltered"),
        (PairSource("hub", "allenai/reward-bench", "train", "1f"), "", "reward-bench train"),
        (PairSource("file", "a.json", None, "1f"), "rmb-best-of-n", "RMB, best of n · a.json"),
        (PairSource("file", "a.json", None, "1f"), "of-another-server", "a.json"),
    ],
)
def test_what_sets_of_pairs_are_called(source: PairSource, benchmark: str, name: str) -> None:
    arrow = small_table(row()).arrow.replace_schema_metadata({"benchmark": benchmark})
    table = PairTable(Pairs(source, arrow))
    assert table.name == name
    assert source.kind == "hub" or table.caption.startswith(name)


def test_of_rows_with_several_responses_it_is_said_which_are_measured() -> None:
    several = small_table(row(), row(chosen=["a"], rejected=["b", "c"])).arrow
    of_benchmark = several.replace_schema_metadata({"benchmark": "rm-bench"})
    tables = several.slice(0, 1), several, of_benchmark
    said = [file_table("a.json", each).measured_response for each in tables]
    assert said == ["", "first", "concise"]


# Facets.


def names_of(table: PairTable, facet: Facet) -> list[str]:
    column = table.facets[facet]
    return [column.names[code] for code in column.codes]


def test_the_longer_side_is_told_in_characters_and_a_prompt_of_two_subsets_is_shared() -> None:
    table = small_table(
        row(prompt="twice", subset="a", chosen="ab"),
        row(prompt="twice", subset="a", chosen="éé", rejected="ab"),
        row(prompt="both", subset="a", chosen=""),
        row(prompt="both", subset="b"),
        row(prompt="once", subset="b"),
    )
    assert names_of(table, "longer") == ["chosen", "equal", "rejected", "equal", "equal"]
    assert names_of(table, "shared") == ["no", "no", "yes", "yes", "no"]
    assert [table.same_prompt(number).tolist() for number in range(5)] == [[1], [0], [3], [2], []]


def test_a_card_and_then_prompt_chosen_and_rejected_are_looked_at_in_that_order() -> None:
    table = small_table(
        *(row(prompt=written) for written in ("```c++\nx", "```123")),
        row(prompt="```\nx\n```\nthen\n```sh\ny\n```"),
        row(prompt="x", chosen="```go", rejected="```rust"),
        row(prompt="```", chosen="x", rejected="```rust"),
        row(prompt="x", chosen="x", rejected="x"),
        row(subset="hep-rust", prompt="```py"),
    )
    shown = ["C++", "unnamed", "Shell", "Go", "Rust", NONE, "Rust"]
    assert names_of(table, "language") == shown
    assert names_of(table, "code") == ["no" if each == NONE else "yes" for each in shown]


LETTERS = " \t\n\r\f\v\0a\u00a0\u0085é日🌈"
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text(LETTERS)


@given(st.lists(st.lists(TEXTS, max_size=6), max_size=4))
def test_characters_and_words_are_those_that_python_counts(chunks: list[list[str]]) -> None:
    texts = pa.chunked_array(
        [pa.array(chunk, pa.large_string()) for chunk in chunks], pa.large_string()
    )
    flat = [text for chunk in chunks for text in chunk]
    assert count_chars(texts).tolist() == [len(text) for text in flat]
    assert count_words(texts).tolist() == [len(text.encode().split()) for text in flat]


MARKED: dict[Marker, tuple[list[str], list[str]]] = {
    "fence": (["So:\n  ```\nx", "~~~\nx"], ["`x`", "a ``` b"]),
    "list": (["Two:\n* a\n* b", "  10) a", "• a"], ["a - b", "-a", "1.5 m", "--- \n"]),
    "heading": (["# Answer\n\n5", "x\n### More"], ["#tag", "#include <x>", "    # x"]),
    "bold": (["a **b** c", "**two words**:"], ["a ** b ** c", "2**3", "__init__"]),
    "table": (["| a | b |\n|---|---|\n| 1 | 2 |"], ["a | b", "---", "-- | --"]),
    "refusal": (
        ["I’m very sorry. No.", "Well, I CAN'T.", "Dear user,\n\nI must respectfully decline."],
        ["A cannot be B", "I cannoli", "x" * 400 + " I cannot do that."],
    ),
    "apology": (["I apologize.", "x " * 999 + "Sorry."], ["a sorrylooking dog", "unapologetic"]),
}
"""Marker -> texts that have it, and those that lack it."""


@pytest.mark.parametrize("marker", get_args(Marker))
def test_a_marker_is_found_where_it_is_and_nowhere_else(marker: Marker) -> None:
    have, lack = MARKED[marker]
    texts = [*have, *lack]
    sides = zip(texts, texts[::-1], strict=True)
    table = small_table(*(row(chosen=chosen, rejected=rejected) for chosen, rejected in sides))
    expected = [True] * len(have) + [False] * len(lack)
    assert [side.tolist() for side in table.markers[marker]] == [expected, expected[::-1]]


# Named subsets by what facets tell.


def test_whose_response_has_a_marker_and_which_models_have_enough_pairs() -> None:
    sides = (("- a", "- b"), ("- a", "x"), ("x", "- b"), *[("x", "x")] * (LEAST_WRITTEN - 3))
    table = small_table(
        *(
            row(chosen=chosen, rejected=rejected, chosen_model="often", rejected_model=f"m{n // 2}")
            for n, (chosen, rejected) in enumerate(sides)
        )
    )
    rows = {"chosen": [0, 1], "rejected": [0, 2], "both": [0], "only_chosen": [1]}
    for who, wanted in rows.items():
        found = condition_of(table, f"marker:list:{who}")
        assert np.flatnonzero(found.mask).tolist() == wanted
    models = [each.id for each in conditions(table) if each.kind.endswith("model")]
    assert models == ["chosen_model:often"]


def test_every_condition_is_found_by_its_id_and_lengths_are_cut_in_parts_that_hold_each_pair_once(
    real: PairTable,
) -> None:
    found = {each.id: each for each in conditions(real)}
    assert {each.kind for each in found.values()} == set(CONDITION_KINDS)
    assert (found["section:Safety"].n, found["subset:math-prm"].n) == (740, 447)
    assert len({each.name for each in found.values()}) == len(found)
    for id_, each in found.items():
        assert each.n > 0 and (condition_of(real, id_).mask == each.mask).all()
    chars = [each.mask for each in found.values() if each.kind == "chosen_chars"]
    assert len(chars) == 4 and (np.sum(chars, axis=0) == 1).all()
    assert all(600 < mask.sum() < 900 for mask in chars)
    by = [each.mask for id_, each in found.items() if id_.startswith("longer_by:chosen:")]
    assert len(by) == 3 and (np.sum(by, axis=0) == found["longer:chosen"].mask).all()


# Lengths: histograms that lose no pair, and ranges that filter what a bar counts.


def sized_row(prompt: int, chosen: int, rejected: int, subset: str = "own") -> dict[str, object]:
    """A row whose texts have these lengths in characters."""
    return row(prompt="x" * prompt, chosen="x" * chosen, rejected="x" * rejected, subset=subset)


length = st.one_of(st.integers(0, 60), st.integers(0, 3000))
some_texts = st.builds(sized_row, length, length, length, st.sampled_from(["own", "hep-go"]))
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
        of_pairs = table.lengths(measure, "chars").tolist()
        for (low, high), count in zip(ranges, counts, strict=True):
            above = [n for n in of_pairs if low is None or n >= low]
            assert count == sum(high is None or n <= high for n in above)
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


# The data card agrees with the tables of the benchmark and with the real data.

CARD = data_card()


def test_every_subset_is_there_once_with_the_counts_of_the_benchmark() -> None:
    assert {card.subset: card.pairs for card in CARD.subsets} == COUNTS
    assert tuple(card.subset for card in CARD.subsets) == SUBSETS
    assert sum(card.raw for card in CARD.subsets) == 5123
    for card in CARD.subsets:
        assert (card.section, card.weight) == (section_of(card.subset), WEIGHTS[card.subset])
        assert card.pairs <= card.raw <= card.collected
        assert card.may_harm == (card.section == "Safety")
        assert bool(card.language) == card.subset.startswith("hep-")


def test_where_upstreams_word_on_lengths_is_not_borne_out_the_card_gives_the_count(
    real: PairTable,
) -> None:
    """Its side is longer in more pairs than chance gives; neither is, where it names none."""
    for card in CARD.subsets:
        ahead = real.lengths("difference", "chars")[real.subset_of_row == card.subset]
        longer = {"chosen": int((ahead > 0).sum()), "rejected": int((ahead < 0).sum())}
        most = "chosen" if longer["chosen"] >= longer["rejected"] else "rejected"
        uneven = binomtest(longer[most], sum(longer.values())).pvalue < 0.05
        counts = [f"the {side} .*longer in {n} of {card.pairs} pairs" for side, n in longer.items()]
        said = re.search("|".join(counts), card.note or "")
        assert (most if uneven else "neutral") == card.length or said, card.subset
