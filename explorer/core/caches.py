"""Caches: of the values used last, of the files written last, and properties threads share."""

import logging
import shutil
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Any, Generic, Self, TypeVar, overload
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from scoring.errors import first_line
from scoring.paths import atomic_write

logger = logging.getLogger(__name__)

T = TypeVar("T")


class LruCache(MutableMapping[Hashable, T]):
    """A mapping that drops what was not used for longest. Callable from any thread.

    >>> cache = LruCache[int](2)
    >>> cache["a"], cache["b"] = 1, 2
    >>> cache.get_or_create("a", lambda: 3), cache.get_or_create("c", lambda: 4), list(cache)
    (1, 4, ['a', 'c'])
    """

    def __init__(self, most: float, size_of: Callable[[T], float] = lambda value: 1) -> None:
        """most: what all values may have together in size; the last one stays in any case."""
        self._most, self._size_of = most, size_of
        self._lock = RLock()
        self._values: OrderedDict[Hashable, T] = OrderedDict()  # not used for longest first
        self._creating: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
        self._size = 0.0

    def get_or_create(self, key: Hashable, create: Callable[[], T]) -> T:
        """What is under a key, created now where nothing is.

        Two threads that ask at once may both create it; both get the same.
        """
        with self._lock:
            if key in self:
                return self[key]
        return self.setdefault(key, create())

    def get_or_create_once(self, key: Hashable, create: Callable[[], T]) -> T:
        """The same for what takes long: of threads that ask at once, one creates it.

        The others wait; where it raises, the next of them tries.
        """
        with self._lock:
            if key in self:
                return self[key]
            creating = self._creating.setdefault(key, RLock())
        with creating:
            return self.get_or_create(key, create)

    def setdefault(self, key: Hashable, default: T) -> T:
        """As of a dict, in one step for all threads."""
        with self._lock:
            if key not in self:
                self[key] = default
            return self[key]

    def discard(self, key: Hashable) -> None:
        """Drop what is under a key, if anything is."""
        with self._lock:
            if key in self:
                del self[key]

    def snapshot(self) -> list[T]:
        """All values, the one used last at the end. To be in it is not to be used."""
        with self._lock:
            return list(self._values.values())

    def __getitem__(self, key: Hashable) -> T:
        with self._lock:
            value = self._values[key]
            self._values.move_to_end(key)
            return value

    def __setitem__(self, key: Hashable, value: T) -> None:
        with self._lock:
            self.discard(key)
            self._values[key] = value
            self._size += self._size_of(value)
            while len(self) > 1 and self._size > self._most:
                del self[next(iter(self._values))]

    def __delitem__(self, key: Hashable) -> None:
        with self._lock:
            self._size -= self._size_of(self._values.pop(key))

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[Hashable]:
        with self._lock:
            return iter(list(self._values))

    def __len__(self) -> int:
        return len(self._values)


def oldest_first(paths: Iterable[Path]) -> list[Path]:
    """Files or folders in the order in which they were changed; those that are gone come first."""

    def changed(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except OSError:
            return 0.0

    return sorted(paths, key=changed)


def keep_newest(paths: Iterable[Path], most: int) -> None:
    """Remove all files or folders but those that were changed last."""
    for path in oldest_first(paths)[:-most]:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, NDArray[Any]] | None:
    """Arrays as `write_arrays` kept them, by their names; None where there are none, or broken."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in names}
    except Exception as error:  # a broken file makes zipfile and numpy raise anything
        logger.warning("%s is not used: %s", path, first_line(error))
        return None


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], most: int) -> None:
    """Keep arrays, whole or not at all; a disk that refuses costs only time.

    path: a .npz file. most: of which the newest so many stay in its folder.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part, part.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        keep_newest(path.parent.glob("*.npz"), most)
    except OSError as error:
        logger.warning("%s is not kept: %s", path, first_line(error))


class locked_cached_property(Generic[T]):  # noqa: N801 - a decorator, called as `property` is
    """What a method returns, computed for each object when it is first asked for, then kept in it.

    Of `functools.cached_property` Python 3.11 lets all objects of a class wait for one of them, and
    3.12 lets all threads that ask at once compute the same. Here they wait for each other where
    they ask for the same of the same object, and nowhere else. What is computed may need others,
    but not itself.

    >>> class Row:
    ...     @locked_cached_property
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
