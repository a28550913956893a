"""Everybody can use it: axe finds nothing in any panel, light and dark, wide and narrow."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import (
    open_app,
    open_panel,
    open_tab,
    pair,
    save_picture,
    show,
    themes,
    violations,
    watched_page,
)

pytestmark = pytest.mark.e2e

PICTURED = ("pairs", "lengths", "review", "about")


@pytest.mark.parametrize("width", [1500, 390])
def test_axe_finds_nothing_and_nothing_sticks_out(
    browser: Browser, demo_app: str, width: int
) -> None:
    found: list[str] = []
    with watched_page(browser, width) as page:
        open_app(page, demo_app)
        for name in _views(page):
            reach = page.evaluate("document.documentElement.scrollWidth")
            if reach > width:
                found.append(f"{name}: {reach} px wide")
            for theme in themes(width):
                show(page, theme)
                page.mouse.move(0, 0)
                page.wait_for_timeout(250)  # colours change gradually
                if name in PICTURED:
                    save_picture(page, f"{name}-{width}-{theme}")
                found += [f"{name}, {theme}: {each}" for each in violations(page, theme)]
            show(page, "light")
    assert found == []


def _views(page: Page) -> Iterator[str]:
    """Open one view after the other; its name, once it is filled."""
    expect(pair(page)).to_be_visible()
    yield "pairs"
    page.locator("#search").fill("no pair holds this text")
    expect(page.locator(".pair-none")).to_be_visible()
    yield "nothing"
    page.get_by_role("button", name="Reset", exact=True).click()
    open_panel(page, "Lengths")
    expect(page.locator(".lengths-plot .bars .point").first).to_be_attached()
    yield "lengths"
    open_panel(page, "Review")
    page.locator(".review-begin").click()
    expect(pair(page)).to_be_visible()
    page.get_by_text("Files: export, and compare").click()
    expect(page.locator("#review-states")).to_be_visible()
    yield "review"
    open_panel(page, "Export")
    page.locator("#export-csv").click()
    expect(page.locator("#exported a")).to_be_visible()
    yield "export"
    open_panel(page, "Pairs")
    page.get_by_role("button", name="Choose other pairs").click()
    expect(page.locator("#wanted")).to_be_visible()
    yield "chooser"
    page.get_by_role("button", name="Choose other pairs").click()
    page.locator("body").press("?")
    expect(page.locator("#help")).to_be_visible()
    yield "help"
    page.locator("body").press("Escape")
    open_tab(page, "About the data")
    expect(page.locator(".data-card")).to_be_visible()
    yield "about"
