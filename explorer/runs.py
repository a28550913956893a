"""Runs of this server: started, followed, stopped, and read back from disk."""

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeGuard

from explorer.settings import Settings
from explorer.table import PairTable, Rows
from explorer.text import text
from scoring.errors import KnownError
from scoring.families import WarmScorer
from scoring.hub import Hub, first_line
from scoring.models import locate
from scoring.pairs import as_pairs
from scoring.record import Run, Status, new_folder, stored_runs
from scoring.scorer import facts
from scoring.side_rewards import TokenRewards
from scoring.spec import Pair, Plan, RunFacts, RunSettings, ScoredPair
from scoring.threads import wait_briefly

logger = logging.getLogger(__name__)

LONGEST_MODEL_NAME = 500
MOST_OWN = 300
"""Runs of a browser that are looked for."""
DEVICE_SECONDS = 1.0
"""How long a run waits for one that is just ending."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    stage: "refused" or "loading" before anything is scored, then "running", then how it ended;
        "left" for a run that was under way when its page was closed.
    run: None until the model is loaded.
    scored: every pair so far, in the order they were scored.
    total: pairs the run has in all.
    seconds: since the first pair, the loading of the model not counted.
    message: what went wrong, for the stages "refused" and "failed".
    """

    stage: Literal["refused", "loading", "left"] | Status
    total: int
    run: Run | None = None
    scored: tuple[ScoredPair, ...] = ()
    seconds: float = 0.0
    message: str = ""


