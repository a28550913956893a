"""Starting the app: what it says where it cannot go on."""

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from gradio_client import Client  # type: ignore[import-untyped]
from gradio_client.exceptions import AppError  # type: ignore[import-untyped]

from tests.conftest import DEMO_MODEL, PATIENCE, children, is_running, until, workers_of

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
    """The app on a free port; gives its address."""
    with _started(tmp_path, **settings) as (address, _):
        yield address


@contextmanager
def _started(
    tmp_path: Path, *, module: str = "", **settings: str
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The same; gives the process, too. module: that serves it instead of app.py."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = _environment(tmp_path, GRADIO_SERVER_PORT=str(port), **settings)
    what = ["-m", module] if module else ["app.py"]
    with subprocess.Popen([sys.executable, *what], cwd=ROOT, env=environment) as server:
        try:
            yield f"http://127.0.0.1:{port}/", server
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
        page = _answer(address)
        assert b"RewardBench Explorer" in page
        tags = dict(re.findall(rb'<meta property="og:(\w+)" content="([^"]*)">', page))
        assert tags[b"title"] == b"RewardBench Explorer" and tags[b"description"]
        assert tags[b"image"] == f"{address}card.png".encode()
        assert _answer(tags[b"image"].decode()).startswith(b"\x89PNG")
        config = json.loads(_answer(f"{address}config"))
    assert ".facets" in config["css"] and "window.explorer" in config["js"]
    assert config["footer_links"] == ["api"]
    assert len(config["dependencies"]) > 30


def test_a_taken_port_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = _start(tmp_path, GRADIO_SERVER_PORT=str(port))
    assert ended.returncode == 1
    assert ended.stderr.strip().splitlines() == [
        f"Port {port} on 127.0.0.1 is in use. "
        "Stop what listens there, or set GRADIO_SERVER_PORT to another."
    ]


def test_a_setting_that_is_none_is_said_in_one_line(tmp_path: Path) -> None:
    ended = _start(tmp_path, EXPLORER_MAX_PAIRS="many")
    assert ended.returncode == 1
    (line,) = ended.stderr.strip().splitlines()
    assert "EXPLORER_MAX_PAIRS" in line and "'many'" in line


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="open files are bound by resource limits")
def test_visitors_who_do_nothing_keep_nobody_out(tmp_path: Path) -> None:
    bounds = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, bounds[1]))
    with ExitStack() as stack:
        try:
            address, server = stack.enter_context(_started(tmp_path))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, bounds)
        _answer(address)
        host = urlsplit(address)
        for _ in range(200):
            stack.enter_context(socket.create_connection((host.hostname, host.port)))
        until(lambda: len([*Path(f"/proc/{server.pid}/fd").iterdir()]) > 200)
        assert b"RewardBench Explorer" in _answer(address)


PAIR = ("demo", "Two and two?", "It is 4.", "It is 5.")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="it looks at /proc")
def test_a_server_scores_without_torch_and_outlives_its_worker(tmp_path: Path) -> None:
    with _started(tmp_path) as (address, server):
        _answer(address)
        page = Client(address, verbose=False)
        first = page.predict(*PAIR, api_name="/score_pair")
        assert "libtorch" not in Path(f"/proc/{server.pid}/maps").read_text()
        [worker] = workers_of(server.pid)
        os.kill(worker, signal.SIGKILL)

        def is_served() -> bool:
            with suppress(AppError):  # at most who asks before the server knows is told of it
                return bool(page.predict(*PAIR, api_name="/score_pair") == first)
            return False

        until(is_served)


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="it looks at /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_server_that_is_ended_at_an_endless_template_leaves_no_process_behind(
    tmp_path: Path, number: signal.Signals
) -> None:
    model = tmp_path / "model"
    shutil.copytree(DEMO_MODEL, model)
    (model / "chat_template.jinja").write_text("{{ 7 ** (7 ** 12) }}")
    with _started(tmp_path) as (address, server):
        _answer(address)
        Client(address, verbose=False).submit(str(model), *PAIR[1:], api_name="/score_pair")
        until(lambda: any(_processor_seconds(pid) > 1.5 for pid in workers_of(server.pid)))
        left = children(server.pid) | workers_of(server.pid)
        server.send_signal(number)
        assert server.wait(PATIENCE) == (-number if number == signal.SIGKILL else 0)
        until(lambda: not any(map(is_running, left)))
