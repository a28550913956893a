"""Score a sample, and go on with a run; try a pair, and send it; text that attacks the page."""

import base64
import re
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Position, expect

from tests.e2e import screen
from tests.e2e.conftest import App, watched_page
from tests.support.files import write_jsonl

pytestmark = pytest.mark.e2e

TAG = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>'


@pytest.mark.journey
def test_a_sample_is_scored_and_its_failures_are_read(app: App, page: Page) -> None:
    screen.open_app(page, app.address)
    screen.score_sample(page)
    expect(page.locator(".status.finished")).to_contain_text("23 pairs")
    page.locator("#score .inspect").click()
    expect(screen.pair(page).locator(".chip.bad")).to_contain_text("lost · margin −")
    bars = page.locator(".margins .bars")
    left, right = Position(x=40, y=9), Position(x=120, y=9)
    bars.drag_to(bars, source_position=left, target_position=right, steps=3)
    expect(screen.chips(page).first).to_contain_text("margin −")


def test_a_stopped_run_is_kept_shown_again_and_goes_on(app: App, leaving: Page) -> None:
    page = leaving
    screen.open_pairs(page, app.address, app.long)
    screen.score_all(page, "1,880")
    expect(page.locator(".status.running")).to_contain_text("pairs/s")
    page.locator("#score .inspect").click()  # it is read while it streams in
    scored = page.locator("#pairs .kinds a").last
    before = scored.inner_text()
    expect(scored).not_to_have_text(before)

    page.close()  # it goes on without its page, and any page stops it
    one, other = (leaving.context.new_page() for _ in range(2))
    for page in (one, other):
        screen.open_app(page, f"{app.address}/?tab=score")
        expect(page.locator("#stop")).to_be_enabled()
        expect(page.locator("#start")).to_be_disabled()
    other.locator("#stop").click()
    for page in (one, other):
        expect(page.locator(".status.stopped")).to_contain_text("They are kept")
        expect(page.locator("#start")).to_be_enabled()
    other.get_by_role("link", name="All runs", exact=True).click()
    other.locator("#runs-list .run-name").first.click()
    other.get_by_role("button", name=re.compile("Resume")).click()
    for page in (other, one):
        expect(page.locator(".status.running")).to_be_visible()
    one.locator("#stop").click()
    expect(one.get_by_test_id("run-row").first).to_contain_text("of 1,880 · stopped")


def test_rewards_follow_what_is_typed_edited_and_taken(app: App, page: Page) -> None:
    screen.open_app(page, f"{app.address}/?tab=try")
    chosen = page.locator("#try-chosen")
    chosen.press("Control+End")
    chosen.press_sequentially(" Before.")
    page.locator("#try-score").click()
    values = page.locator("#try-pair .value")
    expect(values).to_have_count(3)
    expect(page.locator("#try-pair")).not_to_contain_text("…")
    before = values.all_inner_texts()
    chosen.press_sequentially(" And freeze what is left of it.", delay=20)
    card, rejected = (page.locator(f".typed-card.{side}") for side in ("chosen", "rejected"))
    expect(card.locator(".value")).not_to_have_text(before[1])
    expect(rejected).to_contain_text("unchanged")
    card.get_by_role("button", name="Drop last sentence").click()
    expect(chosen).to_have_value(re.compile(r"other day\. Before\.$"))
    expect(card.locator(".value")).to_have_text(before[1])
    page.locator("#try-undo").click()
    expect(chosen).to_have_value(re.compile("left of it.$"))

    page.locator("#try-rejected").fill(TAG)  # what is pasted is no key press
    expect(rejected.locator(".value")).not_to_have_text(before[2])
    assert not page.locator("#try img").count()
    screen.open_tab(page, "Pairs")
    screen.rows(page).nth(2).click()
    screen.open_tab(page, "Try")
    page.locator("#try-opened").click()
    expect(chosen).not_to_have_value(re.compile("left of it"))


@pytest.mark.parametrize("size", [1, 12_500])
def test_a_typed_pair_is_sent_in_a_link_that_no_request_holds(
    size: int, app: App, page: Page, browser: Browser
) -> None:
    """Or, where it is too long for one, in a file."""
    screen.open_app(page, f"{app.address}/?tab=try&model=longer")
    texts = {"prompt": "Zebra?", "chosen": TAG + "é漢😀 " * size, "rejected": "b"}
    for name, text in texts.items():
        page.locator(f"#try-{name}").fill(text)
    page.evaluate("navigator.clipboard.writeText = async (words) => { window.copied = words; }")
    asked: list[str] = []
    with browser.new_page() as other:
        other.on("request", lambda request: asked.append(request.url))
        if size == 1:
            page.locator("#try-link").click()
            expect(page.locator("#try-link")).to_have_text("Copied")
            screen.open_app(other, page.evaluate("window.copied"))
        else:
            with page.expect_download() as saved:
                page.locator("#try-link").click()
            screen.open_app(other, f"{app.address}/?tab=try&model=longer")
            other.locator("input[data-share=open]").set_input_files(saved.value.path())
        for name, text in texts.items():
            expect(other.locator(f"#try-{name}")).to_have_value(text)
        assert "#" not in other.url and "model=longer" in other.url
    assert asked and not [url for url in asked if "pair=" in url or "Zebra" in url]


def packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(data, wbits=-15)).decode()


NO_PAIRS = {
    "no base64": "%%%<script>",
    "no texts": packed(b'{"prompt": 1, "chosen": [], "rejected": null}'),
    "a prototype": packed(b'{"__proto__": {"prompt": "a"}, "chosen": "b", "rejected": "c"}'),
    "a bomb": packed(b" " * 30_000_000),
}


def test_a_link_that_holds_no_pair_changes_nothing(app: App, browser: Browser) -> None:
    for name, word in NO_PAIRS.items():
        with watched_page(browser) as page:
            screen.open_app(page, f"{app.address}/?tab=try#pair={word}")
            words = "This link holds no pair that can be shown. Nothing was changed."
            expect(page.locator(".try-note"), name).to_have_text(words)
            expect(page.locator("#try-prompt"), name).to_have_value(re.compile("basil"))


TEXTS = {
    "tag": TAG,
    "template": "${window.hacked = 1} {{constructor}} `${alert(1)}`",
    "markdown": "![x](http://example.org/a.png) [y](javascript:window.hacked=1) <b>bold</b>",
    "latex": r"$$\frac{1}{2}$$ \(x\) $\href{javascript:window.hacked=1}{z}$",
    "right-to-left": "שלום עולם \u202e dlrow olleh مرحبا",
    "combining": "z" + "\u0300\u0301\u0302" * 100,
    "quotes": "\"'><svg onload=window.hacked=1>&lt;&amp;",
    "null": "before\x00after",
    "surrogate": "before\ud800after",
}
LONG = "many words " * 20_000
OTHERS = [
    {"id": "1", "subset": "empty", "prompt": "Say nothing.", "chosen": "", "rejected": "x"},
    {"id": "2", "subset": "long", "prompt": LONG, "chosen": LONG, "rejected": LONG + "!"},
]
N_PAIRS = len(TEXTS) + len(OTHERS)


def test_hostile_text_is_shown_as_it_is_and_scored(app: App, page: Page, tmp_path: Path) -> None:
    fields = ("prompt", "chosen_model", "rejected_model")
    given = [
        dict.fromkeys(fields, text)
        | {"id": f"{name} {text}", "subset": f"hep-{text}" if name == "tag" else text}
        | {"chosen": f"chosen {text}", "rejected": f"rejected {text}"}
        for name, text in TEXTS.items()
    ]
    screen.open_pairs(page, app.address, write_jsonl(tmp_path / "hostile.jsonl", [*given, *OTHERS]))

    def step(key: str, place: int) -> None:
        page.keyboard.press(key)
        expect(page.locator(".position:visible")).to_have_text(f"{place} of {N_PAIRS}")

    for place, text in enumerate(TEXTS.values(), start=2):
        body = screen.pair(page).locator(".prompt .body")
        shown = text.replace("\x00", "").replace("\ud800", "\ufffd")  # as HTML and UTF-8 have them
        expect(body).to_have_text(shown, use_inner_text=False)
        step("j", place)
    step("j", N_PAIRS)
    expect(screen.pair(page)).to_contain_text("too long to compare")
    step("k", N_PAIRS - 1)
    page.get_by_role("checkbox", name="Rendered").click()
    for place in range(len(TEXTS), 0, -1):
        step("k", place)
        assert not screen.pair(page).locator("img, script, svg").count()
    page.get_by_role("checkbox", name="Rendered").click()

    page.locator('[data-facet="subset"] .facet-name').filter(has_text=f"hep-{TAG}").click()
    expect(screen.chips(page)).to_have_count(1)
    screen.open_app(page)
    expect(screen.count(page)).to_have_text(f"1 of {N_PAIRS} pairs")
    page.get_by_role("link", name="Reset", exact=True).click()
    page.locator("#search").fill("<script>")
    expect(screen.count(page)).to_have_text(f"1 of {N_PAIRS} pairs")
    expect(screen.pair(page).locator("mark").first).to_have_text("<script>")
    page.locator("#search").fill("")
    expect(screen.count(page)).to_have_text(f"{N_PAIRS} of {N_PAIRS} pairs")

    screen.score_all(page, str(N_PAIRS))
    expect(page.locator(".status.finished")).to_be_visible()
    page.locator("#score .inspect").click()
    expect(screen.pair(page).locator(".chip.bad")).to_contain_text("lost")
    screen.open_tab(page, "Score")
    page.locator("#model").fill(TAG + TEXTS["markdown"])
    page.locator("#model").press("Enter")
    page.locator("#start").click()
    expect(page.locator(".status.refused")).to_contain_text("Change what is marked")
    expect(page.locator("#model-card")).to_contain_text("<img src=x")
    expect(page.locator("h2.report")).to_contain_text(f"{N_PAIRS} of {N_PAIRS} pairs")
    screen.open_tab(page, "Models")
    assert page.evaluate("window.hacked") is None
