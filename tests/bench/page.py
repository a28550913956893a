"""How soon a page may be used: what it is sent, what it asks, and when its first pair is there.

The app serves the real pairs where they are at hand, else the demo's; each visit is a new browser
context with nothing in its cache. "ready" is when the list and the open pair are on screen, from
the first byte of the page.

    python tests/bench/page.py [--before FOLDER]

FOLDER: another checkout, measured in turn with this one.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "data" / "reward-bench" / "filtered.parquet"
ROUNDS, VISITS = 3, 5


def visits() -> list[dict[str, float]]:
    """What several visits to the app of this folder take."""
    sys.path.insert(0, str(Path.cwd()))
    from playwright.sync_api import Request, sync_playwright

    from tests.e2e.browser import ARGUMENTS, find
    from tests.e2e.conftest import READY, serving

    pairs = str(REAL) if REAL.is_file() else "demo"
    found = []
    with (
        tempfile.TemporaryDirectory() as home,
        serving(Path(home), EXPLORER_PAIRS=pairs) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=find(), args=ARGUMENTS)
        for _ in range(VISITS + 1):
            page = browser.new_page()
            requests: list[Request] = []

            def heard(request: Request, to: list[Request] = requests) -> None:
                to.append(request)

            page.on("request", heard)
            page.goto(address, wait_until="commit")
            begun = time.perf_counter()
            page.wait_for_selector(READY, state="attached")
            page.locator(".pair:visible .chosen .body").first.wait_for()
            ready, calls = time.perf_counter() - begun, ["queue/join" in r.url for r in requests]
            config = page.request.get(f"{address}/config")
            parts = config.json()
            found.append({
                "ready": ready,
                "calls": sum(calls),
                "config KB": len(config.body()) / 1000,
                "components": len(parts["components"]),
                "events": len(parts["dependencies"]),
            })  # fmt: skip
            page.close()
        browser.close()
    return found[1:]  # the first warms the server


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


if __name__ == "__main__":
    main()
