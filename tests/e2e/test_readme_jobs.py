"""The three jobs of the README, done with the tabs, keys and words that it names."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.conftest import ROOT
from tests.e2e import screen
from tests.e2e.conftest import App

pytestmark = pytest.mark.e2e

README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
JOBS = dict(re.findall(r"\*\*(\w+ [\w ]+)\.\*\* (.+?) \[More\]", README))
"""What is said of each job, by its heading."""
BROWSE, SCORE, UNDERSTAND = JOBS.values()


def named(job: str, sign: str = "*") -> list[str]:
    """What a job sets in italics, or between other signs, in its order."""
    return re.findall(rf"(?<!\w){re.escape(sign)}([^*`]+){re.escape(sign)}", job)


def test_pairs_are_filtered_and_read_from_one_to_the_next(app: App, page: Page) -> None:
    assert [*JOBS] == ["Browse the pairs", "Score a model", "Understand the results"]
    screen.open_app(page, app.address)
    screen.open_tab(page, named(BROWSE)[0])
    assert "by subset" in BROWSE
    screen.facet(page, "subset", "hep-rust").click()
    expect(screen.count(page)).to_have_text("8 of 188 pairs")
    first = screen.pair(page).get_attribute("data-key") or ""
    forward, back = named(BROWSE, "`")
    page.keyboard.press(forward)
    expect(screen.pair(page)).not_to_have_attribute("data-key", first)
    page.keyboard.press(back)
    expect(screen.pair(page)).to_have_attribute("data-key", first)


def test_an_accuracy_settles_while_a_model_is_scored(app: App, page: Page) -> None:
    (tab,) = named(SCORE)
    screen.open_app(page, app.address)
    screen.open_tab(page, tab)
    screen.score_sample(page)
    assert "accuracy settle" in SCORE
    expect(page.locator(".status.finished")).to_contain_text("23 pairs")
    expect(page.locator("#score .card").first).to_contain_text("%")


def test_two_models_are_ticked_and_every_count_leads_to_its_pairs(app: App, page: Page) -> None:
    screen.open_app(page, app.address)
    screen.open_tab(page, named(UNDERSTAND)[0])
    assert "Tick two rows to compare them; every count leads to its pairs" in UNDERSTAND
    for model in ("org/best", "org/fair"):
        page.get_by_role("checkbox", name=f"Compare {model} with").click()
    cell = page.get_by_test_id("compare-cell").locator("a").first
    n = cell.inner_text()
    cell.click()
    expect(screen.count(page)).to_have_text(f"{n} of 188 pairs")
