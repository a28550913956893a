from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.settings import DEMO_PAIRS
from explorer.data.datacard import length_category, subset_card
from explorer.data.facets import COLUMNS, FACETS, NONE, Facet
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
from explorer.data.search import PLACES, Query, checked_query
from explorer.data.table import MEASURES, UNITS, Measure, PairTable, Unit
from scoring.benchmark import SUBSETS, section_of
from scoring.errors import KnownError
from scoring.pairs.opening import TEXT_COLUMNS, read_pairs
from tests.support.tables import keys, row, small_table

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


# The plainest Python that says what each filter means, to hold against.


def plain_facets(each: dict[str, Any], all_rows: list[dict[str, Any]]) -> dict[Facet, str]:
    card = subset_card(each["subset"])
    texts = [each[column] for column in TEXT_COLUMNS]
    fenced = any("```" in text for text in texts)
    rust = any("```rust" in text for text in texts)
    language = (card and card.language) or ("Rust" if rust else "unnamed" if fenced else NONE)
    chosen, rejected = len(each["chosen"]), len(each["rejected"])
    others = {other["subset"] for other in all_rows if other["prompt"] == each["prompt"]}
    longer = "chosen" if chosen > rejected else "rejected" if chosen < rejected else "equal"
    return {
        "section": section_of(each["subset"]) or NONE,
        "subset": each["subset"],
        "chosen_model": each["chosen_model"],
        "rejected_model": each["rejected_model"],
        "longer": longer,
        "length": length_category(each["subset"]) or NONE,
        "shared": "yes" if len(others) > 1 else "no",
        "code": "no" if language == NONE else "yes",
        "language": language,
        **dict.fromkeys(COLUMNS, NONE),
    }


def plain_length(number: int, each: dict[str, Any], measure: str, unit: str) -> int:
    if measure == "difference":
        sides = (plain_length(number, each, side, unit) for side in ("chosen", "rejected"))
        return next(sides) - next(sides)
    if unit == "tokens":
        return int(SMALL.tokens["demo@1.5"][measure][number])
    text = each[measure]
    return len(text) if unit == "chars" else len(text.encode().split())


def plain_search(each: dict[str, Any], query: Query) -> bool:
    texts = {"prompt": [each["prompt"]]}
    for side in ("chosen", "rejected"):
        texts[side] = [each[side], *(more["text"] for more in each[f"more_{side}"])]
    sides = texts if query.where == "all" else [query.where]
    fold: Callable[[str], str] = str if query.case else str.lower
    return any(fold(query.words) in fold(text) for side in sides for text in texts[side])


ROWS = SMALL.arrow.to_pylist()
PLAIN = [plain_facets(each, ROWS) for each in ROWS]


