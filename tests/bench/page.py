"""How soon a page may be used, and how soon what is pressed is answered on screen.

First the start: fresh processes until the request that opens the page is answered, over what
`import gradio` itself takes. Then the page in a browser: the app serves the real pairs and results
where they are at hand, else the demo's; each visit is a new browser context with nothing in its
cache. "ready" is when the list and the open pair are on screen, from the first byte of the page;
"jumps" is the layout shift until two seconds later. Of an act it is the time from the press in the
browser until the frame that shows the answer; a tab and a cell of a comparison are new to their
page. Medians, against their bounds.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from playwright.sync_api import Page, sync_playwright

from tests.conftest import REAL_DATA, ROOT
from tests.e2e.browser import ARGUMENTS, find
from tests.e2e.conftest import READY
from tests.support.serving import environment, serving

REAL = {
    "EXPLORER_PAIRS": str(REAL_DATA / "reward-bench" / "filtered.parquet"),
    "EXPLORER_RESULTS": str(REAL_DATA / "reward-bench-results"),
}
TIMES = 5
IMPORT = "import gradio, os; os._exit(0)"
APP = """
import os, urllib.request
import explorer.core.zero_gpu
from explorer.core.settings import read_settings
from explorer.core.theme import STYLES
from explorer.page import build_page
from explorer.stores import open_stores
page, _ = build_page(open_stores(read_settings(os.environ)))
address = page.launch(prevent_thread_lock=True, quiet=True)[1]
urllib.request.urlopen(address).read()
os._exit(0)
"""
COMPARED = "tab=models&panel=compare&a=Ray2333/GRM-Llama3-8B-rewardmodel-ft&b=openbmb/UltraRM-13b"
BOUNDS: dict[str, float | None] = {
    "ready": None,
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
COUNT = "document.querySelector('[data-testid=result-count]')?.textContent"
KEY = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }))"
TAB = "[...document.querySelectorAll('[role=tab]')].find((e) => e.innerText === '{}').click()"
SEARCH = """const e = document.querySelector('#search'); e.value = '{}';
e.dispatchEvent(new Event('input', {{ bubbles: true }}))"""
CELL = "[data-testid=compare-cell] a"


def start_seconds(code: str) -> float:
    """Wall time of a fresh Python that runs the code."""
    with tempfile.TemporaryDirectory() as home:
        began = time.perf_counter()
        command, said = [sys.executable, "-c", code], subprocess.DEVNULL
        subprocess.run(command, cwd=ROOT, env=environment(Path(home)), check=True, stdout=said)
        return time.perf_counter() - began


def visit(page: Page, address: str) -> list[float]:
    """What one visit to the app takes, in the order of the bounds."""
    page.set_default_timeout(120_000)
    page.add_init_script(JUMPS)
    page.goto(address, wait_until="commit")
    began = time.perf_counter()
    page.wait_for_selector(READY, state="attached")
    page.locator(".pair:visible .chosen .body").first.wait_for()
    ready = time.perf_counter() - began

    def timed(press: str, shown: str) -> float:
        page.wait_for_timeout(300)
        return float(page.evaluate(TIMED, [press, shown]))

    def visible(selector: str) -> str:
        return f"!!document.querySelector('{selector}')?.checkVisibility()"

    page.wait_for_timeout(2000)
    jumps = float(page.evaluate("window.jumps"))
    facets = [
        timed(f"document.querySelectorAll('[data-testid=facet]')[{place}].click()", COUNT)
        for place in (0, 0, 5, 5, 9)
    ]
    page.locator("#pairs .reset").first.click()
    steps = [timed(KEY, "document.querySelector('#pairs .pair .key').textContent") for _ in "123"]
    words = ("dog", "python", "bomb", "river", "why")
    searches = [timed(SEARCH.format(word), COUNT) for word in words]
    contents = {"Models": "[data-testid=board-row]", "Score": "#start", "Try": "#try textarea"}
    turned = [timed(TAB.format(each), visible(shown)) for each, shown in contents.items()]
    page.goto(f"{address}/?{COMPARED}")
    page.locator(CELL).first.wait_for()
    press = f"document.querySelectorAll('{CELL}')[{{}}].click()"
    some = visible("[data-testid=pair-row]") + f" && !/^([\\d,]+) of \\1 /.test({COUNT})"
    cells = timed(press.format(1), some)
    page.go_back()
    page.locator(CELL).first.wait_for()
    sign = timed(press.format(2), visible("#pairs"))
    acts = map(median, (facets, steps, searches, turned))
    return [ready, jumps, *acts, cells, sign]


def main() -> None:
    start_seconds(IMPORT), start_seconds(APP)  # warm the disk cache
    imported, first = (median(start_seconds(code) for _ in range(TIMES)) for code in (IMPORT, APP))
    print(
        f"import gradio {imported:.2f} s, first page {first:.2f} s (medians of {TIMES}); "
        f"over import gradio {first - imported:.2f} s, ratio {first / imported:.2f}"
    )
    with (
        tempfile.TemporaryDirectory() as home,
        serving(Path(home), **(REAL if REAL_DATA.is_dir() else {})) as address,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=find(), args=ARGUMENTS) as browser,
    ):
        found = []
        for _ in range(TIMES + 1):
            with browser.new_context(viewport={"width": 1500, "height": 950}) as context:
                found.append(visit(context.new_page(), address))
    print(f"{'of pages':<18}{'median':>8}{'least':>8}{'bound':>8}   load {os.getloadavg()[0]:.1f}")
    each_of = zip(*found[1:], strict=True)  # the first warms it
    for (name, bound), values in zip(BOUNDS.items(), each_of, strict=True):
        missed = "   missed" if bound and median(values) > bound else ""
        print(f"{name:<18}{median(values):8.3f}{min(values):8.3f}{bound or '':>8}{missed}")


if __name__ == "__main__":
    main()
