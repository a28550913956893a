"""Who uses a run's folder: asked by anybody at any time, and in nobody's way."""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.runs.running import Runs
from explorer.runs.store import is_locked
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.record import Run, locked
from tests.conftest import PATIENCE
from tests.support.beginning import finished
from tests.support.run_users import holds


def test_who_looks_keeps_nobody_from_starting_and_who_uses_it_does(tmp_path: Path) -> None:
    told, done = list[object](), threading.Event()

    def tries() -> None:
        told.append(is_locked(tmp_path))
        try:
            with locked(tmp_path):
                told.append("taken")
        except KnownError as error:
            told.append(str(error))

    def looks() -> None:
        while not done.is_set():
            is_locked(tmp_path)

    with ThreadPoolExecutor(2) as pool, ExitStack() as at_last:
        at_last.callback(done.set)
        pool.submit(looks)
        for _ in range(1000):
            with locked(tmp_path):
                assert is_locked(tmp_path)
        with locked(tmp_path):
            pool.submit(tries).result(PATIENCE)
    tries()
    refusal = "This run is under way already. Follow it, or stop it first."
    assert told == [True, refusal, False, "taken"]


def test_a_process_that_is_killed_lets_go_of_its_run(tmp_path: Path) -> None:
    processes = multiprocessing.get_context("spawn")
    ready = processes.Event()
    holder = processes.Process(target=holds, args=(tmp_path, ready))
    holder.start()
    assert ready.wait(PATIENCE)
    assert is_locked(tmp_path)
    with pytest.raises(KnownError, match="under way already"), locked(tmp_path):
        pass
    os.kill(holder.pid or 0, signal.SIGKILL)
    holder.join(PATIENCE)
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        assert is_locked(tmp_path)


def test_a_run_is_locked_and_has_an_owner_before_it_says_that_it_runs(
    tmp_path: Path, hub: Hub, demo: PairTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    genuine, told = Run._write_facts, []

    def watched(run: Run) -> None:
        told.append((run.status, is_locked(run.folder), "owner" in run.about))
        genuine(run)

    monkeypatch.setattr(Run, "_write_facts", watched)
    finished(Runs(Settings(home=tmp_path), hub), "longer", demo, np.arange(3))
    assert told == [("running", True, True), ("finished", True, True)]
