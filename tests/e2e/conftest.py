"""One app for all journeys, a real browser, and pages that fail on any error or foreign request."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from explorer.data.sources import read_demo
from tests.conftest import DEMO_PAIRS, PATIENCE
from tests.e2e.browser import ARGUMENTS, find
from tests.support.board_data import coin_flips, write_results
from tests.support.files import write_jsonl
from tests.support.hostile import NAMES
from tests.support.serving import started

OF_LEAVING = re.compile("signal is aborted|errored out|ERR_INCOMPLETE_CHUNKED_ENCODING")
"""What Gradio logs where a page is loaded anew before all was answered."""
OWN = re.compile(r"http://127\.0\.0\.1:\d+/|data:|blob:")
SHARES = {"org/best": 0.95, "org/good": 0.85, "org/fair": 0.7, "org/poor": 0.6, NAMES[0]: 0.5}

expect.set_options(timeout=1000 * PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the browser tests, `make test` runs the journeys."""
    for item in items:
        if item.path.parent == Path(__file__).parent and not item.get_closest_marker("journey"):
            item.add_marker("slow")


class App(NamedTuple):
    """Shows the demo pairs and results of five models; of many pairs it scores a pack in seconds.

    long: a file of ten times the demo pairs. twelve: one of twelve short ones.
    """

    address: str
    process: Popen[bytes]
    long: Path
    twelve: Path


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """What all tests of a process share, with the runs that they make on it."""
    home, demo = tmp_path_factory.mktemp("app"), read_demo()
    models = enumerate(SHARES.items())
    flips = {model: coin_flips(share, len(demo), at) for at, (model, share) in models}
    results = write_results(home / "results", flips, [str(each) for each in demo.subset_of_row])
    rows = [json.loads(line) for line in DEMO_PAIRS.read_text(encoding="utf-8").splitlines()]
    long = [{**row, "id": f"{copy}-{row['id']}"} for copy in range(10) for row in rows]
    short = [{"prompt": f"p{n}", "chosen": "c", "rejected": "r", "id": n} for n in range(12)]
    files = write_jsonl(home / "long.jsonl", long), write_jsonl(home / "twelve.jsonl", short)
    settings = {"EXPLORER_RESULTS": str(results), "EXPLORER_RESULTS_OF": "demo"}
    with started(home, "tests.e2e.slow_app", **settings) as (address, process):
        yield App(address, process, *files)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """While it is there, an event loop runs in this thread, which other tests cannot do with."""
    path = find()
    if path is None:
        pytest.skip("no Chromium or Chrome: see tests/e2e/browser.py")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


@contextmanager
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh profile, whose pages may have errors."""
    with browser.new_context(viewport={"width": 1500, "height": 950}) as context:
        context.set_default_timeout(1000 * PATIENCE)
        yield context


@contextmanager
def watched_page(browser: Browser) -> Iterator[Page]:
    """A page in a fresh profile, which fails by any error, and if it asks others for anything."""
    troubles: list[str] = []

    def add(words: str, *, is_trouble: bool = True) -> None:
        if is_trouble and not OF_LEAVING.search(words):
            troubles.append(words)

    with profile(browser) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: add(f"page error: {error}"))
        page.on("console", lambda said: add(said.text, is_trouble=said.type == "error"))
        page.on("request", lambda asked: add(asked.url, is_trouble=not OWN.match(asked.url)))
        yield page
    assert troubles == []


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with watched_page(browser) as watched:
        yield watched


@pytest.fixture
def leaving(browser: Browser) -> Iterator[Page]:
    """A page that may be left while it is being answered, of which Gradio logs an error."""
    with profile(browser) as context:
        yield context.new_page()
