"""Share: strangers in turn, what a browser kept, many tabs of one, what programs ask."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import (
    READY,
    SLOW_APP,
    App,
    begin_review,
    count,
    facet,
    open_app,
    open_runs,
    open_tab,
    profile,
    score_all,
    score_sample,
    watched_page,
)
from tests.support.serving import serving

pytestmark = pytest.mark.e2e

EARLIER = Path(__file__).with_name("earlier")
KEEP = "(kept) => { for (const name in kept) localStorage.setItem(name, kept[name]); }"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for strangers; somebody scored there with a browser of an earlier version.

    `earlier/browser.json` is the localStorage of one that made ten marks, two notes, a typed pair
    and a run on a public server of commit 4523d55; `earlier/runs` has the run.
    """
    home = tmp_path_factory.mktemp("shared")
    shutil.copytree(EARLIER / "runs", home / "runs")
    limits = {"EXPLORER_SECONDS_PER_HOUR": "none", "EXPLORER_MAX_PAIRS": "none"}
    with serving(home, SLOW_APP, EXPLORER_PUBLIC="1", **limits) as address:
        yield address


def test_people_wait_in_turn_and_see_their_own_runs(
    shared: str, browser: Browser, leaving: Page
) -> None:
    other = leaving
    with watched_page(browser) as one:
        for page in (one, other):
            open_app(page, shared)
        score_all(one, "188")
        expect(one.locator(".status.running")).to_contain_text("pairs/s")
        score_sample(other)
        open_app(other)
        expect(other.locator(".status.waiting")).to_contain_text("1 ahead of you")
        one.locator("#stop").click()
        expect(one.locator(".status.stopped")).to_be_visible()
        expect(other.locator(".status.finished")).to_be_visible()
        for page, n in ((one, "188"), (other, "23")):
            open_runs(page)
            expect(page.get_by_test_id("run-row")).to_have_count(1)
            expect(page.get_by_test_id("run-row")).to_contain_text(f"/ {n}")


def test_a_browser_of_an_earlier_version_finds_what_it_kept(shared: str, leaving: Page) -> None:
    page = leaving
    page.goto(f"{shared}/favicon.ico")
    page.evaluate(KEEP, json.loads((EARLIER / "browser.json").read_text(encoding="utf-8")))
    open_app(page, shared)
    progress = begin_review(page)
    expect(progress).to_have_text("10 of 188 reviewed")
    page.keyboard.press("u")
    expect(progress).to_have_text("9 of 188 reviewed")
    page.reload()  # what is taken over once does not come again
    expect(progress).to_have_text("9 of 188 reviewed")
    open_tab(page, "Try")
    expect(page.locator("#try-prompt")).to_have_value("What is typed?")
    open_runs(page)
    expect(page.locator("#runs-list .run-name")).to_have_count(1)


def test_twelve_tabs_of_one_browser_open_and_answer(app: App, browser: Browser) -> None:
    """A browser opens six connections to a server: none of a page may last."""
    with profile(browser) as context:
        pages = [context.new_page() for _ in range(12)]
        for page, tab in zip(pages, 6 * ["score", "pairs"], strict=True):
            page.goto(f"{app.address}/?tab={tab}&which=subset")
            page.wait_for_selector(READY)
        pages[0].locator("#start").click()
        for page, other in zip(pages[::2], pages[1::2], strict=True):
            page.bring_to_front()  # each sees the run that the first began
            expect(page.get_by_test_id("run-status")).to_be_visible()
            other.bring_to_front()
            facet(other, "section", "Chat").click()
            expect(count(other)).to_have_text("40 of 188 pairs")


def test_an_address_opens_what_programs_ask(app: App, leaving: Page) -> None:
    open_app(leaving, f"{app.address}/?view=api&section=Safety")
    described = leaving.get_by_role("dialog")
    expect(described).to_contain_text("The pairs that a model or a run loses or ties")
    leaving.locator(".api-docs .backdrop").click(position={"x": 20, "y": 300})
    expect(described).to_have_count(0)
    assert "view=api" not in leaving.url and "section=Safety" in leaving.url
