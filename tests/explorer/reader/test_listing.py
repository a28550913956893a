"""The list: a page of rows, inert and small whatever the texts are; its order, what follows it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.search import Query
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
from tests.support.tables import row, small_table

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


@pytest.mark.parametrize("key", ["mine:60", "\ud800", "x" * 10**6])
def test_a_key_that_is_nowhere_is_refused(key: str) -> None:
    with pytest.raises(KnownError, match=r"There is no pair .* as in mine:0") as caught:
        resolve_key(TABLE, key)
    assert len(str(caught.value)) < 200


def test_a_key_may_be_typed_with_spaces_about_it_and_may_have_some() -> None:
    table = small_table(row(subset=" a", id="1 "), row(subset="a", id="1"))
    assert resolve_key(table, " a:1 ") == " a:1 "
    assert resolve_key(table, "  a:1 ") == "a:1"


def test_a_bare_id_is_of_the_one_pair_that_has_it_and_of_several_all_are_named() -> None:
    assert resolve_key(TABLE, " 30 ") == "mine:30"
    with pytest.raises(KnownError, match=r"Several pairs have the id .7.: a:7, b:7"):
        resolve_key(small_table(row(subset="a", id=7), row(subset="b", id=7)), "7")
