"""The first minute of a new user, in a real browser: on the demo, and on the real pairs."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import facet, open_app, open_tab, pair, picture

pytestmark = pytest.mark.e2e


@pytest.mark.journey
def test_first_minute_on_the_demo(demo_app: str, page: Page) -> None:
    _first_minute(page, demo_app, "demo")


def test_first_minute_on_the_real_pairs(real_app: str, page: Page) -> None:
    _first_minute(page, real_app, "real")


def _first_minute(page: Page, address: str, data: str) -> None:
    open_app(page, address)
    _pairs(page, data)
    _score(page, data)
    _failures(page, data)
    _models(page, data)


def _pairs(page: Page, data: str) -> None:
    n_pairs, n_rust = ("188", "8") if data == "demo" else ("2,985", "164")
    words = "Demo pairs" if data == "demo" else "2,985 pairs"
    count, position = page.locator(".count"), page.locator(".position:visible")
    expect(page.locator("#dataset-caption")).to_contain_text(words)
    expect(pair(page)).to_have_attribute("data-key", re.compile("alpacaeval-easy:"))
    facet(page, "subset", "hep-rust").click()
    expect(count).to_have_text(f"{n_rust} of {n_pairs} pairs")
    page.locator(".list tbody tr").nth(3).click()
    expect(position).to_have_text(f"4 of {n_rust}")
    page.locator("body").press("j")
    expect(position).to_have_text(f"5 of {n_rust}")
    expect(pair(page).locator("ins, del").first).to_be_visible()
    page.get_by_role("link", name="Reset", exact=True).click()
    expect(count).to_have_text(f"{n_pairs} of {n_pairs} pairs")
    page.locator("#search").fill("no pair holds this text")
    expect(count).to_have_text(f"0 of {n_pairs} pairs")
    expect(page.get_by_text("No matching pairs.")).to_be_visible()
    expect(page.locator(".pair-none")).to_be_visible()
    page.locator("#search").fill("")
    expect(count).to_have_text(f"{n_pairs} of {n_pairs} pairs")


def _score(page: Page, data: str) -> None:
    open_tab(page, "Score")
    page.get_by_label("A sample of each subset").check()
    page.get_by_label("Pairs per subset").fill("2")
    page.get_by_label("Pairs per subset").blur()
    expect(page.get_by_text("46 pairs selected")).to_be_visible()
    page.locator("#start").click()
    expect(page.locator(".live-worst li").nth(3)).to_be_visible()
    expect(page.locator(".status.finished")).to_contain_text("46 pairs")
    expect(page.locator("table.sections tr.section")).to_have_count(4)
    expect(page.locator(".card .value").first).to_contain_text("%")
    picture(page, f"{data}-score")


def _failures(page: Page, data: str) -> None:
    page.locator("#score .inspect").click()
    rows = page.locator("#pairs .list tbody tr")
    expect(rows.nth(2)).to_be_visible()
    expect(pair(page).locator(".chip.bad")).to_contain_text("lost · margin −")
    expect(pair(page).locator(".reward")).to_have_count(2)
    rows.nth(1).click()
    expect(page.locator(".position:visible")).to_contain_text("2 of")
    page.locator("body").press("j")
    expect(page.locator(".position:visible")).to_contain_text("3 of")
    bars = page.locator(".margins .bars")
    box = bars.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 9)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 9, steps=3)
    page.mouse.up()
    expect(page.locator("#pairs .chip.removable").first).to_contain_text("margin −")
    expect(page.get_by_label("Margin to")).to_have_value("0")
    picture(page, f"{data}-failures")
    bars.dblclick()
    expect(page.locator("#pairs .chip.removable")).to_have_count(1)


def _models(page: Page, data: str) -> None:
    open_tab(page, "Models")
    models = page.locator("#models-table tbody tr")
    expect(models.nth(5)).to_be_visible()
    words = "arXiv:2403.13787v2, 82 models" if data == "demo" else "66 models"
    expect(page.get_by_test_id("results-switcher")).to_have_attribute("title", re.compile(words))
    best = "RLHFlow/ArmoRM-Llama3-8B-v0.1" if data == "demo" else "nicolinho/QRM-Gemma-2-27B"
    expect(models.first).to_contain_text(best)
    picture(page, f"{data}-models")
