"""Real servers, a real browser, and pages that fail on any error or any foreign request."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    TimeoutError,
    expect,
    sync_playwright,
)

from explorer.data.sources import read_demo
from tests.conftest import PATIENCE
from tests.e2e.browser import ARGUMENTS, find
from tests.support.board_data import coin_flips, write_results
from tests.support.boards import HOSTILE

ROOT = Path(__file__).parents[2]
SCREENSHOTS = Path(__file__).parent / "screenshots"
READY = "html[data-explorer=ready]"
VIEWS_FILLED = """() => [...document.querySelectorAll(".view")].filter((view) => view.offsetParent)
  .every((view) => view.querySelector("[data-region=bar]:not(:empty)"))"""

WEAK = HOSTILE[0]
SHARES = {"org/best": 0.95, "org/good": 0.85, "org/fair": 0.7, "org/poor": 0.6, WEAK: 0.5}

expect.set_options(timeout=1000 * PATIENCE)

Serve = Callable[..., str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the browser tests, `make test` runs the journeys."""
    for item in items:
        if item.path.parent == Path(__file__).parent and not item.get_closest_marker("journey"):
            item.add_marker("slow")


@contextmanager
def serving(home: Path, *, is_slow: bool = False, **environment: str) -> Iterator[str]:
    """`python app.py` on a free port, with these settings; gives its address.

    is_slow: its models take long for each pack (`slow_app`).
    """
    with started(home, is_slow=is_slow, **environment) as (address, _):
        yield address


@contextmanager
def started(
    home: Path, *, is_slow: bool = False, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The same; gives the process, too."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("EXPLORER_", "GRADIO_", "SPACE_", "HF_"))
    }
    settings |= {"EXPLORER_OFFLINE": "1", "EXPLORER_HOME": str(home), "HF_HOME": str(home / "hf")}
    settings |= {"EXPLORER_DEVICE": "cpu", "GRADIO_SERVER_PORT": str(port), **environment}
    with (home / "server.log").open("w") as log:
        app = ["-m", "tests.e2e.slow_app"] if is_slow else ["app.py"]
        server = subprocess.Popen([sys.executable, *app], cwd=ROOT, env=settings, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address, server, home / "server.log")
            yield address, server
            ended = server.poll()
            assert ended is None, f"the app ended ({ended}): {_end_of(home / 'server.log')}"
        finally:
            server.terminate()
            server.wait(timeout=60)


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(address, timeout=30).close()
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"the app did not start: {_end_of(log)}")


def _end_of(log: Path) -> str:
    return log.read_text()[-2000:]


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start the app with given settings; it is stopped after the module."""
    with ExitStack() as stack:

        def start(*, is_slow: bool = False, **environment: str) -> str:
            home = tmp_path_factory.mktemp("home")
            return stack.enter_context(serving(home, is_slow=is_slow, **environment))

        yield start


@pytest.fixture(scope="session")
def demo_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app that shows the demo pairs. Tests share it, and the runs made on it."""
    with serving(tmp_path_factory.mktemp("demo")) as address:
        yield address


@pytest.fixture(scope="session")
def real_app(tmp_path_factory: pytest.TempPathFactory, shared_data: Path) -> Iterator[str]:
    """The same with the real pairs, and the results of the real models."""
    pairs = shared_data / "reward-bench" / "filtered.parquet"
    results = shared_data / "reward-bench-results"
    with serving(
        tmp_path_factory.mktemp("real"), EXPLORER_PAIRS=str(pairs), EXPLORER_RESULTS=str(results)
    ) as address:
        yield address


@pytest.fixture(scope="session")
def fails_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same with results of five models on the demo pairs."""
    home, demo = tmp_path_factory.mktemp("fails"), read_demo()
    flips = {
        model: coin_flips(share, len(demo), at) for at, (model, share) in enumerate(SHARES.items())
    }
    results = write_results(home / "results", flips, [str(each) for each in demo.subset_of_row])
    with serving(home, EXPLORER_RESULTS=str(results), EXPLORER_RESULTS_OF="demo") as address:
        yield address


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
def profile(browser: Browser, width: int = 1500) -> Iterator[BrowserContext]:
    """A fresh profile, whose pages may have errors."""
    with browser.new_context(viewport={"width": width, "height": 950}) as context:
        context.set_default_timeout(1000 * PATIENCE)
        yield context


@contextmanager
def watched_page(browser: Browser, width: int = 1500) -> Iterator[Page]:
    """A page in a fresh profile; at the end, any error it had fails the test."""
    with profile(browser, width) as context:
        page = context.new_page()
        troubles = troubles_of(page)
        yield page
    assert troubles == []


OF_LEAVING = re.compile("signal is aborted|errored out|ERR_INCOMPLETE_CHUNKED_ENCODING")
"""What Gradio logs where a page is loaded anew before all was answered."""


def troubles_of(page: Page) -> list[str]:
    """The errors of a page, and what it asks of others, as they come."""
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
    page.on(
        "console",
        lambda message: (
            troubles.append(message.text)
            if message.type == "error" and not OF_LEAVING.search(message.text)
            else None
        ),
    )
    own = re.compile(r"(http://127\.0\.0\.1:\d+/|data:|blob:)")
    page.on(
        "request",
        lambda request: None if own.match(request.url) else troubles.append(request.url),
    )
    return troubles


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with watched_page(browser) as watched:
        yield watched


@pytest.fixture
def leaving(browser: Browser) -> Iterator[Page]:
    """A page that may be left while it is being answered, of which Gradio logs an error."""
    with profile(browser) as context:
        yield context.new_page()


def open_app(page: Page, address: str) -> None:
    """Open the app and wait until it is filled."""
    _leave(page)
    page.goto(address)
    wait_until_filled(page)


def wait_until_filled(page: Page) -> None:
    page.wait_for_selector(READY, state="attached")
    page.wait_for_function(VIEWS_FILLED)


def reload(page: Page) -> None:
    """Load the page anew once all is answered, and wait until it is filled."""
    idle = "[...document.querySelectorAll('.relayed')].every((part) => !part.explorerSent)"
    page.wait_for_function(idle)
    _leave(page)
    page.reload()
    wait_until_filled(page)


def _leave(page: Page) -> None:
    """What a page that goes logs of the answers that it will not see is no trouble."""
    page.evaluate("console.error = () => undefined")


def open_tab(page: Page, name: str) -> None:
    """Open a tab."""
    page.get_by_role("tab", name=name, exact=True).click()


def read_results(page: Page) -> None:
    """Wait until the published results are read."""
    expect(page.locator("#read-status")).to_be_empty()


def open_chooser(page: Page) -> None:
    """Open what other pairs are chosen in."""
    page.get_by_test_id("dataset-switcher").click()


def choose_model(page: Page, name: str) -> None:
    """Type a model's name on the Score tab."""
    page.locator("#model").fill(name)
    page.locator("#model").press("Enter")


