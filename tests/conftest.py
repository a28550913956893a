"""What many tests need: the real data, the demo pairs, the demo model."""

import gc
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from traceback import clear_frames, walk_tb

import psutil
import pytest
from hypothesis import HealthCheck, settings

from scoring.engine.scorer import Scorer
from scoring.families import open_scorer
from scoring.pairs.opening import as_pairs, read_pairs
from scoring.spec import ModelSpec, Pair, RunSettings

# What was compiled is kept, here and by what the tests start, else each process compiles all anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Models this small lose more to threads that wait for each other than they gain, and tests run
# beside each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Each process of the tests looks for free ports where no other does.
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
os.environ["GRADIO_SERVER_PORT"] = str(17_860 + 200 * _worker)

# How long a machine takes says nothing of the code.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("tests"), max_examples=25)
settings.register_profile("all", settings.get_profile("tests"), max_examples=300)

PATIENCE = float(os.environ.get("TESTS_PATIENCE", "120"))
"""Seconds to wait for what must come. A machine may be slow, and busy with others."""


def until(is_so: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it never was so"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Whether a process is there that has not ended."""
    with suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def workers_of(server: int) -> set[int]:
    """The workers of a server: forks of the process that has torch for them."""
    found: set[int] = set()
    for process in psutil.Process(server).children():
        with suppress(psutil.Error):  # it has ended
            if "serve_forks" in " ".join(process.cmdline()):
                found.update(each.pid for each in process.children())
    return found


ROOT = Path(__file__).resolve().parent.parent
REAL_DATA = ROOT.parent / "shared" / "data"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DEMO_MODEL = ROOT / "assets" / "demo" / "model"
DEMO_PAIRS = ROOT / "assets" / "demo" / "pairs.jsonl"


_SESSION = "TESTS_SESSION"
"""A variable of all processes that a session of tests begins, by which they are known."""
_NEW_FILES = pytest.StashKey[set[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Where slow tests are run, too, Hypothesis draws more."""
    settings.load_profile("quick" if config.option.markexpr == "not slow" else "all")
    os.environ.setdefault(_SESSION, secrets.token_hex(8))
    config.stash[_NEW_FILES] = _new_files()


def _new_files() -> set[str]:
    """The files of this folder that git neither knows nor ignores."""
    command = ["git", "ls-files", "--others", "--exclude-standard"]
    with suppress(OSError):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return {*done.stdout.splitlines()}
    return set()  # without git


def _processes() -> list[str]:
    """The command lines of what this session began and has not ended."""
    return [
        " ".join(process.info["cmdline"] or ())
        for process in psutil.process_iter(["environ", "cmdline"])
        if (process.info["environ"] or {}).get(_SESSION) == os.environ[_SESSION]
        and process.pid != os.getpid()
    ]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run leaves no process, and so no port, and no file but in pytest's own folder."""
    if hasattr(session.config, "workerinput"):
        return
    before = session.config.stash[_NEW_FILES]
    left = sorted(_new_files() - before)
    if session.config.getoption("numprocesses", None):  # whose workers have ended by now
        with suppress(AssertionError):
            until(lambda: not _processes(), seconds=10)
        left += _processes()
    if left:
        print("\nThe tests left behind:", *left, sep="\n  ", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_xdist_auto_num_workers() -> int:
    """Twice as many as there are cores, as every other test waits; `--maxprocesses` is the most."""
    return 2 * (os.cpu_count() or 1)


def pytest_collection_finish() -> None:
    """What was imported by now stays: a collection of garbage need not look through it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a failed test left suspended, such as a turn in a queue, ends once it is reported."""
    report = yield
    if call.excinfo is not None and not item.config.getoption("usepdb"):
        clear_frames(call.excinfo.tb)
        for frame, _ in walk_tb(call.excinfo.tb):
            len(frame.f_locals)  # pytest looked at them: without another look, they are kept
    return report


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not REAL_DATA.is_dir():
        pytest.skip(f"the real data is not here: no folder {REAL_DATA}")
    return REAL_DATA


@pytest.fixture(scope="session")
def demo_pairs() -> list[Pair]:
    table = read_pairs(DEMO_PAIRS, "demo").table
    return as_pairs(table, range(table.num_rows))


@pytest.fixture(scope="session")
def demo_scorer() -> Scorer:
    spec = ModelSpec("demo", str(DEMO_MODEL), "test")
    return open_scorer(spec, RunSettings(device="cpu", dtype="float32"))
