"""What was opened is a step back: pairs, tabs, a comparison and the pairs of its cells."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import (
    copied_link,
    facet,
    open_app,
    open_panel,
    open_tab,
    press_at_once,
    read_results,
    watched_page,
)

pytestmark = pytest.mark.e2e

A, B = "Skywork/Skywork-Reward-Llama-3.1-8B-v0.2", "allenai/tulu-v2.5-13b-uf-rm"

BACK_AND_FORTH = """async () => {
  for (let n = 0; n < 100; n++) {
    const moved = new Promise((go) => addEventListener("popstate", go, { once: true }));
    history.go(n % 2 ? 1 : -1);
    await moved;
  }
}"""


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
    open_app(page, f"{real_app}/?model=")
    read_results(page)
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


def walk(page: Page, address: str) -> list[list[str]]:
    """Ten presses in the Pairs tab; what was seen before and after each."""
    open_app(page, f"{address}/?model=&pairs=every")
    read_results(page)
    page.locator("#search").fill("e")  # typing is no step of its own
    expect(page.locator("#pairs .chip.removable")).to_have_count(1)
    seen = [page.evaluate(LOOK)]
    presses: tuple[Callable[[], object], ...] = (
        facet(page, "section", "Reasoning").click,
        page.get_by_test_id("pair-row").nth(2).click,
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
    return seen


def test_back_and_forward_show_again_what_ten_presses_led_to(fails_app: str, page: Page) -> None:
    seen = walk(page, fails_app)
    for step, looks in ((page.go_back, seen[-2::-1]), (page.go_forward, seen[1:])):
        for look in looks:
            step()
            page.wait_for_function(IS_SEEN, arg=look)


def test_a_copied_link_shows_the_same_list_and_pair_to_another(
    fails_app: str, page: Page, browser: Browser
) -> None:
    *_, last = walk(page, fails_app)
    with watched_page(browser) as other:
        open_app(other, copied_link(page, "pairs"))
        other.wait_for_function(IS_SEEN, arg=last)


@pytest.mark.journey
def test_of_quick_presses_each_counts(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    rows = page.get_by_test_id("pair-row")
    press_at_once(page, "jjjk")
    expect(rows.nth(2)).to_have_attribute("aria-current", "true")
    boxes = page.locator('[data-facet="subset"] .whole').filter(has_text=re.compile("Chat|Safety"))
    boxes.evaluate_all("boxes => boxes.forEach(box => box.click())")
    expect(boxes).to_have_count(3)
    for name in ("Chat", "Chat Hard", "Safety"):
        expect(facet(page, "section", name)).to_have_attribute("aria-checked", "true")
    expect(page.locator("#pairs .chip.removable")).to_have_count(3)


@pytest.mark.journey
def test_what_is_typed_beside_a_press_and_the_press_both_count(demo_app: str, page: Page) -> None:
    typed = """(link, [field, event, words]) => {
      const typed = document.querySelector(field);
      if (event === "input") link.click();
      typed.focus();
      typed.value = words;
      typed.dispatchEvent(new Event(event, { bubbles: true }));
      if (event === "change") link.click();
    }"""
    open_app(page, demo_app)
    facet(page, "section", "Chat").evaluate(typed, ["#search", "input", "the"])
    expect(page.locator("#pairs .chip.removable")).to_have_count(2)
    open_tab(page, "Score")
    page.get_by_text("All runs").evaluate(typed, ["#model", "change", "org/typed"])
    expect(page).to_have_url(re.compile("panel=runs.*model=org/typed"))
