"""Ending what takes long while it is under way."""

import threading
from collections.abc import Callable
from typing import TypeVar

from scoring.errors import Stopped

T = TypeVar("T")
STOP_SECONDS = 0.1
"""How often it is looked whether to stop."""


def check_stop(stop: threading.Event | None) -> None:
    """End here where that is wanted.

    Raises:
        Stopped: `stop` is set.
    """
    if stop is not None and stop.is_set():
        raise Stopped("It was stopped.")


def leaving(stop: threading.Event | None, work: Callable[[], T]) -> T:
    """What `work` returns; where it is stopped, the work is left to end by itself.

    For short work that waits for others, such as a question over the network.

    Args:
        stop: set it from anywhere; None where nobody can.
        work: is run in another thread, and must do no harm where nobody waits for it.

    Raises:
        Stopped: `stop` is set before the work is done.
        Exception: whatever the work raises.
    """
    check_stop(stop)
    if stop is None:
        return work()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(STOP_SECONDS)
        if thread.is_alive():
            check_stop(stop)
    if errors:
        raise errors[0]
    return results[0]
