"""The panes of the Pairs tab: beside each other, behind a rail, or one at a time."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import open_app, pair, reload, watched_page

pytestmark = pytest.mark.e2e

FIVE_ROWS = """() => {
  const fifth = document.querySelectorAll("[data-testid=pair-row]")[4].getBoundingClientRect();
  const list = document.querySelector("#pairs .list").getBoundingClientRect();
  return fifth.height && fifth.bottom <= list.bottom + 1 && list.bottom <= innerHeight;
}"""
"""Whether five rows of the list are seen."""


def test_the_list_scrolls_by_itself_and_tells_who_wins(real_app: str, page: Page) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    open_app(page, real_app)
    rows = page.get_by_test_id("pair-row")
    expect(rows.first).to_be_visible()
    for n in (25, 50, 75):  # more follow as often as the end is scrolled to
        rows.nth(n - 1).scroll_into_view_if_needed()
        expect(rows.nth(n)).to_be_attached()
    rows.nth(60).click()
    expect(rows.nth(60)).to_have_attribute("aria-current", "true")
    expect(page.locator("#pairs .list tr[aria-current]")).to_have_count(1)
    expect(rows.nth(60)).to_be_in_viewport(ratio=1)
    expect(page.locator("#pairs .position")).to_have_text("61 of 2,985")
    expect(page.get_by_test_id("search").first).to_be_in_viewport(ratio=1)
    expect(page.locator("#pairs .reader-bar")).to_be_in_viewport(ratio=1)
    page.wait_for_function(  # once results were read
        "() => { const row = document.querySelector('[data-testid=pair-row] .wins');"
        " if (!row) document.querySelector('.reader-random').click(); return row; }",
        polling=1000,
    )
    expect(rows.first.locator(".wins")).to_contain_text("/66 win")
    expect(page.locator("#pairs .who-strip a")).to_have_count(66)


def test_the_keyboard_is_soon_in_the_search_and_headings_name_the_parts(
    demo_app: str, page: Page
) -> None:
    open_app(page, demo_app)
    expect(page.get_by_test_id("reader")).to_be_in_viewport()
    headings = page.get_by_role("heading", level=2)
    parts = ["Demo pairs: 188 pairs, 4 sections", "alpacaeval-easy:900001", "Chosen", "Rejected"]
    expect(headings).to_have_text(["188 of 188 pairs · Demo pairs", *parts])
    search, presses = page.get_by_test_id("search").first, 0
    while not search.evaluate("(field) => field === document.activeElement"):
        page.keyboard.press("Tab")
        presses += 1
    assert presses <= 15
    page.get_by_role("link", name="Skip to content").focus()
    page.keyboard.press("Enter")
    expect(search).to_be_focused()


def test_half_wide_filters_open_over_the_list(demo_app: str, page: Page) -> None:
    page.set_viewport_size({"width": 1100, "height": 768})
    open_app(page, demo_app)
    facet, filters = page.get_by_test_id("facet").first, page.locator("button[data-pane=filters]")
    expect(facet).to_be_hidden()
    expect(pair(page).locator(".rejected")).to_be_visible()
    filters.click()
    facet.click()
    expect(page.get_by_test_id("result-count")).to_have_text("40 of 188 pairs")
    page.locator("#pairs .reader-pane .prompt").click()
    expect(facet).to_be_hidden()

    page.set_viewport_size({"width": 683, "height": 384})  # 1366 x 768 at 200 %
    page.wait_for_function(FIVE_ROWS)


def test_a_phone_shows_one_pane_and_a_shared_pair_first(demo_app: str, browser: Browser) -> None:
    with watched_page(browser, width=390) as page:
        open_app(page, demo_app)
        row, chosen = page.get_by_test_id("pair-row"), page.get_by_test_id("reader-chosen")
        expect(chosen).to_be_hidden()
        page.get_by_role("tab", name="Models").click(timeout=30_000)  # nothing lies over it
        prior = page.get_by_role("link", name="Prior sets")
        expect(page.get_by_test_id("board-row").first).to_be_in_viewport()
        expect(prior).to_be_hidden()
        page.get_by_role("button", name="Options").click()
        page.get_by_role("button", name="Others").click()
        prior.click()
        expect(page).to_have_url(re.compile("table=prior"))
        page.get_by_role("tab", name="Pairs").click(timeout=30_000)
        row.nth(2).click()
        expect(chosen).to_be_in_viewport()
        expect(row.first).to_be_hidden()
        page.get_by_role("button", name="Filters").click()
        page.get_by_test_id("facet").first.click()
        page.get_by_role("button", name="List", exact=True).last.click()
        expect(page.get_by_test_id("result-count")).to_have_text("40 of 188 pairs")
        shared = page.url
    with watched_page(browser, width=390) as page:
        open_app(page, shared)
        expect(page.get_by_test_id("reader-chosen")).to_be_in_viewport()


def test_a_first_visit_is_told_where_to_begin_until_that_is_closed(
    demo_app: str, page: Page
) -> None:
    open_app(page, demo_app)
    welcome = page.get_by_label("First steps")
    expect(welcome.get_by_role("link")).to_have_count(3)
    welcome.get_by_role("link", name="those whose rejected response is longer").click()
    expect(page.get_by_test_id("result-count")).not_to_have_text("188 of 188 pairs")
    expect(welcome).to_be_hidden()
    page.go_back()
    welcome.get_by_role("button").click()
    expect(welcome).to_be_hidden()
    reload(page)
    expect(pair(page)).to_be_visible()
    expect(welcome).to_be_hidden()
