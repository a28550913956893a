"""The search field, and the bar of what is filtered: each filter can be taken away by its chip."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.filters import Filters, LengthRange
from explorer.data.search import LONGEST_QUERY, PLACES, Query
from explorer.data.table import PairTable
from explorer.reader.filter_html import filter_chips, search_html
from explorer.reader.scene import Scene, SeenPairs, scene
from explorer.reader.state import PairsState, move
from explorer.tabs.pairs.list_html import bar_html
from tests.explorer.html_reading import HtmlReading
from tests.explorer.tables import row, small_table

TAGS = {"div", "span", "button"}
hostile = st.one_of(
    st.text(alphabet="<>&\"'`${}=/\\ \n\tonclik", min_size=1, max_size=40),
    st.text(min_size=1, max_size=40),
)


def bar(now: Scene, *notes: str, base: str = "") -> HtmlReading:
    return HtmlReading(bar_html(now, notes, base), TAGS)


def seen(filters: Filters) -> Scene:
    table = small_table(row(), row(chosen="longer"), row())
    return scene(PairsState(filters=filters), SeenPairs(table))


def words_of(filters: Filters) -> list[str]:
    return [each.words for each in filter_chips(seen(filters))]


def acts(shown: HtmlReading) -> list[tuple[str, dict[str, Any]]]:
    """What the chips send: those that take away have values, "reset" has none."""
    names = [name for name in shown.attributes["button", "data-act"] if name != "reset"]
    sent = [json.loads(each) for each in shown.attributes["button", "data-sent"]]
    return list(zip(names, sent, strict=True))


def test_how_many_are_in_view_is_said() -> None:
    filters = Filters().keeping(LengthRange("chosen", "chars", 2, None))
    assert bar(seen(filters)).of_class["count"] == ["1 of 3 pairs"]
    assert bar(seen(Filters())).of_class["count"] == ["3 of 3 pairs"]


def test_without_filters_there_is_no_chip_and_nothing_to_reset() -> None:
    shown = bar(seen(Filters()))
    assert shown.attributes["button", "data-act"] == []
    assert shown.of_class["chips"] == [""]


def test_where_nothing_passes_it_is_said_beside_the_chips() -> None:
    shown = bar(seen(replace(Filters(), query=Query("absent"))))
    assert "No pair matches" in shown.words and acts(shown)


def test_notes_are_said_as_text() -> None:
    shown = bar(seen(Filters()), "<b>", "pair=&lt;")
    assert shown.of_class["note"] == ["Ignored in the link: <b> · pair=&lt;"]


def test_a_link_begins_where_it_is_told() -> None:
    shown = bar(seen(Filters()), base="https://example.org/<a>?\"'")
    assert shown.attributes["button", "data-base"] == ["https://example.org/<a>?\"'"]
    assert bar(seen(Filters())).attributes["button", "data-base"] == [""]


FILTERS = replace(
    Filters()
    .picking("subset", ['mine "<&', "b"])
    .picking("longer", ["equal"])
    .keeping(LengthRange("chosen", "chars", 1, None))
    .keeping(LengthRange("prompt", "words", None, 1000))
    .keeping(LengthRange("difference", "chars", -5, 1000)),
    query=Query("[<p]", "prompt", regex=True, case=True),
)


def test_filters_are_put_in_words() -> None:
    assert words_of(FILTERS) == [
        "Subset: b",
        'Subset: mine "<&',
        "Longer response: equally long",
        "chosen characters ≥ 1",
        "prompt words ≤ 1,000",
        "chosen − rejected characters -5 to 1,000",
        "“[<p]” (in prompts, regex, match case)",
    ]


def test_each_chip_names_its_filter_and_takes_just_it_away() -> None:
    now = seen(FILTERS)
    shown = bar(now)
    words = words_of(FILTERS)
    assert shown.of_class["words"] == words
    named = shown.attributes["button", "aria-label"]
    assert named == [f"Remove the filter {each}" for each in words]
    for place, (act, sent) in enumerate(acts(shown)):
        left = words_of(move(now.state, act, sent).filters)
        assert left == words[:place] + words[place + 1 :]
    assert "reset" in shown.attributes["button", "data-act"]
    assert move(now.state, "reset", {}).filters == Filters()


@given(name=hostile, words=hostile)
def test_chips_stay_text_and_send_what_they_say(name: str, words: str) -> None:
    filters = replace(Filters().picking("subset", [name]), query=Query(words))
    shown = bar(seen(filters))
    (act, sent), (search, _) = acts(shown)
    assert (act, sent, search) == ("unpick", {"facet": "subset", "name": name}, "search")
    assert shown.of_class["words"] == [f"Subset: {name}", f"“{words}” (in all texts)"]


def test_the_fields_of_a_search_are_named_and_bounded() -> None:
    shown = HtmlReading(search_html(), {"div", "input", "select", "option", "label", "span"})
    assert shown.attributes["input", "maxlength"] == [str(LONGEST_QUERY)]
    assert shown.attributes["option", "value"] == list(PLACES)
    fields = shown.attributes["input", "data-field"] + shown.attributes["select", "data-field"]
    assert fields == ["words", "regex", "case", "where"]
    acting = shown.attributes["input", "data-act"] + shown.attributes["select", "data-act"]
    assert acting == ["search"] * 4
    assert "no lookahead" in shown.attributes["label", "title"][0]


@pytest.mark.parametrize("place", PLACES)
def test_a_search_says_where(place: Any, demo: PairTable) -> None:
    filters = replace(Filters(), query=Query("a", place))
    assert (
        bar(scene(PairsState(filters=filters), SeenPairs(demo)))
        .of_class["words"][0]
        .startswith("“a” (in ")
    )
