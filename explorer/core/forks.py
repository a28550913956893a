"""A process that has imported what others need, and forks one of them whenever it is asked to.

It has no threads, no secrets and no other work. It ends with the process that began it, however
that ended, and takes along all forks and the processes that they began.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from explorer.core.work import EVERY_SECONDS


class Fork:
    """A forked process, with the methods of `multiprocessing.Process` that a worker needs."""

    def __init__(self, pid: int, state: Connection) -> None:
        """state: gives the exit code when the process has ended."""
        self.pid = pid
        self.exitcode: int | None = None
        self._state = state

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.exitcode is None and not self._state.poll()

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended, at most so many seconds; `exitcode` is set then."""
        if self.exitcode is None and self._state.poll(timeout):
            try:
                self.exitcode = int(self._state.recv_bytes())
            except (EOFError, OSError):  # it ended with the process that forked it
                self.exitcode = -signal.SIGKILL

    def kill(self) -> None:
        """End it at once, with the processes that it began."""
        if self.is_alive():
            _kill_group(self.pid)
            with suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)  # it may not lead its group yet


class ForkServer:
    """Starts that process with the first fork, and again if it died. Callable from any thread."""

    def __init__(self, program: str) -> None:
        """program: Python that calls `serve_forks({fd}, ...)`."""
        self._program = program
        self._starting = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket

    def fork(self, pipe: Connection, environ: Mapping[str, str]) -> Generator[None, None, Fork]:
        """Fork a process that works with `pipe`; None now and then, as the first import takes long.

        environ: variables of the process that is forked, if it is to be started.

        Raises:
            EOFError, OSError: that process died before it could fork.
        """
        ours, theirs = Pipe(duplex=False)
        with theirs, self._starting:
            if self._process is None or self._process.poll() is not None:
                self._start(environ)
            socket.send_fds(self._requests, [b"."], [pipe.fileno(), theirs.fileno()])
        yield  # so that whoever waits for it can say so at once
        while not ours.poll(EVERY_SECONDS):
            yield
        return Fork(int(ours.recv_bytes()), ours)

    def _start(self, environ: Mapping[str, str]) -> None:
        self._requests, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            self._process = subprocess.Popen(  # noqa: S603 - a program of our own
                [sys.executable, "-P", "-c", self._program.format(fd=fd)],
                env={**environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.DEVNULL,
                pass_fds=[fd],
                start_new_session=True,  # Ctrl-C in a terminal is for the server alone
            )


def _kill_group(pid: int) -> None:
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


# What follows is done in the process that is forked, and in the forks.


def serve_forks(fd: int, modules: Sequence[str], work: Callable[[Connection], None]) -> None:
    """Fork a process for each two descriptors that arrive, until their sender is gone.

    fd: of the socket where they arrive: one of the pipe that a fork works with, and one of a pipe
        to which its pid is written, and its exit code when it has ended.
    modules: imported first.
    """
    for name in modules:
        import_module(name)
    forks: dict[Any, tuple[Any, Connection]] = {}
    with socket.socket(fileno=fd) as requests:
        while True:
            for ready in wait([requests, *forks]):
                if ready is not requests:
                    process, state = forks.pop(ready)
                    _kill_group(process.pid)  # the processes that it began
                    process.join()
                    _send(state, process.exitcode)
                    state.close()
                    continue
                _, fds, *_ = socket.recv_fds(requests, 1, 2)
                if not fds:
                    for process, _ in forks.values():
                        _kill_group(process.pid)
                    return
                pipe, state = (Connection(each) for each in fds)
                others = [requests, state, *(other for _, other in forks.values())]
                arguments = (work, pipe, others)
                process = get_context("fork").Process(target=_work, args=arguments, daemon=True)
                process.start()
                pipe.close()
                forks[process.sentinel] = process, state
                _send(state, process.pid)


def _send(state: Connection, number: int | None) -> None:
    with suppress(OSError):  # nobody waits for it any more
        state.send_bytes(str(number).encode())


def _work(work: Callable[[Connection], None], pipe: Connection, others: Sequence[Any]) -> None:
    """Work in a group of its own, which ends with the process that forked it."""
    import ctypes

    for each in others:
        each.close()
    os.setsid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    work(pipe)
