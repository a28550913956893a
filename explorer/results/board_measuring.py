"""Boards that everybody sees, measured in the background: one at a time, whoever asks.

A program that asks for a board waits a little for it to be measured, and is told when to ask again
where that takes longer. What it starts is what one press on the Leaderboard tab does, once for
everybody: it goes on when nobody waits, and its result is kept.
"""

import logging
import math
import threading
import time
from dataclasses import dataclass

from explorer.results.boardroom import BoardRoom
from explorer.results.boards import Ranking
from scoring.errors import KnownError
from scoring.hub.access import first_line
from scoring.limits import Step

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 10.0
"""So long who asks waits; 188 models are measured in half of it once their results are read."""
AGAIN_SECONDS = 60.0
"""After which what could not be read or measured is tried again, if somebody asks."""
_SHORTEST, _LONGEST = 2, 60
"""Seconds after which one is told to ask again."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """That a ranking of some results was measured, or why it could not be."""

    results_id: str
    when: float
    refused: str


class BoardMeasuring:
    """Measures published boards, none of a visitor's own. Callable from any thread."""

    def __init__(self, room: BoardRoom, patience: float = PATIENCE_SECONDS) -> None:
        """patience: seconds that who asks waits at most."""
        self._room = room
        self._patience = patience
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._tried: dict[Ranking, _Tried] = {}
        self._since = self._share = 0.0

    def measured(self, ranking: Ranking) -> int | None:
        """Have a board measured, and wait for it as long as patience lasts.

        ranking: of published results; there are few of them to ask for, as each is kept.

        Returns:
            About how many seconds it takes still; None where it is done, or failed just now.
        """
        until = time.monotonic() + self._patience
        while self._is_wanted(ranking):
            self._go_on(ranking, max(0.0, until - time.monotonic()))
            if time.monotonic() >= until and self._is_wanted(ranking):
                return self._seconds_left()
        return None

    def refused(self, ranking: Ranking) -> str:
        """Why not all of a board could be measured when that was tried last; "" where it could."""
        tried = self._tried.get(ranking)
        return "" if tried is None else tried.refused

    def _is_wanted(self, ranking: Ranking) -> bool:
        if self._was_tried(ranking):
            return False
        return bool(self._room.unread(None, ranking)) or not self._room.is_measured(None, ranking)

    def _was_tried(self, ranking: Ranking) -> bool:
        """Whether it was measured just now, as well as it could be."""
        tried = self._tried.get(ranking)
        if tried is None or tried.results_id != self._room.library.get(None).id:
            return False
        return time.monotonic() - tried.when < AGAIN_SECONDS

    def _go_on(self, ranking: Ranking, seconds: float) -> None:
        """Wait for what is under way, be it of another ranking; where nothing is, begin."""
        with self._lock:
            thread = self._thread
            if (thread is None or not thread.is_alive()) and not self._was_tried(ranking):
                self._since, self._share = time.monotonic(), 0.0
                thread = threading.Thread(target=self._measure, args=(ranking,), daemon=True)
                thread.start()
                self._thread = thread
        if thread is not None:
            thread.join(seconds)

    def _measure(self, ranking: Ranking) -> None:
        results_id, refused = self._room.library.get(None).id, ""
        doing: type = Step
        try:
            for step in self._room.measuring(None, ranking):
                if type(step) is not doing:
                    doing, self._since = type(step), time.monotonic()
                self._share = step.done / step.total if step.total else 0.0
            refused = "; ".join(map(str, self._room.refused(None, ranking)[:1]))
        except KnownError as error:
            refused = str(error)
        except Exception as error:
            logger.exception("a board was not measured")
            refused = f"it could not be measured: {first_line(error)}"
        self._tried[ranking] = _Tried(results_id, time.monotonic(), refused)

    def _seconds_left(self) -> int:
        """By how long the present part took so far."""
        spent, share = time.monotonic() - self._since, self._share
        left = spent * (1 - share) / share if share else _LONGEST
        return min(max(math.ceil(left), _SHORTEST), _LONGEST)
