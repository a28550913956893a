"""What is made once: the last things of a kind, and properties that threads share."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any, Generic, Self, TypeVar, overload

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


class once(Generic[T]):  # noqa: N801 - a decorator, called as `property` is
    """What a method returns, computed for each object when it is first asked for, then kept in it.

    Of `functools.cached_property` Python 3.11 lets all objects of a class wait for one of them, and
    3.12 lets all threads that ask at once compute the same. Here they wait for each other where
    they ask for the same of the same object, and nowhere else. What is computed may need others,
    but not itself.

    >>> class Row:
    ...     @once
    ...     def words(self) -> list[str]:
    ...         return "a b".split()
    >>> row = Row()
    >>> row.words, row.words is row.words, row.words is Row().words
    (['a', 'b'], True, False)
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        """The value, which from then on lies in the object itself and is found without asking."""
        if instance is None:
            return self
        kept = instance.__dict__
        with kept.setdefault(f"{self._name} is computed", RLock()):  # one step for all threads
            if self._name not in kept:
                kept[self._name] = self._compute(instance)
        value: T = kept[self._name]
        return value
