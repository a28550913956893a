"""What other processes do with a run; they import this alone, and so begin soon."""

import signal
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path

from explorer.runs.store import is_locked
from scoring.record import locked

TRIES = 1_000
PATIENCE = 120.0


def looks(folder: Path, ready: Barrier) -> None:
    """Ask all the time, as pages do that list runs."""
    ready.wait(PATIENCE)
    for _ in range(TRIES):
        is_locked(folder)


def holds(folder: Path, ready: Event) -> None:
    """Use a run until the process is killed."""
    with locked(folder):
        ready.set()
        signal.pause()
