"""The lengths panel: what is drawn and counted of a scene, and how its own ranges are treated."""

import json
from dataclasses import replace

import pytest

from explorer.data.filters import Filters, LengthRange
from explorer.data.table import PairTable
from explorer.data.tokens import TokenCounter
from explorer.reader.scene import Scene, SeenPairs, scene
from explorer.reader.state import Chart, PairsState
from explorer.stores import Stores
from explorer.tabs.pairs.lengths_view import lengths_shown, own_ranges
from tests.explorer.browsing import pairs_parts
from tests.explorer.filling import Filled, filled
from tests.explorer.html_reading import HtmlReading
from tests.explorer.stepping import gone_through

TAGS = {"div", "button", "label", "input"}
SHORT = LengthRange("chosen", "chars", 0, 100)


def lengths_of(table: PairTable, chart: Chart, filters: Filters | None = None) -> Scene:
    state = PairsState(filters=filters or Filters(), panel="lengths", chart=chart)
    return scene(state, SeenPairs(table))


def shown_of(now: Scene, counter: TokenCounter) -> Filled:
    parts = pairs_parts().lengths
    return filled(parts, lengths_shown(parts, now, counter))


def drawn(shown: Filled) -> int:
    """Pairs that the bars of the figure count."""
    traces = json.loads(shown.plot["value"].to_json())["data"]
    return int(sum(sum(trace["y"]) for trace in traces if trace["type"] == "bar"))


def test_all_pairs_are_drawn_and_counted(demo: PairTable, stores: Stores) -> None:
    shown = shown_of(lengths_of(demo, Chart("prompt")), stores.counter)
    assert drawn(shown) == len(demo) and shown.plot["visible"]
    assert "All pairs</th><td>188</td>" in shown.stats
    assert shown.tokenizing.visible is False
    assert shown.plot["value"].layout.shapes == ()


def test_a_range_shades_the_bars_and_narrows_the_table(demo: PairTable, stores: Stores) -> None:
    filters = Filters().keeping(LengthRange("prompt", "chars", 0, 150)).picking("section", ["Chat"])
    now = lengths_of(demo, Chart("prompt"), filters)
    shown = shown_of(now, stores.counter)
    assert 0 < len(now.filtered.rows) < 40
    assert drawn(shown) == 40  # the bars of what the range leaves out are still there to be clicked
    assert f"All pairs</th><td>{len(now.filtered.rows)}</td>" in shown.stats
    (shade,) = shown.plot["value"].layout.shapes
    assert shade.x0 <= 100 and 150 <= shade.x1 <= 152


def test_the_range_of_each_side_is_shaded(demo: PairTable, stores: Stores) -> None:
    filters = Filters().keeping(SHORT).keeping(LengthRange("rejected", "chars", 50, None))
    shapes = shown_of(lengths_of(demo, Chart(), filters), stores.counter).plot["value"].layout
    places = {shade.name: (shade.x0, shade.x1) for shade in shapes.shapes}
    assert places["selected-chosen"] == (0, 101) and places["selected-rejected"][0] == 50


@pytest.mark.parametrize(
    ("chart", "own"),
    [
        (Chart("responses"), True),
        (Chart("chosen"), True),
        (Chart("rejected"), False),
        (Chart("prompt"), False),
        (Chart("responses", "words"), False),
    ],
)
def test_a_charts_own_ranges_are_those_of_what_it_shows(chart: Chart, own: bool) -> None:
    other = LengthRange("difference", "chars", 0, None)
    filters = Filters().keeping(SHORT).keeping(other)
    state = PairsState(filters=filters, chart=chart)
    assert own_ranges(state) == ([SHORT] if own else [])


def test_many_small_charts_are_drawn_by_subset(demo: PairTable, stores: Stores) -> None:
    shown = shown_of(lengths_of(demo, Chart(by_subset=True)), stores.counter)
    assert len(shown.plot["value"].data) > 20


def test_where_nothing_passes_there_is_no_figure(demo: PairTable, stores: Stores) -> None:
    filters = Filters().picking("subset", ["no such subset"])
    shown = shown_of(lengths_of(demo, Chart(), filters), stores.counter)
    assert shown.plot["visible"] is False


def test_tokens_that_were_not_counted_are_asked_for(demo: PairTable, stores: Stores) -> None:
    for tokenizer in ("", "nobody/nothing@main"):
        now = lengths_of(demo, Chart(unit="tokens", tokenizer=tokenizer))
        shown = shown_of(now, stores.counter)
        assert shown.tokenizing.visible and shown.plot == {
            "visible": False, "__type__": "update",
        }  # fmt: skip
        assert shown.stats == "" and "note" in shown.status


def test_tokens_that_were_counted_are_drawn_and_their_tokenizer_named(
    demo: PairTable, stores: Stores
) -> None:
    name, _ = gone_through(stores.counter.count(demo, "demo"))
    now = lengths_of(demo, Chart("prompt", "tokens", tokenizer=name))
    shown = shown_of(now, stores.counter)
    assert drawn(shown) == len(demo)
    assert f"Counted by {name}." in shown.status


def test_the_controls_say_what_is_shown_and_send_the_rest(demo: PairTable, stores: Stores) -> None:
    chart = Chart("difference", "words", by_subset=True)
    html = shown_of(lengths_of(demo, chart), stores.counter).controls
    seen = HtmlReading(html, TAGS)
    sent = [json.loads(each) for each in seen.attributes["button", "data-sent"]]
    pressed = zip(sent, seen.attributes["button", "aria-pressed"], strict=True)
    assert [each for each, on in pressed if on == "true"] == [
        {"shown": "difference"}, {"unit": "words"},
    ]  # fmt: skip
    assert seen.attributes["input", "data-field"] == ["by_subset"]
    assert ("input", "checked") in seen.attributes
    off = shown_of(lengths_of(demo, replace(chart, by_subset=False)), stores.counter).controls
    assert "checked" not in off
