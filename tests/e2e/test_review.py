"""Fast hands in the review panel, and the list by keyboard, in a real browser."""

import json

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import open_app, open_panel, open_tab, pair, watched_page

pytestmark = pytest.mark.e2e


@pytest.mark.journey
def test_quick_presses_all_count_and_a_note_stays_with_its_pair(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    open_panel(page, "Review")
    page.locator(".review-begin").click()
    progress = page.locator(".review .status")
    expect(progress).to_contain_text("0 of 8 marked")
    first = pair(page).get_attribute("data-key")
    page.locator("#review-note textarea").fill("of the first")
    page.locator("#review-note textarea").blur()
    page.keyboard.press("2")
    page.keyboard.press("3")
    for _ in range(3):
        page.wait_for_timeout(100)
        page.keyboard.press("1")
    expect(progress).to_have_text("5 of 8 marked: 3 to keep, 1 to drop, 1 unsure")
    expect(page.locator("#review-note textarea")).to_have_value("")

    page.get_by_text("Files: export, and compare").click()
    with page.expect_download() as download:
        page.locator(".review-export-decisions").click()
    decisions = [json.loads(line) for line in download.value.path().read_text().splitlines()]
    assert [row["verdict"] for row in decisions] == ["drop", "unsure", "keep", "keep", "keep"]
    assert [row["note"] for row in decisions] == ["of the first", "", "", "", ""]
    assert decisions[0]["key"] == first


def test_the_keyboard_opens_a_row_and_stays_on_it(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    button = page.locator(".list tbody tr").nth(2).locator("button")
    key = button.inner_text()
    button.press("Enter")
    expect(pair(page)).to_have_attribute("data-key", key)
    expect(button).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(pair(page)).not_to_have_attribute("data-key", key)


def test_on_a_narrow_screen_every_tab_is_reached(demo_app: str, browser: Browser) -> None:
    with watched_page(browser, 390) as page:
        open_app(page, demo_app)
        open_tab(page, "About the data")
        expect(page.locator(".data-card")).to_be_visible()
        open_tab(page, "Browse")
        expect(pair(page)).to_be_visible()


def test_a_list_is_a_table_on_a_narrow_screen(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    page.set_viewport_size({"width": 600, "height": 900})
    assert page.locator(".list td").first.evaluate("each => getComputedStyle(each).display") in (
        "block",
        "inline-block",
    )
    expect(page.locator(".list").get_by_role("row")).to_have_count(26)
    expect(page.locator(".list").get_by_role("rowheader")).to_have_count(25)
    expect(page.locator(".list").get_by_role("cell").first).to_be_visible()
