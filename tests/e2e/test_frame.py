"""The page in a frame of another site, where a browser keeps nothing, and in many tabs of one."""

from contextlib import closing

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import READY, Serve, facet, profile

pytestmark = pytest.mark.e2e


def test_a_frame_whose_browser_denies_storage_is_filled(serve: Serve, browser: Browser) -> None:
    address = serve(EXPLORER_PUBLIC="1")
    with profile(browser) as context:  # private, so that frames of other sites keep nothing
        page = context.new_page()
        page.goto(address.replace("127.0.0.1", "localhost") + "/config")  # another site's page
        page.set_content(f'<iframe src="{address}" width="1400" height="900"></iframe>')
        frame = page.frame_locator("iframe")
        expect(frame.locator(".pair").first).to_be_visible()
        denied = page.frames[1].evaluate(
            "() => { try { return document.hasStorageAccess().then((has) => !has); }"
            " catch { return true; } }"
        )
        assert denied, "this browser lets the frame keep something, so that nothing was tried"
        frame.get_by_role("tab", name="Score", exact=True).click()
        expect(frame.locator("#start")).to_be_visible()


def test_twelve_tabs_of_one_browser_open_and_answer(demo_app: str, browser: Browser) -> None:
    """A browser opens six connections to a server: none of a page may last."""
    with closing(browser.new_context(viewport={"width": 1500, "height": 900})) as context:
        pages = [context.new_page() for _ in range(12)]
        for page, tab in zip(pages, 3 * ["score"] + 5 * ["pairs"] + 4 * ["models"], strict=True):
            page.goto(f"{demo_app}/?tab={tab}&which=subset")
            page.wait_for_selector(READY)
            if page is pages[0]:
                page.locator("#start").click()
                expect(page.get_by_test_id("run-status")).to_be_visible()
        for page in pages[:3]:
            page.bring_to_front()
            expect(page.get_by_test_id("run-status")).to_be_visible()
        for page in pages[3:8]:
            page.bring_to_front()
            facet(page, "section", "Chat").click()
            expect(page.locator(".count")).to_have_text("40 of 188 pairs")
        for page in pages[8:]:
            page.bring_to_front()
            expect(page.get_by_test_id("board-row").first).to_be_visible()
