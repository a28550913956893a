"""Stands in for ZeroGPU's package: each call runs in a process that is forked for it, on the CPU.

Arguments and results are pickled, what a call leaves behind is lost, and a generator that is closed
ends its process, as the package's documentation has it. `CALLS` holds what was asked for.
"""

import inspect
import multiprocessing
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

BEFORE = frozenset(sys.modules)
"""What had been imported when this was."""
CALLS: list[tuple[str, float]] = []

_FORK = multiprocessing.get_context("fork")


def GPU(  # noqa: N802 - its name
    duration: Callable[..., float],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def stream(*args: Any) -> Iterator[Any]:
            CALLS.append((function.__name__, duration(*args)))
            yield from _forked(function, pickle.loads(pickle.dumps(args)))

        def call(*args: Any) -> Any:
            [result] = stream(*args)
            return result

        return stream if inspect.isgeneratorfunction(function) else call

    return decorate


def _forked(function: Callable[..., Any], args: tuple[Any, ...]) -> Iterator[Any]:
    results = _FORK.SimpleQueue()
    process = _FORK.Process(target=_work, args=(function, args, results), daemon=True)
    process.start()
    try:
        while True:
            kind, value = results.get()
            if kind == "raised":
                raise value
            if kind == "ended":
                return
            yield value
    finally:
        process.terminate()
        process.join()


def _work(function: Callable[..., Any], args: tuple[Any, ...], results: Any) -> None:
    try:
        found = function(*args)
        for value in found if inspect.isgenerator(found) else [found]:
            results.put(("gave", value))
        results.put(("ended", None))
    except BaseException as error:
        results.put(("raised", error))
