"""What other processes do with a run; they import this alone, and so begin soon."""

import signal
from dataclasses import replace
from functools import partial
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path

from explorer.core.settings import Settings
from explorer.runs.cards import RunCard
from explorer.runs.store import RunStore
from explorer.runs.visitors import Visitor
from scoring.record import locked

WRITES = 100
PATIENCE = 120.0


def noted(card: RunCard, note: str) -> RunCard:
    return replace(card, notes=(*card.notes, note))


def writes(home: Path, run_id: str, who: Visitor, name: str, ready: Barrier) -> None:
    """Add a note after the other, each time to what stands there by then."""
    store = RunStore(Settings(home=home, public=True))
    ready.wait(PATIENCE)
    for number in range(WRITES):
        store.change(run_id, who, partial(noted, note=f"{name} {number}"))


def holds(folder: Path, ready: Event) -> None:
    """Use a run until the process is killed."""
    with locked(folder):
        ready.set()
        signal.pause()
