"""Work in a process of its own, which may be ended at any moment: strangers' files are read there.

What a worker does is a function of a module, a *task*: it is given `tell`, for steps that are only
to be heard of, and what it works on. It returns its result; where it is a generator, it goes on
after each value once that was taken. To stop, `tell` raises on this side, or the stream of values
is closed: the worker is then let finish what it is at, for a moment, and killed where it does not.

A worker is a fork of a process that has imported torch and has never done anything else, so a new
one is there at once, and with an old one goes all the memory it took. It ends with its server.
"""

import io
import logging
import os
import pickle
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, is_dataclass
from inspect import isgenerator
from math import ceil
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from typing import Any, ClassVar, Literal

from explorer.core.forks import ForkServer
from explorer.core.work import EVERY_SECONDS
from scoring.errors import KnownError, Stopped, first_line, is_panic
from scoring.models.memory import group_bytes, limit_memory, waited_seconds

logger = logging.getLogger(__name__)

_POLITE_SECONDS = 0.6
"""Seconds that a worker has to finish what it is at when it is stopped."""
_LOOK_SECONDS = 0.05
_TELL_SECONDS = 0.1
_NICENESS = 10
"""Of workers: the page's answers come first where both want the processor."""
_MOST_BYTES = 2**30
"""Of one answer."""
PRELOADED = (
    "scoring.tasks",
    "scoring.families.classifier",
    "scoring.families.dpo",
    "scoring.families.judge",
)
_SECRET = re.compile(r"(TOKEN|SECRET|KEY|PASSWORD)(_|$)")
"""In the names of variables that no worker is given; one that is spawned forgets them at once."""
_FORKS = ForkServer(
    "from explorer.core import forks, workers; forks.serve_forks({fd}, workers.PRELOADED, "
    "workers.serve)"
)
_GO, _STOP = b"go", b"stop"

GIGABYTE = 10**9
MOST_BYTES = 5_500_000_000
"""Of this process and all workers: what they take together is under 6 GB then, also between two
looks. One task alone is ended by its own limit."""
TEXT_SECONDS, CHARACTERS_A_SECOND = 60.0, 100_000
TEXT_BYTES, BYTES_A_CHARACTER = 2 * GIGABYTE, 40
"""What `text_limit` gives in any case, and for each character besides."""

Task = Callable[..., Any]
WayOut = Literal["model", "file", "results", "tokenizer"]
ANOTHER: dict[WayOut, str] = {
    "model": "another model",
    "file": "other pairs",
    "results": "other files",
    "tokenizer": "another tokenizer",
}
"""What to choose instead."""
_WAYS_OUT: dict[WayOut, str] = {
    "model": "Choose another model, or fewer or shorter pairs.",
    "file": "Choose fewer or shorter pairs.",
    "results": "Choose fewer or smaller files.",
    "tokenizer": "Choose another tokenizer.",
}


@dataclass(frozen=True, slots=True)
class Limit:
    """What a task may take before its worker is ended; None means as much as it wants.

    doing: what it is at, as a sentence begins.
    way_out: what there is another of, to be chosen where it is met.
    seconds: from its beginning to its end, without those in which other processes kept the
        processors from it; with those, `crowded` times as many.
    n_bytes: of memory, more than the worker holds when the task begins, all its processes together.
    in_addresses: whether the system is to hold it to that, too, so that one demand of too much
        fails at once. Not where CUDA is used, which takes addresses by the terabyte, and holds it
        to that on each GPU instead.
    """

    doing: str
    seconds: float | None = None
    n_bytes: int | None = None
    in_addresses: bool = False
    way_out: WayOut = "model"
    crowded: int = 5


def text_limit(
    doing: str, characters: int, *, kept: int = 0, in_addresses: bool, way_out: WayOut = "model"
) -> Limit:
    """Of what renders or tokenizes texts of so many characters. kept: the tokens of how many."""
    return Limit(
        doing,
        TEXT_SECONDS + characters / CHARACTERS_A_SECOND,
        TEXT_BYTES + BYTES_A_CHARACTER * kept,
        in_addresses,
        way_out,
    )


