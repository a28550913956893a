"""How much of the disk models may take that strangers had fetched, and which of them make room."""

import math
import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scoring.errors import KnownError
from scoring.hub.cache import FETCHED, bytes_in, cache_folder, remove_cached

RECENT_SECONDS = 60.0
"""For how long what was asked for is taken to be in use."""


class Room:
    """A bound on the models in the Hub's cache that were fetched here. Callable from any thread.

    The least recently used go first. What lay in the cache before it was first asked for is not
    counted and stays, as do the owner's models.
    """

    def __init__(self, gigabytes: float | None = None, keep: Iterable[str] = ()) -> None:
        """gigabytes: 10^9 bytes; None means no limit. keep: repositories of the owner."""
        self._most = None if gigabytes is None else gigabytes * 1e9
        self._keep = frozenset(keep)
        self._kept = frozenset(map(_name, self._keep))
        self._lock = threading.Lock()
        self._busy: Counter[str] = Counter()
        self._staying: frozenset[str] = frozenset()

    @property
    def owners(self) -> frozenset[str] | None:
        """The owner's repositories; None where there is no limit."""
        return None if self._most is None else self._keep

    def clear(self, size: int) -> None:
        """Make room for so many bytes, as far as there is any."""
        with self._lock, suppress(KnownError):
            if self._most is not None:
                self._make(self._most, cache_folder("a/b", "model").parent, size)

    @contextmanager
    def staying(self, repos: Iterable[str]) -> Iterator[None]:
        """What is about to be fetched and loaded stays until other models were fetched whole.

        To be entered by one thread at a time, the one whose turn it is to load.
        """
        before, new = self._staying, frozenset(map(_name, repos))
        self._staying = before | new
        try:
            yield
        except BaseException:
            self._staying = before
            raise
        self._staying = new

    @contextmanager
    def fetching(self, repo: str, size: int) -> Iterator[None]:
        """Make room for so many bytes of a model, which is in use meanwhile and is the latest then.

        Raises:
            KnownError: there is no room, since all that could go is in use.
        """
        if self._most is None or _name(repo) in self._kept:
            yield
            return
        folder = cache_folder(repo, "model")
        with self._lock:
            self._busy[folder.name] += 1
        try:
            with self._lock:
                if size:
                    self._make(self._most, folder.parent, size)
                    _mark(folder)
            yield
        finally:
            with self._lock:
                self._busy[folder.name] -= 1
            with suppress(OSError):  # it is not one of those that are counted
                os.utime(folder / FETCHED)

    def _make(self, most: float, cache: Path, size: int) -> None:
        if most == math.inf:
            return
        used = {mark.parent: _used(mark) for mark in cache.glob(f"models--*/{FETCHED}")}
        used = {folder: at for folder, at in used.items() if folder.name not in self._kept}
        sizes = {folder: bytes_in(folder) for folder in used}
        over = sum(sizes.values()) + size - most
        for folder in sorted(used, key=lambda each: used[each]):
            if over > 0 and not self._in_use(folder, used[folder]):
                remove_cached(folder)
                over -= sizes[folder]
        if over > 0:
            raise KnownError(
                f"There is no room for {size / 1e9:.1f} GB more of models: {most / 1e9:g} GB are "
                "kept here (EXPLORER_MODELS_GB), and those that are here are in use. Try again in "
                "some minutes, or choose a smaller model."
            )

    def _in_use(self, folder: Path, used: float) -> bool:
        recent = abs(time.time() - used) < RECENT_SECONDS  # the clock may be set back
        return recent or self._busy[folder.name] > 0 or folder.name in self._staying


def _name(repo: str) -> str:
    return cache_folder(repo, "model").name


def _mark(folder: Path) -> None:
    """Count what was not here before."""
    if not (folder / "snapshots").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FETCHED).touch()


def _used(mark: Path) -> float:
    """When it was last asked for, in seconds as of `time.time`."""
    try:
        return mark.stat().st_mtime
    except OSError:
        return 0.0