class Runs:
    """All runs of this server. One scores at a time; each owner can stop their own."""

    def __init__(self, settings: Settings, hub: Hub) -> None:
        self._settings = settings
        self._hub = hub
        self._warm = WarmScorer()
        self._stops: dict[str, threading.Event] = {}
        self._device = threading.Lock()
        self._active: str | None = None
        self._killed: dict[tuple[str, int], int] = {}  # run and its size -> pairs scored

    def stop(self, owner: str | None) -> None:
        """End the owner's run after its present pack; nothing happens where there is none."""
        stop = self._stops.get(owner or "")
        if stop is not None:
            stop.set()

    def start(
        self, owner: str, model: object, table: PairTable, rows: Rows, selection: str = ""
    ) -> Iterator[Progress]:
        """Score rows of a table, as a stream of progress; what is scored is kept on disk.

        Args:
            owner: who may stop the run.
            model: what the person typed.
            table: where the pairs are.
            rows: which of them.
            selection: in words, how they were chosen.

        Raises:
            KnownError: before anything is scored: too many or no pairs, or no such model.
            A run that fails later ends with stage "failed" and keeps its pairs.
        """
        self._check(model, rows)
        with self._owned(owner) as stop:
            yield Progress("loading", len(rows))
            yield from self._score(str(model), table, rows, selection, stop)

    def token_rewards(self, model: str, pair: Pair) -> TokenRewards:
        """A pair's rewards token by token, from the model that a run names.

        Raises:
            KnownError: the device is taken, the model cannot be had, or it has none.
        """
        if not self._device.acquire(timeout=DEVICE_SECONDS):
            raise KnownError(text("tokens.busy"))
        try:
            wait_briefly()
            from scoring.token_rewards import token_rewards

            spec = locate(model, self._settings.model_policy, self._hub)
            return token_rewards(self._warm.get(spec, RunSettings()), pair)
        finally:
            self._device.release()

    def visible(self, own: object) -> list[Run]:
        """The runs a person may see, newest first: their own; on this machine alone, all."""
        if not self._settings.public:
            return [self._present(run) for run in stored_runs(self._settings.runs)]
        found = []
        for run_id in list(dict.fromkeys(own))[:MOST_OWN] if _are_names(own) else []:
            with suppress(KnownError):
                found.append(self.open(run_id, own))
        return sorted(found, key=lambda run: run.started, reverse=True)

    def open(self, run_id: object, own: object) -> Run:
        """A run that the person may see.

        Raises:
            KnownError: there is none of that name, or it is someone else's.
        """
        try:
            if not isinstance(run_id, str) or Path(run_id).name != run_id:
                raise KnownError("A run's id is one name.")
            if not self._may_see(run_id, own):
                raise KnownError("The run is someone else's.")
            return self._present(Run.open(self._settings.runs / run_id))
        except KnownError as error:
            raise KnownError(
                "There is no such run. Choose one from the list, or score some pairs."
            ) from error

    def _may_see(self, run_id: str, own: object) -> bool:
        """An id that a person holds is permission: it cannot be guessed."""
        return not self._settings.public or (isinstance(own, list) and run_id in own)

    def _present(self, run: Run) -> Run:
        """A run as it stands now: one that says "running" but is not was killed."""
        if run.status != "running" or run.id == self._active:
            return run
        stamp = run.id, run.n_bytes()
        if stamp not in self._killed:
            self._killed[stamp] = len(run.rows())
        return replace(run, status="stopped", n_scored=self._killed[stamp])

    def _check(self, model: object, rows: Rows) -> None:
        if not isinstance(model, str) or len(model) > LONGEST_MODEL_NAME:
            raise KnownError(
                f"A model is named by at most {LONGEST_MODEL_NAME} characters of text."
            )
        if not len(rows):
            raise KnownError(
                "No pairs are selected. Widen the filter on the Browse tab, "
                "or choose a number per subset."
            )
        most = self._settings.max_pairs
        if most is not None and len(rows) > most:
            raise KnownError(
                f"A run may have {most:,} pairs here, and {len(rows):,} are selected. "
                "Narrow the filter, or choose fewer per subset."
            )

    @contextmanager
    def _owned(self, owner: str) -> Iterator[threading.Event]:
        """The device, for one owner; the event ends the run."""
        if not self._device.acquire(timeout=DEVICE_SECONDS):
            raise KnownError(
                "Another run is under way on this device, and it takes one at a time. "
                "Try again in a while."
            )
        try:
            self._stops[owner] = threading.Event()
            yield self._stops[owner]
        finally:
            self._stops.pop(owner, None)
            self._device.release()

    def _score(
        self, model: str, table: PairTable, rows: Rows, selection: str, stop: threading.Event
    ) -> Iterator[Progress]:
        wait_briefly()
        from scoring.run import make_job, score

        settings = RunSettings()
        pairs = as_pairs(table.arrow, rows.tolist())
        scorer = self._warm.get(locate(model, self._settings.model_policy, self._hub), settings)
        job = make_job(pairs, scorer, settings.seed)
        told = facts(scorer, settings, table.id, len(rows), selection)
        run = self._created(told, job.plan, [pair.key for pair in pairs])
        progress = Progress("running", len(rows), run)
        status: Status = "stopped"
        started = time.monotonic()
        try:
            for pack in run.record(score(job, scorer, stop=stop)):
                progress = replace(
                    progress,
                    scored=progress.scored + pack.rows,
                    seconds=time.monotonic() - started,
                )
                yield progress
            status = "finished" if len(progress.scored) == len(rows) else "stopped"
        except KnownError as error:
            status, progress = "failed", replace(progress, message=str(error))
        except OSError as error:
            message = f"The disk does not take what was scored: {first_line(error)}."
            status, progress = "failed", replace(progress, message=message)
        except Exception:
            status = "failed"
            logger.exception("run %s failed", run.id)
            progress = replace(progress, message=f"An error of ours; it is in the log ({run.id}).")
        finally:
            self._active = None
            run = _ended(run, status)
        yield replace(progress, stage=status, run=run)

    def _created(self, told: RunFacts, plan: Plan, keys: list[str]) -> Run:
        try:
            run = Run.create(new_folder(self._settings.runs), told, plan, keys)
        except OSError as error:
            raise KnownError(
                f"Runs cannot be kept in {self._settings.runs}: {first_line(error)}. "
                "Make room, or set EXPLORER_HOME to a folder that can be written."
            ) from error
        self._active = run.id
        return run


def _are_names(own: object) -> TypeGuard[list[str]]:
    return isinstance(own, list) and all(isinstance(each, str) for each in own)


def _ended(run: Run, status: Status) -> Run:
    """Write down how a run ended; where the disk refuses even that, the page still says it."""
    try:
        return run.ended(status)
    except (OSError, KnownError):
        logger.exception("the end of run %s could not be written", run.id)
        return replace(run, status=status)


def failures(scored: Sequence[ScoredPair]) -> list[ScoredPair]:
    """Pairs that were not won, the worst margin first; those without a reward come last."""
    lost = [pair for pair in scored if pair.outcome != "win"]
    return sorted(lost, key=_worst_first)


def _worst_first(pair: ScoredPair) -> tuple[bool, float, str]:
    missing = pair.outcome == "missing"
    return missing, 0.0 if missing or pair.margin is None else pair.margin, pair.key
