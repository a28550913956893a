"""Work in processes that may be ended: what comes of it, and of what a stranger does there."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from explorer.core import workers
from explorer.core.workers import Limit, Worker
from scoring.errors import KnownError
from scoring.limits import Step
from scoring.models.memory import group_bytes
from scoring.tasks import call
from tests.conftest import is_running, until
from tests.support import odd_tasks
from tests.support.stepping import told_by

ANY = Limit("Working")
LITTLE = Limit("Working", 60, 300_000_000)
AT_ONCE = replace(LITTLE, in_addresses=True)
SLEEPS = (time.sleep, 4 * 3600.0)


@contextmanager
def closing_worker(**how: Any) -> Iterator[Worker]:
    worker = Worker(**how)
    try:
        yield worker
    finally:
        worker.end()


@pytest.fixture
def worker() -> Iterator[Worker]:
    with closing_worker() as worker:
        yield worker


def done_by(worker: Worker, function: Callable[..., Any], *given: Any, limit: Limit = ANY) -> Any:
    return worker.run(call, function, *given, limit=limit)


def test_a_worker_tells_gives_returns_and_stays_from_task_to_task(worker: Worker) -> None:
    assert worker.resident_bytes() == 0
    result, told = told_by(lambda tell: worker.run(odd_tasks.counting, 3, limit=ANY, tell=tell))
    assert result == 3 and [each for each in told if each is not None] == [Step("asking"), 0, 1, 2]
    pid = done_by(worker, os.getpid)
    assert pid == worker.pid == done_by(worker, os.getpid) != os.getpid()
    assert worker.resident_bytes() == group_bytes(pid) > 0
    worker.end()
    assert group_bytes(pid) == worker.resident_bytes() == 0


def test_errors_for_a_person_come_as_they_are_and_others_as_a_sentence(worker: Worker) -> None:
    first = done_by(worker, os.getpid)
    for error, words in (
        (KnownError("It cannot be."), r"^It cannot be\.$"),
        (ZeroDivisionError(), "^Working failed because of a bug in this app"),
        (odd_tasks.PanicException("why"), r"^Working failed: why\. Choose another"),
    ):
        with pytest.raises(KnownError, match=words):
            done_by(worker, odd_tasks.raises, error)
    assert done_by(worker, os.getpid) == first


NAMES = ("HF_TOKEN", "OAUTH_CLIENT_SECRET", "OPENAI_API_KEY", "DB_PASSWORD", "MY_KEY")
SECRETS = dict.fromkeys(NAMES, "hf_secret")


def test_it_knows_no_secret_but_what_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SECRETS, "EXPLORER_KNOWN": "yes"}.items():
        monkeypatch.setenv(name, value)
    with closing_worker(knows=["MY_KEY"]) as worker:
        seen = done_by(worker, odd_tasks.variables)
    assert seen["EXPLORER_KNOWN"] == "yes" and seen["HF_HUB_OFFLINE"] == "1"
    assert SECRETS.keys() & seen.keys() == {"MY_KEY"}
    assert SECRETS.items() <= os.environ.items()


def test_whoever_leaves_between_two_values_keeps_the_worker_else_it_is_ended(
    worker: Worker,
) -> None:
    stream = worker.stream(odd_tasks.counting, 10**9, limit=ANY)
    while next(stream) != 5:
        pass
    pid = worker.pid
    stream.close()
    assert pid is not None and done_by(worker, os.getpid) == pid
    stream = worker.stream(call, *SLEEPS, limit=ANY)
    next(stream)
    stream.close()
    assert not worker.is_alive()
    until(lambda: not is_running(pid))
    assert done_by(worker, abs, -1) == 1


@pytest.mark.parametrize(
    ("task", "looks", "limit", "words"),
    [
        (SLEEPS, True, Limit("Working", 0.6), "took longer than the 1 s allowed"),
        ((odd_tasks.spins,), True, Limit("Working", 0.6), "took longer than the 1 s allowed"),
        (SLEEPS, False, Limit("Working", 0.3, crowded=3), "took longer than"),
        ((odd_tasks.spins,), False, Limit("Working", 0.3, crowded=1000), "took longer than"),
        ((odd_tasks.grows,), True, LITTLE, "needed more than the 0.3 GB allowed"),
        ((format, 1, "2000000000d"), True, AT_ONCE, "needed more than the 0.3 GB allowed"),
    ],
)
def test_what_takes_too_much_is_ended_with_its_limit_told(
    worker: Worker,
    task: tuple[Any, ...],
    looks: bool,
    limit: Limit,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where its server does not look, the system ends it: by the clock, and by processor seconds,
    which a clock would take a thousand times as long.
    """
    if not looks:
        monkeypatch.setattr(workers, "_LOOK_SECONDS", 3600)
    with pytest.raises(KnownError, match=f"Working {words}"):
        done_by(worker, *task, limit=limit)
    assert done_by(worker, abs, -1) == 1


