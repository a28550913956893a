"""Whether a stored run can go on as it began."""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.errors import KnownError
from scoring.record import Run
from scoring.spec import ASKED, RunFacts

_DECISIVE = (
    "model",
    "revision",
    "family",
    "reading",
    "reference",
    "dtype",
    "max_length",
    "truncation_side",
    "template",
    "pairs",
    "n_pairs",
    "selection",
    "seed",
)
"""Facts that must be the same for a run to go on; the others can only touch the last bits."""
_WORDS = {
    "max_length": "longest sequence",
    "truncation_side": "truncation side",
    "n_pairs": "number of pairs",
}


@dataclass(frozen=True, slots=True)
class Resumed:
    """A run made ready to go on. done: its packs that are whole; notes: what a reader must know."""

    run: Run
    done: set[int]
    notes: tuple[str, ...]


def resume(run: Run, told: RunFacts, keys: Sequence[str]) -> Resumed:
    """Make a stored run ready to go on, where it is the run that is asked for.

    Args:
        run: as it is stored.
        told: what it would go on with.
        keys: of all pairs that are asked for, in order.

    Raises:
        KnownError: it is another run: with other settings or pairs; or it cannot be read.
    """
    for name in _DECISIVE:
        had, asked = getattr(run.facts, name), getattr(told, name)
        if had != asked:
            raise KnownError(
                f"Run {run.id[:15]} is another one: its {_WORDS.get(name, name)} is {had!r}, and "
                f"{asked!r} is asked for. Ask for the same, or begin a new run."
            )
    if run.plan()[1] != list(keys):
        raise KnownError(f"Run {run.id[:15]} is of other pairs. Begin a new run.")
    differing = [
        (name, getattr(run.facts, name), getattr(told, name))
        for name in ("device", "versions", "path")
        if getattr(run.facts, name) != getattr(told, name)
    ]
    notes = tuple(
        f"This run began with {name} {had}, and goes on with {asked}: its last bits may differ "
        "from those of an unbroken run."
        for name, had, asked in differing
    )
    ready, done = run.resumed(ask_again=told.family in ASKED)
    return Resumed(ready, done, notes)
