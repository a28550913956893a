"""A browser of an earlier version, in which the server kept reviews, notes and what was typed.

`earlier/browser.json` is the localStorage of one that made ten marks, two notes, a typed pair and a
run on a public server of commit 4523d55; `earlier/runs` has the run.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import begin_review, marks_of, open_app, open_runs, open_tab, pair, serving

pytestmark = pytest.mark.e2e
EARLIER = Path(__file__).with_name("earlier")
KEEP = "(kept) => { for (const name in kept) localStorage.setItem(name, kept[name]); }"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("earlier")
    shutil.copytree(EARLIER / "runs", home / "runs")
    with serving(home, EXPLORER_PUBLIC="1") as address:
        yield address


def test_a_browser_finds_its_run_notes_marks_and_what_was_typed(app: str, leaving: Page) -> None:
    page = leaving
    page.goto(f"{app}/favicon.ico")
    page.evaluate(KEEP, json.loads((EARLIER / "browser.json").read_text(encoding="utf-8")))
    open_app(page, app)
    progress = begin_review(page)
    expect(progress).to_have_text("10 of 188 reviewed")
    verdicts = "".join(each["verdict"][0] for each in marks_of(page))
    assert verdicts == "kkdukkdukk"
    page.keyboard.press("n")
    expect(page.locator("#pair-note")).to_have_value("of an unmarked pair")
    open_tab(page, "Try")
    expect(page.locator("#try-prompt")).to_have_value("What is typed?")
    expect(page.locator("#try-rejected")).to_have_value("Nothing.")
    open_runs(page)
    page.locator("#runs-list .run-name").click()
    page.locator("#runs-list").get_by_role("link", name="Failures").click()
    expect(pair(page)).to_have_attribute("data-key", "math-prm:900134")
    expect(page.locator("#pair-note")).to_have_value("the label is wrong")
    expect(page.locator("#pairs tr.noted")).to_have_count(1)
    page.locator("#pair-note").fill("")
    page.locator("#pair-note").press("Enter")
    expect(page.locator("#pairs tr.noted")).to_have_count(0)
    page.reload()
    expect(pair(page)).to_have_attribute("data-key", "math-prm:900134")
    expect(page.locator("#pair-note")).to_have_value("")