PROGRAM = """
import sys
from explorer.core import workers
from tests.support.odd_tasks import begins_another_and_spins

sys.addaudithook(lambda name, of: print(name, of) if "env" in name else None)
workers._FORKS._program = workers._FORKS._program.replace("workers.PRELOADED", "()")
for told in workers.Worker().stream(begins_another_and_spins, limit=workers.Limit("Working")):
    print(told or "", flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can look")
def test_it_ends_with_a_server_that_is_killed_and_so_does_what_it_began() -> None:
    """Nor did what it is a fork of ever have the server's secrets, which the server keeps."""
    environ = {**os.environ, **SECRETS, "EXPLORER_KNOWN": "yes"}
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as server:
        assert server.stdout is not None
        told, pids = "", list[int]()
        for line in server.stdout:
            told += line
            pids += [int(line)] if line.strip().isdecimal() else []
            if len(pids) == 2:
                break
        server.kill()
    assert len(pids) == 2
    assert "EXPLORER_KNOWN=yes" in told and "hf_secret" not in told
    assert not any(name in told for name in ("os.unsetenv", "os.putenv", *SECRETS))
    until(lambda: not any(map(is_running, pids)))


def test_the_seconds_of_a_task_do_not_bind_the_next(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the clock, 1.6 s, nor of the processor, at most 1 s where there are two."""
    monkeypatch.setattr(workers, "_LOOK_SECONDS", 3600)
    done_by(worker, abs, -1, limit=Limit("Working", 0.2, crowded=8))
    pid = worker.pid
    done_by(worker, odd_tasks.spins_a_little, 1.7)
    assert done_by(worker, os.getpid) == pid


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can look")
def test_all_together_keep_to_what_there_is_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing_worker() as a, closing_worker() as b:
        for each in (a, b):
            done_by(each, os.getpid)
        most = group_bytes(os.getpid()) + 400_000_000
        monkeypatch.setattr(workers, "MOST_BYTES", most)
        with ThreadPoolExecutor(2) as pool:
            grow = partial(done_by, limit=LITTLE)
            grown = [pool.submit(grow, each, odd_tasks.grows, 0.01) for each in (a, b)]
    told = [str(each.exception()) for each in grown]
    together = f"everything running here needed more than {most / 1e9:.1f}".removesuffix(".0")
    assert sum(f"{together} GB" in each for each in told) == 1
    assert sum("more than the 0.3 GB allowed here" in each for each in told) == 1


@pytest.mark.parametrize(
    ("task", "reason"), [((ctypes.string_at, 0), r"\(SIGSEGV\)"), ((odd_tasks.Broken,), "")]
)
def test_a_worker_that_dies_is_told_and_another_is_there(
    worker: Worker, task: tuple[Any, ...], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KnownError, match=f"Working crashed {reason}"):
        done_by(worker, *task)
    assert "a worker ended (Working)" in caplog.text
    assert done_by(worker, abs, -1) == 1


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "mkdir"),
        ("scoring.paths", "Path.mkdir"),  # reached through a module of the scorer
        ("scoring.errors", "KnownError"),  # a class that is no value
        ("evil_module", "Evil"),  # whose import alone does something
    ],
)
def test_a_worker_has_nothing_called_by_the_server(
    module: str, name: str, worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "evil_module.py").write_text("import os\nos.mkdir('evil')\nEvil = tuple\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(KnownError, match="Working crashed"):
        done_by(worker, odd_tasks.sends_a_call, module, name)
    assert [*(tmp_path / "here").iterdir()] == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can look")
@pytest.mark.parametrize("end", ["end", "killed", "limit"])
def test_processes_that_a_worker_began_end_with_it(worker: Worker, end: str) -> None:
    child = done_by(worker, odd_tasks.begins_another)
    assert worker.pid is not None and is_running(child)
    if end == "end":
        worker.end()
    elif end == "killed":
        os.kill(worker.pid, signal.SIGKILL)
    else:
        with pytest.raises(KnownError, match="took longer"):
            done_by(worker, *SLEEPS, limit=Limit("Working", 0.6))
    until(lambda: not is_running(child))
