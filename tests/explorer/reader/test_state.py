from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.facets import FACETS
from explorer.data.filters import NO_FILTERS, Filters, LengthRange, matching_rows
from explorer.data.lengths import MEASURED
from explorer.data.search import Query
from explorer.data.table import MEASURES, UNITS, PairTable
from explorer.reader.reading import FIRST_READING, Reading
from explorer.reader.scene import PairsOf, Scene, SeenPairs, next_scene, ordered, scene
from explorer.reader.state import BY_LENGTH, PAIRS_PANELS, SORTS, Chart, PairsState, move
from scoring.errors import KnownError
from tests.explorer.browsing import ACTS, FIELDS
from tests.explorer.tables import keys, row, small_table

TABLE = small_table(
    *(
        row(
            subset="even" if number % 2 == 0 else "odd",
            prompt="p" * (number % 3),
            chosen=f"dog {'x' * (7 * number % 60)}",
            rejected=f"cat {'y' * (11 * number % 60)}",
        )
        for number in range(60)
    ),
    chunk_rows=13,
)
EVEN = Filters().picking("subset", ["even"])


def of(table: PairTable) -> PairsOf:
    """The pairs of any state are those of a table."""
    return lambda _: SeenPairs(table)


def shown(state: PairsState, table: PairTable = TABLE) -> Scene:
    return scene(state, SeenPairs(table))


def after(state: PairsState, act: str, /, **sent: object) -> Scene:
    return next_scene(state, of(TABLE), act, sent)


def at(key: str, page: int = 1, filters: Filters = NO_FILTERS) -> PairsState:
    return PairsState(TABLE.id, filters, reading=Reading(key, page))


# What a view shows.


def test_a_scene_settles_the_view_on_its_table() -> None:
    now = shown(PairsState("another", EVEN, reading=Reading("no:such", 9)))
    assert now.state == at("even:50", 2, EVEN)
    assert now.table is TABLE
    assert now.filtered.rows.tolist() == now.listed.rows.tolist() == list(range(0, 60, 2))


def test_a_scene_of_nothing_has_no_open_pair() -> None:
    now = shown(PairsState(filters=Filters(query=Query("no such"))))
    assert now.state.reading == FIRST_READING
    assert len(now.listed) == 0


@pytest.mark.parametrize("sort", ["", *(sign + by for by in BY_LENGTH for sign in ("", "-"))])
def test_the_list_is_in_the_order_asked_for(sort: str) -> None:
    rows = np.arange(0, 60, 3)
    in_order = ordered(PairsState(sort=sort), SeenPairs(TABLE), rows).tolist()
    wanted = rows.tolist()
    if sort:
        chosen, rejected = TABLE.chars["chosen"], TABLE.chars["rejected"]
        by = {"chosen": chosen, "rejected": rejected, "difference": chosen - rejected}
        lengths = by[sort.removeprefix("-")]
        wanted.sort(key=lambda each: int(lengths[each]), reverse=sort.startswith("-"))
        assert wanted != rows.tolist()
    assert in_order == wanted


def test_equally_long_pairs_stay_in_table_order_both_ways() -> None:
    table = small_table(*(row(chosen=text) for text in ("a", "bb", "c", "dd")))
    rows, pairs = np.arange(4), SeenPairs(table)
    assert ordered(PairsState(sort="chosen"), pairs, rows).tolist() == [0, 2, 1, 3]
    assert ordered(PairsState(sort="-chosen"), pairs, rows).tolist() == [1, 3, 0, 2]


def test_what_makes_sense_on_another_table_is_kept() -> None:
    reading = Reading("even:4", 2, "words", spaces=True, rendered=True)
    chart = Chart("prompt", "words", by_subset=True)
    state = PairsState("a", EVEN, sort="-chosen", reading=reading, panel="lengths", chart=chart)
    closed = Reading("", 1, "words", spaces=True, rendered=True)
    assert state.on("b") == replace(state, source="b", filters=NO_FILTERS, reading=closed)


# Steps of reading.


def test_a_step_of_reading_leaves_all_else() -> None:
    view = PairsState("", EVEN, sort="-chosen", panel="review", chart=Chart("prompt"))
    first = shown(view)
    then = after(view, "step", value=1)
    assert then.state.reading.key == first.listed.key(1)
    assert (then.state.filters, then.state.sort, then.state.panel, then.state.chart) == (
        EVEN,
        "-chosen",
        "review",
        Chart("prompt"),
    )
    assert after(then.state, "step", value=-2).state.reading == Reading(first.listed.key(29), 2)
    assert after(view, "turn", value=1).state.reading == Reading(first.listed.key(25), 2)
    assert after(view, "goto", value="odd:1").state.reading.key == "odd:1"
    assert after(view, "diff", value="off").state.reading.diff == "off"


# Filters and order.


