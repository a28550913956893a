"""Work that goes on by itself: begun once by a key, and looked at as often as one likes."""

import threading
from collections.abc import Callable, Generator, Hashable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from explorer.core.caches import LruCache
from explorer.core.parts import user_message
from explorer.core.work import in_background
from scoring.errors import KnownError

S = TypeVar("S")
T = TypeVar("T")
MOST_JOBS = 200
"""That are remembered, with their results."""
MOST_AT_ONCE = 16
"""That go on."""


@dataclass
class Job(Generic[S, T]):
    """One piece of work.

    step: how far it is; None before its first word. result: what it made; None until then.
    refused: why it made nothing; "" otherwise. is_over: whether it ended, or was stopped.
    """

    step: S | None = None
    result: T | None = None
    refused: str = ""
    is_over: bool = False
    stop: threading.Event = field(default_factory=threading.Event)


class Jobs(Generic[S, T]):
    """Callable from any thread.

    >>> jobs = Jobs[int, str]()
    >>> def work():
    ...     yield 1
    ...     return "made"
    >>> jobs.begin("key", work).join()
    >>> jobs.of("key").result
    'made'
    """

    def __init__(self) -> None:
        self._jobs = LruCache[Job[S, T]](MOST_JOBS)
        self._lock = threading.Lock()

    def of(self, key: Hashable) -> Job[S, T] | None:
        """The work that was begun last by a key; None if none was."""
        return self._jobs.get(key)

    def begin(
        self, key: Hashable, work: Callable[[], Generator[S, None, T]]
    ) -> threading.Thread | None:
        """Begin work, unless it goes on already. Gives its thread; None if it was there.

        Raises:
            KnownError: too much goes on.
        """
        with self._lock:
            job = self._jobs.get(key)
            if job is not None and not job.is_over:
                return None
            if sum(not each.is_over for each in self._jobs.snapshot()) >= MOST_AT_ONCE:
                raise KnownError("The server is busy. Try again in a minute.")
            job = self._jobs[key] = Job()
        return in_background(partial(_run, job, work))

    def stop(self, key: Hashable) -> None:
        """End work after its present step."""
        if (job := self._jobs.get(key)) is not None:
            job.stop.set()


def _run(job: Job[S, T], work: Callable[[], Generator[S, None, T]]) -> None:
    try:
        with closing(work()) as steps:
            while not job.stop.is_set():
                job.step = next(steps)
    except StopIteration as ended:
        job.result = ended.value
    except Exception as error:
        job.refused = user_message(error)
    finally:
        job.is_over = True
