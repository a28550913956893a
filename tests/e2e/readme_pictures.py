"""Write the README's pictures, light and dark, from the demo pairs: `make screenshots`."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from playwright.sync_api import Page, expect, sync_playwright

from tests.conftest import ROOT
from tests.e2e import screen
from tests.e2e.browser import ARGUMENTS, find
from tests.support.serving import started

PICTURES = ROOT / "assets" / "pictures"


def main() -> None:
    shared = {"EXPLORER_PUBLIC": "1", "EXPLORER_MODELS": "Skywork/Skywork-Reward-V2-Qwen3-0.6B"}
    with (
        tempfile.TemporaryDirectory() as home,
        tempfile.TemporaryDirectory() as other_home,
        started(Path(home)) as (address, _),
        started(Path(other_home), **shared) as (shared_address, _),
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=find(), args=ARGUMENTS) as browser,
    ):
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        screen.open_app(page, address)
        page.locator(".welcome-close").click()
        screen.score_all(page, "188")
        expect(page.locator(".status.finished")).to_be_visible(timeout=180_000)
        page.locator("#score .inspect").click()
        page.evaluate("document.documentElement.dataset.harm = 'shown'")
        screen.rows(page).filter(has_text="hep-").first.click()
        expect(page.locator("#pairs .pair.code")).to_be_visible()
        _draw(page, "pairs")

        page.goto(f"{address}/?tab=models&intervals=1")
        expect(page.locator("#models tbody tr").nth(9)).to_be_visible()
        _draw(page, "board")

        screen.open_app(page, f"{address}/?tab=score")
        page.get_by_label("Stop early").check()
        page.get_by_label("Interval width (points)").fill("25")
        page.get_by_label("Interval width (points)").blur()
        page.locator("#start").click()
        expect(page.locator(".status.running")).to_be_visible()
        expect(page.locator(".status.stopped")).to_be_visible(timeout=180_000)
        expect(page.locator("#published-check")).to_contain_text("published")
        _draw(page, "score")

        screen.open_tab(page, "Try")
        page.get_by_role("button", name="Score this pair").click()
        for seen in (".value", ".edit"):
            expect(page.locator(f"#try-pair {seen}").first).to_be_visible(timeout=60_000)
        _draw(page, "try")

        people = [browser.new_page(viewport={"width": 1400, "height": 1000}) for _ in range(2)]
        for page in people:
            screen.open_app(page, shared_address)
            screen.score_all(page, "188")
            expect(page.locator(".status.running, .status.waiting")).to_be_visible()
        expect(page.locator(".status.waiting")).to_contain_text("1 ahead of you")
        _draw(page, "shared")


def _draw(page: Page, name: str) -> None:
    """Both pictures of what is on screen."""
    page.mouse.move(0, 0)
    for theme in ("dark", "light"):
        page.evaluate("dark => document.body.classList.toggle('dark', dark)", theme == "dark")
        page.wait_for_timeout(400)
        page.screenshot(path=PICTURES / f"{name}-{theme}.png", full_page=True)


if __name__ == "__main__":
    main()
