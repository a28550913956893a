"""The list: a page of rows, inert and small whatever the texts are; its order, what follows it."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.search import Query
from explorer.data.table import PairTable
from explorer.reader.listing import (
    CELL_BYTES,
    CELL_CHARS,
    MOST_MARKS,
    Column,
    cut,
    excerpt,
    harm_css,
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

TAGS = {
    "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "button", "mark", "nav", "span",
    "input", "label", "select", "option", "a", "form", "svg", "path",
}  # fmt: skip
PAGE_BYTES = 63_000
SORTABLE = Column("difference", number=True, sort="difference")

hostile = st.text(alphabet="<>&\"'`${}=/\\ \n\tsonclik😀", min_size=1, max_size=40)


def keys(n: int, shown: PairsState | None = None) -> Scene:
    """Pairs s:0, s:1 and so on."""
    state = shown or PairsState()
    table = small_table(*(row(subset="s") for _ in range(max(1, n))))
    return scene(state if n else replace(state, words="no such"), ScenePairs(table))


def only(subset: str) -> Scene:
    """One pair, whose key is that of its subset."""
    return scene(PairsState(), ScenePairs(small_table(row(subset=subset))))


def page_of(now: Scene, sort: str = "") -> HtmlReading:
    return HtmlReading(list_html("Pairs", [SORTABLE], now, lambda at: [str(at)], sort=sort), TAGS)


def opened(now: Scene) -> list[str]:
    """The keys that rows open."""
    html = list_html("Pairs", [], now, lambda _: [])
    hrefs = HtmlReading(html.partition("<tbody")[2].partition("</tbody>")[0], TAGS)
    return [PairsState.parse(href)[0].key for href in hrefs.attributes["a", "href"]]


def cell_html(words: str, query: Query) -> str:
    return macro_html("excerpt", excerpt(words, query))


# Cells


def test_a_cell_begins_with_the_text_on_one_line() -> None:
    assert cut("  a\n\n b\t c ") == "a b c"
    assert cut("x" * CELL_CHARS) == "x" * CELL_CHARS
    assert cut("x" * (CELL_CHARS + 1)) == "x" * (CELL_CHARS - 1) + "…"


def test_a_cell_says_that_it_is_cut_however_much_white_space_there_is() -> None:
    assert cut("a" + " " * 10_000 + "b") == "a…"


def test_an_excerpt_lies_about_the_first_hit() -> None:
    shown = cell_html("long ago " * 100 + "a <dog> barked", Query("dog"))
    assert shown.startswith("…") and "<mark>dog</mark>" in shown
    words = HtmlReading(shown, {"mark"}).words
    assert words.index("dog") <= 20 and len(words) <= CELL_CHARS + 2


def test_an_excerpt_ends_with_its_text_and_a_hit_may_reach_beyond_it() -> None:
    assert cell_html("a dog", Query("dog")) == "a <mark>dog</mark>"
    long = cell_html("a " + "x" * 300, Query("x+", regex=True))
    assert long.endswith("x</mark>…")


@pytest.mark.parametrize("query", ["dog", "<b>", "<", "b", ">d"])
def test_tags_before_between_in_and_after_hits_stay_text(query: str) -> None:
    words = "<b>dog<b>dog</b><b>"
    assert HtmlReading(cell_html(words, Query(query)), {"mark"}).words == words


def test_without_hits_an_excerpt_is_the_beginning() -> None:
    assert cell_html("a <b>", Query()) == cell_html("a <b>", Query("dog")) == "a &lt;b&gt;"


@given(words=st.one_of(hostile, st.text(max_size=400)), query=st.sampled_from(["", "s", "<", "&"]))
def test_a_cell_stays_a_text_and_small(words: str, query: str) -> None:
    html = cell_html(words, Query(query))
    seen = HtmlReading(html, {"mark"})
    assert seen.words.strip("…") in (words if "<mark>" in html else " ".join(words.split()))
    assert len(html.encode(errors="replace")) <= CELL_BYTES + 13 * MOST_MARKS + 6


@pytest.mark.parametrize("letters", ['&"<', "&", '"', "<", "😀", "😀&", "a&", "𒐫<"])
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


# The list


@given(key=hostile, cell=hostile)
def test_a_key_is_shown_and_asked_for_as_it_is(key: str, cell: str) -> None:
    now = only(key)
    seen = HtmlReading(
        list_html(cell, [Column(cell)], now, lambda _: [excerpt(cell, Query())]), TAGS
    )
    assert opened(now) == [now.key]
    assert now.key in seen.words
    assert seen.attributes["td", "data-label"] == [cell]
    assert seen.attributes["tr", "aria-current"] == ["true"]


def test_a_long_key_is_cut_but_asked_for_whole() -> None:
    now = only("k" * 500)
    assert opened(now) == [f"{'k' * 500}:0"]
    shown = page_of(now).words
    assert "k" * 500 not in shown and "k" * (CELL_CHARS - 1) + "…" in shown


def test_a_list_stays_a_table_where_it_is_laid_out_as_blocks() -> None:
    """Narrow screens do that, and then only the roles say what is what."""
    seen = page_of(keys(2))
    roles = {tag: values for (tag, name), values in seen.attributes.items() if name == "role"}
    assert roles == {
        "div": ["region"],
        "table": ["table"],
        "thead": ["rowgroup"],
        "tbody": ["rowgroup"],
        "tr": ["row"] * 3,
        "th": ["columnheader"] * 2 + ["rowheader"] * 2,
        "td": ["cell"] * 2,
    }


def test_a_cell_of_an_endless_text_begins_a_little_before_its_first_hit() -> None:
    words = "e " * 500_000
    assert cell_html(words, Query("e")).startswith("<mark>e</mark> <mark>e</mark>")
    assert cell_html("-" * 900_000 + words, Query("e")).startswith("…------------<mark>e</mark>")


def test_the_open_pair_alone_is_marked() -> None:
    shown = list_html("Pairs", [], keys(3, PairsState(key="s:1")), lambda _: [])
    assert shown.count("aria-current") == 1
    assert shown.index("aria-current") < shown.index(">s:1<") < shown.index(">s:2<")


def test_rows_have_the_class_and_the_mark_that_they_are_given() -> None:
    shown = list_html(
        "Pairs", [], keys(30, PairsState(page=2)), lambda _: [],
        css=lambda row: f"at-{row}", mark=lambda row: "<&" if row == 26 else "",
    )  # fmt: skip
    assert 'class="at-25"' in shown and 'class="at-0"' not in shown
    assert shown.count('data-mark="&lt;&amp;"') == shown.count("data-mark") == 1


def test_harm_is_hidden_where_the_card_warns_of_it() -> None:
    assert harm_css("refusals-offensive") == "may-harm"
    assert harm_css("hep-go") == harm_css("no such subset") == ""


@pytest.mark.parametrize(
    ("n", "page", "first", "last", "pages"),
    [
        (0, 1, None, None, []),
        (1, 1, "s:0", "s:0", []),
        (25, 1, "s:0", "s:24", []),
        (26, 1, "s:0", "s:24", [2]),
        (26, 2, "s:25", "s:25", [1]),
        (60, 2, "s:25", "s:49", [1, 3]),
        (75, 3, "s:50", "s:74", [2]),
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


def test_rows_are_numbered_by_their_places_in_the_whole_list() -> None:
    seen = page_of(keys(3000, PairsState(page=7)))
    assert seen.attributes["tr", "id"] == [f"row-{place}" for place in range(150, 175)]


def test_orders_are_offered_in_words() -> None:
    shown = page_of(keys(2), "-difference").words
    for words in ("Dataset order", "Chosen longer first", "Rejected longer first"):
        assert words in shown


# The bar above the reader


def test_the_bar_says_where_the_open_pair_stands_and_leads_on() -> None:
    html = reader_bar(keys(30, PairsState(key="s:29")))
    assert HtmlReading(html, TAGS).of_class["position"] == ["30 of 30"]
    [after], [before] = links_in(html, "Next pair"), links_in(html, "Previous pair")
    assert PairsState.parse(after)[0] == PairsState(key="s:0")
    assert PairsState.parse(before)[0] == PairsState(key="s:28")


def test_of_a_pair_outside_the_list_the_first_is_next() -> None:
    table = small_table(row(subset="s"), row(subset="s"), row(subset="t"))
    html = reader_bar(scene(PairsState(subset=("s",), key="t:2"), ScenePairs(table)))
    told = HtmlReading(html, TAGS).of_class["position"]
    assert told == ["outside the filter · 2 pairs match"]
    [after] = links_in(html, "Next pair")
    assert PairsState.parse(after)[0].key == "s:0"
    empty = reader_bar(scene(PairsState(words="no such"), ScenePairs(table)))
    assert HtmlReading(empty, TAGS).of_class["position"] == [""]


def test_the_bar_shows_how_the_pair_is_shown() -> None:
    state = PairsState(key="s:0", diff="words", spaces=True)
    html = reader_bar(keys(1, state))
    assert links_in(html, "Show whitespace") == [replace(state, spaces=False).href()]
    assert links_in(html, "Off") == [replace(state, diff="off").href()]
    seen = HtmlReading(html, TAGS)
    assert seen.attributes["a", "aria-checked"] == ["false", "true"]
    assert seen.attributes["a", "aria-current"] == ["true"]


def test_rows_of_a_table_are_listed_by_their_keys(demo: PairTable) -> None:
    now = scene(PairsState(sort="-chosen"), ScenePairs(demo))
    order = np.argsort(-demo.chars["chosen"].astype(float), kind="stable")[:PAGE_ROWS]
    assert opened(now) == [demo.key_of(int(row)) for row in order]