class Worker:
    """One process, and the next where it ended. One thread at a time may have it do something."""

    def __init__(self, *, online: bool = False, knows: Collection[str] = ()) -> None:
        """online: whether it may ask the Hub. knows: variables that it is given, secret or not."""
        self._online = online
        self._knows = frozenset(knows)
        self._process: Any = None
        self._pipe: Connection | None = None

    @property
    def pid(self) -> int | None:
        """Of its process; None where there is none."""
        return self._process.pid if self.is_alive() else None

    def is_alive(self) -> bool:
        """Whether there is a process, with all that it holds."""
        return self._process is not None and bool(self._process.is_alive())

    def resident_bytes(self) -> int:
        """Memory that it holds for itself; 0 where there is none, or that cannot be told."""
        pid = self.pid
        return 0 if pid is None else group_bytes(pid)

    def run(
        self, task: Task, *given: Any, limit: Limit, tell: Callable[[Any], None] = lambda step: None
    ) -> Any:
        """What a task returns.

        tell: gets what it tells and gives, and None a few times a second while there is nothing.

        Raises:
            KnownError: as of `stream`.
        """
        with closing(self.stream(task, *given, limit=limit)) as steps:
            while True:
                try:
                    step = next(steps)
                except StopIteration as ended:
                    return ended.value
                tell(step)

    def stream(self, task: Task, *given: Any, limit: Limit) -> Generator[Any, None, Any]:
        """What a task tells and gives, and what it returns.

        None is given a few times a second while there is nothing else, so that one can leave.

        Raises:
            KnownError: the task's own; it met its limit; the worker died of something else; or
                there is an error in the task, which the worker has logged.
        """
        try:
            yield from self._ensure_started()
        except (EOFError, OSError) as error:  # what it is forked from died
            logger.warning("a worker was not started", exc_info=error)
            raise KnownError(_crashed(limit, "its process was not started")) from error
        pipe: Any = self._pipe
        with _Watch(self._process, limit) as watch:
            try:
                pipe.send_bytes(pickle.dumps((task, given, limit)))
                while True:
                    if not pipe.poll(EVERY_SECONDS):
                        yield None
                        continue
                    kind, value = _loads(pipe.recv_bytes(_MOST_BYTES))
                    if kind == "ended":
                        return value
                    if kind == "refused":
                        raise KnownError(value)
                    if kind == "memory":
                        raise KnownError(_too_much(limit))
                    if kind == "broke":
                        raise KnownError(
                            f"{limit.doing} failed because of a bug in this app; details are in "
                            "the server's log."
                        )
                    yield value
                    if kind == "gave":
                        pipe.send_bytes(_GO)
            except (EOFError, OSError, pickle.UnpicklingError) as error:
                raise KnownError(self._died(limit, watch.why)) from error
            except GeneratorExit:
                self._stop(pipe)
                raise

    def end(self) -> None:
        """End the process, if there is one; its memory is free when this returns."""
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        if process is not None:
            process.kill()
            process.join()
        if pipe is not None:
            pipe.close()

    def _ensure_started(self) -> Generator[None, None, None]:
        if self.is_alive():
            return
        self.end()
        environ = {name: value for name, value in os.environ.items() if not _SECRET.search(name)}
        ours, theirs = Pipe()
        with theirs:
            if sys.platform == "linux":
                self._process = yield from _FORKS.fork(theirs, environ)
            else:  # elsewhere a process that knows torch is not to be forked
                self._process = get_context("spawn").Process(
                    target=serve, args=(theirs,), daemon=True
                )
                self._process.start()
        environ |= {name: os.environ[name] for name in self._knows & os.environ.keys()}
        ours.send_bytes(pickle.dumps((environ, self._online)))
        self._pipe = ours

    def _stop(self, pipe: Any) -> None:
        """Let it finish what it is at, for a moment; then kill it."""
        deadline = time.monotonic() + _POLITE_SECONDS
        try:
            pipe.send_bytes(_STOP)
            while pipe.poll(max(0.0, deadline - time.monotonic())):
                kind, _ = _loads(pipe.recv_bytes(_MOST_BYTES))
                if kind not in ("told", "gave"):
                    return
        except (EOFError, OSError, pickle.UnpicklingError):
            pass
        self.end()

    def _died(self, limit: Limit, why: str) -> str:
        """What to say of a worker that is not there any more. why: it was ended; "" where not."""
        process = self._process
        process.join(1.0)
        self.end()
        code = process.exitcode
        logger.warning("a worker ended (%s): %s", limit.doing, why or f"exit code {code}")
        if not why and limit.in_addresses and code == -signal.SIGABRT:
            why = _too_much(limit)  # compiled code that is refused memory gives up so
        elif not why and code in (-signal.SIGXCPU, -signal.SIGALRM):
            why = _too_long(limit)
        if why:
            return why
        reason = signal.Signals(-code).name if code is not None and code < 0 else f"code {code}"
        return _crashed(limit, reason)


