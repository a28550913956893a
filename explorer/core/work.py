"""Long work: a generator of steps, which may have a thread of its own; of questions, only the last.

Long work is a generator that yields how far it is and returns what it made. Whoever wants no more
of it closes it; where it is to say how it ended, `Stopped` is thrown into it. What cannot yield, as
it waits inside of others' code, is told of by `stepping`. What outlives a request of a page is
driven by a thread (`in_background`), and may be looked at by a key (`Jobs`).
"""

import threading
from collections.abc import Callable, Generator, Hashable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from explorer.core.caches import LruCache
from explorer.core.errors import user_message
from scoring.errors import KnownError, Stopped

S = TypeVar("S")
T = TypeVar("T")
V = TypeVar("V")
EVERY_SECONDS = 0.25
"""How often whoever waits for work can leave."""

TRIAL_STOPPED = "Stopped before this pair was scored. Press Score this pair to score it."


def in_background(work: Callable[[], object]) -> threading.Thread:
    """Begin work in a thread of its own, which ends with the server."""
    # Whose request this is goes with it: on ZeroGPU it pays for the GPU.
    thread = threading.Thread(target=copy_context().run, args=(work,), daemon=True)
    thread.start()
    return thread


def stepping(
    work: Callable[[Callable[[S], None]], T], stop: threading.Event | None = None
) -> Generator[S, None, T]:
    """Run `work(tell)` in a thread; yields its latest step a few times a second.

    Args:
        work: tells its steps, from whichever thread. What it returns is returned.
        stop: is set where this is closed or `Stopped` is thrown, of which the latter waits for the
            end of the work. None leaves it running: what it fetches is of use to the next.

    Raises:
        Exception: whatever the work raises.
    """
    steps: list[S] = []
    result: Future[T] = Future()

    def tell(step: S) -> None:
        steps[:] = [step]

    def run() -> None:
        try:
            result.set_result(work(tell))
        except BaseException as error:
            result.set_exception(error)

    thread = in_background(run)
    try:
        while thread.is_alive():
            thread.join(EVERY_SECONDS)
            if steps and thread.is_alive():
                yield steps[0]
    except (Stopped, GeneratorExit) as left:
        if stop is not None:
            stop.set()
            thread.join(None if isinstance(left, Stopped) else 0)
        raise
    return result.result()


def map_steps(steps: Generator[S, None, T], show: Callable[[S], V]) -> Generator[V, None, T]:
    """The same work, each step as it is shown."""
    with closing(steps):
        while True:
            try:
                step = next(steps)
            except StopIteration as ended:
                result: T = ended.value
                return result
            yield show(step)


def repeated(steps: Generator[S | None, None, T], first: S) -> Generator[S, None, T]:
    """The same work, with the step before it, or `first`, in place of none."""
    last = first

    def known(step: S | None) -> S:
        nonlocal last
        last = step or last
        return last

    return (yield from map_steps(steps, known))


def result_of(steps: Generator[Any, None, T]) -> T:
    """What work returns whose steps nobody looks at."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            result: T = ended.value
            return result


def until_stopped(steps: Generator[S, Any, object], stop: threading.Event) -> Iterator[S]:
    """Steps to their end, or to what they say once `stop` is set and `Stopped` is thrown."""
    for step in steps:
        yield step
        if stop.is_set():
            break
    with suppress(Stopped, StopIteration):
        yield steps.throw(Stopped("It was stopped."))
        yield from steps


class _Taken(Generic[S, T]):
    """Steps that several take together: whoever comes when nobody takes one takes the next."""

    def __init__(self, steps: Generator[S, None, T]) -> None:
        self._steps = steps
        self._taking = threading.Lock()
        self._latest: list[S] = []
        self.result: Future[T] = Future()

    def take(self) -> Generator[S, None, T]:
        """The latest step, again and again until the end."""
        while not self.result.done():
            if self._taking.acquire(timeout=EVERY_SECONDS):
                try:
                    self._next()
                finally:
                    self._taking.release()
            if not self.result.done():
                yield from self._latest
        return self.result.result()

    def _next(self) -> None:
        if self.result.done():
            return
        try:
            self._latest = [next(self._steps)]
        except StopIteration as ended:
            self.result.set_result(ended.value)
        except BaseException as error:
            self.result.set_exception(error)


class Shared(Generic[S, T]):
    """Long work that is done once for all who ask for the same meanwhile. Callable from any thread.

    Whoever asks takes the next step, so nobody depends on who began it; with the last who asks the
    work is closed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: WeakValueDictionary[Hashable, _Taken[S, T]] = WeakValueDictionary()

    def follow(
        self, key: Hashable, begin: Callable[[], Generator[S, None, T]]
    ) -> Generator[S, None, T]:
        """The steps of what is under way by that key, or is begun now, and what it returns."""
        with self._lock:
            taken = self._under_way.get(key)
            if taken is None or taken.result.done():
                taken = self._under_way[key] = _Taken(begin())
        return (yield from taken.take())


_MOST_SESSIONS = 2_000


class Latest:
    """Numbers the questions of each session. Callable from any thread.

    >>> latest = Latest()
    >>> first, second = latest.ask("page"), latest.ask("page")
    >>> latest.is_last("page", first), latest.is_last("page", second)
    (False, True)
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
    >>> def work():
    ...     yield 1
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
            self._going = {each for each in self._going if not each.is_over}
            if len(self._going) >= self._most_at_once:
                raise KnownError("The server is busy. Try again in a minute.")
            job = self._jobs[key] = Job()
            self._going.add(job)
        return in_background(partial(_run, job, work))

    def do(self, key: Hashable, work: Callable[[], Generator[S, None, T]]) -> None:
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
