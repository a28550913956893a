"""The list: one page of rows, inert and small whatever the texts are; its order and its pager."""

import json
from dataclasses import replace

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
from explorer.reader.reading import PAGE_ROWS, ListedRows, Reading
from explorer.reader.scene import SeenPairs, next_scene, scene
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.tabs.pairs.acts_view import PairsTab
from tests.explorer.filling import filled
from tests.explorer.html_reading import HtmlReading, macro_html
from tests.explorer.tables import row, small_table

TAGS = {
    "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "button", "mark", "nav", "span",
    "input", "label", "select", "option",
}  # fmt: skip
PAGE_BYTES = 62_000
SORTABLE = Column("difference", number=True, sort="difference")

hostile = st.text(alphabet="<>&\"'`${}=/\\ \n\tsonclik😀", min_size=1, max_size=40)


def keys(n: int) -> ListedRows:
    """Pairs s:0, s:1 and so on."""
    whole = small_table(*(row(subset="s") for _ in range(max(1, n))))
    return ListedRows(whole, np.arange(n))


def only(subset: str) -> ListedRows:
    """One pair, whose key is that of its subset."""
    return ListedRows(small_table(row(subset=subset)), np.arange(1))


def page_of(listed: ListedRows, reading: Reading, sort: str = "") -> HtmlReading:
    shown = list_html(
        "SeenPairs", [SORTABLE], listed, reading, lambda place: [str(place)], sort=sort
    )
    return HtmlReading(shown, TAGS)


def sent(seen: HtmlReading, act: str, tag: str = "") -> list[object]:
    """What the elements of a kind send with an act: rows open pairs, buttons do the rest."""
    tag = tag or ("tr" if act == "open" else "button")
    acts = seen.attributes[tag, "data-act"]
    values = [json.loads(each)["value"] for each in seen.attributes[tag, "data-sent"]]
    return [value for name, value in zip(acts, values, strict=True) if name == act]


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
def test_a_page_of_the_worst_cells_stays_small(letters: str, pairs_tab: PairsTab) -> None:
    words = (letters * 200)[:CELL_CHARS]
    rows = [
        row(id=number, prompt=words, chosen=f"{words}{number}", rejected=f"{number}{words}")
        for number in range(PAGE_ROWS + 1)
    ]
    table = small_table(*rows, chunk_rows=7)
    for query in ("", *letters, letters):
        now = scene(PairsState(), SeenPairs(table))
        if query:
            now = next_scene(now.state, lambda _: SeenPairs(table), "search", {"words": query})
        assert len(now.listed) == PAGE_ROWS + 1
        page = filled(pairs_tab.parts, pairs_tab.shown(now, Session(), {})).pairs
        assert page.count("<tr") == PAGE_ROWS + 1
        assert ("<mark>" in page) == bool(query)
        assert len(page.encode()) < PAGE_BYTES


# The list


@given(key=hostile, cell=hostile)
def test_a_key_is_shown_and_sent_as_it_is(key: str, cell: str) -> None:
    listed = only(key)
    key = listed.key(0)
    shown = list_html(
        cell, [Column(cell)], listed, Reading(key), lambda _: [excerpt(cell, Query())]
    )
    seen = HtmlReading(shown, TAGS)
    assert sent(seen, "open") == [key]
    assert key in seen.words
    assert seen.attributes["td", "data-label"] == [cell]
    assert seen.attributes["tr", "aria-current"] == ["true"]


def test_a_long_key_is_cut_but_sent_whole() -> None:
    seen = page_of(only("k" * 500), Reading())
    [key] = sent(seen, "open")
    assert key == f"{'k' * 500}:0"
    assert key not in seen.words and "k" * (CELL_CHARS - 1) + "…" in seen.words


def test_a_key_is_written_once_to_be_sent_and_once_to_be_read() -> None:
    shown = list_html("SeenPairs", [], only("k" * 97), Reading(), lambda _: [])
    assert shown.count("k" * 97) == 2
    assert f'<button type="button">{"k" * 97}:0</button>' in shown


