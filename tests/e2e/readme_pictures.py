"""Write the README's pictures, light and dark, from the demo pairs: `make screenshots`."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.conftest import ROOT
from tests.e2e.browser import ARGUMENTS, find
from tests.e2e.conftest import open_app, open_tab, score_all
from tests.support.serving import serving

PICTURES = ROOT / "assets" / "pictures"


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        serving(Path(home)) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=find(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        _score_the_demo(page, address)
        _draw(page, "pairs")
        _open_the_board(page)
        _draw(page, "board")
        _score_until_sure(page)
        _draw(page, "score")
        _try_a_pair(page)
        _draw(page, "try")
        _wait_on_a_shared_server(browser)
        browser.close()


def _draw(page: Page, name: str) -> None:
    """Both pictures of what is on screen."""
    page.mouse.move(0, 0)
    for theme in ("dark", "light"):
        page.evaluate("dark => document.body.classList.toggle('dark', dark)", theme == "dark")
        page.wait_for_timeout(400)
        page.screenshot(path=PICTURES / f"{name}-{theme}.png", full_page=True)


def _score_the_demo(page: Page, address: str) -> None:
    open_app(page, address)
    page.locator(".welcome-close").click()
    score_all(page, "188")
    expect(page.locator(".status.finished")).to_be_visible(timeout=180_000)
    page.locator("#score .inspect").click()
    rows = page.locator("#pairs .list tbody tr")
    expect(rows.first).to_be_visible()
    page.evaluate("document.documentElement.dataset.harm = 'shown'")
    rows.filter(has_text="hep-").first.click()
    expect(page.locator("#pairs .pair.code")).to_be_visible()


def _open_the_board(page: Page) -> None:
    page.goto(f"{page.url.partition('?')[0]}?tab=models")
    page.get_by_label("95 % intervals").check()
    expect(page.locator("#models tbody tr").nth(9)).to_be_visible()


def _score_until_sure(page: Page) -> None:
    page.goto(page.url.partition("?")[0])
    expect(page.locator("#pairs .count")).to_have_text("188 of 188 pairs")
    open_tab(page, "Score")
    page.get_by_label("Stop early").check()
    page.get_by_label("Interval width (points)").fill("25")
    page.get_by_label("Interval width (points)").blur()
    page.locator("#start").click()
    expect(page.locator(".status.running")).to_be_visible()
    expect(page.locator(".status.stopped")).to_be_visible(timeout=180_000)
    expect(page.locator("#published-check")).to_contain_text("published")


def _wait_on_a_shared_server(browser: Browser) -> None:
    """What the second of two strangers sees where the owner allows two models and few seconds."""
    models = "Skywork/Skywork-Reward-V2-Qwen3-0.6B"
    with (
        tempfile.TemporaryDirectory() as home,
        serving(Path(home), EXPLORER_PUBLIC="1", EXPLORER_MODELS=models) as address,
    ):
        people = [browser.new_page(viewport={"width": 1400, "height": 1000}) for _ in range(2)]
        for page in people:
            open_app(page, address)
            score_all(page, "188")
            expect(page.locator(".status.running, .status.waiting")).to_be_visible()
        expect(people[1].locator(".status.waiting")).to_contain_text("1 ahead of you")
        _draw(people[1], "shared")


def _try_a_pair(page: Page) -> None:
    open_tab(page, "Try")
    page.get_by_role("button", name="Score this pair").click()
    expect(page.locator("#try-pair .value").first).to_be_visible(timeout=60_000)
    expect(page.locator("#try-pair .edit").first).to_be_visible(timeout=60_000)


if __name__ == "__main__":
    main()
