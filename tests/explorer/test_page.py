"""The page as a whole: how it is wired, and what joins its tabs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from explorer.core.parts import components
from explorer.core.served import LOOK_SECONDS, queued
from explorer.core.settings import Settings
from explorer.data.sources import Candidate, Sources
from explorer.data.table import PairTable
from explorer.page import FILES_SECONDS, Page, _lay_out, build_page, callbacks_of, views_of
from explorer.reader.links import tab_of
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.stores import Stores, open_stores
from explorer.tabs.about.view import Chooser
from scoring.errors import KnownError
from scoring.hub.access import Hub
from tests.conftest import PATIENCE
from tests.explorer.browsing import stays
from tests.explorer.filling import laid_out
from tests.explorer.posting import function_name
from tests.explorer.tables import row, small_table


@pytest.fixture(scope="module")
def page(stores: Stores) -> gr.Blocks:
    return build_page(stores)[0]


@pytest.fixture
def joined(stores: Stores) -> Page:
    return joined_on(stores)


def joined_on(stores: Stores) -> Page:
    return callbacks_of(stores, laid_out(_lay_out, stores, views_of(stores)))


def bars(joined: Page, table_id: Any = "") -> list[Any]:
    """What is told of the pairs that a page looks at, and the timer."""
    session = Session()
    session.show(PairsState(table_id))
    parts, filling = joined.parts, joined.bars(session)
    shown = [*components(parts.bar), parts.timer]
    return [filling.get(part, gr.skip()) for part in shown]


def test_no_event_is_a_public_endpoint_but_those_designed(page: gr.Blocks) -> None:
    public = [event.api_name for event in page.fns.values() if event.api_visibility != "private"]
    pairs, scoring = ["failures", "compare", "pair", "hardest"], ["score_pair", "score_selection"]
    runs = ["runs", "start_run", "run"]
    assert public == ["leaderboard", *pairs, "search_pairs", *scoring, "models", *runs]
    assert list(page.get_api_info()["named_endpoints"]) == [f"/{name}" for name in public]


def test_stop_does_not_wait_in_the_queue(page: gr.Blocks) -> None:
    """Where the queue is full, too: a browser goes by what it is sent of an event."""
    past = {
        each["id"] for each in page.get_config_file()["dependencies"] if each.get("queue") is False
    }
    assert past == {id_ for id_, event in page.fns.items() if not event.queue}
    names = {function_name(page.fns[id_].fn) for id_ in past}
    assert names >= {"ProbePanel.stop", "TrialTab.stop"}
    ended = {
        function_name(page.fns[id_].fn) for event in page.fns.values() for id_ in event.cancels
    }
    assert ended >= {"Chooser.open", "Chooser.upload", "TrialTab.tokens"}


def test_an_answer_touches_no_component_for_progress_that_is_hidden(page: gr.Blocks) -> None:
    """A browser goes over all of `show_progress_on`, else over all outputs, thrice an answer."""
    events = page.get_config_file()["dependencies"]
    assert all(
        each["show_progress_on"] == [] for each in events if each["show_progress"] == "hidden"
    )


def test_the_page_itself_holds_no_pairs(page: gr.Blocks, stores: Stores) -> None:
    """They come when it is opened: what is laid out goes to everybody, and is inlined."""
    html = "".join(str(part.value) for part in page.blocks.values() if isinstance(part, gr.HTML))
    assert stores.pairs.get(None).keys[0] not in html and len(html) < 100_000


def test_one_call_opens_it(page: gr.Blocks) -> None:
    loads = [
        function_name(event.fn)
        for event in page.fns.values()
        if event.fn is not None and any(kind == "load" for _, kind in event.targets)
    ]
    assert loads == ["Page.open"]
    asked = [name for name, _ in chain(page, Page.open)]
    assert [name for name in asked if name] == ["Page.open"]


def chain(page: gr.Blocks, first: object) -> Iterator[tuple[str, int]]:
    """The callbacks that run one after another once the page is there, each with its number."""
    numbers = [
        n
        for n, event in page.fns.items()
        if function_name(event.fn) == function_name(first)
        and any(kind == "load" for _, kind in event.targets)
    ]
    for number, event in page.fns.items():
        if number in numbers or event.trigger_after in numbers:
            numbers.append(number)
            yield function_name(event.fn), number


def test_uploads_and_exports_are_forgotten(page: gr.Blocks) -> None:
    assert page.delete_cache == FILES_SECONDS and FILES_SECONDS[1] <= 24 * 3600


@pytest.mark.parametrize(
    ("link", "tab"),
    [
        ("?tab=score", "score"),
        ("?tab=runs", "score"),
        ("?tab=failures&model=m", "pairs"),
        ("?tab=browse", "pairs"),
        ("?tab=models&board=v2", "models"),
        ("?tab=models&panel=compare&a=m", "models"),
        ("?tab=leaderboard", "pairs"),
        ("?tab=<b>", "pairs"),
        ("", "pairs"),
        (None, "pairs"),
        (5, "pairs"),
    ],
)
def test_a_link_opens_its_tab(link: object, tab: str, page: gr.Blocks) -> None:
    assert tab_of(link) == tab
    assert tab in [part.id for part in page.blocks.values() if isinstance(part, gr.Tab)]


def test_while_nothing_is_asked_the_timer_rests(joined: Page, stores: Stores) -> None:
    _, retry, caption, _, show, timer = bars(joined, stores.pairs.sources.best)
    assert timer.active is False
    assert "188 pairs" in caption
    assert show["visible"] is retry["visible"] is False


@pytest.mark.parametrize("posted", [None, "gone", 5, ["x"], {}])
def test_the_bar_of_what_is_not_here_any_more_stays_as_it_is(posted: object, joined: Page) -> None:
    *shown, timer = bars(joined, posted)
    assert all(map(stays, shown)) and timer.active is False


def test_a_page_opened_on_pairs_that_are_not_here_still_leads_to_others(joined: Page) -> None:
    session = Session()
    session.show(PairsState("gone"))
    shown = joined.bars(session, is_opening=True)
    assert "Demo pairs: 188 pairs" in shown[joined.parts.bar.pairs.caption]
    assert shown[joined.parts.chooser.offer] == "demo", "the menu names the open pairs"


def test_what_arrives_is_offered_and_then_shown(home: Path) -> None:
    stores = open_stores(Settings(home=home, pairs="demo", offline=True))
    arrived = small_table(row(), row())

    def absent() -> PairTable:
        raise KnownError("not here")

    candidates = [
        Candidate("first", absent, lambda: arrived),
        Candidate("demo", lambda: stores.pairs.sources.get(None)),
    ]
    sources = Sources(candidates, Hub(offline=True))
    stores.pairs.sources = sources
    joined = joined_on(replace(stores, settings=replace(stores.settings, offline=False)))
    before = sources.best
    words, retry, _, _, show, *_ = bars(joined, before)
    assert show["visible"] is False and retry["visible"] is True
    joined.retry()
    sources.wait(PATIENCE)
    joined.stores.results.sources.wait(PATIENCE)
    words, retry, _, _, show, *_ = bars(joined, before)
    assert "arrived" in words and show["visible"] is True
    assert retry["visible"] is True, "the published results are not here still"
    assert joined.best_pairs() == arrived.id


def test_whoever_keeps_pressing_retry_has_the_network_asked_once(home: Path) -> None:
    stores = open_stores(Settings(home=home, pairs="demo", offline=True))
    asked = []

    def absent() -> Any:
        asked.append(True)
        raise KnownError("not here")

    def refused(sources: Any) -> Any:
        candidates = [
            Candidate("first", absent, absent),
            Candidate("demo", lambda: sources.get(None)),
        ]
        return Sources(candidates, Hub(offline=True))

    stores.pairs.sources = refused(stores.pairs.sources)
    stores.results.sources = refused(stores.results.sources)
    asked.clear()
    joined = joined_on(stores)
    for _ in range(5):
        joined.retry()
        stores.pairs.sources.wait(PATIENCE)
        stores.results.sources.wait(PATIENCE)
    assert len(asked) == 2


def test_a_page_can_be_built_twice(stores: Stores) -> None:
    first, second = build_page(stores)[0], build_page(stores)[0]
    assert len(first.fns) == len(second.fns) > 50


def test_callbacks_of_all_tabs_are_there(page: gr.Blocks) -> None:
    wired = {function_name(event.fn) for event in page.fns.values()}
    for tab in (Chooser, Page):
        methods = {f"{tab.__name__}.{name}" for name in vars(tab) if not name.startswith("_")}
        assert {name for name in methods if callable(vars(tab)[name.split(".")[1]])} <= wired


def test_an_idle_queue_looks_for_events_less_often() -> None:
    page = gr.Blocks()
    page.queue()
    assert page._queue.sleep_when_free < LOOK_SECONDS
    assert queued(page, Settings(home=Path()))._queue.sleep_when_free == LOOK_SECONDS
