"""Counterfactuals in a real browser: type, see the reward move, apply an edit, probe, stop."""

import base64
import re
import zlib

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Serve, open_app, open_tab, violations, wait_until_filled

pytestmark = pytest.mark.e2e

HOSTILE = "<img src=x onerror=alert(1)> ${alert(2)} {{x}}"


def rewards(page: Page) -> list[str]:
    return page.locator("#try-pair .value").all_inner_texts()


def press_score(page: Page) -> list[str]:
    """Score what is typed, edits included."""
    page.locator("#try-score").click()
    expect(page.locator("#try-pair .value")).to_have_count(3)
    expect(page.locator("#try-pair")).not_to_contain_text("…")
    return rewards(page)


def test_rewards_follow_what_is_typed_edited_and_taken(serve: Serve, page: Page) -> None:
    address = serve()
    open_app(page, f"{address}/?tab=try")
    hint = page.locator(".try-pane").get_by_text("Part of a listed name")
    expect(hint).to_be_hidden()
    page.locator("#try-model").focus()
    expect(hint).to_be_visible()
    page.locator("#try-model").press("Tab")
    expect(page.locator("#try-score")).to_be_focused()
    expect(hint).to_be_hidden()
    chosen = page.locator("#try-chosen")
    chosen.press("Control+End")
    chosen.press_sequentially(" Before.")
    expect(page.locator("#try-status")).to_contain_text("Click Score this pair")
    page.set_viewport_size({"width": 1366, "height": 768})
    before = press_score(page)
    for shown in (page.get_by_test_id("try-reward"), chosen, page.locator("#try-rejected")):
        expect(shown).to_be_in_viewport(ratio=1)

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
    expect(card.locator(".value")).not_to_have_text(before[1])

    # What is pasted is no key press.
    page.locator("#try-rejected").fill(HOSTILE)
    expect(rejected.locator(".value")).not_to_have_text(before[2])
    assert not page.locator("#try img").count()
    page.locator("#try-tokens").click()
    expect(page.locator("#try .typed-card .body")).to_have_count(2)

    open_tab(page, "Pairs")
    row = page.locator("#pairs .list tbody tr").nth(2)
    row.click()
    expect(row).to_have_attribute("aria-current", re.compile("true|row"))
    open_tab(page, "Try")
    page.locator("#try-opened").click()
    expect(chosen).not_to_have_value(re.compile("left of it"))
    expect(card).not_to_contain_text("vs. start")
    expect(page.locator("#try .typed-card .body")).to_have_count(0)


def test_what_is_typed_stays_when_the_page_is_loaded_anew(demo_app: str, leaving: Page) -> None:
    open_app(leaving, f"{demo_app}/?tab=try")
    leaving.locator("#try-chosen").fill(HOSTILE)
    open_tab(leaving, "Score")
    sample = leaving.locator("#which").get_by_label("A sample of each subset")
    sample.check()
    leaving.locator("#per-subset").fill("2")
    expect(leaving.locator("#selected")).to_contain_text("46 pairs")
    for _ in range(2):
        leaving.reload()
        wait_until_filled(leaving)
        open_tab(leaving, "Try")
        expect(leaving.locator("#try-chosen")).to_have_value(HOSTILE)
        expect(leaving.locator("#try-prompt")).to_have_value(re.compile("basil"))
        open_tab(leaving, "Score")
        expect(sample).to_be_checked()
        expect(leaving.locator("#per-subset")).to_have_value("2")
        expect(leaving.locator("#selected")).to_contain_text("46 pairs")


def test_a_probe_is_run_and_one_is_stopped(demo_app: str, page: Page) -> None:
    open_app(page, f"{demo_app}/?tab=try")
    page.locator("#probe-start").click()
    expect(page.locator("#probe-status .finished")).to_contain_text("23 pairs")
    rows = page.locator("#probe-table tbody tr")
    expect(rows).to_have_count(12)
    expect(rows.filter(has_text="Upper-case").first).to_contain_text(re.compile(r"[+−]\d"))
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as taken:
        page.locator("#probe-csv-pairs").click()
    assert taken.value.suggested_filename == "bias-probe-pairs.csv"

    page.locator(".probe-head summary").click()
    page.locator("#probe-per-subset").fill("100")
    expect(page.locator(".probe-head summary")).to_contain_text("188 pairs · 7 edits · about")
    page.locator("#probe-start").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#probe-status .stopped")).to_contain_text("of 188 pairs")
    expect(page.locator("#probe-start")).to_have_text("Run")


def test_axe_finds_nothing_and_nothing_sticks_out(demo_app: str, page: Page) -> None:
    open_app(page, f"{demo_app}/?tab=try")
    press_score(page)
    page.locator("#probe-start").click()
    expect(page.locator("#probe-status .finished")).to_be_visible()
    assert violations(page, "try") == []


def test_what_an_address_says_in_vain_goes_with_the_first_change(demo_app: str, page: Page) -> None:
    open_app(page, f"{demo_app}/?tab=try&bogus=1&model=longer")
    ignored = page.get_by_text("Ignored in the link: bogus=1")
    expect(ignored).to_be_visible()
    page.locator(".probe-head summary").click()
    page.get_by_label("The current filter").check()
    expect(page.locator("#probe-per-subset")).to_have_count(0)
    expect(ignored).to_have_count(0)
    expect(page.locator("#try-model")).to_have_value("longer")


@pytest.mark.parametrize("size", [1, 12_500])
def test_a_typed_pair_is_sent_in_a_link_that_no_request_holds(
    size: int, demo_app: str, page: Page, browser: Browser
) -> None:
    """Or, where it is too long for one, in a file."""
    open_app(page, f"{demo_app}/?tab=try&model=longer")
    texts = {"prompt": "Zebra?", "chosen": HOSTILE + "é漢😀 " * size, "rejected": "b"}
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
            expect(page.locator(".try-note")).to_contain_text("too long for a link")
            open_app(other, f"{demo_app}/?tab=try&model=longer")
            other.locator("input[data-share=open]").set_input_files(saved.value.path())
        for name, text in texts.items():
            expect(other.locator(f"#try-{name}")).to_have_value(text)
        assert "#" not in other.url and "model=longer" in other.url
        other.locator("#try-undo").click()
        expect(other.locator("#try-prompt")).to_have_value(re.compile("basil"))
    assert asked and not [url for url in asked if "pair=" in url or "Zebra" in url]


def packed(data: bytes) -> str:
    compress = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.urlsafe_b64encode(compress.compress(data) + compress.flush()).decode()


@pytest.mark.parametrize(
    "word",
    [
        "",
        "%%%<script>",
        packed(b"no JSON"),
        packed(b"null"),
        packed(b'{"prompt": 1, "chosen": [], "rejected": null}'),
        packed(b'{"__proto__": {"prompt": "a"}, "chosen": "b", "rejected": "c"}'),
        packed(b'{"prompt": "' + b"a" * 200_001 + b'", "chosen": "b", "rejected": "c"}'),
        packed(b" " * 30_000_000),
    ],
)
def test_a_link_that_holds_no_pair_changes_nothing(word: str, demo_app: str, page: Page) -> None:
    open_app(page, f"{demo_app}/?tab=try#pair={word}")
    expect(page.locator(".try-note")).to_have_text(
        "This link holds no pair that can be shown. Nothing was changed."
    )
    expect(page.locator("#try-prompt")).to_have_value(re.compile("basil"))
    expect(page.locator("#try-undo")).to_be_disabled()
