"""Which runs are under way, known to every process that shares their folder.

While a run is used, a file of its folder is locked; who looks whether it is asks for a share of
that lock for a moment, which whoever wants to use the run waits out. A process that dies lets go.
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

LOCK_SECONDS = 1.0
"""How long who wants to use a run waits for those who look."""
_FILE = "lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A run's folder is used, by nobody else; it is made where it is not there.

    On a disk without locks it is used all the same.

    Raises:
        KnownError: it is used already.
    """
    lock = FileLock(folder / _FILE, LOCK_SECONDS, thread_local=False, poll_interval=0.01)
    try:
        lock.acquire()
    except Timeout as error:
        message = "This run is under way already. Follow it, or stop it first."
        raise KnownError(message) from error
    except OSError:
        pass
    try:
        yield
    finally:
        lock.release()


def is_locked(folder: Path) -> bool:
    """Whether a run's folder is used, by this process or another."""
    try:
        with (folder / _FILE).open("rb") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False
