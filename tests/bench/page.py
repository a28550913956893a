"""How soon a page may be used, and how soon what is pressed is answered on screen.

First the start: fresh processes until the page is answered, over what `import gradio` itself takes.
Then the page in a browser, with the real pairs and results where they are at hand, else the demo's;
each visit is a new browser context with nothing in its cache. "ready" is when the list and the open
pair are on screen, from the first byte of the page; "jumps" is the layout shift until two seconds
later. Of an act it is the time from the press in the browser until the frame that shows the answer:
a search is timed from the last key; a tab and a cell of a comparison are new to their page.
Medians, against their bounds.

    python tests/bench/page.py
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from playwright.sync_api import Page, Request, sync_playwright

from tests.e2e.browser import ARGUMENTS, find
from tests.e2e.screen import READY
from tests.support.serving import SHOWN, start_seconds, started

STARTS, VISITS = 5, 5
WORDS = ("dog", "python", "bomb", "river", "why")
COMPARED = "tab=models&panel=compare&a=Ray2333/GRM-Llama3-8B-rewardmodel-ft&b=openbmb/UltraRM-13b"
BOUNDS = {
    "jumps": 0.05, "facet to count": 0.25, "j to pair": 0.15, "search to list": 0.1,
    "tab to content": 0.6, "cell to pairs": 0.6, "cell to a sign": 0.1,
}  # fmt: skip
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


def import_seconds() -> float:
    """Wall time of a fresh Python that imports Gradio."""
    began = time.perf_counter()
    subprocess.check_call([sys.executable, "-c", "import gradio, os; os._exit(0)"])
    return time.perf_counter() - began


def app_seconds() -> float:
    with tempfile.TemporaryDirectory() as home:
        return start_seconds(Path(home))


def visit(page: Page, address: str) -> dict[str, float]:
    """What one visit to the app takes."""
    page.set_default_timeout(120_000)
    page.add_init_script(JUMPS)
    requests: list[Request] = []
    page.on("request", lambda each: requests.append(each))  # noqa: PLW0108 - playwright marks it
    page.goto(address, wait_until="commit")
    began = time.perf_counter()
    page.wait_for_selector(READY, state="attached")
    page.locator(".pair:visible .chosen .body").first.wait_for()
    ready = time.perf_counter() - began
    calls = [each for each in requests if re.search("queue/join|component_server", each.url)]
    config = page.request.get(f"{address}/config")
    parts = config.json()
    return {
        "ready": ready, "calls": len(calls), "config KB": len(config.body()) / 1000,
        "components": len(parts["components"]), "events": len(parts["dependencies"]),
        **acts(page, address),
    }  # fmt: skip


def acts(page: Page, address: str) -> dict[str, float]:
    """The median of each act's seconds on an open page, and how much it jumped."""
    count = "document.querySelector('[data-testid=result-count]')?.textContent"
    tab = "[...document.querySelectorAll('[role=tab]')].find((e) => e.innerText === '{}').click()"
    search = "const e = document.querySelector('#search'); e.value = '{}';"
    search += "e.dispatchEvent(new Event('input', {{ bubbles: true }}))"
    key = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }))"

    def timed(press: str, shown: str) -> float:
        page.wait_for_timeout(300)
        return float(page.evaluate(TIMED, [press, shown]))

    def visible(selector: str) -> str:
        return f"!!document.querySelector('{selector}')?.checkVisibility()"

    page.wait_for_timeout(2000)
    jumps = float(page.evaluate("window.jumps"))
    box = "document.querySelectorAll('[data-testid=facet]')[{}].click()"
    facets = [timed(box.format(place), count) for place in (0, 0, 5, 5, 9)]
    page.locator("#pairs .reset").first.click()
    steps = [timed(key, "document.querySelector('#pairs .pair .key').textContent") for _ in "123"]
    searches = [timed(search.format(word), count) for word in WORDS]
    contents = {"Models": "[data-testid=board-row]", "Score": "#start", "Try": "#try textarea"}
    turned = [timed(tab.format(each), visible(shown)) for each, shown in contents.items()]
    page.goto(f"{address}/?{COMPARED}")
    cell = "[data-testid=compare-cell] a"
    page.locator(cell).first.wait_for()
    press = f"document.querySelectorAll('{cell}')[{{}}].click()"
    some = visible("[data-testid=pair-row]") + f" && !/^([\\d,]+) of \\1 /.test({count})"
    cells = timed(press.format(1), some)
    page.go_back()
    page.locator(cell).first.wait_for()
    sign = timed(press.format(2), visible("#pairs"))
    found = [jumps, *map(median, (facets, steps, searches, turned)), cells, sign]
    return dict(zip(BOUNDS, found, strict=True))


def main() -> None:
    import_seconds(), app_seconds()  # warm the disk cache
    starts = [(import_seconds(), app_seconds()) for _ in range(STARTS)]
    imported, first = (median(each) for each in zip(*starts, strict=True))
    print(
        f"import gradio {imported:.2f} s, first page {first:.2f} s (medians of {STARTS}); "
        f"over import gradio {first - imported:.2f} s, ratio {first / imported:.2f}"
    )
    with (
        tempfile.TemporaryDirectory() as home,
        started(Path(home), **SHOWN) as (address, _),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=find(), args=ARGUMENTS)
        found = []
        for _ in range(VISITS + 1):
            with browser.new_context(viewport={"width": 1500, "height": 950}) as context:
                found.append(visit(context.new_page(), address))
        browser.close()
    seen = {name: [each[name] for each in found[1:]] for name in found[0]}  # the first warms it
    print(", ".join(f"{name} {median(values):.4g}" for name, values in seen.items()))
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"\n{'median of pages':<18}{'now':>8}{'least':>8}{'bound':>8}   {load}")
    for name, bound in BOUNDS.items():
        value = median(seen[name])
        missed = "" if value <= bound else "   missed"
        print(f"{name:<18}{value:8.3f}{min(seen[name]):8.3f}{bound:8.2f}{missed}")


if __name__ == "__main__":
    main()
