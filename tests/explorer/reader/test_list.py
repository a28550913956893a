"""The list and its facets: inert and small whatever the texts are; what keys stand for."""

import re
from html import unescape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.search import Query
from explorer.data.table import PairTable
from explorer.reader.filter_html import MOST_SHOWN, facets_html
from explorer.reader.listing import (
    CELL_BYTES,
    CELL_CHARS,
    MOST_MARKS,
    excerpt,
)
from explorer.reader.reading import PAGE_ROWS, ListedRows, resolve_key
from explorer.reader.scene import ScenePairs, scene
from explorer.reader.state import PairsState
from explorer.tabs.pairs.list_html import list_of_pairs_html
from scoring.errors import KnownError
from tests.support.html_reading import HtmlReading, macro_html
from tests.support.tables import file_table, row, small_table

PAGE_BYTES = 63_000


def cell_html(words: str, query: Query) -> str:
    return macro_html("excerpt", excerpt(words, query))


@given(
    words=st.text("<>&\"'`${}=/\\ \n\tsonclik😀", max_size=40) | st.text(max_size=400),
    query=st.sampled_from(["", "s", "<", "&"]),
)
def test_a_cell_stays_a_text_and_small(words: str, query: str) -> None:
    html = cell_html(words, Query(query))
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


TABLE = small_table(*(row() for _ in range(60)), chunk_rows=7)


def test_a_key_stands_where_the_list_has_it() -> None:
    listed = ListedRows(TABLE, np.arange(0, 60, 2)[::-1])
    for place in range(len(listed)):
        assert listed.place_of(listed.key(place)) == place
    assert listed.place_of("mine:1") is listed.place_of("\ud800") is None


SPACED = small_table(row(subset=" a", id="1 "), row(subset="a", id="1"))
MEANT = [(TABLE, " 30 ", "mine:30"), (SPACED, " a:1 ", " a:1 "), (SPACED, "  a:1 ", "a:1")]


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
    table = TABLE if key != "7" else small_table(row(subset="a", id=7), row(subset="b", id=7))
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
