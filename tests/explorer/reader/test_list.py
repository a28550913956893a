"""The list and its facets: which pairs in which order, which is open, and how they are written."""

import re
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.search import Query
from explorer.data.table import PairTable
from explorer.reader.filter_html import MOST_SHOWN, facets_html
from explorer.reader.listing import CELL_BYTES, CELL_CHARS, MOST_MARKS, excerpt
from explorer.reader.reading import PAGE_ROWS, resolve_key
from explorer.reader.scene import Scene, ScenePairs, scene
from explorer.reader.state import PairsState, changed
from explorer.tabs.pairs.list_html import list_of_pairs_html
from scoring.errors import KnownError
from tests.support.fields import MODEL, small_field
from tests.support.html_reading import HtmlReading, macro_html
from tests.support.tables import file_table, row, small_table


def shown(state: PairsState) -> Scene:
    field = small_field()
    return scene(state, ScenePairs(field.table, field))


def listed(state: PairsState) -> list[int]:
    return [int(row) for row in shown(state).listed.rows]


@pytest.mark.parametrize(
    ("model", "kind", "rows"),
    [
        (MODEL, "losses", [3, 2]),
        (MODEL, "ties", [7]),
        (MODEL, "missing", [6]),
        (MODEL, "near", [7, 2]),
        (MODEL, "confident", [3]),
        (MODEL, "wins", [4, 0, 1, 5]),
        (MODEL, "all", [3, 2, 7, 1, 5, 0, 4, 6]),  # what is not known comes last
        ("half", "wins", [1, 2, 3, 0]),
    ],
)
def test_kinds_are_what_they_say_and_stand_in_a_fitting_order(
    model: str, kind: str, rows: list[int]
) -> None:
    assert listed(PairsState(model=model, kind=kind)) == rows  # type: ignore[arg-type]


def test_margins_in_a_range_are_kept_and_all_counts_follow() -> None:
    """Margins of `MODEL` are 1.5, 0.5, -0.5, -3.5, 4.5, 0.5, none, 0."""
    view = PairsState(model=MODEL, kind="all", margins=(-0.5, 0.5))
    now = shown(view)
    assert sorted(now.listed.rows.tolist()) == [1, 2, 5, 7]
    assert (now.counts["wins"], now.counts["losses"], now.counts["missing"]) == (2, 1, 0)
    assert now.filtered.counts["subset"].sum() == 4
    assert sorted(listed(replace(view, subset=("hep-go",), margins=(1.0, None)))) == [0]


TABLE = small_table(*(row(subset="odd" if number % 2 else "even") for number in range(60)))
"""Without outcomes."""
EVEN = PairsState(subset=("even",))


def alone(state: PairsState) -> Scene:
    return scene(state, ScenePairs(TABLE))


PLACES: dict[str, tuple[PairsState, tuple[str, int | None, int]]] = {
    "the first of all": (PairsState(), ("even:0", 0, 1)),
    "the first of a page": (replace(EVEN, page=10**7), ("even:50", 25, 2)),
    "the one that is asked for, on its page": (
        replace(EVEN, key="even:58", page=9), ("even:58", 29, 2),
    ),
    "one outside the list": (replace(EVEN, key="odd:1", page=2), ("odd:1", None, 2)),
    "the one that was open": (replace(EVEN, keep="even:58"), ("even:58", 29, 2)),
    "the first, as the list lacks what was open": (replace(EVEN, keep="odd:59"), ("even:0", 0, 1)),
    "the one that is asked for, not what was open": (
        replace(EVEN, keep="even:58", key="even:2"), ("even:2", 1, 1),
    ),
}  # fmt: skip
"""Which pair is open -> the state, and the pair, its place in the list and the page of that."""


@pytest.mark.parametrize("name", PLACES)
def test_a_pair_is_open_and_the_list_is_on_its_page(name: str) -> None:
    state, place = PLACES[name]
    now = alone(state)
    assert (now.key, now.place, now.page) == place


def test_any_pair_is_another_one_of_the_list() -> None:
    found = {alone(replace(EVEN, random=True, keep="even:4")).key for _ in range(300)}
    assert "even:4" not in found and len(found) > 20
    assert all(each.startswith("even") for each in found)


# What addresses say, and where links lead.

parse = PairsState.parse


def test_spaces_about_a_search_count_in_an_expression_alone() -> None:
    assert parse("q=++dog+")[0].query == Query("dog")
    assert parse("q=+dog&regex=1&in=chosen&case=1")[0].query == Query(" dog", "chosen", True, True)


def test_what_makes_sense_on_another_table_is_kept() -> None:
    kept = {"sort": "-chosen", "diff": "words", "spaces": True, "panel": "lengths", "unit": "words"}
    state = changed(PairsState("a", subset=("x",), key="x:1", page=2, model="m"), kept)
    assert state.on("b") == changed(PairsState("b"), kept)