def run_in_new_worker(
    task: Task,
    *given: Any,
    limit: Limit,
    tell: Callable[[Any], None] = lambda step: None,
    online: bool = False,
    slots: threading.BoundedSemaphore | None = None,
) -> Any:
    """What a task returns in a worker that does nothing else; as of `Worker.run`.

    slots: of which it takes one, and waits for that.
    """
    while slots is not None and not slots.acquire(timeout=EVERY_SECONDS):
        tell(None)
    worker = Worker(online=online)
    try:
        return worker.run(task, *given, limit=limit, tell=tell)
    finally:
        worker.end()
        if slots is not None:
            slots.release()


class _Watch:
    """Looks, while a task goes on, whether it keeps its limit, and ends the worker if not.

    Where all together take too much, the one whose memory grew most in its task is ended.
    """

    _all: ClassVar[set["_Watch"]] = set()
    _choosing: ClassVar = threading.Lock()

    def __init__(self, process: Any, limit: Limit) -> None:
        self.why = ""
        self._process = process
        self._limit = limit
        self._grown = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "_Watch":
        self._all.add(self)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()  # lest it ends the task after this one
        self._all.discard(self)

    def _look(self) -> None:
        limit, pid = self._limit, self._process.pid
        began, waited, before = time.monotonic(), waited_seconds(pid), group_bytes(pid)
        while not self._over.wait(_LOOK_SECONDS):
            took = time.monotonic() - began - waited_seconds(pid) + waited
            self._grown = group_bytes(pid) - before
            if limit.seconds is not None and took > limit.seconds:
                self.why = _too_long(limit)
            elif limit.n_bytes is not None and self._grown > limit.n_bytes:
                self.why = _too_much(limit)
            elif limit.n_bytes is not None:
                self._make_room()
            if self.why:
                self._process.kill()
                self._grown = 0
                return

    def _make_room(self) -> None:
        """End this one where all together take too much, none is being ended, and it grew most."""
        with self._choosing:
            limited = [each for each in list(self._all) if each._limit.n_bytes]
            grown = [each._grown for each in limited]
            if (
                sum(grown) > max(each._limit.n_bytes or 0 for each in limited)
                and self._grown == max(grown)
                and not any(each.why and group_bytes(each._process.pid) for each in limited)
                and group_bytes(os.getpid()) > MOST_BYTES
            ):
                n = _gigabytes(MOST_BYTES)
                self.why = (
                    f"{self._limit.doing} was stopped: everything running here needed more than "
                    f"{n} GB together, and this used the most. Try again in a moment."
                )


def _crashed(limit: Limit, reason: str) -> str:
    another = ANOTHER[limit.way_out]
    return (
        f"{limit.doing} crashed ({reason}). Pairs scored so far are kept. Try again, or choose "
        f"{another}."
    )


def _too_long(limit: Limit) -> str:
    seconds, way_out = f"{limit.seconds:,.0f}", _WAYS_OUT[limit.way_out]
    return (
        f"{limit.doing} took longer than the {seconds} s allowed here, and was stopped. {way_out}"
    )


def _too_much(limit: Limit) -> str:
    way_out, gigabytes = _WAYS_OUT[limit.way_out], _gigabytes(limit.n_bytes or 0)
    return (
        f"{limit.doing} needed more than the {gigabytes} GB allowed here, and was stopped. "
        f"{way_out}"
    )


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / GIGABYTE:,.1f}".removesuffix(".0")


