"""Starting the app: what it says where it cannot go on."""

import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from gradio_client import Client  # type: ignore[import-untyped]

from tests.conftest import DEMO_MODEL, PATIENCE, ROOT, is_running, until, workers_of
from tests.support.serving import environment, started

PAIR = ("demo", "Two and two?", "It is 4.", "It is 5.")


def answer(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=PATIENCE) as found:
        return bytes(found.read())


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("EXPLORER_MAX_PAIRS", "many"),
        pytest.param("GRADIO_SERVER_PORT", "", id="a taken port", marks=pytest.mark.slow),
    ],
)
def test_what_keeps_it_from_starting_is_said_in_one_line(
    setting: str, value: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = {setting: value or str(taken.getsockname()[1])}
        said = subprocess.run(
            [sys.executable, "app.py"], cwd=ROOT, env=environment(tmp_path, **given),
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    assert said.returncode == 1
    [line] = said.stderr.strip().splitlines()
    assert setting in line


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="open files are bound by resource limits")
def test_idle_visitors_keep_nobody_out(tmp_path: Path) -> None:
    bounds = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, bounds[1]))
    with ExitStack() as stack:
        try:
            address, server = stack.enter_context(started(tmp_path))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, bounds)
        host = urlsplit(address)
        for _ in range(200):
            stack.enter_context(socket.create_connection((host.hostname, host.port)))
        until(lambda: len([*Path(f"/proc/{server.pid}/fd").iterdir()]) > 200)
        tags = dict(re.findall(rb'<meta property="og:(\w+)" content="([^"]*)">', answer(address)))
        assert tags[b"title"] == b"RewardBench Explorer" and tags[b"description"]
        assert tags[b"image"] == f"{address}/card.png".encode()
        assert answer(tags[b"image"].decode()).startswith(b"\x89PNG")


def is_busy(pid: int) -> bool:
    """Whether a process has computed for a while."""
    return bool(sum(psutil.Process(pid).cpu_times()[:2]) > 1.5)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="it looks at /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_scores_without_torch_and_leaves_no_process_behind_at_an_endless_template(
    tmp_path: Path, number: signal.Signals
) -> None:
    model = tmp_path / "model"
    shutil.copytree(DEMO_MODEL, model)
    (model / "chat_template.jinja").write_text("{{ 7 ** (7 ** 12) }}")
    with started(tmp_path) as (address, server):
        Client(address, verbose=False).submit(str(model), *PAIR[1:], api_name="/score_pair")
        until(lambda: any(map(is_busy, workers_of(server.pid))))
        assert "libtorch" not in Path(f"/proc/{server.pid}/maps").read_text()
        left = [each.pid for each in psutil.Process(server.pid).children(recursive=True)]
        server.send_signal(number)
        assert server.wait(PATIENCE) == (-number if number == signal.SIGKILL else 0)
        until(lambda: not any(map(is_running, left)))
