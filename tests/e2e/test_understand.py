"""Understand: from the board to what a model fails, to a rival, and on by a link."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import (
    SHARES,
    WEAK,
    App,
    chips,
    copied_link,
    count,
    in_view,
    open_app,
    open_panel,
    open_tab,
    pair,
    press_mark,
    read_results,
    reload,
    rows,
    watched_page,
)

pytestmark = pytest.mark.e2e


def drawer(page: Page) -> Locator:
    return page.get_by_test_id("drawer")


def names(page: Page) -> list[str]:
    """The models of the board from above to below."""
    shown = page.locator("#models-table tbody th.model .name")
    return [str(each.get_attribute("title")) for each in shown.all()]


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
    page.locator("#pairs .who summary").click()
    expect(page.locator("#pairs .who .goto").first).to_be_visible()

    open_tab(page, "Models")
    drawer(page).get_by_role("link", name=re.compile("^Compare with [^…]")).click()
    cell = page.locator("#models .duel td.only_b a[data-go]").first
    wanted = int(cell.inner_text().replace(",", ""))
    cell.click()
    expect(page.locator("#pairs .bar-line .count")).to_have_text(re.compile(f"^{wanted:,} of"))
    with watched_page(browser) as other:
        open_app(other, copied_link(page, "pairs"))
        expect(rows(other).first).to_be_visible()
        first = slice(25)  # more follow as they are scrolled to
        assert rows(other).all_text_contents()[first] == rows(page).all_text_contents()[first]
        assert in_view(other) == wanted
    page.go_back()
    expect(page.get_by_test_id("compare-cell").first).to_be_visible()


def test_a_chooser_sorts_searches_pins_and_sends_the_link(
    app: App, page: Page, browser: Browser
) -> None:
    open_app(page, f"{app.address}/?tab=models")
    expect(page.locator("#models-table td.group").first).to_be_attached()
    assert names(page) == [*SHARES]
    heading = page.locator(
        "#models-table thead th", has=page.get_by_role("link", name=re.compile("^Chat .$"))
    )
    for order in ("descending", "ascending"):
        heading.get_by_role("link").click()
        expect(heading).to_have_attribute("aria-sort", order)
    page.get_by_role("link", name="Pin org/poor on top").click()
    expect(page.get_by_test_id("board-row").first).to_have_class("pinned")
    search = page.get_by_role("searchbox", name="Search models")
    search.press_sequentially("good", delay=20)
    expect(page.locator("#models .count")).to_have_text("2 of 5 models")
    assert names(page) == ["org/poor", "org/good"]
    page.get_by_role("button", name="Export").click()
    with watched_page(browser) as other:
        open_app(other, copied_link(page, "models"))
        expect(other.locator("#models .count")).to_have_text("2 of 5 models")
        for seen in ("#models-table thead th", "#models-table tbody tr"):
            there, here = (each.locator(seen).all_inner_texts() for each in (other, page))
            assert there == here
    with page.expect_download() as taken:  # one click is enough
        page.get_by_role("link", name="CSV", exact=True).locator("visible=true").click()
    assert len(taken.value.path().read_text("utf-8-sig").splitlines()) == 1 + 2
    search.fill("good(")
    expect(page.locator("#models-notes .note")).to_contain_text("Invalid regex 'good('")
    search.fill("")
    page.get_by_role("link", name="Charts").click()
    page.get_by_role("link", name="Trade-off").click()
    press_mark(page, page.locator(".models-plot .scatterlayer .point").first)
    expect(drawer(page)).to_be_visible()


def test_a_model_is_typed_its_name_does_nothing_and_a_note_stays(app: App, page: Page) -> None:
    open_app(page, f"{app.address}/?model=org/gone")
    expect(page.locator("#pairs .note").filter(has_text="'org/gone'")).to_be_visible()
    expect(count(page)).to_have_text("188 of 188 pairs")
    page.locator("#model-name").fill(WEAK)
    page.locator("#model-name").press("Enter")
    expect(page.locator("#pairs .kinds")).to_contain_text("Losses")
    page.locator("#pairs .who summary").click()
    assert not page.locator("#pairs script, #pairs img").count()
    note = page.get_by_label("Note").locator("visible=true")
    note.fill("the label is wrong")
    note.press("Enter")
    expect(page.locator("#pairs tr.noted")).to_have_count(1)
    reload(page)
    expect(page.locator("#pairs tr.noted")).to_have_count(1)
    expect(note).to_have_value("the label is wrong")
