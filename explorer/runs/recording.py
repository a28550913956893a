"""A run on disk: how it begins or goes on, its packs scored, written down and told of, its end."""

import logging
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.runs.cards import RunCard, change_card, write_card
from explorer.runs.gpu_calls import packs_of
from explorer.runs.progress import Progress, Stream
from scoring.engine.scorer import Scorer
from scoring.errors import KnownError, Stopped
from scoring.hub.access import first_line
from scoring.record import Run, Status
from scoring.resuming import resume
from scoring.spec import RunFacts, ScoredPair
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


def begin(folder: Path, facts: RunFacts, job: "Job", card: RunCard) -> Begun:
    """A new run, which nobody sees before its card says whose it is.

    folder: its own, locked by the caller.

    Raises:
        KnownError: the disk does not take it; nothing of it is left then.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_card(folder, card)
        run = Run.create(folder, facts, job.plan, _keys(job))
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise KnownError(
            f"Runs cannot be kept on this disk: {error.strerror or first_line(error)}. "
            "Make room, or set EXPLORER_HOME to a folder that can be written."
        ) from error
    return Begun(run, job)


def go_on(former: Run, facts: RunFacts, job: "Job") -> Begun:
    """A stored run with what is left of its packs; its card says where it went on otherwise.

    Raises:
        KnownError: it is another run than is asked for, or the disk does not take it.
    """
    try:
        resumed = resume(former, facts, _keys(job))
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


Assess = Callable[[Progress, Sequence[ScoredPair]], Progress]
"""Gives a progress, of which the latter pairs are new, with what else there is to say of it."""


def recorded(run: Run, job: "Job", done: Collection[int], scorer: Scorer, assess: Assess) -> Stream:
    """Score the packs of a run that are not done, each written to disk before it is told of.

    The last progress says how the run ended. What was scored stays, also where the stream is
    closed.

    Args:
        run: on disk, with the plan of `job`.
        job: its pairs, made ready for `scorer`.
        done: places of packs that are on disk.
        scorer: what scores.
        assess: is asked after each pack; what is sure or has a message ends there.
    """
    total = len(job.prepared)
    before = tuple(run.rows()) if done else ()
    spent = run.seconds_so_far() if done else 0.0
    progress = Progress("running", total, run, before, spent)
    status: Status = "stopped"
    started = time.monotonic()
    try:
        if before:
            progress = assess(progress, before)
            yield progress
        with closing(run.record(packs_of(job, scorer, done))) as packs:
            while not (progress.is_sure or progress.message) and (pack := next(packs, None)):
                scored: tuple[ScoredPair, ...] = progress.scored + pack.rows
                seconds = spent + time.monotonic() - started
                progress = assess(replace(progress, scored=scored, seconds=seconds), pack.rows)
                yield progress
    except Stopped:
        pass
    except KnownError as error:
        status, progress = "failed", replace(progress, message=str(error))
    except OSError as error:
        message = f"The disk does not take what was scored: {first_line(error)}."
        status, progress = "failed", replace(progress, message=message)
    except Exception:
        status = "failed"
        logger.exception("run %s failed", run.id[:15])
        progress = replace(progress, message="An error of ours; it is in the server's log.")
    finally:
        if status != "failed" and len(progress.scored) == total:
            status, progress = "finished", replace(progress, message="")
        run = _ended(run, status, progress.seconds)
    yield replace(progress, stage=status, run=run, seconds=run.seconds)


def _ended(run: Run, status: Status, seconds: float) -> Run:
    """Write down how a run ended; where the disk refuses even that, the page still says it."""
    try:
        return run.ended(status)
    except (OSError, KnownError):
        logger.exception("the end of run %s could not be written", run.id[:15])
        return replace(run, status=status, seconds=seconds)
