"""What workers are given in tests: good and bad things that a stranger's model may make of them."""

import os
import pickle
import subprocess
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from scoring.limits import OnProgress, Step


def counting(tell: OnProgress, end: int) -> Generator[int, None, int]:
    tell(Step("asking"))
    for number in range(end):
        Path("/dev/null").touch()
        yield number
    return end


def variables() -> dict[str, str]:
    return dict(os.environ)


class PanicException(BaseException):
    """As a compiled part's fault is called, which is no Exception."""


def raises(error: BaseException) -> None:
    raise error


def spins() -> int:
    """In compiled code, which holds the interpreter."""
    return len(str(9 ** (9**9)))


def spins_a_little(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def begins_another() -> int:
    return subprocess.Popen(["/bin/sleep", "300"]).pid  # it stays where a test fails


def begins_another_and_spins(_: OnProgress) -> Iterator[Any]:
    """Before that it gives the variables with which what it is a fork of was begun."""
    yield Path("/proc/self/environ").read_text(encoding="utf-8")
    yield os.getpid()
    yield begins_another()
    spins()


def grows(pause: float = 0.0) -> None:
    kept = []
    while True:
        kept.append(b"x" * 2**20)
        time.sleep(pause)


class Broken:
    def __reduce__(self) -> Any:
        return Step, ()  # which needs to be told what is being done


def sends_a_call(module: str, name: str) -> None:
    """The bytes of a pickle that calls a function, written by somebody who took the worker over."""
    call = b"\x80\x04" + f"(S'ended'\nc{module}\n{name}\n(S'evil'\ntRt.".encode()
    pickle.dumps = lambda *_, **__: call