def plain_rows(filters: Filters, but: Facet | None = None) -> list[int]:
    """The rows that pass all filters but those of one facet."""
    return [
        number
        for number, each in enumerate(ROWS)
        if all(PLAIN[number][facet] in names for facet, names in filters.picked if facet != but)
        and all(
            (one.low is None or plain_length(number, each, *one.what) >= one.low)
            and (one.high is None or plain_length(number, each, *one.what) <= one.high)
            for one in filters.ranges
        )
        and (not filters.query.words or plain_search(each, filters.query))
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
        passing = [PLAIN[number][facet] for number in plain_rows(filters, but=facet)]
        wanted = [passing.count(name) for name in SMALL.facets[facet].names]
        assert selection.counts[facet].tolist() == wanted, facet


def test_a_name_that_the_table_lacks_keeps_nothing_and_the_counts_say_what_would() -> None:
    selection = select(SMALL, Filters().picking("subset", ["no such"]))
    assert selection.rows.tolist() == []
    assert dict(
        zip(SMALL.facets["subset"].names, selection.counts["subset"].tolist(), strict=True)
    ) == {"alpacaeval-easy": 2, "donotanswer": 1, "hep-rust": 2, "Ties": 1, "mine": 1, "zebra": 1}
    assert selection.counts["section"].sum() == 0


def test_both_ends_of_a_range_are_in_it() -> None:
    longest = LengthRange("rejected", "chars", 25, 25)
    assert matching_rows(SMALL, Filters(ranges=(longest,))).tolist() == [4]
    below = LengthRange("difference", "chars", None, -1)
    assert matching_rows(SMALL, Filters(ranges=(below,))).tolist() == plain_rows(
        Filters().picking("longer", ["rejected"])
    )


@pytest.mark.parametrize("look", [select, matching_rows])
def test_tokens_that_were_not_counted_are_said_to_be(look: Callable[..., object]) -> None:
    of_another = Filters(ranges=(LengthRange("chosen", "tokens", 1, None, "org/other@1"),))
    with pytest.raises(KnownError, match="'org/other@1' have not been counted here yet"):
        look(SMALL, of_another)


# Values that anybody may have sent.


PICKING, NAMES = "One can pick by section", "must be a list of names, not "
MEASURED, WHOLE = "A length is of chosen, ", "A length is a whole number, not "
NO_FACETS: tuple[object, ...] = (None, 5, "", "id", "Section", ["section"], {}, 10**400, True)
NO_NAMES: tuple[object, ...] = (
    None, 5, "Chat", {"Chat": 1}, [["Chat"]], [None], [1.5], [10**400], ["a" * (LONGEST_NAME + 1)],
    [b"a"],
)  # fmt: skip
REFUSALS: list[tuple[Callable[..., object], tuple[Any, ...], str]] = [
    *((Filters().picking, (facet, ["a"]), PICKING) for facet in NO_FACETS),
    *((Filters().picking, ("section", names), NAMES) for names in NO_NAMES),
    (Filters().picking, ("subset", [*map(str, range(MOST_NAMES + 1))]), "At most 500 names"),
    *((LengthRange.of, ("chosen", "chars", *ends, ""), WHOLE)
      for value in ("5", True, 1.5, float("nan"), -float("inf"), 10**9 + 1, 10**400, [1], b"1")
      for ends in ((value, None), (0, value))),
    *((LengthRange.of, ("chosen", "chars", *ends, ""), "cannot go from")
      for ends in ((None, None), (2, 1), (0, -1))),
    *((LengthRange.of, (*what, 1, 2, ""), MEASURED)
      for what in (("id", "chars"), ("chosen", "bytes"), (None, None), (["chosen"], "chars"))),
    *((LengthRange.of, ("chosen", "tokens", 1, 2, name), "name of its tokenizer")
      for name in (None, 5, ["a"], "a" * (LONGEST_NAME + 1))),
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
    filters = Filters().picking("subset", ["b", "a", "b", "x\ud800", ""])
    assert filters.picked == (("subset", ("", "a", "b", "x\ufffd")),)
    filters = Filters().picking("code", ["yes"]).picking("section", ["Chat"])
    assert [facet for facet, _ in filters.picked] == ["section", "code"]
    assert filters.picking("code", ["no"]).names("code") == ("no",)
    assert filters.picking("code", []).picked == (("section", ("Chat",)),)


def test_there_is_one_range_of_a_kind_and_they_have_an_order() -> None:
    def one(measure: Measure, unit: Unit, low: int) -> LengthRange:
        return LengthRange(measure, unit, low, None)

    filters = Filters().keeping(one("difference", "chars", 1)).keeping(one("chosen", "words", 2))
    filters = filters.keeping(one("chosen", "chars", 3)).keeping(one("chosen", "words", 4))
    wanted = one("chosen", "chars", 3), one("chosen", "words", 4), one("difference", "chars", 1)
    assert filters.ranges == ranges_in_order(reversed(wanted)) == wanted
    assert LengthRange.of("chosen", "chars", 1.0, -0.0 + 10**9, "x") == LengthRange(
        "chosen", "chars", 1, 10**9
    )


# On the benchmark.


def test_selections_on_the_real_split(real: PairTable) -> None:
    def n(filters: Filters) -> int:
        return len(matching_rows(real, filters))

    rust = Filters(query=Query("unwrap")).picking("subset", ["hep-rust"])
    selection = select(real, rust.picking("longer", ["rejected"]))
    assert len(selection.rows) == 8
    assert keys(real, selection.rows)[0] == "hep-rust:4415"
    longer = dict(zip(("chosen", "equal", "rejected"), selection.counts["longer"], strict=True))
    assert longer["rejected"] == 8
    assert sum(longer.values()) == n(rust)


# Samples.


def test_a_sample_takes_as_many_of_each_subset_in_table_order() -> None:
    for n in (-1, 0, 3, 9):
        rows = rows_per_subset(DEMO, n, seed=0)
        subsets = DEMO.subset_of_row[rows].tolist()
        assert {subset: subsets.count(subset) for subset in SUBSETS} == {
            subset: min(max(0, n), count) for subset, count in DEMO.subset_counts.items()
        }
        assert rows.tolist() == sorted(set(rows.tolist()))
    assert rows_per_subset(DEMO, 10_000, seed=0).tolist() == list(range(len(DEMO)))


def test_a_seed_stands_for_the_same_sample_for_ever() -> None:
    generator, expected = np.random.default_rng(7), []
    for subset in DEMO.subset_counts:
        rows = np.flatnonzero(DEMO.subset_of_row == subset)
        expected += generator.permutation(rows)[:3].tolist()
    assert rows_per_subset(DEMO, 3, seed=7).tolist() == sorted(expected)
