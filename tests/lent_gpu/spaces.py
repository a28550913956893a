"""Stands in for ZeroGPU's package: a call runs in a process that is forked from this, on the CPU.

As of `spaces` 0.51.3, arguments and results are pickled, a process that has ended its call serves
the next one, and a generator that is closed ends its process. `CALLS` holds what was asked for, and
the process that did it.
"""

import inspect
import multiprocessing
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

BEFORE = frozenset(sys.modules)
"""What had been imported when this was."""
CALLS: list[tuple[str, int, int]] = []

_FORK = multiprocessing.get_context("fork")
_TASKS: list[Callable[..., Any]] = []
_IDLE: list["_Worker"] = []


def GPU(  # noqa: N802 - its name
    duration: Callable[..., int],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        _TASKS.append(function)
        number = len(_TASKS) - 1

        def stream(*args: Any) -> Iterator[Any]:
            seconds = duration(*args)
            assert type(seconds) is int
            worker = _IDLE.pop() if _IDLE else _Worker()
            CALLS.append((function.__name__, seconds, worker.process.pid or 0))
            yield from worker.results_of(number, args)
            _IDLE.append(worker)

        def call(*args: Any) -> Any:
            [result] = stream(*args)
            return result

        return stream if inspect.isgeneratorfunction(function) else call

    return decorate


class _Worker:
    def __init__(self) -> None:
        self._asked, self._answered = _FORK.SimpleQueue(), _FORK.SimpleQueue()
        self.process = _FORK.Process(target=self._work, daemon=True)
        self.process.start()

    def results_of(self, number: int, args: tuple[Any, ...]) -> Iterator[Any]:
        self._asked.put((number, pickle.dumps(args)))
        is_whole = False
        try:
            while True:
                kind, value = self._answered.get()
                if kind == "ended":
                    is_whole = True
                    return
                if kind == "raised":
                    raise value
                yield value
        finally:
            if not is_whole:
                self.process.kill()  # a measured one would save what it measured first, and hang
                self.process.join()

    def _work(self) -> None:
        while True:
            number, args = self._asked.get()
            try:
                found = _TASKS[number](*pickle.loads(args))
                for value in found if inspect.isgenerator(found) else [found]:
                    self._answered.put(("gave", value))
                self._answered.put(("ended", None))
            except BaseException as error:
                self._answered.put(("raised", error))
