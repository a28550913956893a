"""Text that attacks the page, or breaks its layout, in every field a file has, and in links."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import (
    App,
    chips,
    choose_model,
    count,
    open_app,
    open_pairs,
    open_tab,
    pair,
    score_all,
)
from tests.support.files import write_jsonl

pytestmark = pytest.mark.e2e

TAG = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>'
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
OTHERS: list[dict[str, Any]] = [
    {"id": "1", "subset": "empty", "prompt": "Say nothing.", "chosen": "", "rejected": "x"},
    {"id": "2", "subset": "long", "prompt": LONG, "chosen": LONG, "rejected": LONG + "!"},
    {"id": "5", "subset": "none", "prompt": "p", "chosen": None, "rejected": "r"},
]
N_PAIRS = len(TEXTS) + len(OTHERS) - 1


def shown(text: str) -> str:
    """What a page can show of a text: HTML has no NUL, and UTF-8 no lone surrogate."""
    return text.replace("\x00", "").replace("\ud800", "\ufffd")


def test_hostile_text_is_shown_as_it_is_and_scored(app: App, page: Page, tmp_path: Path) -> None:
    fields = ("prompt", "chosen_model", "rejected_model")
    rows = [
        dict.fromkeys(fields, text)
        | {"id": f"{name} {text}", "subset": f"hep-{text}" if name == "tag" else text}
        | {"chosen": f"chosen {text}", "rejected": f"rejected {text}"}
        for name, text in TEXTS.items()
    ]
    open_pairs(page, app.address, write_jsonl(tmp_path / "hostile.jsonl", [*rows, *OTHERS]))
    bar = page.locator(".sourcebar").first
    bar.locator("summary").click()
    expect(bar).to_contain_text("row 12: chosen is null; the row is left")
    expect(bar).to_contain_text("(lone surrogates) shown as \ufffd")

    def step(key: str, place: int) -> None:
        page.keyboard.press(key)
        expect(page.locator(".position:visible")).to_have_text(f"{place} of {N_PAIRS}")

    n = len(TEXTS)
    for place, text in enumerate(TEXTS.values(), start=2):
        body = pair(page).locator(".prompt .body")
        expect(body).to_have_text(shown(text), use_inner_text=False)
        step("j", place)
    step("j", n + 2)
    expect(pair(page)).to_contain_text("too long to compare")
    step("k", n + 1)
    page.get_by_role("checkbox", name="Rendered").click()
    for place in range(n, 0, -1):
        step("k", place)
        assert not pair(page).locator("img, script, svg").count()
    page.get_by_role("checkbox", name="Rendered").click()

    page.locator('[data-facet="subset"] .facet-name').filter(has_text=f"hep-{TAG}").click()
    expect(chips(page)).to_have_count(1)
    open_app(page)
    expect(count(page)).to_have_text(f"1 of {N_PAIRS} pairs")
    page.get_by_role("link", name="Reset", exact=True).click()
    page.locator("#search").fill("<script>")
    expect(count(page)).to_have_text(f"1 of {N_PAIRS} pairs")
    expect(pair(page).locator("mark").first).to_have_text("<script>")
    page.locator("#search").fill("")
    expect(count(page)).to_have_text(f"{N_PAIRS} of {N_PAIRS} pairs")

    score_all(page, str(N_PAIRS))
    expect(page.locator(".status.finished")).to_be_visible()
    page.locator("#score .inspect").click()
    expect(pair(page).locator(".chip.bad")).to_contain_text("lost")
    open_tab(page, "Score")
    choose_model(page, TAG + TEXTS["markdown"])
    page.locator("#start").click()
    expect(page.locator(".status.refused")).to_contain_text("Change what is marked")
    expect(page.locator("#model-card")).to_contain_text("<img src=x")
    open_tab(page, "Models")
    assert page.evaluate("window.hacked") is None
