"""A run on disk as it begins, or goes on, and what its card says at its end."""

import logging
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.run_cards import RunCard, card_of, write_card
from scoring.errors import KnownError
from scoring.hub import first_line
from scoring.record import Run, new_folder
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


def begin(home: Path, said: RunFacts, job: "Job", card: RunCard) -> Begun:
    """A new run below `home`.

    Raises:
        KnownError: the disk does not take it; nothing of it is left then.
    """
    folder = new_folder(home)
    try:
        run = Run.create(folder, said, job.plan, _keys(job))
        write_card(run, card)
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
        card = card_of(former)
        notes = tuple(dict.fromkeys((*card.notes, *resumed.notes)))
        write_card(former, replace(card, sure=None, notes=notes))
    except OSError as error:
        raise KnownError(
            f"The disk does not take it: {error.strerror or first_line(error)}. Make room."
        ) from error
    job = replace(job, plan=resumed.run.plan()[0])
    return Begun(resumed.run, job, frozenset(resumed.done))


def tell_sure(run: Run, sure: SureInterval) -> None:
    """Write down how sure a run was at its end; a disk that is full leaves it as it is."""
    try:
        write_card(run, replace(card_of(run), sure=sure))
    except OSError:
        logger.exception("how sure run %s was could not be written", run.id[:15])


def _keys(job: "Job") -> list[str]:
    return [prepared.pair.key for prepared in job.prepared]
