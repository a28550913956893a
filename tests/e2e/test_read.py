"""Read: differences one by one, code line beside line, formulas, long prompts, too much text."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App, open_app, open_pairs, pair
from tests.support.files import write_jsonl

pytestmark = pytest.mark.e2e

CODE = "".join(f"    value_{number} = compute({number}, 'text')  # step\n" for number in range(60))
CHANGED = CODE.replace("compute(3,", "compute(4,").replace("value_30", "values_30")
CHANGED = CHANGED.replace("    value_50", "    extra = None\n    another = 1\n    value_50")
STORY = "\n\n".join(f"Paragraph {number} of the story, which goes on." for number in range(60))
BEGUN = "It begins with words that the other lacks altogether. " * 40
FORMULAS = r"""So $\frac{a_1}{b}$ and
\[x = \sqrt{2}
- 3\]
$\href{javascript:window.hacked=1}{click}$ $\includegraphics{http://example.org/a.png}$
$\htmlId{search}{x}$ $\rule{900em}{900em}$ It costs $5 or $6. $\frac{1}$"""
MANY = "word " * 9 + "word\n"
PAIRS: dict[str, dict[str, Any]] = {
    "hep-python": {"chosen": CODE, "rejected": CHANGED},
    "story": {
        "chosen": f"Once.\n{STORY}\nThe end.",
        "rejected": f"Once.\n{BEGUN}\n{STORY}\nNo end.",
    },
    "unlike": {"chosen": "Yes, of course I will.", "rejected": "No, nobody ever could."},
    "math": {"chosen": FORMULAS, "rejected": "No formula."},
    "hep-go": {"chosen": MANY * 10_000, "rejected": MANY.replace("word", "other") * 10_000},
}
TOPS = """pair => ["chosen", "rejected"].map((side) => Object.fromEntries(
  [...pair.querySelectorAll(`.${side} .row[data-line]`)]
    .map((row) => [row.textContent, Math.round(row.getBoundingClientRect().top)])))"""
BOTH_HERE = """pair => ["chosen", "rejected"].map((side) =>
  pair.querySelector(`.${side} .here`).getBoundingClientRect().top)"""


def press_difference(page: Page, which: str) -> None:
    page.get_by_test_id(f"{which}-difference").locator("visible=true").click()


def expect_both_seen(page: Page) -> None:
    """Both sides of the difference that one is at are on screen, at the same height."""
    for side in ("chosen", "rejected"):
        expect(pair(page).locator(f".{side} .here").first).to_be_in_viewport()
    expect(page.locator(".reader-bar:visible button").first).to_be_in_viewport(ratio=1)
    tops = pair(page).evaluate(BOTH_HERE)
    assert abs(tops[0] - tops[1]) < 30, tops


def test_pairs_are_read_one_after_the_other(app: App, page: Page, tmp_path: Path) -> None:
    rows = [{"id": "1", "subset": name, "prompt": "Go on.", **row} for name, row in PAIRS.items()]
    open_pairs(page, app.address, write_jsonl(tmp_path / "reading.jsonl", rows))
    place, at = page.locator(".difference-place:visible"), page.url

    def opened(subset: str) -> None:
        open_app(page, f"{at}&pair={subset}:1")
        expect(pair(page)).to_have_attribute("data-key", f"{subset}:1")

    opened("hep-python")
    expect(place).to_have_text("1 of 3")
    left, right = pair(page).evaluate(TOPS)
    both = left.keys() & right.keys()
    assert len(both) == 58 and all(left[line] == right[line] for line in both)
    expect(pair(page).locator(".chosen .row.gap")).to_have_count(2)
    expect(pair(page).locator(".chosen ins")).to_have_text(["3", "value_30"])
    for number in (2, 3, 1):
        press_difference(page, "next")
        expect(place).to_have_text(f"{number} of 3")
        expect_both_seen(page)

    opened("story")  # whose differences lie far apart on both sides
    expect(place).to_have_text(re.compile("1 of "))
    press_difference(page, "previous")
    expect(place).to_have_text(re.compile(r"^(\d+) of \1$"))
    expect_both_seen(page)

    page.keyboard.press("j")
    expect(pair(page)).to_have_attribute("data-key", "unlike:1")
    expect(pair(page)).to_contain_text("under 30 % of words in common")
    expect(pair(page).locator("ins, del, .overview")).to_have_count(0)
    page.get_by_role("group", name="Differences").get_by_text("words").click()
    expect(pair(page).locator("ins").first).to_be_visible()

    page.keyboard.press("j")
    page.get_by_role("checkbox", name="Rendered").click()
    body = pair(page).locator(".chosen .body")
    expect(body.locator(".math[data-rendered]")).not_to_have_count(0)
    expect(body.locator(".katex-display")).to_have_count(1)
    expect(body.locator("a, img, .katex-error, [id]")).to_have_count(0)
    expect(body).to_contain_text("It costs $5 or $6.")
    assert page.evaluate("window.hacked") is None

    page.keyboard.press("j")
    expect(pair(page)).to_contain_text("too long to compare")
