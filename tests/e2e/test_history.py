"""What was opened is a step back: pairs, tabs, a comparison and the pairs of its cells."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_app, open_tab

pytestmark = pytest.mark.e2e

A, B = "Skywork/Skywork-Reward-Llama-3.1-8B-v0.2", "allenai/tulu-v2.5-13b-uf-rm"

BACK_AND_FORTH = """async () => {
  for (let n = 0; n < 100; n++) {
    const moved = new Promise((go) => addEventListener("popstate", go, { once: true }));
    history.go(n % 2 ? 1 : -1);
    await moved;
  }
}"""


@pytest.mark.journey
def test_back_goes_back_through_what_was_opened(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    key, search = page.locator(".reader .pair .key"), page.get_by_test_id("search").first
    first = key.inner_text()
    rows = page.get_by_test_id("pair-row")
    rows.nth(2).click()
    expect(rows.nth(2)).to_have_attribute("aria-current", "true")
    third = key.inner_text()
    assert third != first
    search.fill("python")
    expect(page).to_have_url(re.compile("python"))
    open_tab(page, "Models")
    expect(page).to_have_url(re.compile("tab=models"))

    page.go_back()
    expect(page.get_by_role("tab", name="Pairs")).to_have_attribute("aria-selected", "true")
    expect(search).to_have_value("python")  # typing was no step of its own
    page.go_back()
    expect(key).to_have_text(first)
    expect(search).to_have_value("")
    page.go_forward()
    expect(search).to_have_value("python")


def test_back_from_a_cells_pairs_is_the_comparison(real_app: str, page: Page) -> None:
    open_app(page, f"{real_app}/?tab=failures")
    expect(page.locator("#read-status")).to_be_empty()
    open_app(page, f"{real_app}/?tab=models&panel=compare&a={A}&b={B}")
    page.get_by_test_id("compare-cell").first.get_by_role("link").click()
    expect(page.get_by_role("tab", name="Pairs")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_test_id("pair-row").first).to_be_visible()
    page.go_back()
    expect(page.get_by_role("tab", name="Models")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_test_id("compare-cell").first).to_be_visible()


def test_a_hundred_steps_back_while_acts_are_under_way(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    rows = page.get_by_test_id("pair-row")
    for place in (1, 2, 3, 4, 5, 0):
        rows.nth(place).click()
        expect(rows.nth(place)).to_have_attribute("aria-current", "true")
    page.evaluate(BACK_AND_FORTH)
    page.keyboard.press("j")
    page.go_back()
    rows.nth(3).click()
    expect(rows.nth(3)).to_have_attribute("aria-current", "true")
    expect(page.locator(".reader .pair .key")).to_have_text(
        rows.nth(3).locator(".key").inner_text()
    )
