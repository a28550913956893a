"""Text that attacks the page, or breaks its layout, in every field a file has."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import (
    Serve,
    begin_review,
    choose_model,
    facet,
    open_app,
    open_panel,
    open_tab,
    pair,
    picture,
    reload,
)
from tests.e2e.files import write_jsonl

pytestmark = pytest.mark.e2e

ATTACKS = {
    "tag": '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>',
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
TEXTS: list[dict[str, Any]] = [
    {"id": "1", "subset": "empty", "prompt": "Say nothing.", "chosen": "", "rejected": "x"},
    {"id": "2", "subset": "long", "prompt": LONG, "chosen": LONG, "rejected": LONG + "!"},
    {"id": "3", "subset": "same", "prompt": "Same?", "chosen": "Yes.", "rejected": "Yes."},
    {"id": "4", "subset": "again", "prompt": "Go.", "chosen": "Go. One.", "rejected": "Go. Two."},
    {"id": "5", "subset": "slow", "prompt": "p", "chosen": "x" * 5_000, "rejected": "x"},
]
NO_PAIRS: list[dict[str, Any]] = [
    {"id": "6", "subset": "none", "prompt": "p", "chosen": None, "rejected": "r"},
    {"id": "7", "subset": "none", "prompt": None, "chosen": "c", "rejected": "r"},
]
N_PAIRS = len(ATTACKS) + len(TEXTS)


def shown(attack: str) -> str:
    """What a page can show of a text: HTML has no NUL, and UTF-8 no lone surrogate."""
    return attack.replace("\x00", "").replace("\ud800", "\ufffd")


def hostile_file(folder: Path) -> Path:
    rows = [
        {
            "id": f"{name} {attack}",
            "subset": f"hep-{attack}" if name == "tag" else attack,
            "prompt": attack,
            "chosen": f"chosen {attack}",
            "rejected": f"rejected {attack}",
            "chosen_model": attack,
            "rejected_model": attack,
        }
        for name, attack in ATTACKS.items()
    ]
    return write_jsonl(folder / "hostile.jsonl", [*rows, *TEXTS, *NO_PAIRS])


def step(page: Page, key: str, place: int) -> None:
    """Press j or k, which must lead to a place."""
    page.locator("body").press(key)
    expect(page.locator(".position:visible")).to_have_text(f"{place} of {N_PAIRS}")


@pytest.mark.journey
def test_hostile_text_is_shown_as_it_is_and_scored(
    serve: Serve, page: Page, tmp_path: Path
) -> None:
    open_app(page, serve(EXPLORER_PAIRS=str(hostile_file(tmp_path))))
    _remarks(page)
    _reader(page)
    _facets(page)
    _search(page)
    _panels(page)
    _score(page)
    open_tab(page, "Models")
    assert page.evaluate("window.hacked") is None


def _remarks(page: Page) -> None:
    bar = page.locator("#dataset-caption")
    expect(bar).to_contain_text(f"hostile.jsonl · {N_PAIRS} pairs")
    bar = page.locator(".sourcebar").first
    bar.locator("summary").click()
    for words in (
        "row 15: chosen is null; the row is left out",
        "row 16: prompt is null; the row is left out",
        "broken characters (lone surrogates) shown as \ufffd",
        f"chosen equals rejected in 1 of {N_PAIRS} pairs",
        f"both responses begin with the whole prompt in 1 of {N_PAIRS} pairs",
    ):
        expect(bar).to_contain_text(words)


def _reader(page: Page) -> None:
    """Every pair as it is written, then the attacks with white space shown and as Markdown."""
    for place, (name, attack) in enumerate(ATTACKS.items(), start=2):
        prompt = pair(page).locator(".prompt .body")
        expect(prompt).to_have_text(shown(attack), use_inner_text=False)
        expect(pair(page).locator(".key")).to_contain_text(shown(name))
        step(page, "j", place)
    expect(pair(page).locator(".chosen .body")).to_have_text("(empty)")
    step(page, "j", len(ATTACKS) + 2)
    expect(pair(page)).to_contain_text("too long to compare")
    for place in range(len(ATTACKS) + 3, N_PAIRS + 1):
        step(page, "j", place)
    step(page, "j", 1)
    there = range(2, len(ATTACKS) + 1)
    back = range(len(ATTACKS) - 1, 0, -1)
    for look, key, places in (("Show whitespace", "j", there), ("Rendered", "k", back)):
        box = page.get_by_role("checkbox", name=look)
        box.click()
        expect(box).to_be_checked()
        for place in places:
            step(page, key, place)
            assert not pair(page).locator("img, script, svg").count()
        box.click()
        expect(box).not_to_be_checked()
    picture(page, "hostile-pairs")


def _facets(page: Page) -> None:
    """Hostile names in boxes and chips, picked and taken away."""
    tag = ATTACKS["tag"]
    page.locator('[data-facet="chosen_model"] > summary').click()
    for name, value in (("subset", f"hep-{tag}"), ("chosen_model", tag)):
        page.locator(f'[data-facet="{name}"] .facet-name').filter(has_text=value).click()
        expect(page.locator(".chip.removable", has_text=value)).to_have_count(
            2 if name == "chosen_model" else 1
        )
    expect(page.locator(".count")).to_have_text(f"1 of {N_PAIRS} pairs")
    reload(page)
    expect(page.locator(".count")).to_have_text(f"1 of {N_PAIRS} pairs")
    expect(page.locator(".chip.removable")).to_have_count(2)
    page.get_by_role("link", name="Reset", exact=True).click()
    expect(page.locator(".count")).to_have_text(f"{N_PAIRS} of {N_PAIRS} pairs")
    expect(facet(page, "subset", "slow")).not_to_be_checked()


def _search(page: Page) -> None:
    search, count = page.locator("#search"), page.locator(".count")
    search.fill("<script>")
    expect(count).to_have_text(f"1 of {N_PAIRS} pairs")
    expect(pair(page).locator("mark").first).to_have_text("<script>")
    search.fill("")
    expect(count).to_have_text(f"{N_PAIRS} of {N_PAIRS} pairs")
    pattern = page.get_by_role("checkbox", name="regex")
    pattern.check()
    search.fill("x[")
    wrong = page.locator("#pairs .note.told")
    expect(wrong).to_contain_text("Invalid regex 'x['")
    expect(count).to_have_text(f"{N_PAIRS} of {N_PAIRS} pairs")
    expect(page.locator(".toast-body")).to_have_count(0)
    search.fill("(x+x+)+y")
    expect(count).to_have_text(f"0 of {N_PAIRS} pairs")
    search.fill(r"wo\w+s (m|$)")
    expect(count).to_have_text(f"1 of {N_PAIRS} pairs")
    pattern.uncheck()
    search.fill("")
    expect(count).to_have_text(f"{N_PAIRS} of {N_PAIRS} pairs")


def _panels(page: Page) -> None:
    open_panel(page, "Lengths")
    expect(page.locator(".lengths-plot .bars .point").first).to_be_attached()
    expect(page.locator("table.stats")).to_contain_text(shown(ATTACKS["tag"]))
    page.get_by_role("checkbox", name="By subset").click()
    expect(page.locator(".lengths-plot .annotation")).to_have_count(N_PAIRS)
    progress = begin_review(page)
    expect(progress).to_contain_text(f"0 of {N_PAIRS} reviewed")
    assert pair(page).locator(".prompt .body").inner_text() in ATTACKS.values()
    page.locator("body").press("1")
    expect(progress).to_contain_text("1 of")
    page.locator("[data-list=keep]").click()
    expect(page.locator(".review-keys a")).to_have_count(1)
    open_panel(page, "Export")
    expect(page.locator("#snippet")).to_contain_text(f"assert len(pairs) == {N_PAIRS}")
    for form in ("csv", "parquet", "jsonl"):
        with page.expect_download() as download:
            page.locator(f"#export-{form}").click()
        assert download.value.suggested_filename.endswith(f".{form}")
    open_panel(page, "List")


def _score(page: Page) -> None:
    open_tab(page, "Score")
    page.get_by_label(re.compile("^All pairs")).check()
    expect(page.get_by_text(f"{N_PAIRS} pairs selected")).to_be_visible()
    page.locator("#start").click()
    expect(page.locator(".status.finished")).to_be_visible()
    expect(page.locator(".card .detail", has_text="truncated")).to_be_visible()
    picture(page, "hostile-score")
    page.locator("#score .inspect").click()
    expect(pair(page).locator(".chip.bad")).to_contain_text("lost")
    open_tab(page, "Score")
    choose_model(page, ATTACKS["tag"] + ATTACKS["markdown"])
    page.locator("#start").click()
    expect(page.locator(".status.refused")).to_contain_text("Change what is marked")
    expect(page.locator("#model-card")).to_contain_text("<img src=x")
    page.locator("#which").get_by_label("A sample of each subset").check()
    page.locator("#per-subset").fill("-3")
    page.locator("#per-subset").blur()
    expect(page.get_by_text("must be a whole number")).to_be_visible()


def test_a_hostile_link_shows_what_makes_sense_and_names_the_rest(
    demo_app: str, page: Page
) -> None:
    tag, template = ATTACKS["tag"], ATTACKS["template"]
    asked = {
        "q": tag, "subset": template, "length": "x", "list-page": "-1", "range": "chosen.chars.9.1",
        "page": "\u00b2", "panel": tag, "pair": template, "section": "Chat", "__proto__": tag,
    }  # fmt: skip
    open_app(page, f"{demo_app}/?{urlencode(asked)}")
    notes = page.locator(".note", has_text="Ignored in the link:")
    for words in (
        f"subset={template}",
        "length=x",
        "list-page=-1",
        "range=chosen.chars.9.1",
        f"panel={tag}"[:80],
        f"__proto__={tag}"[:80],
    ):
        expect(notes.filter(has_text=words)).to_have_count(1)
    expect(page.locator(".count")).to_have_text("0 of 188 pairs")
    expect(page.locator("#search")).to_have_value(tag)
    expect(page.locator(".chip.removable")).to_have_count(2)
    page.get_by_role("link", name="Reset", exact=True).click()
    expect(page.locator(".count")).to_have_text("188 of 188 pairs")
    expect(notes).to_have_count(0)
    assert page.evaluate("window.hacked") is None


def test_nonsense_in_the_settings_still_opens_the_demo(serve: Serve, page: Page) -> None:
    address = serve(EXPLORER_PAIRS="nonsense <b>here</b>", EXPLORER_RESULTS="/no/such/folder")
    open_app(page, address)
    bar = page.locator("#dataset-caption")
    expect(bar).to_contain_text("Demo pairs · 188 pairs")
    expect(page.locator(".sourcebar").first).to_contain_text(
        "Not shown: EXPLORER_PAIRS=nonsense <b>here</b>"
    )
    open_tab(page, "Models")
    page.locator(".sourcebar summary").click()
    expect(page.get_by_text("There is no folder /no/such/folder.")).to_be_visible()
