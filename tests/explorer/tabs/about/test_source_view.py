"""The source bar: what is shown, why not something else, and what has arrived, all as text."""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass

import gradio as gr

from explorer.data.sources import Candidate, Sources
from explorer.reader.source_view import build_sourcebar, sourcebar
from scoring.errors import KnownError
from scoring.hub.access import Hub
from tests.conftest import PATIENCE
from tests.explorer.browsing import stays
from tests.explorer.filling import Filled, filled, laid_out
from tests.explorer.html_reading import HtmlReading

TAGS = {"div", "details", "summary", "ul", "li"}
MOST = 100
"""Lines of a list that are written."""
HOSTILE = "<img src=x onerror=alert(1)> \"'&lt;${1}"


@dataclass(frozen=True)
class Item:
    id: str
    caption: str = "Some pairs."
    remarks: tuple[str, ...] = ()


def absent(reason: str = "nobody answers") -> Item:
    raise KnownError(reason)


def sources(
    local: Item, label: str = "org/name", remote: Callable[[], Item] = absent
) -> Sources[Item]:
    """Sources that show `local`, and would rather show what is remote."""
    candidates = [Candidate(label, absent, remote), Candidate("demo", lambda: local)]
    return Sources(candidates, Hub(offline=False))


PARTS = laid_out(lambda: build_sourcebar(gr.HTML(elem_id="dataset-caption")))


def bar_of(
    sources: Sources[Item],
    item: Item | None,
    can_retry: bool,
    results: Sources[Item] | None = None,
) -> Filled:
    """results: those that stand beside the pairs; None where these are the best there could be."""
    results = results or Sources([Candidate("here", lambda: Item("here"))], Hub(offline=True))
    return filled(PARTS, sourcebar(PARTS, (sources, item), results, can_retry))


def read(bar: Filled) -> HtmlReading:
    return HtmlReading(bar.words, TAGS)


def test_of_what_is_not_here_any_more_it_says_what_it_said() -> None:
    bar = bar_of(sources(Item("demo")), None, can_retry=True)
    assert all(stays(value) for value in bar.values())


def test_what_holds_of_pairs_and_results_is_said_once() -> None:
    item = Item("demo")

    def of(label: str, why: str) -> Sources[Item]:
        """Sources that have something else than `label`, and why."""
        return sources(item, label, lambda: absent(why))

    pairs = of("org/pairs", "org/pairs is not here.")
    both = [of("org/board", "org/board is not here."), of("org/board", "nobody answers")]
    for each in (pairs, *both):
        each.fetch()
        each.wait(PATIENCE)
    alike, unlike = (
        read(bar_of(pairs, item, can_retry=True, results=each)).of_class["note"] for each in both
    )
    assert alike[0] == "Not shown: org/pairs is not here. The same holds for org/board."
    assert unlike[:2] == [
        "Not shown: org/pairs is not here.",
        "Not shown: org/board: nobody answers",
    ]
    assert [len(alike), len(unlike)] == [2, 3], "and when it was asked"


def test_what_is_shown_stays_text() -> None:
    item = Item("demo", HOSTILE, (HOSTILE, "second"))
    bar = bar_of(sources(item, HOSTILE), item, can_retry=True)
    seen, caption = read(bar), bar["pairs.caption"]
    assert HtmlReading(caption, {"button", "span"}).words.strip() == HOSTILE
    assert seen.of_class["note"] == [f"Not shown: {HOSTILE}: nobody answers"]
    remarks = HtmlReading(bar["pairs.remarks"], TAGS).words
    assert "2 warnings" in remarks and remarks.rstrip().endswith(f"{HOSTILE}second")


def test_of_many_remarks_the_first_are_shown_and_the_others_counted() -> None:
    item = Item("demo", remarks=tuple(f"[{number}]" for number in range(MOST + 5)))
    bar = bar_of(sources(item), item, can_retry=True)
    words = HtmlReading(bar["pairs.remarks"], TAGS).words
    assert f"{MOST + 5} warnings" in words and words.rstrip().endswith("and 5 more")
    assert f"[{MOST - 1}]" in words and f"[{MOST}]" not in words


def test_a_reason_that_begins_with_its_label_does_not_repeat_it() -> None:
    item = Item("demo")
    candidates = [
        Candidate("org/name", lambda: absent("org/name is not here.")),
        Candidate("demo", lambda: item),
    ]
    words = read(bar_of(Sources(candidates, Hub(offline=True)), item, can_retry=False)).words
    assert words.count("org/name") == 1


def test_after_the_network_failed_one_can_ask_again_where_it_is_of_use() -> None:
    item = Item("demo")
    asked = sources(item)
    asked.fetch()
    asked.wait(PATIENCE)
    bar = bar_of(asked, item, can_retry=True)
    assert (bar["pairs.show"]["visible"], bar.retry["visible"]) == (False, True)
    assert re.search(r"Last checked at \d\d:\d\d:\d\d UTC", read(bar).words)
    assert bar_of(asked, item, can_retry=False).retry["visible"] is False


def test_while_the_network_is_asked_it_is_said_and_nothing_is_offered() -> None:
    item, answered = Item("demo"), threading.Event()

    def slow() -> Item:
        answered.wait(PATIENCE)
        return absent()

    asked = sources(item, remote=slow)
    asked.fetch()
    try:
        bar = bar_of(asked, item, can_retry=True)
        assert read(bar).of_class["asking"]
        assert (bar["pairs.show"]["visible"], bar.retry["visible"]) == (False, False)
    finally:
        answered.set()
    asked.wait(PATIENCE)


def test_what_arrived_is_offered_to_who_does_not_look_at_it_yet() -> None:
    local, remote = Item("demo"), Item("hub", f"New {HOSTILE}")
    asked = sources(local, remote=lambda: remote)
    asked.fetch()
    asked.wait(PATIENCE)
    bar = bar_of(asked, local, can_retry=True)
    assert read(bar).of_class["arrived"] == [f"Now available: New {HOSTILE}"]
    assert (bar["pairs.show"]["visible"], bar.retry["visible"]) == (True, False)
    assert bar_of(asked, remote, can_retry=True)["pairs.show"]["visible"] is False
    elsewhere = bar_of(asked, Item("uploaded"), can_retry=True)
    assert elsewhere["pairs.show"]["visible"] is False
