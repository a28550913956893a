from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.settings import DEMO_PAIRS
from explorer.data.facets import FACETS, Facet
from explorer.data.filters import (
    LONGEST_NAME,
    MOST_NAMES,
    NO_FILTERS,
    Filters,
    LengthRange,
    matching_rows,
    ranges_in_order,
    rows_per_subset,
    select,
)
from explorer.data.search import PLACES, Query, checked_query, found_by
from explorer.data.table import MEASURES, UNITS, PairTable
from scoring.benchmark import SUBSETS
from scoring.errors import KnownError
from scoring.pairs.opening import read_pairs
from tests.support.tables import row, small_table

DEMO = PairTable(read_pairs(DEMO_PAIRS, kind="demo"))
RUST = "```rust\nfn main() {}\n```"

SMALL = small_table(
    row(subset="hep-rust", prompt="Add.", chosen="fn add() {}", rejected="fn sub() { unwrap }"),
    row(subset="hep-rust", prompt="Sort it.", chosen="fn s() { v.sort() }", rejected="sort"),
    row(subset="donotanswer", prompt="Add.", chosen="No.", rejected="Yes, dog", chosen_model="a,b"),
    row(subset="alpacaeval-easy", prompt="Dog?", chosen="A DOG dog", rejected="cat dog ddd"),
    row(subset="alpacaeval-easy", prompt="Été", chosen=RUST, rejected="x" * 25),
    row(subset="Ties", prompt="Dog?", chosen=["dog", "unwrap it"], rejected=["cat", "fn bird"]),
    row(subset="mine", prompt="", chosen="", rejected="", chosen_model="", rejected_model="a%b"),
    row(subset="zebra", prompt="Sort it.", chosen="```\nx\n```", rejected="y", chosen_model="a,b"),
    chunk_rows=3,
)
COUNTED = {"prompt": [1, 2, 1, 1, 3, 1, 0, 2], "chosen": [4, 9, 2, 3, 12, 1, 0, 5]}
SMALL.tokens["demo@1.5"] = {
    **{name: np.array(counts, dtype=np.int32) for name, counts in COUNTED.items()},
    "rejected": np.array([5, 1, 3, 3, 9, 1, 0, 1], dtype=np.int32),
}


# What each filter means, to hold against.


FACETS_OF = {
    facet: [column.names[code] for code in column.codes] for facet, column in SMALL.facets.items()
}


def lengths(one: LengthRange) -> list[int]:
    counted: list[int] = SMALL.lengths(*one.what, one.tokenizer).tolist()
    return counted


def plain_rows(filters: Filters, but: Facet | None = None) -> list[int]:
    """The rows that pass all filters but those of one facet."""
    found = found_by(SMALL.arrow, filters.query)
    return [
        number
        for number in range(len(SMALL))
        if all(FACETS_OF[facet][number] in names for facet, names in filters.picked if facet != but)
        and all(
            (one.low is None or lengths(one)[number] >= one.low)
            and (one.high is None or lengths(one)[number] <= one.high)
            for one in filters.ranges
        )
        and found[number]
    ]


@st.composite
def ranges(draw: st.DrawFn) -> LengthRange:
    measure, unit = draw(st.sampled_from(MEASURES)), draw(st.sampled_from(UNITS))
    low, high = sorted(draw(st.lists(st.integers(-10, 30), min_size=2, max_size=2)))
    open_end = draw(st.sampled_from(["low", "high", "neither"]))
    return LengthRange(
        measure,
        unit,
        None if open_end == "low" else low,
        None if open_end == "high" else high,
        "demo@1.5" if unit == "tokens" else "",
    )


@st.composite
def filters_of_small(draw: st.DrawFn) -> Filters:
    filters = NO_FILTERS
    for facet in draw(st.lists(st.sampled_from(FACETS), max_size=3)):
        known = [*SMALL.facets[facet].names, "nothing"]
        filters = filters.picking(facet, draw(st.lists(st.sampled_from(known), max_size=4)))
    for one in draw(st.lists(ranges(), max_size=2)):
        filters = filters.keeping(one)
    words = draw(st.sampled_from(["", "", "", "dog", "unwrap", "fn ", "sort", "A", "no such"]))
    query = checked_query(words, draw(st.sampled_from(PLACES)), False, draw(st.booleans()))
    return Filters(filters.picked, filters.ranges, query)


