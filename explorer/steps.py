"""Long work in a thread of its own, told step by step to the one who waits."""

import threading
from collections.abc import Callable, Generator
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import TypeVar

from scoring.limits import Step, Tell

T = TypeVar("T")
EVERY_SECONDS = 0.25


def stepping(work: Callable[[Tell], T]) -> Generator[Step, None, T]:
    """Run `work(tell)`; yields its latest step a few times a second, and returns its result.

    Who stops listening leaves it running to its end: what it fetches is of use to the next.

    Raises:
        Exception: whatever the work raises.
    """
    steps: SimpleQueue[Step] = SimpleQueue()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work(steps.put))
        except BaseException as error:
            errors.append(error)

    # Whose request this is goes with it: on ZeroGPU it pays for the GPU.
    thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(EVERY_SECONDS)
        latest = _latest(steps)
        if latest is not None and thread.is_alive():
            yield latest
    if errors:
        raise errors[0]
    return results[0]


def _latest(steps: "SimpleQueue[Step]") -> Step | None:
    latest = None
    while True:
        try:
            latest = steps.get_nowait()
        except Empty:
            return latest