def test_of_another_model_what_depends_on_one_is_left() -> None:
    state = PairsState(model="a", kind="all", against="b", cell="both", margins=(0.0, None))
    assert state.of("c") == PairsState(model="c")
    assert replace(state, against="").of("c") == PairsState(model="c", kind="all")


# The list as it is written: inert and small whatever the texts are; what keys stand for


PAGE_BYTES = 63_000


@given(
    words=st.text("<>&\"'`${}=/\\ \n\tsonclik😀", max_size=40) | st.text(max_size=400),
    query=st.sampled_from(["", "s", "<", "&"]),
)
def test_a_cell_stays_a_text_and_small(words: str, query: str) -> None:
    html = macro_html("excerpt", excerpt(words, Query(query)))
    seen = HtmlReading(html, {"mark"})
    assert seen.words.strip("…") in (words if "<mark>" in html else " ".join(words.split()))
    assert len(html.encode(errors="replace")) <= CELL_BYTES + 13 * MOST_MARKS + 6


@pytest.mark.parametrize("letters", ['&"<', "𒐫<"])
def test_a_page_of_the_worst_cells_stays_small(letters: str) -> None:
    words = (letters * 200)[:CELL_CHARS]
    rows = [
        row(id=number, prompt=words, chosen=f"{words}{number}", rejected=f"{number}{words}")
        for number in range(PAGE_ROWS + 1)
    ]
    table = small_table(*rows, chunk_rows=7)
    for query in ("", *letters):
        now = scene(PairsState(words=query), ScenePairs(table))
        page = list_of_pairs_html(now)
        assert page.count("<tr") == PAGE_ROWS + 1
        assert ("<mark>" in page) == bool(query)
        assert len(page.encode()) < PAGE_BYTES


MINE = small_table(*(row() for _ in range(60)), chunk_rows=7)


SPACED = small_table(row(subset=" a", id="1 "), row(subset="a", id="1"))
MEANT = [(MINE, " 30 ", "mine:30"), (SPACED, " a:1 ", " a:1 "), (SPACED, "  a:1 ", "a:1")]


@pytest.mark.parametrize(("table", "typed", "key"), MEANT, ids=["id", "key", "spaces"])
def test_a_pair_is_found_by_its_key_or_its_id(table: PairTable, typed: str, key: str) -> None:
    assert resolve_key(table, typed) == key


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("mine:60", r"There is no pair .* as in mine:0"),
        ("\ud800", r"There is no pair .* as in mine:0"),
        ("x" * 10**6, r"There is no pair .* as in mine:0"),
        ("7", r"Several pairs have the id .7.: a:7, b:7"),
    ],
)
def test_a_key_of_no_pair_or_of_several_is_refused(key: str, told: str) -> None:
    table = MINE if key != "7" else small_table(row(subset="a", id=7), row(subset="b", id=7))
    with pytest.raises(KnownError, match=told) as caught:
        resolve_key(table, key)
    assert len(str(caught.value)) < 200


# Facets: where a press leads, links of golden texts in tests/explorer/tabs/pairs/addresses say


BOX = re.compile(
    r'aria-checked="(\w+)".*?class="name">(.*?)</span><span class="n">(.*?)</span>', re.DOTALL
)


def facet(name: str, table: PairTable, state: PairsState | None = None) -> list[tuple[str, ...]]:
    """Whether each name of a facet is picked, the name, and its count."""
    html = facets_html(scene(state or PairsState(), ScenePairs(table)))
    names = html.partition(f'data-facet="{name}"')[2].partition("data-facet=")[0]
    return [(*map(unescape, box),) for box in BOX.findall(names)]


def test_picked_names_that_the_table_lacks_are_there_to_be_unpicked(demo: PairTable) -> None:
    gone = "<no such subset>"
    shown = facet("subset", demo, PairsState(subset=(gone, "hep-go")))
    picked = [box for box in shown if box[0] == "true"]
    assert sorted(picked) == [("true", gone, "0"), ("true", "hep-go", "8"), ("true", "none", "0")]


def test_the_most_frequent_of_many_names_are_shown() -> None:
    names = [f"m{number}" for number in range(MOST_SHOWN + 40)]
    table = small_table(*(row(chosen_model=each) for each in (*names, "m95", "m95", "m7")))
    shown = facet("chosen_model", table)
    assert len(shown) == MOST_SHOWN
    assert shown[:2] == [("false", "m95", "3"), ("false", "m7", "2")]


def test_a_subset_is_called_without_its_section() -> None:
    subsets = ["Helpfulness/Code", "Helpfulness/Chat/Long", "Harmlessness/S1", "/own"]
    arrow = small_table(*(row(subset=each) for each in subsets)).arrow
    table = file_table("a.json", arrow.replace_schema_metadata({"benchmark": "rmb"}))
    assert {"Chat/Long", "Code", "S1", "/own"} < {name for _, name, _ in facet("subset", table)}
