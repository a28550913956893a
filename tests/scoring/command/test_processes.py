"""Runs of several processes, which are really several: as torchrun starts them."""

import os
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
from tests.conftest import PATIENCE, ROOT, is_running, until
from tests.support.forks import LAUNCHED, Fork, command_line, environment

N_PAIRS = 16
PAIRS = ("--pairs", "demo", "--limit", str(N_PAIRS))
GIVEN = ("--model", "demo", *PAIRS, "--budget", "512", "--device", "cpu", "--dtype", "float32")
EXPORTED = ("eval-set/local/demo-part.json", "eval-set-scores/local/demo-part.json")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


def launched(out: Path, *given: str, packs: int = 10**6) -> subprocess.Popen[str]:
    """Two processes, as torchrun starts them. packs: after which each waits to be killed."""
    module = ("-m", "tests.support.held_scoring", str(packs))
    return subprocess.Popen(
        [sys.executable, *TORCHRUN, *module, *GIVEN, "--out", str(out), *given],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


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


def workers(launcher: int) -> dict[int, int]:
    """Rank -> process id of the processes that a launcher started."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            variables = (folder / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError, IndexError):
            continue
        ranks = [entry[5:] for entry in variables if entry.startswith(b"RANK=")]
        if parent == launcher and ranks:
            found[int(ranks[0])] = int(folder.name)
    return found


def wait_until_both_score(process: subprocess.Popen[str], folder: Path) -> None:
    parts = [folder / f"rewards-{rank}.jsonl" for rank in (0, 1)]

    def both_wrote() -> bool:
        return all(path.exists() and path.stat().st_size for path in parts)

    until(lambda: both_wrote() or process.poll() is not None)
    assert process.poll() is None, process.communicate()


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
def test_a_process_that_is_killed_ends_all_and_the_run_goes_on(alone: Path, tmp_path: Path) -> None:
    if not Path("/proc/self/environ").exists():
        pytest.skip("no /proc to find the processes in")
    folder = tmp_path / "run"
    torchrun = launched(folder, packs=2)
    wait_until_both_score(torchrun, folder)
    processes = workers(torchrun.pid)
    assert set(processes) == {0, 1}
    os.kill(processes[1], signal.SIGKILL)
    code, out, _ = ended(torchrun)
    assert code != 0
    assert "all pairs" not in out
    assert not any(is_running(process) for process in processes.values())
    assert Run.open(folder).status != "finished"
    assert 0 < len(keys_of(folder)) < N_PAIRS
    assert not (folder / "eval-set").exists()

    code, out, err = ended(launched(folder, "--resume"))
    assert code == 0, err
    assert_same_exports(folder, alone)
    keys = keys_of(folder)
    assert len(keys) == len(set(keys)) == N_PAIRS
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


def test_without_a_launcher_a_process_is_alone_and_tells_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in LAUNCHED:
        monkeypatch.delenv(name, raising=False)
    processes = Processes.join()
    assert processes == Processes(rank=0, n=1, place=0)
    assert (processes.first, processes.part()) == (True, "")
    assert processes.first_says(lambda: "word") == "word"
    with pytest.raises(KnownError, match="not so"):
        processes.first_says(refuse)


@pytest.mark.parametrize(
    ("processes", "asked", "n_gpus", "device"),
    [
        (Processes(), "auto", 4, "auto"),
        (Processes(1, 2, 1), "auto", 4, "cuda:1"),
        (Processes(5, 8, 1), "cuda", 4, "cuda:1"),
        (Processes(3, 4, 3), "auto", 2, "cuda:1"),
        (Processes(1, 2, 1), "cuda:0", 4, "cuda:0"),
    ],
)
def test_each_process_has_a_gpu_of_its_machine(
    processes: Processes, asked: str, n_gpus: int, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)
    assert processes.device(asked) == device
