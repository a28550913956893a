"""Long work in a thread of its own, told step by step; and of a page's questions, only the last."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import TypeVar

from explorer.core.text import text
from scoring.errors import Stopped
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


MOST_SESSIONS = 2_000


class Latest:
    """Numbers the questions of each session. Callable from any thread.

    >>> latest = Latest()
    >>> first, second = latest.ask("page"), latest.ask("page")
    >>> latest.is_last("page", first), latest.is_last("page", second)
    (False, True)
    """

    def __init__(self, most: int = MOST_SESSIONS) -> None:
        """most: sessions that are remembered; of one that was forgotten nothing is the last."""
        self._most = most
        self._changed = threading.Condition()
        self._answered: set[str] = set()
        self._asked = 0
        self._last: OrderedDict[str, int] = OrderedDict()

    def ask(self, session: str) -> int:
        """A number for a new question, after which no earlier one is the last."""
        with self._changed:
            self._asked += 1
            self._last[session] = self._asked
            self._last.move_to_end(session)
            while len(self._last) > self._most:
                self._last.popitem(last=False)
            self._changed.notify_all()
            return self._asked

    def is_last(self, session: str, number: int) -> bool:
        """Whether nothing was asked since."""
        with self._changed:
            return self._last.get(session) == number

    @contextmanager
    def answering(self, session: str, number: int) -> Iterator[None]:
        """Answer a question inside, once no older one of the session is being answered.

        So at most one question of a session waits: the last.

        Raises:
            Stopped: something was asked since, or is while it waits.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: session not in self._answered or self._last.get(session) != number
            )
            if self._last.get(session) != number:
                raise Stopped(text("trial.stopped"))
            self._answered.add(session)
        try:
            yield
        finally:
            with self._changed:
                self._answered.discard(session)
                self._changed.notify_all()
