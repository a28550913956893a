"""How long the app takes to its first usable page, over what `import gradio` itself takes.

Each is a fresh process, in turn, several times; the page counts as usable when the server has
answered the request that opens it. No browser, no model, no network. Usage: make bench
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROUNDS = 5

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


def seconds(code: str) -> float:
    """Wall time of a fresh Python that runs the code."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "EXPLORER_OFFLINE": "1", "EXPLORER_HOME": home}
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return time.perf_counter() - start


def main() -> None:
    seconds(IMPORT), seconds(APP)  # warm the disk cache
    imports, apps = [], []
    for _ in range(ROUNDS):
        imports.append(seconds(IMPORT))
        apps.append(seconds(APP))
    imported, started = statistics.median(imports), statistics.median(apps)
    print(
        f"import gradio {imported:.2f} s, first page {started:.2f} s (medians of {ROUNDS}); "
        f"over import gradio {started - imported:.2f} s, ratio {started / imported:.2f}"
    )


if __name__ == "__main__":
    main()
