"""`python app.py` in a process of its own, as its visitors have it."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import REAL_DATA, ROOT, until

LOG = "server.log"
START_SECONDS = 300.0
"""However little patience tests have: a start is no promise of theirs."""
_OURS = ("EXPLORER_", "GRADIO_", "SPACE_", "HF_")
SHOWN = {"EXPLORER_PAIRS": "demo"}
"""Settings of a server that is measured: the real pairs and results where they are at hand."""
if REAL_DATA.is_dir():
    SHOWN = {"EXPLORER_PAIRS": str(REAL_DATA / "reward-bench" / "filtered.parquet")}
    SHOWN |= {"EXPLORER_RESULTS": str(REAL_DATA / "reward-bench-results")}


def environment(home: Path, **settings: str) -> dict[str, str]:
    """What the app runs in: a home of its own, no network, no card, and these settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    own = {"EXPLORER_HOME": str(home), "HF_HOME": str(home / "hf"), "EXPLORER_OFFLINE": "1"}
    return kept | own | {"EXPLORER_DEVICE": "cpu"} | settings


@contextmanager
def started(
    home: Path, module: str = "", **settings: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The app on a free port, once it answers; its address without a slash, and its process.

    What it says is in `LOG` in its home.

    module: what serves it in place of app.py.

    Raises:
        AssertionError: it does not start, or ends by itself.
    """
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    log = home / LOG
    address = f"http://127.0.0.1:{port}"
    program = [sys.executable, *(["-m", module] if module else ["app.py"])]
    variables = environment(home, GRADIO_SERVER_PORT=str(port), **settings)
    with log.open("w") as said:
        app = subprocess.Popen(program, cwd=ROOT, env=variables, stdout=said, stderr=said)
    try:
        until(lambda: app.poll() is not None or answers(address), START_SECONDS)
        assert app.poll() is None, f"the app did not start: {log.read_text()[-2000:]}"
        yield address, app
        is_ended_here = app.returncode is not None
        assert is_ended_here or app.poll() is None, f"the app ended: {log.read_text()[-2000:]}"
    finally:
        app.terminate()
        try:
            app.wait(timeout=60)
        finally:
            app.kill()


def start_seconds(home: Path, **settings: str) -> float:
    """How long the app takes until it answers."""
    began = time.perf_counter()
    with started(home, **settings):
        return time.perf_counter() - began


def answers(address: str) -> bool:
    """Whether a server answers at an address."""
    try:
        urllib.request.urlopen(address, timeout=30).close()
    except OSError:
        return False
    return True
