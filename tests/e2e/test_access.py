"""Everybody can use it: axe finds nothing in any panel, light and dark, wide and narrow."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import (
    begin_review,
    open_app,
    open_chooser,
    open_panel,
    pair,
    violations,
)

pytestmark = pytest.mark.e2e

PICTURED = ("pairs", "lengths", "review", "about")


def test_axe_finds_nothing_and_nothing_sticks_out(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    found = [
        each
        for name in _views(page)
        for each in violations(page, name, is_pictured=name in PICTURED)
    ]
    assert found == []
    expect(page.locator(".toast-body")).to_have_count(0)


def _views(page: Page) -> Iterator[str]:
    """Open one view after the other; its name, once it is filled."""
    expect(pair(page)).to_be_visible()
    yield "pairs"
    page.locator("#search").fill("no pair holds this text")
    expect(page.locator(".pair-none")).to_be_visible()
    yield "nothing"
    page.get_by_role("link", name="Reset", exact=True).click()
    open_panel(page, "Lengths")
    expect(page.locator(".lengths-plot .bars .point").first).to_be_attached()
    yield "lengths"
    begin_review(page)
    expect(pair(page)).to_be_visible()
    page.locator("body").press("1")
    expect(page.get_by_test_id("review-progress")).to_contain_text("1 of")
    yield "review"
    page.get_by_role("button", name="Files", exact=True).click()
    expect(page.locator("#review-files")).to_be_visible()
    yield "files of a review"
    page.locator("body").press("Escape")
    open_panel(page, "Export")
    expect(page.locator("#export-csv")).to_be_visible()
    yield "export"
    open_panel(page, "List")
    open_chooser(page)
    expect(page.locator("#wanted")).to_be_visible()
    yield "chooser"
    open_chooser(page)
    page.locator("body").press("?")
    expect(page.locator("#help")).to_be_visible()
    yield "help"
    page.locator("body").press("Escape")
    page.get_by_role("link", name="About the data").click()
    expect(page.locator(".data-card")).to_be_visible()
    yield "about"