def open_runs(page: Page) -> None:
    """Open the list of runs."""
    open_tab(page, "Score")
    open_panel(page, "All runs", part="score")


def open_panel(page: Page, name: str, part: str = "pairs") -> None:
    """Open a panel of the tab that is open."""
    panels = page.locator(f"#{part}").get_by_role("group", name="View", exact=True)
    panels.get_by_role("link", name=name, exact=True).click()


def begin_review(page: Page) -> Locator:
    """Begin a review, until its pairs can be marked; where its progress stands."""
    open_panel(page, "Review")
    expect(page.locator(".review-keep")).to_be_visible()
    return page.get_by_test_id("review-progress")


def marks_of(page: Page) -> list[dict[str, Any]]:
    """What the file of a review's marks says."""
    page.get_by_role("button", name="Files", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export marks").click()
    page.keyboard.press("Escape")
    return [json.loads(line) for line in download.value.path().read_text().splitlines()]


def in_view(page: Page) -> int:
    """How many pairs the Pairs tab says that it lists."""
    words = page.locator("#pairs .bar-line .count").inner_text()
    return int(words.split()[0].replace(",", ""))


def press_mark(page: Page, mark: Locator) -> None:
    """Click a mark of a figure as a hand does: plotly looks where the pointer came from."""
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 2, y)
    page.mouse.move(x, y)
    page.mouse.click(x, y)


def copied_link(page: Page, part: str) -> str:
    """Press Copy link in a part of the page; what is in the clipboard then."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.locator(f"#{part} .copy-link")
    button.click()
    expect(button).to_have_text("Copied")
    return str(page.evaluate("navigator.clipboard.readText()"))


def facet(page: Page, name: str, value: str) -> Locator:
    """A checkbox among the facets; sections stand with their subsets."""
    shown = "subset" if name == "section" else name
    name_of = page.locator(".name").get_by_text(value, exact=True)
    return page.locator(f'[data-facet="{shown}"] .facet-name').filter(has=name_of)


def press_at_once(page: Page, keys: str) -> None:
    """Keys without any time between them."""
    page.evaluate(
        """keys => { for (const key of keys)
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); }""",
        keys,
    )


def pair(page: Page) -> Locator:
    """The pair that is open in the reader on screen."""
    return page.locator(".pair:visible")


def show(page: Page, theme: str) -> None:
    page.evaluate("dark => document.body.classList.toggle('dark', dark)", theme == "dark")


LOOKS: tuple[tuple[int, str, dict[str, Any]], ...] = (
    (1500, "light", {}),
    (1500, "dark", {"runOnly": ["color-contrast"]}),
    (390, "light", {"rules": {"color-contrast": {"enabled": False}}}),
)
"""Widths and themes that axe looks at: themes differ in colours alone, and widths in all else."""


def violations(page: Page, name: str, *, is_pictured: bool = True) -> list[str]:
    """What axe has against a view, wide and narrow, light and dark, and what sticks out of it."""
    found = []
    for width, theme, rules in LOOKS:
        page.set_viewport_size({"width": width, "height": 950})
        show(page, theme)
        page.mouse.move(0, 0)
        page.wait_for_timeout(250)  # colours change gradually
        if is_pictured:
            save_picture(page, f"{name}-{width}-{theme}")
        where = f"{name}, {theme}, {width} px"
        try:  # what is drawn anew for another width takes its time
            page.wait_for_function(
                f"document.documentElement.scrollWidth <= {width}", timeout=30_000
            )
        except TimeoutError:
            found.append(f"{where}: something sticks out")
        options = {"resultTypes": ["violations"], **rules}
        found += [
            f"{where}: {rule['id']} at {node['target']}: {node['html'][:200]}"
            for rule in Axe().run(page, options=options).response["violations"]
            for node in rule["nodes"]
        ]
    page.set_viewport_size({"width": 1500, "height": 950})
    show(page, "light")
    return found


def picture(page: Page, name: str) -> None:
    """A screenshot of the whole page, light and dark, under tests/e2e/screenshots."""
    for theme in ("light", "dark"):
        show(page, theme)
        page.wait_for_timeout(250)
        save_picture(page, f"{name}-{theme}")
    show(page, "light")


def save_picture(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
