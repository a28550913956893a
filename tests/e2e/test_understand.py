"""Understand: from the board to what a model fails, to a rival, and on by a link."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import (
    WEAK,
    App,
    chips,
    copied_link,
    in_view,
    open_app,
    open_panel,
    open_tab,
    pair,
    press_mark,
    read_results,
    rows,
    watched_page,
)

pytestmark = pytest.mark.e2e


def drawer(page: Page) -> Locator:
    return page.get_by_test_id("drawer")


@pytest.mark.journey
def test_a_trainer_goes_from_the_board_to_what_a_model_fails(
    app: App, page: Page, browser: Browser
) -> None:
    open_app(page, f"{app.address}/?model=")
    read_results(page)
    open_tab(page, "Models")
    row = page.locator("#models-table tbody tr", has=page.get_by_text("org/fair", exact=True))
    row.locator("td.score").click()
    drawer(page).get_by_role("link", name=re.compile("^Open its .*failures")).click()
    expect(page.locator("#model-name")).to_have_value("org/fair")
    expect(page.get_by_role("tab", name="Pairs")).to_have_attribute("aria-selected", "true")
    losses = in_view(page)
    open_panel(page, "Slices")
    slices = page.locator(".kinds-of .slices th a").locator("visible=true")
    slices.filter(has_text=re.compile("^rejected longer$")).first.click()
    expect(chips(page)).not_to_have_count(0)
    assert 0 < in_view(page) <= losses
    expect(pair(page)).to_be_visible()

    open_tab(page, "Models")
    drawer(page).locator(".close").click()
    for model in ("org/best", "org/fair"):
        page.get_by_role("checkbox", name=f"Compare {model} with").click()
    cell = page.locator("#models .duel td.only_b a[data-go]").first
    wanted = int(cell.inner_text().replace(",", ""))
    cell.click()
    expect(page.locator("#pairs .bar-line .count")).to_have_text(re.compile(f"^{wanted:,} of"))
    with watched_page(browser) as other:
        open_app(other, copied_link(page, "pairs"))
        expect(rows(other).first).to_have_text(rows(page).first.text_content() or "")
        assert in_view(other) == wanted
    page.go_back()
    expect(page.get_by_test_id("compare-cell").first).to_be_visible()


def test_a_point_of_a_chart_opens_its_model_and_a_hostile_name_does_nothing(
    app: App, page: Page
) -> None:
    open_app(page, f"{app.address}/?tab=models")
    page.get_by_role("link", name="Charts").click()
    page.get_by_role("link", name="Trade-off").click()
    press_mark(page, page.locator(".models-plot .scatterlayer .point").first)
    expect(drawer(page)).to_be_visible()
    open_tab(page, "Pairs")
    page.locator("#model-name").fill(WEAK)
    page.locator("#model-name").press("Enter")
    expect(page.locator("#pairs .kinds")).to_contain_text("Losses")
    page.locator("#pairs .who summary").click()
    assert not page.locator("#pairs script, #pairs img").count()
