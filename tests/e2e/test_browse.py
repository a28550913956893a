"""Browse: a first visit, from the list to a pair, on by keys, back, and on by a link; lengths."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import (
    App,
    chips,
    copied_link,
    count,
    facet,
    in_view,
    open_app,
    open_panel,
    open_tab,
    pair,
    press_at_once,
    press_mark,
    read_results,
    reload,
    rows,
    watched_page,
)

pytestmark = pytest.mark.e2e

LOOK = """() => {
  const all = (what) => [...document.querySelectorAll(`#pairs :is(${what})`)];
  const seen = all(".count, .chip, .list thead, .pair .key, .position, .stats");
  const pressed = all("[aria-current], [aria-checked=true]");
  const filled = all("#search, select, #model-name").map((each) => each.value);
  return [...[...seen, ...pressed].map((each) => each.textContent.trim()), ...filled];
}"""
"""What one sees of the Pairs tab: what is listed and open, and what is pressed."""
IS_SEEN = f"look => JSON.stringify(({LOOK})()) === JSON.stringify(look)"


@pytest.mark.journey
def test_a_first_visit_finds_reads_and_sends_pairs(app: App, page: Page, browser: Browser) -> None:
    open_app(page, app.address)
    expect(page.locator("#dataset-caption")).to_contain_text("Demo pairs")
    welcome = page.get_by_label("First steps")
    expect(welcome.get_by_role("link")).to_have_count(3)
    welcome.get_by_role("button").click()
    facet(page, "subset", "hep-rust").click()
    expect(count(page)).to_have_text("8 of 188 pairs")
    rows(page).nth(3).click()
    position = page.locator(".position:visible")
    expect(position).to_have_text("4 of 8")
    page.keyboard.press("j")
    expect(position).to_have_text("5 of 8")
    expect(pair(page).locator("ins, del").first).to_be_visible()
    page.get_by_role("group", name="Differences").get_by_text("Off").click()
    expect(pair(page).locator("ins, del")).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type("the")
    expect(chips(page)).to_have_count(2)
    expect(rows(page).first.locator("mark").first).to_have_text(re.compile("the", re.I))
    page.locator("#search").blur()

    with watched_page(browser) as other:
        open_app(other, copied_link(page, "pairs"))
        other.wait_for_function(IS_SEEN, arg=page.evaluate(LOOK))
        expect(pair(other).locator("ins, del")).to_have_count(0)
    page.locator("#search").fill("no pair holds this text")
    expect(page.get_by_text("No matching pairs.")).to_be_visible()
    reload(page)
    expect(count(page)).to_have_text("0 of 188 pairs")
    expect(welcome).to_be_hidden()
    page.go_back()  # all that was typed is one step
    expect(count(page)).to_have_text("8 of 188 pairs")
    expect(page.locator("#search")).to_have_value("")


@pytest.mark.journey
def test_of_quick_presses_each_counts_and_so_does_what_is_typed_beside(
    app: App, page: Page
) -> None:
    typed = """(link, [field, event, words]) => {
      const typed = document.querySelector(field);
      if (event === "input") link.click();
      typed.focus();
      typed.value = words;
      typed.dispatchEvent(new Event(event, { bubbles: true }));
      if (event === "change") link.click();
    }"""
    open_app(page, app.address)
    press_at_once(page, "jjjk")
    expect(rows(page).nth(2)).to_have_attribute("aria-current", "true")
    boxes = page.locator('[data-facet="subset"] .whole').filter(has_text=re.compile("Chat|Safety"))
    boxes.evaluate_all("boxes => boxes.forEach(box => box.click())")
    for name in ("Chat", "Chat Hard", "Safety"):
        expect(facet(page, "section", name)).to_have_attribute("aria-checked", "true")
    expect(chips(page)).to_have_count(3)
    facet(page, "section", "Chat").evaluate(typed, ["#search", "input", "the"])
    expect(chips(page).filter(has_text="the")).to_have_count(1)
    expect(chips(page)).to_have_count(3)
    open_tab(page, "Score")
    page.get_by_text("All runs").evaluate(typed, ["#model", "change", "org/typed"])
    expect(page).to_have_url(re.compile("panel=runs.*model=org/typed"))


def test_back_and_forward_show_again_what_ten_presses_led_to(app: App, page: Page) -> None:
    open_app(page, f"{app.address}/?model=&pairs=every")
    read_results(page)
    page.locator("#search").fill("e")  # typing is no step of its own
    expect(chips(page)).to_have_count(1)
    seen = [page.evaluate(LOOK)]
    presses: tuple[Callable[[], object], ...] = (
        facet(page, "section", "Reasoning").click,
        rows(page).nth(2).click,
        lambda: page.keyboard.press("j"),
        lambda: open_panel(page, "Lengths"),
        lambda: open_panel(page, "List"),
        lambda: page.get_by_label("Where to search").select_option("chosen"),
        lambda: page.locator(".list-sort select").select_option(index=1),
        lambda: page.get_by_test_id("model-picker").fill("org/fair"),
        page.locator("#pairs .kinds a").filter(has_text="Wins").click,
        page.locator(".reader-next").click,
    )
    for press in presses:
        n_steps = page.evaluate("history.length")
        press()
        page.locator("#model-name").blur()
        page.wait_for_function("n => history.length > n", arg=n_steps)
        seen.append(page.evaluate(LOOK))
    for step, looks in ((page.go_back, seen[-2::-1]), (page.go_forward, seen[1:])):
        for look in looks:
            step()
            page.wait_for_function(IS_SEEN, arg=look)


def test_lengths_become_filters_pictures_and_a_table(app: App, page: Page) -> None:
    open_app(page, f"{app.address}/?panel=lengths")
    bars = page.locator(".lengths-plot .bars .point")
    expect(bars.nth(20)).to_be_attached()
    expect(page.locator("table.stats tbody tr")).to_have_count(23 + 4)
    press_mark(page, bars.nth(4))
    expect(chips(page)).to_have_text(re.compile(r"chosen − rejected characters"))
    expect(page.locator("table.stats tfoot")).to_contain_text(f"{in_view(page):,}")
    plot = page.locator(".lengths-plot .nsewdrag").first.bounding_box()
    assert plot is not None
    page.mouse.move(plot["x"] + 0.1 * plot["width"], plot["y"] + 90)
    page.mouse.down()
    page.mouse.move(plot["x"] + 0.9 * plot["width"], plot["y"] + 110, steps=4)
    page.mouse.up()
    expect(chips(page).filter(has_text="rejected characters")).to_have_count(2)
    page.get_by_role("checkbox", name="By subset").click()
    expect(page.locator(".lengths-plot .annotation").nth(3)).to_be_attached()
    with page.expect_download() as download:
        page.locator("[data-picture=png]").click()
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
