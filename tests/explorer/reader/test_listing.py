"""The list: a page of rows, inert and small whatever the texts are; its order, what follows it."""

import re
from html import unescape

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
    list_html,
    reader_bar,
)
from explorer.reader.reading import PAGE_ROWS, ListedRows, resolve_key
from explorer.reader.scene import Scene, ScenePairs, scene
from explorer.reader.state import PairsState
from explorer.tabs.pairs.list_html import list_of_pairs_html
from scoring.errors import KnownError
from tests.support.browsing import links_in
from tests.support.html_reading import HtmlReading, macro_html
from tests.support.tables import row, small_table

PAGE_BYTES = 63_000


def keys(n: int, shown: PairsState) -> Scene:
    """Pairs s:0, s:1 and so on."""
    return scene(shown, ScenePairs(small_table(*(row(subset="s") for _ in range(n)))))


def cell_html(words: str, query: Query) -> str:
    return macro_html("excerpt", excerpt(words, query))


def test_an_excerpt_lies_about_the_first_hit() -> None:
    shown = cell_html("long ago " * 100 + "a <dog> barked", Query("dog"))
    assert shown.startswith("…") and "<mark>dog</mark>" in shown
    assert HtmlReading(shown, {"mark"}).words.index("dog") <= 20


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


@pytest.mark.parametrize(
    ("n", "page", "first", "last", "pages"),
    [
        (26, 2, "s:25", "s:25", [1]),
        (60, 2, "s:25", "s:49", [1, 3]),
    ],
)
def test_a_page_has_its_rows_and_links_to_those_beside_it(
    n: int, page: int, first: str, last: str, pages: list[int]
) -> None:
    html = " ".join(list_html("Pairs", [], keys(n, PairsState(page=page)), lambda _: []).split())
    body = HtmlReading(html.partition("<tbody")[2].partition("</tbody>")[0])
    found = [PairsState.parse(href)[0].key for href in body.attributes["a", "href"]]
    assert (found[0], found[-1]) == (first, last)
    turns = re.findall(r'data-more="\w+" href="([^"]+)">', html)
    assert [PairsState.parse(unescape(href))[0].page for href in turns] == pages


def test_the_bar_says_where_the_open_pair_stands_and_leads_on() -> None:
    html = reader_bar(keys(30, PairsState(key="s:29")))
    assert HtmlReading(html).of_class["position"] == ["30 of 30"]
    [after], [before] = links_in(html, "Next pair"), links_in(html, "Previous pair")
    assert PairsState.parse(after)[0] == PairsState(key="s:0")
    assert PairsState.parse(before)[0] == PairsState(key="s:28")


def test_of_a_pair_outside_the_list_the_first_is_next() -> None:
    table = small_table(row(subset="s"), row(subset="s"), row(subset="t"))
    html = reader_bar(scene(PairsState(subset=("s",), key="t:2"), ScenePairs(table)))
    assert HtmlReading(html).of_class["position"] == ["outside the filter · 2 pairs match"]
    [after] = links_in(html, "Next pair")
    assert PairsState.parse(after)[0].key == "s:0"


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
