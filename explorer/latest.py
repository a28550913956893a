"""Who asked last: of a page that asks faster than it is answered, only the last question counts."""

import threading
from collections import OrderedDict

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
        self._lock = threading.Lock()
        self._asked = 0
        self._last: OrderedDict[str, int] = OrderedDict()

    def ask(self, session: str) -> int:
        """A number for a new question, after which no earlier one is the last."""
        with self._lock:
            self._asked += 1
            self._last[session] = self._asked
            self._last.move_to_end(session)
            while len(self._last) > self._most:
                self._last.popitem(last=False)
            return self._asked

    def is_last(self, session: str, number: int) -> bool:
        """Whether nothing was asked since."""
        with self._lock:
            return self._last.get(session) == number
