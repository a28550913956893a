from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.data import filters as limits
from explorer.data.facets import FACETS, Facet
from explorer.data.filters import Filters, LengthRange, matching_rows, rows_per_subset, select
from explorer.data.search import PLACES, checked_query, found_by
from explorer.data.table import MEASURES, UNITS, PairTable
from scoring.errors import KnownError
from tests.support.tables import row, small_table

RUST = "```rust\nfn main() {}\n```"

SMALL = small_table(
    row(subset="hep-rust", prompt="Add.", chosen="fn add() {}", rejected="fn sub() { unwrap }"),
    row(subset="hep-rust", prompt="Sort it.", chosen="fn s() { v.sort() }", rejected="sort"),
    row(subset="donotanswer", prompt="Add.", chosen="No.", rejected="Yes, dog", chosen_model="a,b"),
    row(subset="alpacaeval-easy", prompt="Dog?", chosen="A DOG dog", rejected="cat dog ddd"),
    row(subset="alpacaeval-easy", prompt="Été", chosen=RUST, rejected="x" * 25),
    row(subset="Ties", prompt="Dog?", chosen=["dog", "unwrap it"], rejected=["cat", "fn bird"]),
    row(subset="mine", prompt="", chosen="", rejected="", chosen_model="", rejected_model="a%b"),
    chunk_rows=3,
)
SMALL.tokens["demo@1.5"] = {
    "prompt": np.array([1, 2, 1, 1, 3, 1, 0], dtype=np.int32),
    "chosen": np.array([4, 9, 2, 3, 12, 1, 0], dtype=np.int32),
    "rejected": np.array([5, 1, 3, 3, 9, 1, 0], dtype=np.int32),
}

NAMES_OF_ROWS = {
    facet: [column.names[code] for code in column.codes] for facet, column in SMALL.facets.items()
}


def is_in(number: int, one: LengthRange) -> bool:
    length = SMALL.lengths(*one.what, one.tokenizer)[number]
    return (one.low is None or length >= one.low) and (one.high is None or length <= one.high)


def plain_rows(filters: Filters, apart_from: Facet | None = None) -> list[int]:
    """The rows that pass all filters but those of one facet; search has tests of its own."""
    found = found_by(SMALL.arrow, filters.query)
    return [
        number
        for number in range(len(SMALL))
        if all(
            NAMES_OF_ROWS[facet][number] in names
            for facet, names in filters.picked
            if facet != apart_from
        )
        and all(is_in(number, one) for one in filters.ranges)
        and found[number]
    ]


@st.composite
def ranges(draw: st.DrawFn) -> LengthRange:
    measure, unit = draw(st.sampled_from(MEASURES)), draw(st.sampled_from(UNITS))
    low, high = sorted(draw(st.lists(st.integers(-10, 30), min_size=2, max_size=2)))
    ends = draw(st.sampled_from([(None, high), (low, None), (low, high)]))
    return LengthRange(measure, unit, *ends, "demo@1.5" if unit == "tokens" else "")


@st.composite
def filters_of_small(draw: st.DrawFn) -> Filters:
    filters = Filters()
    for facet in draw(st.lists(st.sampled_from(FACETS), max_size=3)):
        known = [*SMALL.facets[facet].names, "nothing"]
        filters = filters.picking(facet, draw(st.lists(st.sampled_from(known), max_size=4)))
    for one in draw(st.lists(ranges(), max_size=2)):
        filters = filters.keeping(one)
    words = draw(st.sampled_from(["", "", "", "dog", "unwrap", "fn ", "sort", "A", "no such"]))
    query = checked_query(words, draw(st.sampled_from(PLACES)), False, draw(st.booleans()))
    return Filters(filters.picked, filters.ranges, query)


@given(filters_of_small())
@example(Filters().picking("shared", ["yes"]).picking("longer", ["rejected", "equal"]))
@example(Filters(ranges=(LengthRange("rejected", "chars", 25, 25),)))
def test_rows_and_counts_are_those_of_a_plain_reading(filters: Filters) -> None:
    selection = select(SMALL, filters)
    assert selection.rows.tolist() == plain_rows(filters)
    assert matching_rows(SMALL, filters).tolist() == selection.rows.tolist()
    assert tuple(selection.counts) == FACETS
    for facet in FACETS:
        passing = [NAMES_OF_ROWS[facet][number] for number in plain_rows(filters, apart_from=facet)]
        wanted = [passing.count(name) for name in SMALL.facets[facet].names]
        assert selection.counts[facet].tolist() == wanted, facet


REFUSALS: list[tuple[Callable[..., object], tuple[Any, ...], str]] = [
    *((Filters().picking, (facet, ["a"]), "One can pick by section")
      for facet in (None, "Section", ["section"])),
    *((Filters().picking, ("section", names), "must be a list of names, not ")
      for names in (None, "Chat", [10**400], ["a" * (limits.LONGEST_NAME + 1)])),
    (Filters().picking, ("subset", [*map(str, range(limits.MOST_NAMES + 1))]), "At most 500 names"),
    *((LengthRange.of, ("chosen", "chars", 0, value, ""), "A length is a whole number, not ")
      for value in ("5", True, 1.5, float("nan"), 10**9 + 1, 10**400)),
    *((LengthRange.of, ("chosen", "chars", *ends, ""), "cannot go from")
      for ends in ((None, None), (2, 1))),
    (LengthRange.of, (["chosen"], "chars", 1, 2, ""), "A length is of chosen, "),
    (LengthRange.of, ("chosen", "tokens", 1, 2, None), "name of its tokenizer"),
    (select, (SMALL, Filters(ranges=(LengthRange("chosen", "tokens", 1, 2, "org/other@1"),))),
     "'org/other@1' have not been counted here yet"),
]  # fmt: skip
"""What is called with what -> the sentence."""


@pytest.mark.parametrize(
    ("make", "given", "words"), REFUSALS, ids=lambda each: each if isinstance(each, str) else None
)
def test_what_is_no_filter_is_refused_in_a_sentence(
    make: Callable[..., object], given: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(KnownError, match=words) as caught:
        make(*given)
    assert len(str(caught.value)) < 250


def test_what_is_chosen_replaces_what_was_and_stands_in_order() -> None:
    filters = Filters().picking("code", ["yes"]).picking("section", ["b", "a", "b", "x\ud800", ""])
    assert filters.picked == (("section", ("", "a", "b", "x\ufffd")), ("code", ("yes",)))
    assert filters.picking("code", ["no"]).names("code") == ("no",)
    assert filters.picking("code", []).picked == filters.picked[:1]
    one = LengthRange.of("chosen", "chars", 1.0, 10**9, "x")
    assert one == LengthRange("chosen", "chars", 1, 10**9)
    assert Filters().keeping(replace(one, low=2)).keeping(one).ranges == (one,)


def test_a_sample_has_as_many_of_each_subset_and_a_seed_stands_for_it(demo: PairTable) -> None:
    for n in (-1, 3, 10_000):
        generator, expected = np.random.default_rng(7), list[int]()
        for subset in demo.subset_counts:
            rows = np.flatnonzero(demo.subset_of_row == subset)
            expected += generator.permutation(rows)[: max(0, n)].tolist()
        assert rows_per_subset(demo, n, seed=7).tolist() == sorted(expected)
