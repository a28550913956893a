"""A run on disk: how it begins or goes on, its packs scored, written down and told of, its end."""

import logging
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from explorer.runs.cards import RunCard, change_card, write_card
from explorer.runs.gpu_calls import Placed
from explorer.runs.models import WarmModel
from explorer.runs.progress import Progress, Stream
from scoring.errors import KnownError, Stopped
from scoring.hub.access import first_line
from scoring.record import Run, Status, resume
from scoring.spec import Plan, ScoredPair
from scoring.sure import SureInterval
from scoring.tasks import Ready

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that can be scored: its packs, and those of them that are done."""

    run: Run
    plan: Plan
    done: frozenset[int] = frozenset()


def begin(folder: Path, ready: Ready, keys: Sequence[str], card: RunCard) -> Begun:
    """A new run, which nobody sees before its card says whose it is.

    folder: its own, locked by the caller. keys: of its pairs, in the order they were made ready.

    Raises:
        KnownError: the disk does not take it; nothing of it is left then.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_card(folder, card)
        run = Run.create(folder, ready.facts, ready.plan, keys)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise KnownError(
            f"Runs cannot be kept on this disk: {error.strerror or first_line(error)}. "
            "Make room, or set EXPLORER_HOME to a folder that can be written."
        ) from error
    return Begun(run, ready.plan)


def go_on(former: Run, ready: Ready, keys: Sequence[str]) -> Begun:
    """A stored run with what is left of its packs; its card says where it went on otherwise.

    Raises:
        KnownError: it is another run than is asked for, or the disk does not take it.
    """
    try:
        resumed = resume(former, ready.facts, keys)
        change_card(former, lambda card: _went_on(card, resumed.notes))
    except OSError as error:
        raise KnownError(
            f"The disk does not take it: {error.strerror or first_line(error)}. Make room."
        ) from error
    return Begun(resumed.run, resumed.run.plan()[0], frozenset(resumed.done))


def tell_sure(run: Run, sure: SureInterval) -> None:
    """Write down how sure a run was at its end; where that fails it stays as it is."""
    try:
        change_card(run, lambda card: replace(card, sure=sure))
    except (OSError, KnownError):
        logger.exception("how sure run %s was could not be written", run.id[:15])


def _went_on(card: RunCard, notes: Sequence[str]) -> RunCard:
    return replace(card, sure=None, notes=tuple(dict.fromkeys((*card.notes, *notes))))


Assess = Callable[[Progress, Sequence[ScoredPair]], Progress]
"""Gives a progress, of which the latter pairs are new, with what else there is to say of it."""


def recorded(begun: Begun, model: WarmModel | Placed, assess: Assess) -> Stream:
    """Score the packs of a run that are not done, each written to disk before it is told of.

    The last progress says how the run ended. What was scored stays, also where the stream is
    closed. While a pack takes long, the progress before it is told again.

    Args:
        begun: its pairs are ready in `model`.
        model: what scores.
        assess: is asked after each pack; what is sure or has a message ends there.
    """
    run, plan, done = begun.run, begun.plan, begun.done
    total = sum(map(len, plan.packs))
    before = tuple(run.rows()) if done else ()
    spent = run.seconds_so_far() if done else 0.0
    progress = Progress("running", total, run, before, spent)
    status: Status = "stopped"
    started = time.monotonic()
    try:
        if before:
            progress = assess(progress, before)
            yield progress
        left = Plan(()) if progress.is_sure or progress.message else plan
        with closing(model.packs(left, done)) as packs, closing(run.record(packs)) as kept:
            for pack in kept:
                if pack is None:
                    yield progress
                    continue
                scored: tuple[ScoredPair, ...] = progress.scored + pack.rows
                seconds = spent + time.monotonic() - started
                progress = assess(replace(progress, scored=scored, seconds=seconds), pack.rows)
                yield progress
                if progress.is_sure or progress.message:
                    break
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
