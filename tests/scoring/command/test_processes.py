"""Runs of several processes, which are really several: as torchrun starts them."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from scoring.command.processes import Processes
from scoring.errors import KnownError
from scoring.record import Run
from tests.conftest import PATIENCE, ROOT, until
from tests.support.forks import Fork, command_line, environment

N_PAIRS = 16
PAIRS = ("--pairs", "demo", "--limit", str(N_PAIRS))
GIVEN = ("--model", "demo", *PAIRS, "--budget", "512", "--device", "cpu", "--dtype", "float32")
EXPORTED = ("eval-set/local/demo-part.json", "eval-set-scores/local/demo-part.json")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


def told_by_a_launcher() -> list[dict[str, str]]:
    """What torchrun puts into the environment of each of two processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    both = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [{**both, "RANK": rank, "LOCAL_RANK": rank} for rank in ("0", "1")]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of one process, which every other has to equal."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    process = command_line(*GIVEN, "--out", folder)
    _, err = process.communicate()
    assert process.returncode == 0, err
    return folder


def assert_same_exports(folder: Path, expected: Path) -> None:
    for name in EXPORTED:
        assert (folder / name).read_bytes() == (expected / name).read_bytes()


def keys_of(folder: Path) -> list[str]:
    return [row.key for row in Run.open(folder).rows()]


def test_two_processes_give_what_one_gives(alone: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    both = [
        command_line(*GIVEN, "--out", folder, environ=environment(**told))
        for told in told_by_a_launcher()
    ]
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    out = "".join(out for out, _ in said)
    assert_same_exports(folder, alone)
    assert {path.name for path in folder.glob("rewards*")} == {"rewards-0.jsonl", "rewards-1.jsonl"}
    assert all(path.stat().st_size for path in folder.glob("rewards*"))
    keys = keys_of(folder)
    assert len(keys) == len(set(keys)) == N_PAIRS
    assert out.count("all pairs, unweighted") == 1
    run = Run.open(folder)
    assert (run.status, run.n_scored) == ("finished", N_PAIRS)
    assert run.tokens == Run.open(alone).tokens


@pytest.mark.slow
def test_processes_that_are_killed_leave_a_run_that_goes_on_under_torchrun(
    alone: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    parts = [folder / f"rewards-{rank}.jsonl" for rank in (0, 1)]
    both = [
        command_line(*GIVEN, "--out", folder, packs=2, environ=environment(**told))
        for told in told_by_a_launcher()
    ]
    until(lambda: all(part.exists() and part.stat().st_size for part in parts))
    for process in both:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert Run.open(folder).status != "finished"
    assert 0 < len(keys_of(folder)) < N_PAIRS
    assert not (folder / "eval-set").exists()
    given = (*TORCHRUN, "-m", "scoring", *GIVEN, "--out", str(folder), "--resume")
    command = [sys.executable, *given]
    subprocess.run(command, cwd=ROOT, env=environment(), check=True, timeout=PATIENCE)
    assert_same_exports(folder, alone)
    assert len(keys_of(folder)) == N_PAIRS
    assert Run.open(folder).status == "finished"


def refuse() -> None:
    raise KnownError("not so")


def meet() -> None:
    processes = Processes.join()
    rank, first, part = processes.rank, processes.first, processes.part()
    said = processes.first_says(lambda: {"told": 7} if rank == 0 else "of its own")
    try:
        processes.first_says(refuse)
        heard = "nothing"
    except KnownError as known:
        heard = str(known)
    processes.wait()
    processes.leave()
    print([rank, processes.n, first, part, said, heard])


def test_what_the_first_says_reaches_the_other_and_so_does_its_error() -> None:
    both = [Fork(meet, environ=environment(**told)) for told in told_by_a_launcher()]
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert [out.strip() for out, _ in said] == [
        "[0, 2, True, '-0', {'told': 7}, 'not so']",
        "[1, 2, False, '-1', {'told': 7}, 'not so']",
    ]


def test_each_process_has_a_gpu_of_its_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for processes, asked, n_gpus, device in (
        (Processes(), "auto", 4, "auto"),
        (Processes(5, 8, 1), "cuda", 4, "cuda:1"),
        (Processes(3, 4, 3), "auto", 2, "cuda:1"),
        (Processes(1, 2, 1), "cuda:0", 4, "cuda:0"),
    ):
        monkeypatch.setattr(torch.cuda, "device_count", lambda n_gpus=n_gpus: n_gpus)
        assert processes.device(asked) == device
