"""Starting the app: what it says where it cannot go on."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import PATIENCE

ROOT = Path(__file__).parents[1]


def _environment(tmp_path: Path, **settings: str) -> dict[str, str]:
    mine = {"EXPLORER_OFFLINE": "1", "EXPLORER_HOME": str(tmp_path), "EXPLORER_PAIRS": "demo"}
    return {**os.environ, **mine, **settings}


def _start(tmp_path: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env=_environment(tmp_path, **settings),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@contextmanager
def _serving(tmp_path: Path, **settings: str) -> Iterator[str]:
    """The app on a free port, once it answers; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = _environment(tmp_path, GRADIO_SERVER_PORT=str(port), **settings)
    with subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=environment) as server:
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()


def _answer(address: str) -> bytes:
    """What lies at an address, which may not answer yet."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                return bytes(answer.read())
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"nothing answers at {address}")


@pytest.mark.slow
def test_the_page_is_served_with_its_styles_and_script(tmp_path: Path) -> None:
    with _serving(tmp_path) as address:
        assert b"RewardBench Explorer" in _answer(address)
        config = json.loads(_answer(f"{address}config"))
    assert ".facets" in config["css"] and "window.explorer" in config["js"]
    assert config["footer_links"] == []
    assert len(config["dependencies"]) > 50


def test_a_taken_port_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = _start(tmp_path, GRADIO_SERVER_PORT=str(port))
    assert ended.returncode == 1
    assert ended.stderr.strip().splitlines() == [
        f"Port {port} on 127.0.0.1 is taken. "
        "Stop what listens there, or set GRADIO_SERVER_PORT to another."
    ]


def test_a_setting_that_is_none_is_said_in_one_line(tmp_path: Path) -> None:
    ended = _start(tmp_path, EXPLORER_MAX_PAIRS="many")
    assert ended.returncode == 1
    (line,) = ended.stderr.strip().splitlines()
    assert "EXPLORER_MAX_PAIRS" in line and "'many'" in line
