"""How long a visitor may let this server score, in any hour."""

import threading
import time
from collections import deque
from collections.abc import Callable
from math import ceil

from explorer.core.settings import Settings
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError, counted

HOUR = 3600.0
MINUTE = 60.0
HOUSEHOLD = 4
"""So many visitors' seconds has an address: several people may share one. It bounds those, too, who
make their browser forget who they are."""


class Quotas:
    """Seconds of scoring that each visitor used in the last hour. Callable from any thread.

    Who signed in is counted by their account. Others are counted by their browser's secret, or,
    without one, by their open page, and all of them by their address as well, since secrets and
    pages can be had anew at will. Those whose address is not known count as one household.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        """clock: gives seconds."""
        self._most = settings.seconds_per_hour
        self._required = settings.sign_in == "required"
        self._clock = clock
        self._lock = threading.Lock()
        self._spent: dict[str, deque[tuple[float, float]]] = {}
        self._swept = clock()

    def check(self, visitor: Visitor) -> None:
        """Whether a visitor may score now.

        To be asked when their turn has come: what others of theirs use meanwhile is known by then.

        Raises:
            KnownError: they must sign in first, or have no seconds left in this hour.
        """
        if self._required and not visitor.signed_in:
            raise KnownError(
                "Scoring is for people who signed in: press Sign in with Hugging Face, at the top."
            )
        if self._most is None:
            return
        with self._lock:
            waits = [self._wait(*each) for each in self._shares(visitor)]
        if max(waits) > 0:
            minutes = counted(ceil(max(waits) / MINUTE), "minute", "minutes")
            raise KnownError(
                f"Your {self._most:,.0f} s of scoring in an hour are used up. "
                f"Try again in {minutes}."
            )

    def spend(self, visitor: Visitor, seconds: float) -> None:
        """Write down that a visitor's scoring took so long. seconds: below 0 counts as 0."""
        if self._most is None or seconds <= 0:
            return
        with self._lock:
            now = self._clock()
            self._sweep(now)
            for key, _ in self._shares(visitor):
                spent = self._spent.setdefault(key, deque())
                if spent and now - spent[-1][0] < MINUTE:
                    began, before = spent.pop()
                    spent.append((began, before + seconds))
                else:
                    spent.append((now, seconds))

    def left(self, visitor: Visitor) -> float | None:
        """Seconds that a visitor may still score for; None for as many as they want."""
        if self._most is None:
            return None
        with self._lock:
            left = [most - self._used(key) for key, most in self._shares(visitor)]
        return max(0.0, min(left))

    def _shares(self, visitor: Visitor) -> list[tuple[str, float]]:
        """Under which names a visitor is counted, and how much each name has."""
        most = self._most or 0.0
        if visitor.signed_in:
            return [(visitor.owner, most)]
        alone = visitor.owner or f"session:{visitor.session}"
        return [(alone, most), (f"address:{visitor.address}", HOUSEHOLD * most)]

    def _used(self, key: str) -> float:
        spent, since = self._spent.get(key, deque()), self._clock() - HOUR
        while spent and spent[0][0] <= since:
            spent.popleft()
        return sum(seconds for _, seconds in spent)

    def _wait(self, key: str, most: float) -> float:
        """Seconds until a name has some again; 0 where it has some now."""
        used, now = self._used(key), self._clock()
        if used < most:
            return 0.0
        for began, seconds in self._spent[key]:
            used -= seconds
            if used < most:
                return began + HOUR - now
        return 0.0

    def _sweep(self, now: float) -> None:
        """Forget, once a minute, whoever used nothing in the last hour."""
        if now - self._swept < MINUTE:
            return
        self._swept = now
        for key in [key for key, spent in self._spent.items() if spent[-1][0] <= now - HOUR]:
            del self._spent[key]
