"""What a person does on the page, and what there is to see of it."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

READY = "html[data-explorer=ready]"
VIEWS_FILLED = """() => [...document.querySelectorAll(".view")].filter((view) => view.offsetParent)
  .every((view) => view.querySelector("[data-region=bar]:not(:empty)"))"""


def open_app(page: Page, address: str = "") -> None:
    """Open the app, or load its page anew, and wait until it is filled."""
    # What a page that goes logs of the answers that it will not see is no trouble.
    page.evaluate("console.error = () => undefined")
    page.goto(address) if address else page.reload()
    page.wait_for_selector(READY, state="attached")
    page.wait_for_function(VIEWS_FILLED)


def open_pairs(page: Page, address: str, file: Path) -> None:
    """Open the app, and in it a file of the server's own."""
    open_app(page, address)
    page.get_by_test_id("dataset-switcher").click()
    page.locator("#wanted").fill(str(file))
    page.locator("#open-wanted").click()
    expect(page.locator("#dataset-caption")).to_contain_text(file.name)


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()


def open_panel(page: Page, name: str) -> None:
    """Open a panel of the Pairs tab."""
    panels = page.locator("#pairs").get_by_role("group", name="View", exact=True)
    panels.get_by_role("link", name=name, exact=True).click()


def score_sample(page: Page) -> None:
    """Score a pair of each subset."""
    open_tab(page, "Score")
    page.get_by_label("A sample of each subset").check()
    page.get_by_label("Pairs per subset").fill("1")
    page.get_by_label("Pairs per subset").blur()
    expect(page.get_by_text("23 pairs selected")).to_be_visible()
    page.locator("#start").click()


def score_all(page: Page, n: str) -> None:
    """Score all of the n pairs that are open."""
    open_tab(page, "Score")
    page.get_by_label(re.compile("^All pairs")).check()
    expect(page.get_by_text(f"{n} pairs selected")).to_be_visible()
    page.locator("#start").click()


def begin_review(page: Page) -> Locator:
    """Begin a review, until its pairs can be marked; where its progress stands."""
    open_panel(page, "Review")
    expect(page.locator(".review-keep")).to_be_visible()
    return page.get_by_test_id("review-progress")


def count(page: Page) -> Locator:
    """How many pairs the Pairs tab says that it lists."""
    return page.get_by_test_id("result-count")


def chips(page: Page) -> Locator:
    return page.locator("#pairs .chip.removable")


def rows(page: Page) -> Locator:
    return page.get_by_test_id("pair-row")


def pair(page: Page) -> Locator:
    """The pair that is open in the reader on screen."""
    return page.locator(".pair:visible")


def facet(page: Page, name: str, value: str) -> Locator:
    """A checkbox among the facets; sections stand with their subsets."""
    shown = "subset" if name == "section" else name
    name_of = page.locator(".name").get_by_text(value, exact=True)
    return page.locator(f'[data-facet="{shown}"] .facet-name').filter(has=name_of)


def press_at_once(page: Page, keys: str) -> None:
    """Keys without any time between them."""
    page.evaluate(
        """keys => { for (const key of keys)
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); }""",
        keys,
    )


def copied_link(page: Page) -> str:
    """Press Copy link on the Pairs tab; what is in the clipboard then."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.locator("#pairs .copy-link")
    button.click()
    expect(button).to_have_text("Copied")
    return str(page.evaluate("navigator.clipboard.readText()"))
