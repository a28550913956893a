"""The last things that were made, so that they are made once."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Kept:
    """Remembers what was asked for last, by keys that tell everything apart. Callable from any
    thread; two that ask at once may both make it.

    >>> kept, made = Kept(1), []
    >>> [kept.once(key, lambda: made.append("made")) for key in ("a", "a", "b", "a")]
    [None, None, None, None]
    >>> len(made)
    3
    """

    def __init__(self, most: int) -> None:
        """most: things that stay in memory; what was not asked for longest makes room."""
        self._most = most
        self._lock = threading.Lock()
        self._things: OrderedDict[Hashable, Any] = OrderedDict()

    def __len__(self) -> int:
        """How many things are kept."""
        return len(self._things)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made for a key before, or is made now."""
        with self._lock:
            if key in self._things:
                self._things.move_to_end(key)
                known: T = self._things[key]
                return known
        made = make()
        with self._lock:
            self._things[key] = made
            while len(self._things) > self._most:
                self._things.popitem(last=False)
        return made
