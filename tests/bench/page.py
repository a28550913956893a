"""How soon a page may be used: what it is sent, what it asks, when its first pair is there, and how
soon what is pressed is answered on screen.

The app serves the real pairs and results where they are at hand, else the demo's; each visit is a
new browser context with nothing in its cache. "ready" is when the list and the open pair are on
screen, from the first byte of the page; "jumps" is the layout shift until two seconds later. Of an
act it is the time from the press in the browser until the frame that shows the answer: a search is
timed from the last key; a tab and a cell of a comparison are new to their page.

    python tests/bench/page.py [--before FOLDER]

FOLDER: another checkout, measured in turn with this one.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
REAL: dict[str, Any] = {
    "EXPLORER_PAIRS": str(DATA / "reward-bench" / "filtered.parquet"),
    "EXPLORER_RESULTS": str(DATA / "reward-bench-results"),
}
ROUNDS, VISITS = 3, 5
WORDS = ("dog", "python", "bomb", "river", "why")
COMPARED = "tab=models&panel=compare&a=Ray2333/GRM-Llama3-8B-rewardmodel-ft&b=openbmb/UltraRM-13b"
BOUNDS = {
    "jumps": 0.05,
    "facet to count": 0.25,
    "j to pair": 0.15,
    "search to list": 0.1,
    "tab to content": 0.6,
    "cell to pairs": 0.6,
    "cell to a sign": 0.1,
}
"""Of medians, in seconds but for jumps."""
JUMPS = """
window.jumps = 0;
new PerformanceObserver((seen) => seen.getEntries().forEach((each) => {
  if (!each.hadRecentInput) window.jumps += each.value;
})).observe({ type: "layout-shift", buffered: true });
"""
TIMED = """
([press, shown]) => new Promise((tell) => {
  const look = new Function("return " + shown), before = look(), begun = performance.now();
  const wait = () => look() === before ? requestAnimationFrame(wait)
    : tell((performance.now() - begun) / 1000);
  new Function(press)();
  requestAnimationFrame(wait);
})
"""
"""Presses; then gives the seconds until an expression has another value in a frame."""


def visits() -> list[dict[str, float]]:
    """What several visits to the app of this folder take."""
    sys.path.insert(0, str(Path.cwd()))
    from playwright.sync_api import Request, sync_playwright

    from tests.e2e.browser import ARGUMENTS, find
    from tests.e2e.conftest import READY, serving

    is_real = Path(REAL["EXPLORER_PAIRS"]).is_file()
    found = []
    with (
        tempfile.TemporaryDirectory() as home,
        serving(Path(home), **(REAL if is_real else {})) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=find(), args=ARGUMENTS)
        for _ in range(VISITS + 1):
            page = browser.new_page(viewport={"width": 1500, "height": 950})
            page.set_default_timeout(120_000)
            page.add_init_script(JUMPS)
            requests: list[Request] = []

            def heard(request: Request, to: list[Request] = requests) -> None:
                to.append(request)

            page.on("request", heard)
            page.goto(address, wait_until="commit")
            begun = time.perf_counter()
            page.wait_for_selector(READY, state="attached")
            page.locator(".pair:visible .chosen .body").first.wait_for()
            ready = time.perf_counter() - begun
            calls = [re.search("queue/join|component_server", r.url) for r in requests]
            config = page.request.get(f"{address}/config")
            parts = config.json()
            found.append({
                "ready": ready,
                "calls": len([each for each in calls if each]),
                "config KB": len(config.body()) / 1000,
                "components": len(parts["components"]),
                "events": len(parts["dependencies"]),
                **acts(page, address),
            })  # fmt: skip
            page.close()
        browser.close()
    return found[1:]  # the first warms the server


def acts(page: "Page", address: str) -> dict[str, float]:
    """The median of each act's seconds on an open page, and how much it jumped."""
    count = "document.querySelector('[data-testid=result-count]')?.textContent"
    tab = "[...document.querySelectorAll('[role=tab]')].find((e) => e.innerText === '{}').click()"
    search = "const e = document.querySelector('#search'); e.value = '{}';"
    search += "e.dispatchEvent(new Event('input', {{ bubbles: true }}))"
    key = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }))"
    idle = "[...document.querySelectorAll('.relayed')].every((part) => !part.explorerSent)"

    def timed(press: str, shown: str) -> float:
        page.wait_for_function(idle)
        page.wait_for_timeout(300)
        return float(page.evaluate(TIMED, [press, shown]))

    def visible(selector: str) -> str:
        return f"!!document.querySelector('{selector}')?.checkVisibility()"

    page.wait_for_timeout(2000)
    jumps = float(page.evaluate("window.jumps"))
    facets = [
        timed(f"document.querySelectorAll('[data-testid=facet]')[{place}].click()", count)
        for place in (0, 0, 5, 5, 9)
    ]
    page.locator("#pairs .reset").first.click()
    opened = "document.querySelector('#pairs .pair .key').textContent"
    steps = [timed(key, opened) for _ in range(9)]
    searches = [timed(search.format(word), count) for word in WORDS]
    contents = {"Models": "[data-testid=board-row]", "Score": "#start", "Try": "#try textarea"}
    turned = [timed(tab.format(each), visible(shown)) for each, shown in contents.items()]
    page.goto(f"{address}/?{COMPARED}")
    cell = "[data-testid=compare-cell] a"
    page.locator(cell).first.wait_for()
    press = f"document.querySelectorAll('{cell}')[{{}}].click()"
    some = visible("[data-testid=pair-row]") + f" && !/^([\\d,]+) of \\1 /.test({count})"
    cells = timed(press.format(1), some)
    page.wait_for_function(idle)
    page.go_back()
    page.locator(cell).first.wait_for()
    sign = timed(press.format(2), visible("#pairs"))
    return {
        "jumps": jumps,
        "facet to count": statistics.median(facets),
        "j to pair": statistics.median(steps),
        "search to list": statistics.median(searches),
        "tab to content": statistics.median(turned),
        "cell to pairs": cells,
        "cell to a sign": sign,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", type=Path)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(visits()))
        return
    before = {"before": asked.before.resolve()} if asked.before else {}
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(ROUNDS if before else 1):
        for label, checkout in {**before, "now": ROOT}.items():
            command = [sys.executable, __file__, "--measure"]
            done = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True)
            found.setdefault(label, []).extend(json.loads(done.stdout.splitlines()[-1]))
    for label, each in found.items():
        medians = {name: statistics.median(visit[name] for visit in each) for name in each[0]}
        print(f"{label:6} " + ", ".join(f"{name} {value:.4g}" for name, value in medians.items()))
    now = found["now"]
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"\n{'median of pages':<18}{'now':>8}{'least':>8}{'bound':>8}   {load}")
    for name, bound in BOUNDS.items():
        seen = [visit[name] for visit in now]
        median = statistics.median(seen)
        missed = "" if median <= bound else "   missed"
        print(f"{name:<18}{median:8.3f}{min(seen):8.3f}{bound:8.2f}{missed}")


if __name__ == "__main__":
    main()
