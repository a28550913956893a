"""The search field, and the bar of what is filtered: each filter can be taken away by its chip."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.filters import LengthRange
from explorer.data.search import LONGEST_QUERY, PLACES
from explorer.data.table import PairTable
from explorer.reader.filter_html import filter_chips, search_html
from explorer.reader.scene import Scene, ScenePairs, scene
from explorer.reader.state import PairsState
from explorer.tabs.pairs.list_html import bar_html
from tests.support.html_reading import HtmlReading
from tests.support.tables import row, small_table

TAGS = {"div", "span", "button", "a", "b"}
hostile = st.one_of(
    st.text(alphabet="<>&\"'`${}=/\\ \n\tonclik", min_size=1, max_size=40),
    st.text(min_size=1, max_size=40),
)


def bar(now: Scene, *notes: str, base: str = "", missing: str = "") -> HtmlReading:
    return HtmlReading(bar_html(now, notes, base, missing), TAGS)


def seen(state: PairsState) -> Scene:
    return scene(state, ScenePairs(small_table(row(), row(chosen="longer"), row())))


def words_of(state: PairsState) -> list[str]:
    return [each.words for each in filter_chips(seen(state))]


def test_how_many_are_in_view_is_said() -> None:
    two = PairsState(ranges=(LengthRange("chosen", "chars", 2, None),))
    assert bar(seen(two)).of_class["count"] == ["1 of 3 pairs"]
    assert bar(seen(PairsState())).of_class["count"] == ["3 of 3 pairs"]


def test_without_filters_there_is_no_chip_and_nothing_to_reset() -> None:
    shown = bar(seen(PairsState()))
    assert shown.attributes["a", "href"] == []
    assert shown.of_class["chips"] == [""]


def test_where_nothing_passes_it_is_said_beside_the_chips() -> None:
    shown = bar(seen(PairsState(words="absent")))
    assert "No matching pairs" in shown.words and shown.of_class["words"]


def test_notes_are_said_as_text_and_what_can_be_fetched_is_offered() -> None:
    shown = bar(seen(PairsState()), "<b>", "pair=&lt;", missing="org/<a>")
    assert shown.of_class["note"] == ["<b>", "pair=&lt;"]
    assert shown.attributes["button", "data-get"] == ["org/<a>"]


def test_a_link_begins_where_it_is_told() -> None:
    wide = seen(PairsState(panel="lengths"))
    shown = bar(wide, base="https://example.org/<a>?\"'")
    assert shown.attributes["button", "data-base"] == ["https://example.org/<a>?\"'"]
    assert bar(wide).attributes["button", "data-base"] == [""]
    assert bar(seen(PairsState())).attributes["button", "data-base"] == [], "the reader has it"


FILTERED = PairsState(
    subset=('mine "<&', "b"),
    longer=("equal",),
    ranges=(
        LengthRange("chosen", "chars", 1, None),
        LengthRange("prompt", "words", None, 1000),
        LengthRange("difference", "chars", -5, 1000),
    ),
    words="[<p]",
    where="prompt",
    regex=True,
    case=True,
    sort="-chosen",
)


def test_filters_are_put_in_words() -> None:
    assert words_of(FILTERED) == [
        "Subset: b",
        'Subset: mine "<&',
        "Longer response: equally long",
        "chosen characters ≥ 1",
        "prompt words ≤ 1,000",
        "chosen − rejected characters -5 to 1,000",
        "“[<p]” in the prompt (regex, case)",
    ]


def test_each_chip_names_its_filter_and_takes_just_it_away() -> None:
    shown, words = bar(seen(FILTERED)), words_of(FILTERED)
    assert shown.of_class["words"] == words
    named = shown.attributes["a", "aria-label"]
    assert named == [f"Remove the filter {each}" for each in words]
    *hrefs, reset, last, again = shown.attributes["a", "href"]
    assert (last, again) == (hrefs[-1], reset), "where nothing is left"
    for place, href in enumerate(hrefs):
        left = PairsState.parse(href)[0]
        assert words_of(left) == words[:place] + words[place + 1 :]
        assert left.sort == "-chosen"
    assert PairsState.parse(reset)[0] == PairsState(sort="-chosen")


@given(name=hostile, words=hostile.filter(str.strip))
def test_chips_stay_text(name: str, words: str) -> None:
    state = PairsState(subset=(name,), words=words)
    shown = bar(seen(state))
    said = [f"Subset: {name}", f"“{words.strip()}”"]
    assert shown.of_class["words"] == said
    assert PairsState.parse(shown.attributes["a", "href"][1])[0] == PairsState(subset=(name,))


def test_a_search_is_a_form_that_keeps_all_else() -> None:
    html = search_html(PairsState(words='"<b>', where="chosen", case=True, key="a:1", page=2,
                                  model="", sort="chosen"))  # fmt: skip
    shown = HtmlReading(html, {"form", "input", "select", "option", "label", "span", "svg", "path"})
    assert shown.attributes["input", "maxlength"] == [str(LONGEST_QUERY)]
    assert shown.attributes["option", "value"] == list(PLACES)
    sent = zip(shown.attributes["input", "name"], shown.attributes["input", "value"], strict=True)
    assert dict(sent) == {
        "tab": "pairs", "model": "", "sort": "chosen", "q": '"<b>', "regex": "1", "case": "1",
    }  # fmt: skip
    assert re.findall(r'value="(\w+)"\s+selected', html) == ["chosen"]
    assert "no lookahead" in shown.attributes["label", "title"][1]


@pytest.mark.parametrize("place", PLACES)
def test_a_search_says_where(place: Any, demo: PairTable) -> None:
    now = scene(PairsState(words="a", where=place), ScenePairs(demo))
    where = "" if place == "all" else f" in the {place}"
    assert bar(now).of_class["words"] == [f"“a”{where}"]