def test_the_open_pair_stays_open_where_the_filter_keeps_it() -> None:
    now = after(at("even:58", 3), "pick", facet="subset", names=["even"])
    assert now.state == at("even:58", 1, EVEN)
    back = after(now.state, "unpick", facet="subset", name="even")
    assert back.state == at("even:58", 1)


def test_sections_and_subsets_are_ticked_as_one() -> None:
    by_section = after(at("even:58", 3), "pick", facet="section", names=["none"])
    now = after(by_section.state, "pick", facet="subset", names=["even"])
    assert now.state.filters.picked == (("subset", ("even",)),)
    assert after(now.state, "unpick", facet="subset", names=["even"]).state.filters == NO_FILTERS
    assert after(now.state, "pick", facet="section", names=[]).state.filters == NO_FILTERS


def test_the_first_pair_is_opened_where_the_filter_drops_the_open_one() -> None:
    now = after(at("odd:59", 3), "pick", facet="subset", names=["even"])
    assert now.state == at("even:0", 1, EVEN)
    assert now.listed.key(0) == "even:0"


def test_a_filter_that_keeps_nothing_closes_the_pair_and_reset_opens_one() -> None:
    now = after(at("odd:59", 3), "search", words="no such")
    assert now.state.reading == FIRST_READING
    assert after(now.state, "reset").state == at("even:0")


def test_another_order_begins_at_its_first_pair() -> None:
    now = after(at("even:0", 3), "sort", value="-chosen")
    assert now.state.sort == "-chosen"
    assert now.state.reading.key == now.listed.key(0) != "even:0"
    assert now.state.reading.page == 1


def test_what_changes_no_filter_changes_neither_page_nor_pair() -> None:
    view = at("even:2", 3)
    for act, sent in (
        ("panel", {"value": "lengths"}),
        ("chart", {"unit": "words"}),
        ("search", {"words": ""}),
        ("sort", {"value": ""}),
        ("unpick", {"facet": "subset", "name": "nothing"}),
        ("reset", {}),
    ):
        assert after(view, act, **sent).state.reading == view.reading


def test_one_name_of_several_is_dropped() -> None:
    both = Filters().picking("subset", ["even", "odd"])
    assert after(at("", 1, both), "unpick", facet="subset", name="odd").state.filters == EVEN


def test_a_search_keeps_the_parts_that_are_not_sent() -> None:
    filters = after(PairsState(), "search", words="DOG", regex=True, case=True).state.filters
    assert filters.query == Query("DOG", "all", regex=True, case=True)
    now = after(PairsState(filters=filters), "search", where="chosen")
    assert now.state.filters.query == Query("DOG", "chosen", regex=True, case=True)
    assert len(now.listed) == 0
    now = after(now.state, "search", case=False)
    assert now.state.filters.query == Query("DOG", "chosen", regex=True)
    assert len(now.listed) == 60


def test_a_range_is_of_what_the_chart_shows() -> None:
    view = PairsState(chart=Chart("prompt", "words"))
    now = after(view, "range", low=1, high=2)
    assert now.state.filters.ranges == (LengthRange("prompt", "words", 1, 2),)
    both = after(PairsState(), "range", low=5, high=None).state.filters
    assert both.ranges == (
        LengthRange("chosen", "chars", 5, None),
        LengthRange("rejected", "chars", 5, None),
    )
    one = after(PairsState(), "range", measure="rejected", low=None, high=30).state
    assert one.filters.ranges == (LengthRange("rejected", "chars", None, 30),)
    again = after(one, "range", measure="rejected", low=10, high=20).state
    assert again.filters.ranges == (LengthRange("rejected", "chars", 10, 20),)
    dropped = after(again, "unrange", measure="rejected", unit="chars")
    assert dropped.state.filters == NO_FILTERS
    assert len(dropped.listed) == 60


def test_a_range_of_tokens_is_of_the_tokenizer_that_counted() -> None:
    table = small_table(*(row() for _ in range(4)))
    counts = np.array([1, 5, 9, 5], dtype=np.int32)
    table.tokens["org/name@1.0"] = {"prompt": counts, "chosen": counts, "rejected": counts}
    chart = Chart("chosen", "tokens", tokenizer="org/name@1.0")
    now = next_scene(PairsState(chart=chart), of(table), "range", {"low": 5, "high": 5})
    assert now.listed.rows.tolist() == [1, 3]
    assert now.state.filters.ranges[0].tokenizer == "org/name@1.0"
    unranged = next_scene(now.state, of(table), "unrange", {"measure": "chosen", "unit": "tokens"})
    assert unranged.state.filters == NO_FILTERS
    with pytest.raises(KnownError, match="'' have not been counted here yet"):
        next_scene(PairsState(chart=Chart("chosen", "tokens")), of(table), "range", {"low": 5})


