"""The queue before the device: whoever comes first is served first, one at a time."""

import threading
import time
from typing import Self

from scoring.errors import KnownError, counted

MOST_WAITING = 24
"""People who wait hold a thread of the server each."""
MOST_OF_ONE = 2
"""Places in the queue of one owner."""
MOST_OF_ADDRESS = 8
"""Of all who come from one address, where addresses tell people apart: owners can be made up."""


class DeviceBusyError(KnownError):
    """Others are served. The same question may be answered later."""


class Queue:
    """People who wait for the device, in the order in which they came. Callable from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._turns: list[Turn] = []

    def join(self, owner: str, address: str = "", *, is_short: bool = False) -> "Turn":
        """The last place in the queue, to be used as a context: at its end, the place is free.

        owner: who has at most `MOST_OF_ONE` places; "" where nobody is told apart.
        address: where they come from, with at most `MOST_OF_ADDRESS`; "" likewise.
        is_short: whether it is for a pair and not for a run.

        Raises:
            KnownError: the queue is full, or the owner stands in it often enough.
        """
        with self._changed:
            if len(self._turns) > MOST_WAITING:
                raise KnownError(f"Queue full ({MOST_WAITING} waiting). Try again later.")
            for name, own, most in (
                ("owner", owner, MOST_OF_ONE),
                ("address", address, MOST_OF_ADDRESS),
            ):
                if own and sum(getattr(each, name) == own for each in self._turns) >= most:
                    queued = counted(most, "run", "runs")
                    raise KnownError(f"You have {queued} queued. Stop one first, or wait.")
            turn = Turn(self, owner, address, is_short=is_short)
            self._turns.append(turn)
            return turn

    def first(self, owner: str, seconds: float, address: str = "") -> "Turn":
        """A turn that has come, for what is too short to be waited for.

        seconds: how long it is waited for all the same; longer for what is short and the owner's.

        Raises:
            KnownError: others are served then still.
        """
        turn = self.join(owner, address, is_short=True)
        while not turn.wait(seconds):
            if not turn.is_after_own():
                turn.leave()
                raise DeviceBusyError(
                    "The device was busy with a run, so nothing was scored. Try again later."
                )
        return turn


class Turn:
    """One place in the queue.

    owner: whose it is. address: where they come from. is_short: whether it is for a pair.
    seconds: how long it will take from now on, as far as one can say; None where one cannot.
    """

    def __init__(self, queue: Queue, owner: str, address: str, *, is_short: bool) -> None:
        self._queue = queue
        self._came: float | None = None
        self.owner = owner
        self.address = address
        self.is_short = is_short
        self.seconds: float | None = None

    @property
    def lasted(self) -> float:
        """Seconds since it was found that the turn had come; 0 before."""
        return 0.0 if self._came is None else time.monotonic() - self._came

    def ahead(self) -> tuple[int, float | None]:
        """How many are served before, and how long they will take together.

        0 people when it is one's turn; None seconds where one of them cannot say.
        """
        before = self._before()
        known = [each.seconds for each in before if each.seconds is not None]
        return len(before), sum(known) if len(known) == len(before) else None

    def is_after_own(self) -> bool:
        """Whether all that is served before is short and its owner's."""
        return all(each.is_short and each.owner == self.owner for each in self._before())

    def wait(self, seconds: float) -> bool:
        """Wait until the turn has come, or for so long; whether it has come."""
        with self._queue._changed:
            has_come = self._queue._changed.wait_for(
                lambda: self._queue._turns[:1] == [self], timeout=seconds
            )
            if has_come and self._came is None:
                self._came = time.monotonic()
            return has_come

    def leave(self) -> None:
        """Give the place up; nothing happens where it was given up before."""
        with self._queue._changed:
            if self in self._queue._turns:
                self._queue._turns.remove(self)
                self._queue._changed.notify_all()

    def _before(self) -> "list[Turn]":
        with self._queue._changed:
            return self._queue._turns[: self._queue._turns.index(self)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
