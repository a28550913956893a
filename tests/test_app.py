"""Starting the app: what it says where it cannot go on."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _start(tmp_path: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "EXPLORER_OFFLINE": "1", "EXPLORER_HOME": str(tmp_path)}
    return subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env={**environment, **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


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


@pytest.mark.parametrize(
    ("name", "value"), [("EXPLORER_MAX_PAIRS", "many"), ("EXPLORER_OFFLINE", "perhaps")]
)
def test_a_setting_that_is_none_is_said_in_one_line(tmp_path: Path, name: str, value: str) -> None:
    ended = _start(tmp_path, **{name: value})
    assert ended.returncode == 1
    (line,) = ended.stderr.strip().splitlines()
    assert name in line and repr(value) in line
