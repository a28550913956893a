"""The list: a page of rows, inert and small whatever the texts are; its order, what follows it."""

import re
from dataclasses import replace
from html import unescape

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
from explorer.reader.reading import PAGE_ROWS
from explorer.reader.scene import Scene, ScenePairs, scene
from explorer.reader.state import PairsState
from explorer.tabs.pairs.list_html import list_of_pairs_html
from tests.support.browsing import links_in
from tests.support.html_reading import HtmlReading, macro_html
from tests.support.tables import row, small_table

PAGE_BYTES = 63_000

hostile = st.text(alphabet="<>&\"'`${}=/\\ \n\tsonclik😀", min_size=1, max_size=40)


def keys(n: int, shown: PairsState | None = None) -> Scene:
    """Pairs s:0, s:1 and so on."""
    state = shown or PairsState()
    table = small_table(*(row(subset="s") for _ in range(max(1, n))))
    return scene(state if n else replace(state, words="no such"), ScenePairs(table))


def opened(now: Scene) -> list[str]:
    """The keys that rows open."""
    html = list_html("Pairs", [], now, lambda _: [])
    hrefs = HtmlReading(html.partition("<tbody")[2].partition("</tbody>")[0])
    return [PairsState.parse(href)[0].key for href in hrefs.attributes["a", "href"]]


def cell_html(words: str, query: Query) -> str:
    return macro_html("excerpt", excerpt(words, query))


def test_an_excerpt_lies_about_the_first_hit() -> None:
    shown = cell_html("long ago " * 100 + "a <dog> barked", Query("dog"))
    assert shown.startswith("…") and "<mark>dog</mark>" in shown
    words = HtmlReading(shown, {"mark"}).words
    assert words.index("dog") <= 20 and len(words) <= CELL_CHARS + 2


@given(words=st.one_of(hostile, st.text(max_size=400)), query=st.sampled_from(["", "s", "<", "&"]))
def test_a_cell_stays_a_text_and_small(words: str, query: str) -> None:
    html = cell_html(words, Query(query))
    seen = HtmlReading(html, {"mark"})
    assert seen.words.strip("…") in (words if "<mark>" in html else " ".join(words.split()))
    assert len(html.encode(errors="replace")) <= CELL_BYTES + 13 * MOST_MARKS + 6


@pytest.mark.parametrize("letters", ['&"<', "😀&", "𒐫<"])
def test_a_page_of_the_worst_cells_stays_small(letters: str) -> None:
    words = (letters * 200)[:CELL_CHARS]
    rows = [
        row(id=number, prompt=words, chosen=f"{words}{number}", rejected=f"{number}{words}")
        for number in range(PAGE_ROWS + 1)
    ]
    table = small_table(*rows, chunk_rows=7)
    for query in ("", *letters, letters):
        now = scene(PairsState(words=query), ScenePairs(table))
        assert len(now.listed) == PAGE_ROWS + 1
        page = list_of_pairs_html(now)
        assert page.count("<tr") == PAGE_ROWS + 1
        assert ("<mark>" in page) == bool(query)
        assert len(page.encode()) < PAGE_BYTES


@pytest.mark.parametrize(
    ("n", "page", "first", "last", "pages"),
    [
        (0, 1, None, None, []),
        (25, 1, "s:0", "s:24", []),
        (26, 2, "s:25", "s:25", [1]),
        (60, 2, "s:25", "s:49", [1, 3]),
    ],
)
def test_a_page_has_its_rows_and_links_to_those_beside_it(
    n: int, page: int, first: str | None, last: str | None, pages: list[int]
) -> None:
    now = keys(n, PairsState(page=page))
    found = opened(now)
    assert (found[:1], found[-1:]) == (([first], [last]) if first else ([], []))
    html = " ".join(list_html("Pairs", [], now, lambda _: []).split())
    turns = re.findall(r'data-more="\w+" href="([^"]+)">', html)
    assert [PairsState.parse(unescape(href))[0].page for href in turns] == pages
    assert f'data-total="{n}"' in html


def test_the_bar_says_where_the_open_pair_stands_and_leads_on() -> None:
    html = reader_bar(keys(30, PairsState(key="s:29")))
    assert HtmlReading(html).of_class["position"] == ["30 of 30"]
    [after], [before] = links_in(html, "Next pair"), links_in(html, "Previous pair")
    assert PairsState.parse(after)[0] == PairsState(key="s:0")
    assert PairsState.parse(before)[0] == PairsState(key="s:28")


def test_of_a_pair_outside_the_list_the_first_is_next() -> None:
    table = small_table(row(subset="s"), row(subset="s"), row(subset="t"))
    html = reader_bar(scene(PairsState(subset=("s",), key="t:2"), ScenePairs(table)))
    told = HtmlReading(html).of_class["position"]
    assert told == ["outside the filter · 2 pairs match"]
    [after] = links_in(html, "Next pair")
    assert PairsState.parse(after)[0].key == "s:0"
    empty = reader_bar(scene(PairsState(words="no such"), ScenePairs(table)))
    assert HtmlReading(empty).of_class["position"] == [""]
