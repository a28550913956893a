"""Which runs are under way, known to every process that shares their folder.

While a run is used, two files of its folder are locked: one that nobody asks for but to use the
run too, and one of which all who look ask for a share. So nobody who looks keeps another from using
the run, not for a moment. A process that dies lets go of both.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from scoring.errors import KnownError

try:
    import fcntl
except ImportError:  # Windows: nobody sees that a run is used
    fcntl = None  # type: ignore[assignment]

_USED = "lock"
_SEEN = "lock.seen"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A run's folder is used, by nobody else; it is made where it is not there.

    On a disk without locks it is used all the same.

    Raises:
        KnownError: it is used already.
    """
    lock = FileLock(folder / _USED, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        message = "This run is under way already. Follow it, or stop it first."
        raise KnownError(message) from error
    except OSError:
        pass
    try:
        with _seen(folder):
            yield
    finally:
        lock.release()


def is_locked(folder: Path) -> bool:
    """Whether a run's folder is used, by this process or another."""
    if fcntl is None:
        return False
    try:
        with (folder / _SEEN).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(file, fcntl.LOCK_UN)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextmanager
def _seen(folder: Path) -> Iterator[None]:
    """Who looks sees that a folder is used."""
    file = None
    try:
        if fcntl is not None:
            file = (folder / _SEEN).open("ab")
            fcntl.flock(file, fcntl.LOCK_EX)  # waits for those who look, and are done at once
    except OSError:
        pass
    try:
        yield
    finally:
        if file is not None:
            fcntl.flock(file, fcntl.LOCK_UN)  # a process that was forked has it open as well
            file.close()
