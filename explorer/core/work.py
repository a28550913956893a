"""Long work: a function that tells how far it is, and may have a thread; of questions, the last.

It is given `tell`, which it calls with each step, and a few times a second while there is none. Who
wants no more of it raises `Stopped` there. What outlives a request of a page is done in a thread
(`in_background`), and may be looked at by a key (`Jobs`).
"""

import threading
from collections.abc import Callable, Generator, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from queue import Full, Queue
from typing import Generic, TypeVar

from explorer.core.caches import LruCache
from explorer.core.errors import user_message
from scoring.errors import KnownError, Stopped

S = TypeVar("S")
T = TypeVar("T")
EVERY_SECONDS = 0.25
"""How often whoever waits for work can leave."""

TRIAL_STOPPED = "Stopped before this pair was scored. Click Score this pair to score it."


def in_background(work: Callable[[], object]) -> threading.Thread:
    """Begin work in a thread of its own, which ends with the server."""
    # Whose request this is goes with it: on ZeroGPU it pays for the GPU.
    thread = threading.Thread(target=copy_context().run, args=(work,), daemon=True)
    thread.start()
    return thread


def repeated(tell: Callable[[S], None], first: S) -> Callable[[S | None], None]:
    """For work that tells None while there is no step: tells the last one again, or `first`."""
    last = first

    def report(step: S | None) -> None:
        nonlocal last
        last = last if step is None else step
        tell(last)

    return report


def streamed(work: Callable[[Callable[[S], None]], object]) -> Generator[S, None, None]:
    """All steps of work, which is done in a thread; where this is closed, the work is stopped.

    Raises:
        Exception: whatever the work raises.
    """
    steps: Queue[S | None] = Queue(1)  # no step is made long before it is asked for
    result: Future[object] = Future()
    left = threading.Event()

    def tell(step: S | None) -> None:
        while not left.is_set():
            with suppress(Full):
                steps.put(step, timeout=EVERY_SECONDS)
                return
        raise Stopped("Nobody waits for it any more.")

    def run() -> None:
        try:
            result.set_result(work(tell))
        except BaseException as error:
            result.set_exception(error)
        with suppress(Stopped):
            tell(None)

    in_background(run)
    try:
        while (step := steps.get()) is not None:
            yield step
    finally:
        left.set()
    result.result()


_MOST_SESSIONS = 2_000


class Latest:
    """Numbers the questions of each session. Callable from any thread.

    >>> latest = Latest()
    >>> first, second = latest.ask("page"), latest.ask("page")
    >>> latest.is_last("page", first), latest.is_last("page", second)
    (False, True)
    >>> few = Latest(most=2)
    >>> numbers = {session: few.ask(session) for session in "abc"}
    >>> [session for session in "abc" if few.is_last(session, numbers[session])]
    ['b', 'c']
    """

    def __init__(self, most: int = _MOST_SESSIONS) -> None:
        """most: sessions that are remembered; of one that was forgotten nothing is the last."""
        self._changed = threading.Condition()
        self._answered: set[str] = set()
        self._asked = 0
        self._last = LruCache[int](most)
        self._stopped = LruCache[int](most)

    def ask(self, session: str) -> int:
        """A number for a new question, after which no earlier one is the last."""
        with self._changed:
            self._asked += 1
            self._last[session] = self._asked
            self._changed.notify_all()
            return self._asked

    def is_last(self, session: str, number: int) -> bool:
        """Whether nothing was asked since."""
        with self._changed:
            return self._last.get(session) == number

    def stop(self, session: str) -> None:
        """Nothing that was asked so far is wanted."""
        self._stopped[session] = self.ask(session)

    def is_stopped(self, session: str, number: int) -> bool:
        """Whether a question is one that `stop` was called after."""
        return number < (self._stopped.get(session) or 0)

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
                raise Stopped(TRIAL_STOPPED)
            self._answered.add(session)
        try:
            yield
        finally:
            with self._changed:
                self._answered.discard(session)
                self._changed.notify_all()


MOST_JOBS = 200
"""That are remembered, with their results."""
MOST_AT_ONCE = 16
"""That go on."""


@dataclass(eq=False)
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
    >>> def work(tell):
    ...     tell(1)
    ...     return "made"
    >>> jobs.begin("key", work).join()
    >>> jobs.of("key").result
    'made'
    """

    def __init__(self, most_at_once: int = MOST_AT_ONCE) -> None:
        self._most_at_once = most_at_once
        self._jobs = LruCache[Job[S, T]](MOST_JOBS)
        self._going: set[Job[S, T]] = set()  # forgotten or not
        self._lock = threading.Lock()

    def of(self, key: Hashable) -> Job[S, T] | None:
        """The work that was begun last by a key; None if none was."""
        return self._jobs.get(key)

    def begin(
        self, key: Hashable, work: Callable[[Callable[[S], None]], T]
    ) -> threading.Thread | None:
        """Begin work, unless it goes on already. Gives its thread; None if it was there.

        Raises:
            KnownError: too much goes on.
        """
        with self._lock:
            job = self._jobs.get(key)
            if job is not None and not job.is_over:
                return None
            self._going = {each for each in self._going if not each.is_over}
            if len(self._going) >= self._most_at_once:
                raise KnownError("The server is busy. Try again in a minute.")
            job = self._jobs[key] = Job()
            self._going.add(job)
        return in_background(partial(_run, job, work))

    def do(self, key: Hashable, work: Callable[[Callable[[S], None]], T]) -> None:
        """The same, and wait for what was begun; raises as `begin`."""
        if (thread := self.begin(key, work)) is not None:
            thread.join()

    def stop(self, key: Hashable) -> None:
        """End work after its present step."""
        if (job := self._jobs.get(key)) is not None:
            job.stop.set()

    def forget(self, key: Hashable) -> None:
        """Nothing is known of a work any more, which ends after its present step."""
        self.stop(key)
        self._jobs.discard(key)


def _run(job: Job[S, T], work: Callable[[Callable[[S], None]], T]) -> None:
    def tell(step: S) -> None:
        job.step = step
        if job.stop.is_set():
            raise Stopped("It was stopped.")

    try:
        job.result = work(tell)
    except Stopped:
        pass
    except Exception as error:
        job.refused = user_message(error)
    finally:
        job.is_over = True
