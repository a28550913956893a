"""A run on disk as it begins, or goes on, and what its card says at its end."""

import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.runs.cards import RunCard, change_card, write_card
from scoring.errors import KnownError
from scoring.hub.access import first_line
from scoring.record import Run
from scoring.resuming import resume
from scoring.spec import RunFacts
from scoring.sure import SureInterval

if TYPE_CHECKING:
    from scoring.run import Job

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that can be scored: with its pairs made ready, and its packs that are done."""

    run: Run
    job: "Job"
    done: frozenset[int] = frozenset()


def begin(folder: Path, said: RunFacts, job: "Job", card: RunCard) -> Begun:
    """A new run, which nobody sees before its card says whose it is.

    folder: its own, locked by the caller.

    Raises:
        KnownError: the disk does not take it; nothing of it is left then.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_card(folder, card)
        run = Run.create(folder, said, job.plan, _keys(job))
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise KnownError(
            f"Runs cannot be kept on this disk: {error.strerror or first_line(error)}. "
            "Make room, or set EXPLORER_HOME to a folder that can be written."
        ) from error
    return Begun(run, job)


def go_on(former: Run, said: RunFacts, job: "Job") -> Begun:
    """A stored run with what is left of its packs; its card says where it went on otherwise.

    Raises:
        KnownError: it is another run than is asked for, or the disk does not take it.
    """
    try:
        resumed = resume(former, said, _keys(job))
        change_card(former, lambda card: _went_on(card, resumed.notes))
    except OSError as error:
        raise KnownError(
            f"The disk does not take it: {error.strerror or first_line(error)}. Make room."
        ) from error
    job = replace(job, plan=resumed.run.plan()[0])
    return Begun(resumed.run, job, frozenset(resumed.done))


def tell_sure(run: Run, sure: SureInterval) -> None:
    """Write down how sure a run was at its end; where that fails it stays as it is."""
    try:
        change_card(run, lambda card: replace(card, sure=sure))
    except (OSError, KnownError):
        logger.exception("how sure run %s was could not be written", run.id[:15])


def _went_on(card: RunCard, notes: Sequence[str]) -> RunCard:
    return replace(card, sure=None, notes=tuple(dict.fromkeys((*card.notes, *notes))))


def _keys(job: "Job") -> list[str]:
    return [prepared.pair.key for prepared in job.prepared]
