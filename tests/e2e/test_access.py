"""Everybody can use it: axe finds nothing in any view; a keyboard, a phone and 200 % are enough."""

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Locator, Page, expect

from tests.e2e import screen
from tests.e2e.conftest import App

pytestmark = pytest.mark.e2e

LOOKS: tuple[tuple[int, bool, dict[str, Any]], ...] = (
    (1500, False, {}),
    (1500, True, {"runOnly": ["color-contrast"]}),
    (390, False, {"rules": {"color-contrast": {"enabled": False}}}),
)
"""Widths and whether it is dark: themes differ in colours alone, and widths in all else."""
SHOW = "dark => document.body.classList.toggle('dark', dark)"
STILL = "document.getAnimations().every((each) => !(each instanceof CSSTransition))"
VIEWS = (
    "?", "?q=no pair holds this text", "?panel=lengths", "?panel=export", "?tab=about",
    "?model=org/fair&panel=slices", "?model=&pairs=every",
    "?tab=models&table=subsets&pin=org/good&by=-score&digits=2&open=org/fair",
    "?tab=models&panel=compare&a=org/fair&b=org/good",
    "?tab=models&panel=agreement&a=org/fair", "?tab=score", "?tab=score&panel=runs", "?tab=try",
)  # fmt: skip


def test_axe_finds_nothing_and_nothing_sticks_out(app: App, page: Page) -> None:
    found: list[str] = []

    def look(name: str) -> None:
        """What axe has against a view, and what sticks out of it."""
        for width, is_dark, rules in LOOKS:
            page.set_viewport_size({"width": width, "height": 950})
            page.evaluate(SHOW, is_dark)
            page.mouse.move(0, 0)
            page.wait_for_function(STILL)  # colours change gradually
            # It is drawn anew for another width.
            page.wait_for_function(f"document.documentElement.scrollWidth <= {width}")
            options = {"resultTypes": ["violations"], **rules}
            found.extend(
                f"{name}, {width} px: {rule['id']} at {node['target']}: {node['html'][:200]}"
                for rule in Axe().run(page, options=options).response["violations"]
                for node in rule["nodes"]
            )
        page.set_viewport_size({"width": 1500, "height": 950})
        page.evaluate(SHOW, False)

    for address in VIEWS:
        screen.open_app(page, f"{app.address}/{address}")
        expect(page.locator("#read-status")).to_be_empty()  # the published results are read
        look(address)
    screen.open_app(page, app.address)
    screen.begin_review(page)
    page.keyboard.press("1")
    expect(page.get_by_test_id("review-progress")).to_contain_text("1 of")
    look("review")
    page.get_by_role("button", name="Files", exact=True).click()
    look("files of a review")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    look("help")
    page.keyboard.press("Escape")
    page.get_by_test_id("dataset-switcher").click()
    look("chooser")
    assert found == []


def test_the_keyboard_is_enough_and_the_warning_is_remembered(app: App, page: Page) -> None:
    screen.open_app(page, app.address)
    search, box = page.get_by_test_id("search").first, screen.facet(page, "section", "Safety")

    def tab_to(wanted: Locator, most: int) -> None:
        for _ in range(most):
            page.keyboard.press("Tab")
            if wanted.evaluate("each => each === document.activeElement"):
                return
        pytest.fail(f"it is not reached by {most} presses")

    tab_to(search, 15)
    page.get_by_role("link", name="Skip to content").focus()
    page.keyboard.press("Enter")
    expect(search).to_be_focused()
    tab_to(box, 100)
    page.keyboard.press("Space")
    expect(screen.chips(page)).to_have_text(re.compile("Section: Safety"))
    expect(box).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(".position:visible")).to_contain_text("2 of")
    body = screen.pair(page).locator(".chosen .body")
    expect(body).to_have_css("visibility", "hidden")
    screen.pair(page).get_by_role("button", name="Always show").focus()
    page.keyboard.press("Enter")
    page.locator("#theme-button").press("Enter")
    screen.open_app(page)
    expect(page.locator("body.dark")).to_have_count(1)
    expect(body).to_have_css("visibility", "visible")


def test_the_list_scrolls_by_itself_and_the_less_room_there_is_the_less_is_shown_at_once(
    app: App, page: Page
) -> None:
    """On a phone one pane, where a shared link shows its pair first."""
    page.set_viewport_size({"width": 1366, "height": 768})
    screen.open_app(page, app.address)
    for n in (50, 75):  # more follow as often as the end is scrolled to
        screen.rows(page).nth(n - 1).scroll_into_view_if_needed()
        expect(screen.rows(page).nth(n)).to_be_attached()
    screen.rows(page).nth(60).click()
    for seen in (screen.rows(page).nth(60), page.get_by_test_id("search").first):
        expect(seen).to_be_in_viewport(ratio=1)
    page.set_viewport_size({"width": 1100, "height": 768})
    box = page.get_by_test_id("facet").first
    expect(box).to_be_hidden()
    page.locator("button[data-pane=filters]").click()
    box.click()
    expect(screen.count(page)).to_have_text("40 of 188 pairs")
    page.locator("#pairs .reader-pane .prompt").click()
    expect(box).to_be_hidden()
    page.set_viewport_size({"width": 683, "height": 384})  # 1366 x 768 at 200 %
    expect(screen.rows(page).nth(4)).to_be_in_viewport(ratio=1)

    page.set_viewport_size({"width": 390, "height": 950})
    screen.open_app(page, app.address)
    chosen = page.get_by_test_id("reader-chosen")
    expect(chosen).to_be_hidden()
    screen.rows(page).nth(2).click()
    expect(chosen).to_be_in_viewport()
    expect(screen.rows(page).first).to_be_hidden()
    page.get_by_role("button", name="Filters").click()
    box.click()
    page.get_by_role("button", name="List", exact=True).last.click()
    expect(screen.count(page)).to_have_text("40 of 188 pairs")
    expect(chosen).to_be_hidden()
    screen.open_app(page)
    expect(chosen).to_be_in_viewport()