def test_a_list_stays_a_table_where_it_is_laid_out_as_blocks() -> None:
    """Narrow screens do that, and then only the roles say what is what."""
    seen = page_of(keys(2), Reading())
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
    shown = list_html("SeenPairs", [], keys(3), Reading("s:1"), lambda _: [])
    assert shown.count("aria-current") == 1
    assert shown.index("aria-current") < shown.index(">s:1<") < shown.index(">s:2<")


def test_rows_have_the_class_that_their_place_gives_them() -> None:
    shown = list_html(
        "SeenPairs", [], keys(30), Reading(page=2), lambda _: [], css=lambda place: f"at-{place}"
    )
    assert 'class="at-25"' in shown and 'class="at-0"' not in shown


def test_harm_is_hidden_where_the_card_warns_of_it() -> None:
    assert harm_css("refusals-offensive") == "may-harm"
    assert harm_css("hep-go") == harm_css("no such subset") == ""


@pytest.mark.parametrize(
    ("n", "page", "first", "last", "turns"),
    [
        (0, 1, None, None, []),
        (1, 1, "s:0", "s:0", []),
        (25, 1, "s:0", "s:24", []),
        (26, 1, "s:0", "s:24", [1]),
        (26, 2, "s:25", "s:25", [-1]),
        (60, 2, "s:25", "s:49", [-1, 1]),
        (75, 3, "s:50", "s:74", [-1]),
    ],
)
def test_a_page_has_its_rows_and_turns_where_there_is_more(
    n: int, page: int, first: str | None, last: str | None, turns: list[int]
) -> None:
    seen = page_of(keys(n), Reading(page=page))
    opened = sent(seen, "open")
    assert (opened[:1], opened[-1:]) == (([first], [last]) if first else ([], []))
    assert sent(seen, "turn") == turns


def test_the_pager_says_where_one_is_and_takes_a_number() -> None:
    seen = page_of(keys(30_000), Reading(page=7))
    assert "Page  of 1,200" in seen.words
    for name, value in (("value", "7"), ("min", "1"), ("max", "1200"), ("data-act", "page")):
        assert seen.attributes["input", name] == [value]


def test_pressing_a_heading_again_and_again_goes_down_up_and_back() -> None:
    order, seen = "", []
    for _ in range(3):
        page = page_of(keys(2), Reading(), order)
        (after,) = sent(page, "sort")
        seen.append((order, page.attributes["th", "aria-sort"][0], after))
        order = str(after)
    assert seen == [
        ("", "none", "-difference"),
        ("-difference", "descending", "difference"),
        ("difference", "ascending", ""),
    ]


def test_orders_are_offered_in_words() -> None:
    shown = page_of(keys(2), Reading(), "-difference").words
    for words in ("Dataset order", "chosen longer first", "rejected longer first"):
        assert words in shown


def test_another_columns_order_leaves_a_heading_unsorted() -> None:
    page = page_of(keys(2), Reading(), "-chosen")
    assert page.attributes["th", "aria-sort"] == ["none"]
    assert sent(page, "sort") == ["-difference"]


# The bar above the reader


@pytest.mark.parametrize(
    ("key", "words"),
    [("s:3", "4 of 1,200"), ("elsewhere", "outside the filter · 1,200 pairs match"), ("", "")],
)
def test_the_bar_says_where_the_open_pair_stands(key: str, words: str) -> None:
    seen = HtmlReading(reader_bar(keys(1200), Reading(key)), TAGS)
    assert seen.of_class["position"] == [words]


def test_the_bar_shows_how_the_pair_is_shown() -> None:
    reading = replace(Reading("s:0"), diff="words", spaces=True)
    seen = HtmlReading(reader_bar(keys(1), reading), TAGS)
    pressed = zip(
        [each for each in seen.attributes["button", "data-act"] if each == "diff"],
        seen.attributes["button", "aria-pressed"],
        strict=True,
    )
    assert [on for _, on in pressed] == ["false", "false", "true", "false"]
    assert seen.attributes["input", "checked"] == ["checked"]


def test_rows_of_a_table_are_listed_by_their_keys(demo: PairTable) -> None:
    listed = ListedRows(demo, np.array([5, 3]))
    seen = HtmlReading(list_html("SeenPairs", [], listed, Reading(), lambda _: []), TAGS)
    assert sent(seen, "open") == [demo.keys[5], demo.keys[3]]
