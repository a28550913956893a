"""What models fail, in a real browser: from the board to a pair, to a rival, and on by a link."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import (
    WEAK,
    copied_link,
    in_view,
    open_app,
    open_panel,
    open_tab,
    pair,
    read_results,
    reload,
    violations,
    watched_page,
)

pytestmark = pytest.mark.e2e


def listed(page: Page) -> Locator:
    return page.locator("#pairs .list tbody tr")


def test_a_model_of_the_board_is_offered_and_read_in_one_go(fails_app: str, page: Page) -> None:
    open_app(page, fails_app)
    expect(page.locator('datalist option[value="org/good"]')).to_have_count(1)
    page.locator("#model-name").fill("org/good")
    page.locator("#model-name").press("Enter")
    expect(page.locator("#pairs .kinds")).to_contain_text("Losses")
    expect(page).to_have_url(re.compile("model=org/good"))


def test_an_old_link_to_a_model_without_results_says_so(fails_app: str, page: Page) -> None:
    open_app(page, f"{fails_app}/?model=org/gone")
    expect(page.locator("#pairs .note").filter(has_text="'org/gone'")).to_be_visible()
    expect(page.locator("#pairs .bar-line .count")).to_have_text("188 of 188 pairs")


def journey(page: Page, address: str, browser: Browser, model: str) -> None:
    """From a row of the board to what the model fails, to a rival, to a link."""
    open_app(page, f"{address}/?model=")
    read_results(page)
    open_tab(page, "Models")
    row = page.locator("#models-table tbody tr", has=page.get_by_text(model, exact=True))
    row.locator("td.score").click()
    drawer = page.get_by_test_id("drawer")
    drawer.get_by_role("link", name=re.compile("^Open its .*failures")).click()
    expect(page.locator("#model-name")).to_have_value(model)
    tab = page.get_by_role("tab", name="Pairs", exact=True)
    expect(tab).to_have_attribute("aria-selected", "true")
    losses = in_view(page)
    assert losses > 0
    open_panel(page, "Slices")
    expect(page.locator(".kinds-of h2").first).to_be_visible()
    slices = page.locator(".kinds-of .slices th a").locator("visible=true")
    slices.filter(has_text=re.compile("^rejected longer$")).first.click()
    expect(page.locator("#pairs .chip.removable")).not_to_have_count(0)
    assert 0 < in_view(page) <= losses
    expect(pair(page)).to_be_visible()
    page.locator("#pairs .who summary").click()
    expect(page.locator("#pairs .who .goto").first).to_be_visible()

    open_tab(page, "Models")
    drawer.get_by_role("link", name=re.compile("^Compare with [^…]")).click()
    expect(page.locator("#models .duel").first).to_be_visible()
    cell = page.locator("#models .duel td.only_b a[data-go]").first
    wanted = int(cell.inner_text().replace(",", ""))
    cell.click()
    expect(page.locator("#pairs .bar-line .count")).to_have_text(re.compile(f"^{wanted:,} of"))
    with watched_page(browser) as other:
        open_app(other, copied_link(page, "pairs"))
        expect(listed(other).first).to_be_visible()
        first = slice(25)  # more follow as they are scrolled to
        assert listed(other).all_text_contents()[first] == listed(page).all_text_contents()[first]
        assert in_view(other) == wanted


@pytest.mark.journey
def test_a_trainer_goes_from_the_board_to_what_a_model_fails(
    fails_app: str, page: Page, browser: Browser
) -> None:
    journey(page, fails_app, browser, "org/fair")


def test_a_trainer_does_so_with_the_real_models(
    real_app: str, page: Page, browser: Browser
) -> None:
    journey(page, real_app, browser, "Ray2333/GRM-gemma2-2B-rewardmodel-ft")


def test_hostile_names_do_nothing(fails_app: str, page: Page) -> None:
    open_app(page, f"{fails_app}/?model=")
    read_results(page)
    name = page.locator("#model-name")
    name.fill(WEAK)
    name.press("Tab")
    expect(page.locator("#pairs .kinds")).to_contain_text("Losses")
    expect(listed(page).first).to_be_visible()
    page.locator("#pairs .who summary").click()
    assert not page.locator("#pairs script, #pairs img").count()
    name.fill("gone")
    name.press("Tab")
    expect(page.locator("#pairs .note.told")).to_contain_text("'gone'")
    expect(listed(page).first).to_be_visible()


def test_a_note_on_a_pair_stays_in_the_browser(fails_app: str, page: Page) -> None:
    open_app(page, f"{fails_app}/?model=&pairs=every")
    read_results(page)
    expect(listed(page).first).to_be_visible()
    note = page.get_by_label("Note").locator("visible=true")
    note.fill("the label is wrong")
    note.press("Enter")
    expect(page.locator("#pairs tr.noted")).to_have_count(1)
    reload(page)
    expect(page.locator("#pairs tr.noted")).to_have_count(1)
    expect(page.get_by_label("Note").locator("visible=true")).to_have_value("the label is wrong")


def test_axe_finds_nothing_and_nothing_sticks_out(fails_app: str, browser: Browser) -> None:
    found = []
    for name, address in (
        ("failures", "?model=org/fair"),
        ("kinds", "?model=org/fair&panel=slices"),
        ("hardest", "?model=&pairs=every"),
        ("compare", "?tab=models&panel=compare&a=org/fair&b=org/good"),
        ("agreement", "?tab=models&panel=agreement&a=org/fair"),
    ):
        with watched_page(browser) as page:
            open_app(page, f"{fails_app}/{address}")
            read_results(page)
            found += violations(page, name)
    assert found == []
