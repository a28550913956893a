"""Score: a sample, a run that is stopped, left and gone on with, one's own pair, stops anywhere."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import (
    App,
    chips,
    choose_model,
    open_app,
    open_pairs,
    open_runs,
    open_tab,
    pair,
    score_all,
    score_sample,
    wait_until_filled,
)

pytestmark = pytest.mark.e2e

HARMFUL = "<img src=x onerror=alert(1)>"


@pytest.mark.journey
def test_a_sample_is_scored_and_its_failures_are_read(app: App, page: Page) -> None:
    open_app(page, app.address)
    open_tab(page, "Score")
    score_sample(page)
    expect(page.locator(".status.finished")).to_contain_text("23 pairs")
    expect(page.locator("table.sections tr.section")).to_have_count(4)
    expect(page.locator(".card .value").first).to_contain_text("%")
    page.locator("#score .inspect").click()
    expect(pair(page).locator(".chip.bad")).to_contain_text("lost · margin −")
    expect(pair(page).locator(".reward")).to_have_count(2)
    bars = page.locator(".margins .bars")
    box = bars.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 9)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 9, steps=3)
    page.mouse.up()
    expect(chips(page).first).to_contain_text("margin −")
    open_tab(page, "Score")
    choose_model(page, "no-one/no-such-model")
    expect(page.locator("#model-card")).to_contain_text("is not on this machine")
    page.locator("#start").click()
    expect(page.locator(".status.refused")).to_contain_text("Change what is marked")
    expect(page.locator("h2.report")).to_contain_text("23 of 23 pairs")
    expect(page.locator("#start")).to_be_enabled()


def test_a_stopped_run_is_kept_shown_again_and_goes_on(app: App, leaving: Page) -> None:
    page = leaving
    open_pairs(page, app.address, app.long)
    score_all(page, "1,880")
    expect(page.locator(".status.running")).to_contain_text("pairs/s")
    page.locator("#score .inspect").click()  # it is read while it streams in
    scored = page.locator("#pairs .kinds a").last
    before = scored.inner_text()
    expect(scored).not_to_have_text(before)

    page.close()  # it goes on without its page, and any page stops it
    one, other = (leaving.context.new_page() for _ in range(2))
    for page in (one, other):
        open_app(page, f"{app.address}/?tab=score")
        expect(page.locator("#stop")).to_be_enabled()
        expect(page.locator("#start")).to_be_disabled()
    other.locator("#stop").click()
    for page in (one, other):
        expect(page.locator(".status.stopped")).to_contain_text("They are kept")
        expect(page.locator("#start")).to_be_enabled()
    open_runs(other)
    other.locator("#runs-list .run-name").first.click()
    other.get_by_role("button", name=re.compile("Resume")).click()
    for page in (other, one):
        expect(page.locator(".status.running")).to_be_visible()
    one.locator("#stop").click()
    expect(one.get_by_test_id("run-row").first).to_contain_text("of 1,880 · stopped")


def test_what_is_filled_in_stays_when_the_page_is_loaded_anew(app: App, leaving: Page) -> None:
    open_app(leaving, f"{app.address}/?tab=try")
    leaving.locator("#try-chosen").fill(HARMFUL)
    open_tab(leaving, "Score")
    sample = leaving.locator("#which").get_by_label("A sample of each subset")
    sample.check()
    leaving.locator("#per-subset").fill("2")
    expect(leaving.locator("#selected")).to_contain_text("46 pairs")
    leaving.reload()
    wait_until_filled(leaving)
    expect(sample).to_be_checked()
    expect(leaving.locator("#selected")).to_contain_text("46 pairs")
    open_tab(leaving, "Try")
    expect(leaving.locator("#try-chosen")).to_have_value(HARMFUL)