@given(filters_of_small())
@example(NO_FILTERS)
@example(Filters().picking("shared", ["yes"]).picking("longer", ["rejected", "equal"]))
@example(Filters(query=Query("unwrap", "chosen")))
def test_rows_and_counts_are_those_of_a_plain_reading(filters: Filters) -> None:
    selection = select(SMALL, filters)
    assert selection.rows.tolist() == plain_rows(filters)
    assert matching_rows(SMALL, filters).tolist() == selection.rows.tolist()
    assert tuple(selection.counts) == FACETS
    for facet in FACETS:
        passing = [FACETS_OF[facet][number] for number in plain_rows(filters, but=facet)]
        wanted = [passing.count(name) for name in SMALL.facets[facet].names]
        assert selection.counts[facet].tolist() == wanted, facet


def test_both_ends_of_a_range_are_in_it() -> None:
    longest = LengthRange("rejected", "chars", 25, 25)
    assert matching_rows(SMALL, Filters(ranges=(longest,))).tolist() == [4]


def test_tokens_that_were_not_counted_are_said_to_be() -> None:
    of_another = Filters(ranges=(LengthRange("chosen", "tokens", 1, None, "org/other@1"),))
    with pytest.raises(KnownError, match="'org/other@1' have not been counted here yet"):
        select(SMALL, of_another)


# Values that anybody may have sent.


REFUSALS: list[tuple[Callable[..., object], tuple[Any, ...], str]] = [
    *((Filters().picking, (facet, ["a"]), "One can pick by section")
      for facet in (None, "Section", ["section"], 10**400, True)),
    *((Filters().picking, ("section", names), "must be a list of names, not ")
      for names in (None, "Chat", {"Chat": 1}, [["Chat"]], [10**400], ["a" * (LONGEST_NAME + 1)])),
    (Filters().picking, ("subset", [*map(str, range(MOST_NAMES + 1))]), "At most 500 names"),
    *((LengthRange.of, ("chosen", "chars", 0, value, ""), "A length is a whole number, not ")
      for value in ("5", True, 1.5, float("nan"), -float("inf"), 10**9 + 1, 10**400, [1])),
    *((LengthRange.of, ("chosen", "chars", *ends, ""), "cannot go from")
      for ends in ((None, None), (2, 1), (0, -1))),
    *((LengthRange.of, (*what, 1, 2, ""), "A length is of chosen, ")
      for what in (("id", "chars"), ("chosen", "bytes"), (["chosen"], "chars"))),
    *((LengthRange.of, ("chosen", "tokens", 1, 2, name), "name of its tokenizer")
      for name in (None, ["a"], "a" * (LONGEST_NAME + 1))),
]  # fmt: skip
"""What is called with what -> the sentence."""


@pytest.mark.parametrize(("make", "given", "words"), REFUSALS, ids=lambda each: repr(each)[-40:])
def test_what_is_no_filter_is_refused_in_a_sentence(
    make: Callable[..., object], given: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(KnownError, match=words) as caught:
        make(*given)
    assert len(str(caught.value)) < 250


def test_what_is_picked_replaces_what_was_and_stands_in_order() -> None:
    filters = Filters().picking("code", ["yes"]).picking("section", ["b", "a", "b", "x\ud800", ""])
    assert filters.picked == (("section", ("", "a", "b", "x\ufffd")), ("code", ("yes",)))
    assert filters.picking("code", ["no"]).names("code") == ("no",)
    assert filters.picking("code", []).picked == filters.picked[:1]


def test_there_is_one_range_of_a_kind_and_they_have_an_order() -> None:
    first = LengthRange("chosen", "chars", 1, 10**9)
    second = LengthRange("chosen", "words", 4, None)
    third = LengthRange("difference", "chars", 1, None)
    filters = Filters().keeping(third).keeping(replace(second, low=2)).keeping(first)
    wanted = first, second, third
    assert filters.keeping(second).ranges == ranges_in_order(reversed(wanted)) == wanted
    assert LengthRange.of("chosen", "chars", 1.0, -0.0 + 10**9, "x") == first


# Samples.


def test_a_sample_takes_as_many_of_each_subset_in_table_order() -> None:
    for n in (-1, 3, 10_000):
        rows = rows_per_subset(DEMO, n, seed=0)
        subsets = DEMO.subset_of_row[rows].tolist()
        assert {subset: subsets.count(subset) for subset in SUBSETS} == {
            subset: min(max(0, n), count) for subset, count in DEMO.subset_counts.items()
        }
        assert rows.tolist() == sorted(set(rows.tolist()))


def test_a_seed_stands_for_the_same_sample_for_ever() -> None:
    generator, expected = np.random.default_rng(7), []
    for subset in DEMO.subset_counts:
        rows = np.flatnonzero(DEMO.subset_of_row == subset)
        expected += generator.permutation(rows)[:3].tolist()
    assert rows_per_subset(DEMO, 3, seed=7).tolist() == sorted(expected)
