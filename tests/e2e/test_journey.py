"""The first minute of a new user, in a real browser: on the demo, and on the real pairs."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import DEMO_PAIRS
from tests.e2e.conftest import Serve, facet, open_app, open_tab, pair, picture, wait_until_filled
from tests.e2e.files import write_jsonl

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def long_app(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An app on ten times the demo pairs, so that a run is still under way when one looks."""
    rows = [json.loads(line) for line in DEMO_PAIRS.read_text(encoding="utf-8").splitlines()]
    copies = [{**row, "id": f"{copy}-{row['id']}"} for copy in range(10) for row in rows]
    return serve(
        EXPLORER_PAIRS=str(write_jsonl(tmp_path_factory.mktemp("pairs") / "long.jsonl", copies))
    )


def test_first_minute_on_the_demo(serve: Serve, page: Page) -> None:
    _first_minute(page, serve(), "demo")


def test_first_minute_on_the_real_pairs(serve: Serve, page: Page, shared_data: Path) -> None:
    pairs, results = shared_data / "reward-bench/filtered.parquet", "reward-bench-results"
    address = serve(EXPLORER_PAIRS=str(pairs), EXPLORER_RESULTS=str(shared_data / results))
    _first_minute(page, address, "real")


def _first_minute(page: Page, address: str, data: str) -> None:
    open_app(page, address)
    _browse(page, data)
    _score(page, data)
    _failures(page, data)
    _leaderboard(page, data)


def _browse(page: Page, data: str) -> None:
    n_pairs, n_rust = ("188", "8") if data == "demo" else ("2,985", "164")
    words = "not the benchmark" if data == "demo" else "2,985 pairs"
    count, position = page.locator(".count"), page.locator(".position:visible")
    expect(page.locator(".sourcebar .source").first).to_contain_text(words)
    expect(pair(page)).to_have_attribute("data-key", re.compile("alpacaeval-easy:"))
    facet(page, "section", "Reasoning").check()
    expect(pair(page)).to_have_attribute("data-key", re.compile("math-prm:|hep-"))
    facet(page, "subset", "hep-rust").check()
    expect(count).to_have_text(f"{n_rust} of {n_pairs} pairs")
    page.locator(".list tbody tr").nth(3).click()
    expect(position).to_have_text(f"4 of {n_rust}")
    page.locator("body").press("j")
    expect(position).to_have_text(f"5 of {n_rust}")
    expect(pair(page).locator("ins, del").first).to_be_visible()
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(count).to_have_text(f"{n_pairs} of {n_pairs} pairs")
    page.locator("#search").fill("no pair holds this text")
    expect(count).to_have_text(f"0 of {n_pairs} pairs")
    expect(page.get_by_text("No pair matches these filters.")).to_be_visible()
    expect(page.locator(".pair-none")).to_be_visible()
    page.locator("#search").fill("")
    expect(count).to_have_text(f"{n_pairs} of {n_pairs} pairs")


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
    rows = page.locator("#failures .list tbody tr")
    expect(rows.nth(2)).to_be_visible()
    expect(pair(page).locator(".chip.bad")).to_contain_text("lost · margin −")
    expect(pair(page).locator(".reward")).to_have_count(2)
    rows.nth(1).click()
    expect(page.locator(".position:visible")).to_contain_text("2 of")
    page.locator("body").press("j")
    expect(page.locator(".position:visible")).to_contain_text("3 of")
    picture(page, f"{data}-failures")


def _leaderboard(page: Page, data: str) -> None:
    open_tab(page, "Leaderboard")
    models = page.locator("#board tbody tr")
    expect(models.nth(5)).to_be_visible()
    words = "arXiv:2403.13787v2, 82 models" if data == "demo" else "66 models"
    expect(page.locator(".sourcebar .source:visible").last).to_contain_text(words)
    best = "RLHFlow/ArmoRM-Llama3-8B-v0.1" if data == "demo" else "nicolinho/QRM-Gemma-2-27B"
    expect(models.first).to_contain_text(best)
    picture(page, f"{data}-leaderboard")


def test_stop_keeps_what_was_scored(long_app: str, page: Page) -> None:
    open_app(page, long_app)
    open_tab(page, "Score")
    page.get_by_label("All that the Browse filter shows").check()
    expect(page.get_by_text("1,880 pairs selected")).to_be_visible()
    page.locator("#start").click()
    expect(page.locator(".status.running")).to_be_visible()
    page.locator("#stop").click()
    expect(page.locator(".status.stopped")).to_contain_text("They are kept.")
    expect(page.locator("#start")).to_be_enabled()
    expect(page.locator("#stop")).to_be_disabled()
    open_tab(page, "Failures")
    expect(page.locator("#run input")).to_have_value(re.compile("of 1,880 pairs .* stopped early"))
    expect(page.locator("#failures .list tbody tr").first).to_be_visible()
    page.reload()
    wait_until_filled(page)
    open_tab(page, "Score")
    expect(page.locator(".status.stopped")).to_contain_text("They are kept.")
    expect(page.locator("h2.report").first).to_contain_text("demo · ")


def test_a_reload_amid_a_run_keeps_what_was_scored(long_app: str, browser: Browser) -> None:
    page = browser.new_page()  # unwatched: Gradio says on the console that its stream was cut
    open_app(page, long_app)
    open_tab(page, "Score")
    page.get_by_label("All that the Browse filter shows").check()
    page.locator("#start").click()
    expect(page.locator(".status.running")).to_be_visible()
    page.reload()
    wait_until_filled(page)
    open_tab(page, "Score")
    expect(page.locator("h2.report").first).to_contain_text("of 1,880 pairs")
    expect(page.locator(".status.left, .status.stopped")).to_be_visible()
    expect(page.locator("#start")).to_be_enabled()
    page.locator("#start").click()
    begun = page.locator(".status.running, .status.finished, .status.refused")
    expect(begun).to_be_visible()
    page.close()


def test_a_model_that_is_none_gives_one_message_and_keeps_the_page(
    demo_app: str, page: Page
) -> None:
    open_app(page, demo_app)
    open_tab(page, "Score")
    page.locator("#model input").fill("no-one/no-such-model")
    page.locator("#model input").press("Enter")
    page.locator("#start").click()
    expect(page.locator(".status.refused")).to_contain_text(
        "no-one/no-such-model is not on this machine"
    )
    expect(page.get_by_text("Traceback")).to_have_count(0)
    expect(page.locator("#start")).to_be_enabled()
