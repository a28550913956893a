"""Which runs are under way, known to every process that shares their folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scoring.errors import KnownError

try:
    import fcntl
except ImportError:  # Windows: one server a folder
    fcntl = None  # type: ignore[assignment]

_FILE = "lock"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """A run's folder is used, by nobody else; a process that dies lets go of it.

    Raises:
        KnownError: it is used already.
    """
    number = _open(folder)
    try:
        if not _locked(number):
            raise KnownError("This run is under way already. Follow it, or stop it first.")
        yield
    finally:
        if number is not None:
            os.close(number)


def is_held(folder: Path) -> bool:
    """Whether a run's folder is used, by this process or another."""
    number = _open(folder)
    try:
        return not _locked(number)
    finally:
        if number is not None:
            os.close(number)


def _open(folder: Path) -> int | None:
    with suppress(OSError):
        return os.open(folder / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
    return None


def _locked(number: int | None) -> bool:
    """Whether the lock could be taken; where a disk has no locks, it always can."""
    if number is None or fcntl is None:
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
