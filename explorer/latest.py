"""Who asked last: of a page that asks faster than it is answered, only the last question counts."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from explorer.text import text
from scoring.errors import Stopped

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
