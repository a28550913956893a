"""The Pairs tab's callbacks: links, acts, and what of the page each of them writes anew."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any
from urllib.parse import quote

import gradio as gr
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.text import text
from explorer.data.filters import Filters, LengthRange
from explorer.data.table import PairTable
from explorer.reader.session import Session
from explorer.reader.state import PAIRS_LINK, PAIRS_PANELS, Chart, PairsState, move
from explorer.tabs.pairs.acts_view import PairsTab
from tests.explorer.browsing import (
    ACTS,
    FIELDS,
    act,
    acted,
    opened,
    page_on,
    pairs_tab_on,
    stays,
)
from tests.explorer.filling import Filled, filled
from tests.explorer.html_reading import HtmlReading, is_told_as_our_own
from tests.explorer.tables import row, small_table

HOSTILE = "<img src=x onerror=alert(1)>"
ALWAYS = {"seen", "table_id", "listed", "address", "bar"}
LIST = {"pairs", "reader_bar", "note", "pair"}
LENGTHS = {f"lengths.{name}" for name in ("controls", "tokenizing", "status", "plot", "stats")}
OF_OUTCOMES = {
    "read", "head", "facts", "timer", "tokens.button", "tokens.stop", "tokens.words", "tokens.plot",
    "export.box", "export.fail_status", "export.fail_file",
}  # fmt: skip
TURNED = {"panels", "reading", *(f"columns.{panel}" for panel in PAIRS_PANELS)}


@pytest.fixture(scope="module")
def other() -> PairTable:
    """A table that one can turn to."""
    return small_table(row(subset="hep-go"), row(subset="mine", prompt="Bark, dog."))


@pytest.fixture
def tab(pairs_tab: PairsTab) -> PairsTab:
    return pairs_tab


@pytest.fixture
def two(demo: PairTable, other: PairTable) -> PairsTab:
    return pairs_tab_on(demo, other)


def notes(shown: dict[str, Any]) -> list[str]:
    """What the bar says was left out."""
    seen = HtmlReading(shown["bar"], {"div", "span", "button"})
    (words,) = seen.of_class["note"] or ("",)
    return words.removeprefix("Ignored in the link: ").split(" · ") if words else []


def written(shown: dict[str, Any]) -> set[str]:
    """The outputs that change."""
    return {name for name, value in shown.items() if not stays(value)}


def columns(shown: dict[str, Any]) -> list[str]:
    """The panels that are visible."""
    return [panel for panel in PAIRS_PANELS if shown[f"columns.{panel}"].visible]


# Links


@pytest.mark.parametrize("link", ["", "?", None, 5, ["subset"], {"a": 1}, "nonsense", "\ud800"])
def test_a_link_that_says_nothing_opens_the_first_page(
    link: object, tab: PairsTab, demo: PairTable
) -> None:
    shown = opened(tab, link)
    assert shown["seen"].source == shown["table_id"] == demo.id
    assert "188 of 188 pairs" in shown["bar"]
    assert f'data-key="{demo.keys[0]}"' in shown["pair"] and is_told_as_our_own(shown["pair"])
    assert columns(shown) == ["pairs"]
    assert written(shown) == ALWAYS | LIST | TURNED | OF_OUTCOMES | {"facets"}


def test_a_link_opens_what_it_says(tab: PairsTab, demo: PairTable) -> None:
    key = next(key for key in demo.keys if key.startswith("hep-rust"))
    shown = opened(tab, f"?subset=hep-rust&subset=hep-go&sort=-chosen&pair={key}&diff=off")
    seen = shown["seen"]
    assert seen.filters == Filters().picking("subset", ["hep-rust", "hep-go"])
    assert (seen.sort, seen.reading.key, seen.reading.diff) == ("-chosen", key, "off")
    assert "16 of 188 pairs" in shown["bar"] and f'data-key="{key}"' in shown["pair"]
    assert notes(shown) == []
    row = f'data-sent="{{&#34;value&#34;: &#34;{demo.keys[-1]}&#34;}}" aria-current'
    assert row in opened(tab, f"?pair={demo.keys[-1]}")["pairs"], "its page of the list"


def test_the_address_opens_the_same_again(tab: PairsTab) -> None:
    link = "q=the&in=chosen&range=chosen.chars.10.5000&sort=difference&list-page=2&panel=lengths"
    first = opened(tab, link)
    again = opened(tab, first["address"])
    assert again["seen"] == first["seen"] and again["address"] == first["address"]
    assert first["seen"].panel == "lengths" and columns(first) == ["lengths"]


def test_what_a_link_says_wrongly_is_dropped_and_said_as_text(tab: PairsTab) -> None:
    shown = opened(
        tab, f"?subset={HOSTILE}&subset=hep-go&diff=sideways&{quote(HOSTILE)}=1&list-page=0"
    )
    assert notes(shown) == [
        "diff=sideways", f"{HOSTILE}=1", "list-page=0", f"subset={HOSTILE}",
    ]  # fmt: skip
    assert shown["seen"].filters == Filters().picking("subset", ["hep-go"])
    assert HOSTILE not in "".join(str(value) for value in shown.values())


def test_a_pair_or_a_page_that_is_not_there_is_the_nearest_that_is(
    tab: PairsTab, demo: PairTable
) -> None:
    shown = opened(tab, "?tab=nothing&pair=no:such&list-page=99999")
    assert notes(shown) == ["tab=nothing", "pair=no:such"]
    seen = shown["seen"]
    assert seen.reading.page == 8
    assert seen.reading.key == demo.keys[175]


def test_a_range_in_tokens_that_were_not_counted_is_dropped_and_said(tab: PairsTab) -> None:
    shown = opened(tab, "?range=chosen.tokens.1.5.some/tokenizer@main&q=the")
    assert notes(shown) == [
        "a range of tokens of some/tokenizer@main, which have not been counted here"
    ]
    assert shown["seen"].filters.ranges == () and shown["seen"].filters.query.words == "the"


def test_a_search_that_is_no_pattern_is_dropped_and_said(tab: PairsTab) -> None:
    assert notes(opened(tab, "?q=(&regex=1")) == ["q=("]


@pytest.mark.parametrize("source", [f"org/{HOSTILE}", "no/such:split@0123", "x" * 900, "demo"])
def test_a_source_that_is_not_here_is_said_and_the_best_is_shown(
    source: str, tab: PairsTab, demo: PairTable
) -> None:
    link = PAIRS_LINK.encode(PairsState(source=source))
    shown = opened(tab, link)
    assert notes(shown) == [
        f"source={source[:120]}, which is not open here, so other pairs are shown"
    ]
    assert shown["seen"].source == demo.id


@pytest.mark.parametrize("source", ["org/name", "no/such:split@0123", "demo"])
def test_a_source_that_can_be_fetched_is_missing(source: str, tab: PairsTab) -> None:
    assert tab.missing(PAIRS_LINK.encode(PairsState(source=source))) == source


@pytest.mark.parametrize(
    "source", ["/etc/passwd", "pairs.jsonl", "~/a.csv", "a\\b.csv", f"org/{HOSTILE}", "x" * 900]
)
def test_a_link_asks_for_no_file_of_this_machine(source: str, tab: PairsTab) -> None:
    assert tab.missing(PAIRS_LINK.encode(PairsState(source=source))) == ""


def test_nothing_is_missing_where_the_source_is_here_or_none_is_asked_for(
    tab: PairsTab, demo: PairTable
) -> None:
    assert tab.missing(PAIRS_LINK.encode(PairsState(source=demo.id))) == ""
    for link in ("", None, "?q=dog", "x" * 100_000):
        assert tab.missing(link) == ""


def test_once_its_source_is_here_the_whole_link_is_followed(
    two: PairsTab, other: PairTable
) -> None:
    link = "?source=org/name&subset=mine&subset=gone&q=dog"
    shown = filled(two.parts, two.follow(link, other.id, Session(), {}))
    assert shown["table_id"] == other.id
    assert "1 of 2 pairs" in shown["bar"] and notes(shown) == ["subset=gone"]


def test_nothing_is_followed_where_nothing_was_opened(tab: PairsTab) -> None:
    assert written(filled(tab.parts, tab.follow("?q=dog", "", Session(), {}))) == set()


def test_a_link_can_be_copied_for_the_space(tab: PairsTab) -> None:
    space = replace(tab, settings=replace(tab.settings, space="me/space"))
    assert 'data-base="https://huggingface.co/spaces/me/space"' in opened(space)["bar"]
    assert 'data-base=""' in opened(tab)["bar"]


# Acts


@pytest.fixture
def seen(tab: PairsTab) -> PairsState:
    view: PairsState = opened(tab)["seen"]
    return view


def test_a_step_of_reading_leaves_the_facets_as_they_are(
    tab: PairsTab, seen: PairsState, demo: PairTable
) -> None:
    shown = acted(tab, seen, "step", value=1)
    assert written(shown) == ALWAYS | LIST
    assert f'data-key="{demo.keys[1]}"' in shown["pair"]
    assert PAIRS_LINK.decode(shown["address"]).state.reading.key == demo.keys[1]


def test_a_filter_writes_the_facets_too(tab: PairsTab, seen: PairsState) -> None:
    shown = acted(tab, seen, "pick", facet="section", names=["Chat"])
    assert written(shown) == ALWAYS | LIST | {"facets"}
    assert "40 of 188 pairs" in shown["bar"] and 'checked="checked"' in shown["facets"]


@pytest.mark.parametrize(
    ("panel", "fills"),
    [
        (
            "lengths",
            {f"lengths.{each}" for each in ("controls", "tokenizing", "status", "plot", "stats")},
        ),
        ("review", set()),
        ("export", {"export.snippet"}),
        ("pairs", LIST),
    ],
)
def test_a_panel_is_filled_when_it_is_turned_to(
    tab: PairsTab, seen: PairsState, panel: str, fills: set[str]
) -> None:
    before = acted(tab, seen, "panel", value="review")["seen"] if panel == "pairs" else seen
    if panel == "review":
        before = replace(seen, panel="export")
    shown = acted(tab, before, "panel", value=panel)
    assert written(shown) == ALWAYS | TURNED | fills
    assert columns(shown) == [panel]


def test_a_search_marks_its_hits_where_it_looks(tab: PairsTab, seen: PairsState) -> None:
    shown = acted(tab, seen, "search", words="the", where="chosen")
    rows = re.findall(r'<td class="words [^>]* data-label="(\w+)">(.*?)</td>', shown["pairs"])
    marked = {column for column, html in rows if "<mark>" in html}
    assert marked == {"chosen"}
    assert "<mark>" in shown["pair"]


def test_a_search_without_hits_leaves_no_list_but_a_reader(tab: PairsTab, seen: PairsState) -> None:
    shown = acted(tab, seen, "search", words="no such words")
    assert shown["pairs"] == "" and "No pair matches" in shown["bar"]
    assert "No pair to show: no pair matches the filters" in shown["pair"]
    assert acted(tab, shown["seen"], "reset")["seen"].filters == Filters()


def test_the_lists_order_cycles_and_is_kept_in_the_address(tab: PairsTab, seen: PairsState) -> None:
    for order in ("-difference", "difference", ""):
        shown = acted(tab, seen, "sort", value=order)
        seen = shown["seen"]
        assert PAIRS_LINK.decode(shown["address"]).state.sort == order
        numbers = [
            int(cell.replace(",", ""))
            for cell in re.findall(r'data-label="difference">(.*?)</td>', shown["pairs"])
        ]
        assert (numbers == sorted(numbers, reverse=order.startswith("-"))) == bool(order)


def test_what_is_filtered_is_hidden_where_it_may_harm(tab: PairsTab, seen: PairsState) -> None:
    shown = acted(tab, seen, "pick", facet="subset", names=["refusals-offensive", "hep-go"])
    assert shown["pairs"].count('class="may-harm"') == 8


def test_other_pairs_with_the_same_prompt_are_named() -> None:
    table = small_table(*(row(id=number, prompt="same") for number in range(3)))
    shown = opened(pairs_tab_on(table))
    assert "Same prompt in:" in shown["pair"]
    assert shown["pair"].count('class="goto"') == 2


NONSENSE: Sequence[Any] = (
    None, True, -1, 0, 1.5, 10**12, 1e300, float("nan"), float("inf"), "", HOSTILE, "\ud800",
    "a\0b", "x" * 10**6, [], ["a", ["b"]], [None] * 600, {"a": {"b": []}}, [HOSTILE], ["\ud800"],
)  # fmt: skip
BUG = text("error.bug")


def after(tab: PairsTab, seen: PairsState, event: gr.EventData) -> dict[str, Any] | None:
    """What an act of anybody gives: a whole page that can be sent, or None for a clear refusal."""
    try:
        session = page_on(seen)
        shown = Filled(
            filled(tab.parts, tab.act(event, session, {})), seen=session.seen(PairsState)
        )
    except gr.Error as error:
        assert error.message != BUG
        assert 0 < len(error.message) < 1000
        return None
    sent = "".join(value for value in shown.values() if isinstance(value, str))
    assert len(sent.encode()) < 300_000
    assert HOSTILE not in sent
    return shown


ASKED = (*ACTS, "no such act", HOSTILE)


@pytest.mark.parametrize("name", ASKED)
def test_an_act_of_anybody_is_done_or_refused(name: str, tab: PairsTab, seen: PairsState) -> None:
    """Nonsense in all fields and in one, which is another one for each act."""
    start = replace(seen, panel="lengths") if name in ("chart", "range") else seen
    for place, value in enumerate(NONSENSE, ASKED.index(name)):
        after(tab, start, act(name, **dict.fromkeys(FIELDS, value)))
        after(tab, start, act(name, **{FIELDS[place % len(FIELDS)]: value}))


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_an_act_is_done_or_refused_with_any_nonsense_in_any_field(
    name: str, tab: PairsTab, seen: PairsState
) -> None:
    start = replace(seen, panel="lengths") if name in ("chart", "range") else seen
    for value, field in product(NONSENSE, FIELDS):
        after(tab, start, act(name, **{field: value}))


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=6,
)


@given(
    name=st.sampled_from(ACTS) | json,
    sent=json
    | st.dictionaries(st.sampled_from(FIELDS), json | st.sampled_from(["chosen", "Chat"])),
)
def test_whatever_is_posted_the_page_stands_and_goes_on(
    name: Any, sent: Any, demo: PairTable
) -> None:
    tab = pairs_tab_on(demo)
    shown = after(tab, PairsState(demo.id), gr.EventData(None, {"act": name, "sent": sent}))
    seen = shown["seen"] if shown else PairsState(demo.id)
    assert acted(tab, seen, "reset")["bar"].count("188 of 188")


# Other tables


def test_turning_to_another_table_keeps_the_look_and_drops_the_filters(
    two: PairsTab, other: PairTable, demo: PairTable
) -> None:
    seen = replace(
        PairsState(demo.id),
        filters=Filters().picking("subset", ["hep-go"]),
        panel="lengths",
        sort="chosen",
    )
    session = page_on(seen)
    shown = filled(two.parts, two.turn_to(other.id, session, {}))
    now = session.seen(PairsState)
    assert now == replace(PairsState(other.id), panel="lengths", sort="chosen", reading=now.reading)
    assert "2 of 2 pairs" in shown["bar"]
    assert now.reading.key == other.keys[0]


def test_where_no_table_was_opened_all_stays_as_it_is(two: PairsTab, other: PairTable) -> None:
    shown = filled(two.parts, two.turn_to("", page_on(PairsState(other.id)), {}))
    assert written(shown) == set()


def test_a_table_that_was_forgotten_is_not_taken_for_another(tab: PairsTab) -> None:
    page = page_on(PairsState(f"gone {HOSTILE}", filters=Filters().picking("subset", ["mine"])))
    for refused in (
        lambda: tab.act(act("step", value=1), page, {}),
        lambda: list(tab.export("csv", page)),
        lambda: list(tab.count("demo", page)),
        lambda: tab.count_in("demo", page, {}),
    ):
        with pytest.raises(gr.Error, match="not in memory any more") as error:
            refused()
        assert HOSTILE not in error.value.message


def test_ranges_of_tokens_that_are_not_counted_any_more_can_be_taken_away(tab: PairsTab) -> None:
    lost = Filters().keeping(LengthRange("chosen", "tokens", 1, None, "gone"))
    seen = PairsState(filters=lost, chart=Chart(unit="tokens", tokenizer="gone"))
    with pytest.raises(gr.Error, match="not been counted"):
        acted(tab, seen, "step", value=1)
    shown = acted(tab, seen, "unrange", measure="chosen", unit="tokens")
    assert "188 of 188" in shown["bar"]


def test_a_move_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(Exception, match="There is no act 'fly'"):
        move(PairsState(), "fly", {})
