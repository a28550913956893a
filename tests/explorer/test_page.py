"""The page as a whole: how it is wired, and what joins its tabs."""

import json

import gradio as gr
import pytest

from explorer.page import FILES_SECONDS, build_page
from explorer.reader.links import tab_of
from explorer.stores import Stores


@pytest.fixture(scope="module")
def page(stores: Stores) -> gr.Blocks:
    return build_page(stores)[0]


def test_no_event_is_a_public_endpoint_but_those_designed(page: gr.Blocks) -> None:
    public = [event.api_name for event in page.fns.values() if event.api_visibility != "private"]
    results = ["leaderboard", "failures", "compare", "pair", "hardest", "search_pairs"]
    scoring = ["score_pair", "score_selection", "models", "runs", "start_run", "run"]
    assert public == results + scoring


def test_the_page_itself_holds_no_pairs(page: gr.Blocks, stores: Stores) -> None:
    """They come when it is opened: what is laid out goes to everybody, and is inlined."""
    html = "".join(str(part.value) for part in page.blocks.values() if isinstance(part, gr.HTML))
    assert stores.pairs.get(None).keys[0] not in html and len(html) < 100_000


def test_a_page_holds_nothing_on_the_server_and_calls_nothing_to_open(page: gr.Blocks) -> None:
    """A stream for a state is a connection for as long as a page is open, and a browser has six."""
    assert not [each for each in page.blocks.values() if isinstance(each, gr.State | gr.Timer)]
    loads = [
        event
        for event in page.fns.values()
        if event.fn is not None and any(kind == "load" for _, kind in event.targets)
    ]
    assert loads == []


def test_a_visit_is_sent_little(page: gr.Blocks) -> None:
    config = page.get_config_file()
    assert len(json.dumps(config, default=str, separators=(",", ":"))) < 120_000
    shown = [each for each in config["components"] if each["type"] != "api"]
    assert len(shown) < 60 and len(config["dependencies"]) < 40


def test_uploads_and_exports_are_forgotten(page: gr.Blocks) -> None:
    assert page.delete_cache == FILES_SECONDS and FILES_SECONDS[1] <= 24 * 3600


def test_a_link_opens_its_tab(page: gr.Blocks) -> None:
    tabs = [part.id for part in page.blocks.values() if isinstance(part, gr.Tab)]
    for link, tab in (("?tab=score", "score"), ("?tab=<b>", "pairs"), (5, "pairs")):
        assert tab_of(link) == tab in tabs
