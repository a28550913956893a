"""What workers are given in tests: good and bad things that a stranger's model may make of them."""

import ctypes
import os
import pickle
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scoring.limits import OnProgress, Step

HOURS = 4 * 3600.0


def doubled(tell: OnProgress, number: int) -> int:
    tell(Step("asking"))
    return 2 * number


def counting(_: OnProgress, end: int) -> Iterator[int]:
    for number in range(end):
        Path("/dev/null").touch()
        yield number


def process(_: OnProgress) -> int:
    return os.getpid()


def variables(_: OnProgress) -> dict[str, str]:
    return dict(os.environ)


class PanicException(BaseException):
    """As a compiled part's fault is called, which is no Exception."""


def raises(_: OnProgress, error: BaseException) -> None:
    raise error


def sleeps(_: OnProgress) -> None:
    time.sleep(HOURS)


def spins(_: OnProgress) -> int:
    """In compiled code, which holds the interpreter."""
    return len(str(9 ** (9**9)))


def spins_a_little(_: OnProgress, seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def begins_another(_: OnProgress) -> int:
    return subprocess.Popen(["/bin/sleep", "300"]).pid  # it stays where a test fails


def begins_another_and_spins(tell: OnProgress) -> Iterator[Any]:
    """Before that it gives the variables with which what it is a fork of was begun."""
    yield Path("/proc/self/environ").read_text(encoding="utf-8")
    yield os.getpid()
    yield begins_another(tell)
    spins(tell)


def grows(_: OnProgress) -> int:
    kept = []
    while True:
        kept.append(bytearray(2**20))
        kept[-1][::4096] = b"x" * 256


def grows_slowly(_: OnProgress) -> None:
    kept = []
    while True:
        kept.append(b"x" * 2**20)
        time.sleep(0.01)


def asks_for_much(_: OnProgress) -> int:
    return len(f"{1:2000000000d}")


def crashes(_: OnProgress) -> None:
    ctypes.string_at(0)


class Broken:
    def __reduce__(self) -> Any:
        return Step, ()  # which needs to be told what is being done


def sends_a_broken_value(_: OnProgress) -> Any:
    return Broken()


def sends_a_call(_: OnProgress, module: str, name: str) -> None:
    """The bytes of a pickle that calls a function, written by somebody who took the worker over."""
    call = b"\x80\x04" + f"(S'ended'\nc{module}\n{name}\n(S'evil'\ntRt.".encode()
    pickle.dumps = lambda *_, **__: call
