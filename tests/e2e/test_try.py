"""Try: rewards follow what is typed and edited; a pair is sent by a link or a file."""

import base64
import re
import zlib

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import App, open_app, open_tab, rows, watched_page

pytestmark = pytest.mark.e2e

HARMFUL = "<img src=x onerror=alert(1)> ${alert(2)} {{x}}"


def press_score(page: Page) -> list[str]:
    """Score what is typed, edits included; the rewards."""
    page.locator("#try-score").click()
    expect(page.locator("#try-pair .value")).to_have_count(3)
    expect(page.locator("#try-pair")).not_to_contain_text("…")
    return page.locator("#try-pair .value").all_inner_texts()


def test_rewards_follow_what_is_typed_edited_and_taken(app: App, page: Page) -> None:
    open_app(page, f"{app.address}/?tab=try&bogus=1")
    expect(page.get_by_text("Ignored in the link: bogus=1")).to_be_visible()
    chosen = page.locator("#try-chosen")
    chosen.press("Control+End")
    chosen.press_sequentially(" Before.")
    expect(page.locator("#try-status")).to_contain_text("Click Score this pair")
    before = press_score(page)

    chosen.press_sequentially(" And freeze what is left of it.", delay=20)
    card, rejected = (page.locator(f".typed-card.{side}") for side in ("chosen", "rejected"))
    expect(card.locator(".value")).not_to_have_text(before[1])
    expect(card).to_contain_text("vs. start")
    expect(rejected).to_contain_text("unchanged")
    card.get_by_role("button", name="Drop last sentence").click()
    expect(chosen).to_have_value(re.compile(r"other day\. Before\.$"))
    expect(card.locator(".value")).to_have_text(before[1])
    page.locator("#try-undo").click()
    expect(chosen).to_have_value(re.compile("left of it.$"))

    page.locator("#try-rejected").fill(HARMFUL)  # what is pasted is no key press
    expect(rejected.locator(".value")).not_to_have_text(before[2])
    assert not page.locator("#try img").count()
    open_tab(page, "Pairs")
    rows(page).nth(2).click()
    expect(rows(page).nth(2)).to_have_attribute("aria-current", re.compile("true|row"))
    open_tab(page, "Try")
    page.locator("#try-opened").click()
    expect(chosen).not_to_have_value(re.compile("left of it"))
    expect(card).not_to_contain_text("vs. start")


@pytest.mark.parametrize("size", [1, 12_500])
def test_a_typed_pair_is_sent_in_a_link_that_no_request_holds(
    size: int, app: App, page: Page, browser: Browser
) -> None:
    """Or, where it is too long for one, in a file."""
    open_app(page, f"{app.address}/?tab=try&model=longer")
    texts = {"prompt": "Zebra?", "chosen": HARMFUL + "é漢😀 " * size, "rejected": "b"}
    for name, text in texts.items():
        page.locator(f"#try-{name}").fill(text)
    page.evaluate("navigator.clipboard.writeText = async (words) => { window.copied = words; }")
    asked: list[str] = []
    with browser.new_context() as context:
        other = context.new_page()
        other.on("request", lambda request: asked.append(request.url))
        if size == 1:
            page.locator("#try-link").click()
            expect(page.locator("#try-link")).to_have_text("Copied")
            open_app(other, page.evaluate("window.copied"))
        else:
            with page.expect_download() as saved:
                page.locator("#try-link").click()
            open_app(other, f"{app.address}/?tab=try&model=longer")
            other.locator("input[data-share=open]").set_input_files(saved.value.path())
        for name, text in texts.items():
            expect(other.locator(f"#try-{name}")).to_have_value(text)
        assert "#" not in other.url and "model=longer" in other.url
    assert asked and not [url for url in asked if "pair=" in url or "Zebra" in url]


def packed(data: bytes) -> str:
    compress = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.urlsafe_b64encode(compress.compress(data) + compress.flush()).decode()


NO_PAIRS = {
    "no base64": "%%%<script>",
    "no texts": packed(b'{"prompt": 1, "chosen": [], "rejected": null}'),
    "a prototype": packed(b'{"__proto__": {"prompt": "a"}, "chosen": "b", "rejected": "c"}'),
    "a bomb": packed(b" " * 30_000_000),
}


def test_a_link_that_holds_no_pair_changes_nothing(app: App, browser: Browser) -> None:
    for name, word in NO_PAIRS.items():
        with watched_page(browser) as page:
            open_app(page, f"{app.address}/?tab=try#pair={word}")
            words = "This link holds no pair that can be shown. Nothing was changed."
            expect(page.locator(".try-note"), name).to_have_text(words)
            expect(page.locator("#try-prompt"), name).to_have_value(re.compile("basil"))
            expect(page.locator("#try-undo"), name).to_be_disabled()
