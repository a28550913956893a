"""Processes that have torch already: forks of one that loaded it, which begin in no time."""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from scoring import __main__
from scoring.spec import ScoredPack
from tests.conftest import PATIENCE

CONTEXT = get_context("forkserver")
READY = "scoring.command.execution scoring.run scoring.families.classifier".split()
CONTEXT.set_forkserver_preload([*READY, "transformers.models.qwen3.modeling_qwen3"])
LAUNCHED = ("WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
"""What a launcher of several processes tells each."""


def environment(**changes: str) -> dict[str, str]:
    """One thread for the same sums in the same order; no token, no other processes."""
    without = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", *LAUNCHED)
    kept = {name: value for name, value in os.environ.items() if name not in without}
    return {**kept, "OMP_NUM_THREADS": "1", **changes}


class Fork:
    """A function in a process of its own. told: to its environment."""

    def __init__(self, function: Callable[..., object], *given: Any, **told: str) -> None:
        self._said = tempfile.TemporaryDirectory()
        of_run = (self._said.name, environment(**told), function, given)
        self._process = CONTEXT.Process(target=_run, args=of_run, daemon=True)
        self._process.start()

    def send_signal(self, number: signal.Signals) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def end(self) -> tuple[int, str, str]:
        """Wait for its end; its exit code, and what it wrote to its output and as errors."""
        self._process.join(PATIENCE)
        assert self._process.exitcode is not None, "it does not end"
        out, err = (Path(self._said.name, name).read_text("utf-8") for name in ("out", "err"))
        return self._process.exitcode, out, err


def _run(
    said: str, environ: dict[str, str], function: Callable[..., object], given: tuple[Any, ...]
) -> None:
    import torch

    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(Path(said, name), os.O_WRONLY | os.O_CREAT), descriptor)
    os.environ.clear()
    os.environ.update(environ)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
    torch.set_num_threads(1)
    raise SystemExit(function(*given))


def command_line(*given: str | Path, packs: int = 10**6, **told: str) -> Fork:
    """`python -m scoring`, but for its start. packs: after which it waits to be stopped."""
    return Fork(_score, [str(each) for each in given], packs, **told)


def _score(given: list[str], packs: int) -> int:
    from scoring.run import score

    def held(*of: Any, **more: Any) -> Iterator[ScoredPack]:
        for place, pack in enumerate(score(*of, **more)):
            if place == packs:
                time.sleep(4 * 3600.0)
            yield pack

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scoring.run.score", held)
        return __main__.main(given)