class _Values(pickle.Unpickler):
    """Reads values of the scorer's own classes and nothing else, whoever wrote them."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("scoring."):
            found = super().find_class(module, name)
            if isinstance(found, type) and (is_dataclass(found) or issubclass(found, tuple)):
                return found
        raise pickle.UnpicklingError(f"a worker sends no {module}.{name}")


def _loads(message: bytes) -> tuple[str, Any]:
    try:
        kind, value = _Values(io.BytesIO(message)).load()
    except Exception as error:  # it was written by whoever took the worker over
        raise pickle.UnpicklingError("a worker sends no value") from error
    return kind, value


# What follows is done in the worker.


def serve(pipe: Connection) -> None:
    """Do one task after the other, until the server is gone.

    pipe: gives the environment, and whether the Hub may be asked, and then the tasks.
    """
    from huggingface_hub import constants

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(AttributeError):  # where the system has no such order
        os.nice(_NICENESS)
    with suppress(EOFError, OSError):
        environ, online = pickle.loads(pipe.recv_bytes())  # noqa: S301 - of the server
        os.environ.clear()
        os.environ.update({**environ, "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"})
        constants.HF_HUB_DISABLE_IMPLICIT_TOKEN = True
        if not online:
            os.environ["HF_HUB_OFFLINE"] = "1"
            constants.HF_HUB_OFFLINE = True
        while True:
            message = pipe.recv_bytes()
            if message not in (_GO, _STOP):  # those were sent when the task had ended
                _answer(pipe, *pickle.loads(message))  # noqa: S301 - of the server


def _answer(pipe: Connection, task: Task, given: tuple[Any, ...], limit: Limit) -> None:
    def say(kind: str, value: Any = None) -> None:
        message = pickle.dumps((kind, value))
        try:
            pipe.send_bytes(message)
        except OSError as error:
            raise SystemExit from error  # nobody is there to be told

    def refuse(why: str) -> None:
        say("refused", f"{limit.doing} failed: {why}. Choose {ANOTHER[limit.way_out]}.")

    def heard() -> bytes:
        try:
            return pipe.recv_bytes()
        except (EOFError, OSError) as error:
            raise SystemExit from error

    told = 0.0

    def tell(step: Any) -> None:
        nonlocal told
        if time.monotonic() - told > _TELL_SECONDS:
            told = time.monotonic()
            say("told", step)
            if pipe.poll() and heard() == _STOP:
                raise Stopped("It was stopped.")

    try:
        with _limit_seconds(limit), limit_memory(limit.n_bytes, in_addresses=limit.in_addresses):
            result = _result_of(heard, say, task(tell, *given))
        say("ended", result)
    except KnownError as error:
        say("refused", str(error))
    except MemoryError:
        say("memory")
    except RecursionError:
        refuse("its files are nested too deeply")
    except Exception:
        logger.exception("a task failed (%s)", limit.doing)
        say("broke")
    except BaseException as error:
        if not is_panic(error):
            raise
        refuse(first_line(error))


@contextmanager
def _limit_seconds(limit: Limit) -> Iterator[None]:
    """Have the system end this process in time, even if its server does not look at it any more.

    That is after `seconds` of every processor, or `crowded` times as many by the clock.
    """
    if limit.seconds is None:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_CPU)
    most = ceil(time.process_time() + limit.seconds * (os.cpu_count() or 1))
    if before[1] != resource.RLIM_INFINITY:
        most = min(most, before[1])
    resource.setrlimit(resource.RLIMIT_CPU, (most, before[1]))
    signal.setitimer(signal.ITIMER_REAL, limit.crowded * limit.seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_CPU, before)


def _result_of(heard: Callable[[], bytes], say: Callable[[str, Any], None], result: Any) -> Any:
    if not isgenerator(result):
        return result
    while True:
        try:
            say("gave", next(result))
        except StopIteration as ended:
            return ended.value
        if heard() == _STOP:
            result.close()
            return None