def test_a_chart_changes_by_what_is_sent() -> None:
    chart = Chart("prompt", "words", by_subset=True, tokenizer="demo@1")
    view = PairsState(chart=chart)
    assert move(view, "chart", {}) == view
    assert move(view, "chart", {"shown": "difference"}).chart.shown == "difference"
    assert move(view, "chart", {"unit": "tokens"}).chart == Chart(
        "prompt", "tokens", by_subset=True, tokenizer="demo@1"
    )
    for value in (False, None, 1, "true", [True]):
        assert not move(view, "chart", {"by_subset": value}).chart.by_subset
    assert move(view, "chart", {"tokenizer": "other"}).chart.tokenizer == "demo@1"


# Values that anybody may have sent.


def test_what_cannot_be_is_refused(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, Mapping[str, Any], str]] = [
        ("fly", {}, "There is no act 'fly'"),
        ("", {}, "There is no act ''"),
        ("sort", {"value": "prompt"}, "An order is one of"),
        ("sort", {}, "An order is one of"),
        ("sort", {"value": ["chosen"]}, "An order is one of"),
        (
            "panel",
            {"value": "browse"},
            "A panel is one of pairs, lengths, kinds, rewards, review,",
        ),
        ("panel", {"value": {}}, "A panel is one of"),
        ("chart", {"shown": "subset"}, "A chart is one of"),
        ("chart", {"unit": None}, "A unit is one of chars, words, tokens, not nothing"),
        ("chart", {"unit": "x" * 10**6}, "A unit is one of"),
        ("pick", {}, "One can pick by"),
        ("pick", {"facet": "subset"}, "must be a list of names, not nothing"),
        ("pick", {"facet": ["subset"], "names": []}, "One can pick by"),
        ("unpick", {"facet": {}, "name": "even"}, "One can pick by"),
        ("unpick", {"facet": "subset", "names": 5}, "must be a list of names, not 5"),
        ("search", {"words": 5}, "must be text, not int"),
        ("search", {"words": "(", "regex": True}, "no regular expression"),
        ("search", {"where": "id"}, "A search is in all"),
        ("range", {}, "cannot go from nothing to nothing"),
        ("range", {"low": float("nan")}, "A length is a whole number"),
        ("range", {"low": 10**400}, "A length is a whole number"),
        ("range", {"low": [1], "high": {}}, "A length is a whole number"),
        ("range", {"low": 2, "high": 1}, "cannot go from 2 to 1"),
        ("range", {"measure": "subset", "low": 1}, "A length is of"),
        ("range", {"measure": ["chosen"], "low": 1}, "A length is of"),
        ("unrange", {}, "A length is of"),
        ("unrange", {"measure": "chosen", "unit": "bytes"}, "A length is of"),
        ("step", {}, "A step is a whole number"),
        ("open", {"value": "no:such"}, "There is no pair 'no:such'"),
    ]
    for act, sent, message in cases:
        with subtests.test(act=act, sent=sent, message=message):
            with pytest.raises(KnownError, match=message) as caught:
                next_scene(at("even:4"), of(TABLE), act, sent)
            assert len(str(caught.value)) < 250


VALUES = st.sampled_from(
    [
        None, True, 0, 1, -1, 2.5, float("nan"), 10**400, "", "dog", "even", "(", "\ud800", "\0",
        "even:4", "odd:59", [], ["even"], ["even", "odd"], [None], {}, {"value": 1},
        *FACETS, *MEASURED, *MEASURES, *UNITS, *PAIRS_PANELS, *SORTS,
    ]
)  # fmt: skip
ACTED = st.tuples(
    st.sampled_from(ACTS), st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4)
)


@given(st.lists(ACTED, max_size=8))
def test_whatever_is_sent_the_view_stays_settled(acts: list[tuple[str, dict[str, Any]]]) -> None:
    view = shown(PairsState()).state
    for act, sent in acts:
        try:
            now = next_scene(view, of(TABLE), act, sent)
        except KnownError:
            continue
        view = now.state
        assert shown(view).state == view
        assert sorted(now.listed.rows.tolist()) == now.filtered.rows.tolist()
        assert now.filtered.rows.tolist() == matching_rows(TABLE, view.filters).tolist()


# On the benchmark.


def test_a_reader_narrows_the_real_split(real: PairTable) -> None:
    view = PairsState()
    for act, sent in (
        ("pick", {"facet": "subset", "names": ["hep-rust"]}),
        ("pick", {"facet": "longer", "names": ["rejected"]}),
        ("search", {"words": "unwrap"}),
    ):
        now = next_scene(view, of(real), act, sent)
        view = now.state
    assert len(now.listed) == 8
    assert view.reading == Reading("hep-rust:4415", 1)
    assert keys(real, now.listed.rows)[0] == "hep-rust:4415"


def test_a_bar_of_one_subsets_chart_keeps_that_subset_too() -> None:
    sent = {"measure": "chosen", "low": 10, "high": 19, "subset": "hep-go"}
    filters = move(PairsState(), "range", sent).filters
    assert filters.picked == (("subset", ("hep-go",)),)
    assert [(each.low, each.high) for each in filters.ranges] == [(10, 19)]
