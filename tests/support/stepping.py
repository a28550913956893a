"""Work that tells its steps, step by step."""

from collections.abc import Callable, Generator
from concurrent.futures import Future
from queue import Queue
from typing import Any, TypeVar

from explorer.core.work import in_background
from scoring.errors import Stopped

T = TypeVar("T")


def told_by(work: Callable[[Any], T]) -> tuple[T, list[Any]]:
    """What work gives, and what it told on the way."""
    steps: list[Any] = []
    return work(steps.append), steps


def stepwise(work: Callable[[Any], object]) -> Generator[Any, None, Any]:
    """Work that goes on whenever its next step is asked for; what it gives is returned.

    Where this is closed, or `Stopped` is thrown into it, the step that was told last raises that in
    the work, whose last steps are given then.
    """
    steps, goes_on, result = Queue[list[Any]](), Queue[bool](), Future[object]()

    def tell(step: object) -> None:
        steps.put([step])
        if not goes_on.get():
            raise Stopped("It was stopped.")

    def run() -> None:
        try:
            result.set_result(work(tell))
        except BaseException as error:
            result.set_exception(error)
        steps.put([])

    in_background(run)
    while step := steps.get():
        try:
            yield step[0]
        except Stopped:
            goes_on.put(False)
        except GeneratorExit:
            goes_on.put(False)
            while steps.get():
                goes_on.put(False)
            raise
        else:
            goes_on.put(True)
    return None if isinstance(result.exception(), Stopped) else result.result()
