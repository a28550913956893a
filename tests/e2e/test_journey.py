"""The first minute of a new user, in a real browser: on the demo, and on the real pairs."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import READY, Serve, open_app, open_tab, picture

pytestmark = pytest.mark.e2e

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.parametrize("data", ["demo", "real"])
def test_first_minute(data: str, serve: Serve, page: Page) -> None:
    settings = {}
    if data == "real":
        pairs, results = SHARED / "reward-bench/filtered.parquet", SHARED / "reward-bench-results"
        if not pairs.exists():
            pytest.skip(f"the real pairs are not at {pairs}")
        settings = {"EXPLORER_PAIRS": str(pairs), "EXPLORER_RESULTS": str(results)}
    open_app(page, serve(**settings))
    _browse(page, data)
    _score(page, data)
    _failures(page, data)
    _leaderboard(page, data)


def _browse(page: Page, data: str) -> None:
    words = "not the benchmark" if data == "demo" else "2,985 pairs"
    expect(page.locator(".sourcebar .source").first).to_contain_text(words)
    expect(page.locator(".pair")).to_have_attribute("data-key", re.compile("alpacaeval-easy:"))
    page.get_by_label("Reasoning").check()
    expect(page.locator(".pair")).to_have_attribute("data-key", re.compile("math-prm:|hep-"))
    page.locator("#subsets input").click()
    page.get_by_role("option", name="hep-rust").click()
    expect(page.locator(".count")).to_contain_text("8 of" if data == "demo" else "164 of")
    first = page.locator(".pair").get_attribute("data-key")
    page.locator("#pairs .virtual-row").nth(3).get_by_role("gridcell").nth(1).click()
    expect(page.locator(".position")).to_contain_text("4 of")
    page.locator("body").press("j")
    expect(page.locator(".position")).to_contain_text("5 of")
    page.locator("body").press("k")
    expect(page.locator(".position")).to_contain_text("4 of")
    assert page.locator(".pair").get_attribute("data-key") != first
    expect(page.locator(".pair ins, .pair del").first).to_be_visible()
    page.get_by_label("Mark the words").uncheck()
    expect(page.locator(".pair ins")).to_have_count(0)
    page.get_by_label("Mark the words").check()
    expect(page.locator(".js-plotly-plot .bars .point").nth(2)).to_be_attached()
    picture(page, f"{data}-browse")
    page.get_by_role("button", name="Reset filters").click()
    expect(page.locator(".count")).to_contain_text("188 of" if data == "demo" else "2,985 of")
    page.locator("#search textarea, #search input").fill("no pair holds this text")
    expect(page.locator(".count")).to_contain_text("No pair matches")
    expect(page.locator(".pair-none")).to_be_visible()
    page.locator("#search textarea, #search input").fill("")


def _score(page: Page, data: str) -> None:
    open_tab(page, "Score")
    page.get_by_label("Pairs per subset").fill("2")
    page.get_by_label("Pairs per subset").blur()
    expect(page.get_by_text("46 pairs selected")).to_be_visible()
    page.locator("#start").click()
    expect(page.locator(".status.running")).to_be_visible()
    expect(page.locator("#scored .virtual-row").nth(3)).to_be_visible()
    expect(page.locator(".status.finished")).to_contain_text("46 pairs")
    expect(page.locator("table.sections tr.section")).to_have_count(4)
    expect(page.locator(".card .value").first).to_contain_text("%")
    picture(page, f"{data}-score")


def _failures(page: Page, data: str) -> None:
    page.locator("#inspect").click()
    expect(page.locator("#failures .virtual-row").nth(2)).to_be_visible()
    pair = page.locator(".pair:visible")
    expect(pair.locator(".chip.bad")).to_contain_text("lost · margin −")
    expect(pair.locator(".reward")).to_have_count(2)
    margins = page.locator("#failures .virtual-row").all_inner_texts()
    assert len(margins) >= 3
    page.locator("#failures .virtual-row").nth(1).get_by_role("gridcell").nth(0).click()
    expect(page.locator(".position:visible")).to_contain_text("2 of")
    picture(page, f"{data}-failures")


def _leaderboard(page: Page, data: str) -> None:
    open_tab(page, "Leaderboard")
    board = page.locator("#leaderboard")
    expect(board.locator(".virtual-row").nth(5)).to_be_visible()
    words = "arXiv:2403.13787v2, 82 models" if data == "demo" else "66 models"
    expect(page.locator(".sourcebar .source:visible").last).to_contain_text(words)
    best = "RLHFlow/ArmoRM-Llama3-8B-v0.1" if data == "demo" else "nicolinho/QRM-Gemma-2-27B"
    expect(board.locator(".virtual-row").first).to_contain_text(best)
    picture(page, f"{data}-leaderboard")


def test_stop_keeps_what_was_scored(serve: Serve, page: Page) -> None:
    open_app(page, serve())
    open_tab(page, "Score")
    page.get_by_label("All that the Browse filter shows").check()
    expect(page.get_by_text("188 pairs selected")).to_be_visible()
    page.locator("#start").click()
    expect(page.locator(".status.running")).to_be_visible()
    page.locator("#stop").click()
    expect(page.locator(".status.stopped")).to_contain_text("They are kept.")
    expect(page.locator("#start")).to_be_enabled()
    expect(page.locator("#stop")).to_be_disabled()
    open_tab(page, "Failures")
    expect(page.locator("#run input")).to_have_value(re.compile("of 188 pairs .* stopped early"))
    expect(page.locator("#failures .virtual-row").first).to_be_visible()
    page.reload()
    page.wait_for_selector(READY, state="attached")
    open_tab(page, "Score")
    expect(page.locator(".status.stopped")).to_contain_text("They are kept.")
    expect(page.locator("h2.report").first).to_contain_text("demo · ")


def test_a_reload_amid_a_run_keeps_what_was_scored(serve: Serve, browser: Browser) -> None:
    page = browser.new_page()  # unwatched: Gradio says on the console that its stream was cut
    open_app(page, serve())
    open_tab(page, "Score")
    page.get_by_label("All that the Browse filter shows").check()
    page.locator("#start").click()
    expect(page.locator(".status.running")).to_be_visible()
    page.reload()
    page.wait_for_selector(READY, state="attached")
    open_tab(page, "Score")
    expect(page.locator("h2.report").first).to_contain_text("of 188 pairs")
    expect(page.locator(".status.left, .status.stopped")).to_be_visible()
    expect(page.locator("#start")).to_be_enabled()
    page.locator("#start").click()
    expect(page.locator(".status.running, .status.refused")).to_be_visible()
    page.close()


def test_a_model_that_is_none_gives_one_message_and_keeps_the_page(
    serve: Serve, page: Page
) -> None:
    open_app(page, serve())
    open_tab(page, "Score")
    page.locator("#model input").fill("no-one/no-such-model")
    page.locator("#model input").press("Enter")
    page.locator("#start").click()
    expect(page.locator(".status.refused")).to_contain_text(
        "no-one/no-such-model is not on this machine"
    )
    expect(page.get_by_text("Traceback")).to_have_count(0)
    expect(page.locator("#start")).to_be_enabled()
