"""A real server, a real browser, and pages that fail on any error or any foreign request."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.e2e.browser import ARGUMENTS, find

ROOT = Path(__file__).parents[2]
SCREENSHOTS = Path(__file__).parent / "screenshots"
READY = "html[data-explorer=ready]"
START_SECONDS = 90

expect.set_options(timeout=30_000)

Serve = Callable[..., str]


@contextmanager
def serving(home: Path, **environment: str) -> Iterator[str]:
    """`python app.py` on a free port, with these settings; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("EXPLORER_", "GRADIO_", "SPACE_", "HF_"))
    }
    settings |= {"EXPLORER_OFFLINE": "1", "EXPLORER_HOME": str(home), "HF_HOME": str(home / "hf")}
    settings |= {"GRADIO_SERVER_PORT": str(port), **environment}
    with (home / "server.log").open("w") as log:
        server = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=settings, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address, server, home / "server.log")
            yield address
        finally:
            server.terminate()
            server.wait(timeout=20)


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"the app did not start: {log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start the app with given settings; it is stopped after the module."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(**environment: str) -> str:
            home = tmp_path_factory.mktemp("home")
            return stack.enter_context(serving(home, **environment))

        yield start


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find()
    if path is None:
        pytest.skip("no Chromium or Chrome: see tests/e2e/browser.py")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


@contextmanager
def watched_page(browser: Browser, width: int = 1500) -> Iterator[Page]:
    """A page in a fresh profile; at the end, any error it had fails the test."""
    context = browser.new_context(viewport={"width": width, "height": 950})
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
    page.on(
        "console",
        lambda message: troubles.append(message.text) if message.type == "error" else None,
    )
    own = re.compile(r"(http://127\.0\.0\.1:\d+/|data:|blob:)")
    page.on(
        "request",
        lambda request: None if own.match(request.url) else troubles.append(request.url),
    )
    page.set_default_timeout(30_000)
    yield page
    context.close()
    assert troubles == []


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with watched_page(browser) as watched:
        yield watched


def open_app(page: Page, address: str) -> None:
    """Open the app and wait until it is filled."""
    page.goto(address)
    page.wait_for_selector(READY, state="attached")


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()


def picture(page: Page, name: str) -> None:
    """A screenshot of the whole page, light and dark, under tests/e2e/screenshots."""
    SCREENSHOTS.mkdir(exist_ok=True)
    for theme in ("light", "dark"):
        page.evaluate("dark => document.body.classList.toggle('dark', dark)", theme == "dark")
        page.wait_for_timeout(250)
        page.screenshot(path=SCREENSHOTS / f"{name}-{theme}.png", full_page=True)
    page.evaluate("document.body.classList.remove('dark')")
