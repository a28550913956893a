"""The public endpoints that start a run, and follow, stop and go on with one.

Arguments come from anybody and are checked here: Gradio does not.
"""

import time
from dataclasses import dataclass
from functools import partial
from secrets import token_urlsafe
from typing import Any, Literal

import gradio as gr

from explorer.api.answers import MOST_ANSWERED_ROWS, FamilyName, RunNow, StartedRun
from explorer.api.callers import caller, requested_table
from explorer.api.scoring import requested_selection, result_json, row_json, settings_json
from explorer.core.error_view import guarded
from explorer.core.files import as_json
from explorer.core.settings import Settings
from explorer.core.validation import checked_integer, one_of
from explorer.data.library import Library
from explorer.runs.cards import pairs_of
from explorer.runs.live import LiveRun
from explorer.runs.orders import ModelOrder
from explorer.runs.outcomes import scored_rows, summary_of
from explorer.runs.running import Runs
from explorer.runs.visitors import EVERYBODY, Visitor
from scoring.errors import KnownError
from scoring.record import Run
from scoring.summary import Summary, summarise_run

_SECRET_BYTES = 24
FIRST_SECONDS = 2.0
"""How long a run's first pack is waited for, and the end of one that is stopped."""
_LOOK_SECONDS = 0.05
ASK_AGAIN_SECONDS = 1
_MOST_PLACE = 10**9
_UNDER_WAY = ("waiting", "loading", "running")
Action = Literal["look", "stop", "resume"]


@dataclass(frozen=True)
class RunEndpoints:
    """What can be asked without a browser of runs that are kept, one's own and public ones.

    A run belongs to who signed in; else, on a shared server, to whoever has its secret.
    """

    runs: Runs
    tables: Library
    settings: Settings

    @guarded
    def start_run(
        self,
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        token: gr.OAuthToken | None,
        model: str,
        per_subset: int = 4,
        seed: int = 0,
        keys: list[str] | None = None,
        pairs: str = "",
        family: FamilyName | None = None,
        reference: str = "",
        secret: str = "",
    ) -> StartedRun:
        """Start a run that scores pairs with a reward model, goes on by itself, and is kept.

        Ask /run how far it is; /failures and /compare take its id. On a shared server the run
        belongs to the "secret" of the answer, which /run, /runs, /failures and /compare must be
        told to see it; where none is needed it is "".

        Args:
            model: as of /score_pair.
            per_subset: pairs of each subset, 1 to 1000, drawn with the seed.
            seed: of the drawing, 0 to 4294967295.
            keys: these pairs instead, such as ["alpacaeval-easy:900001"]; null to draw them.
            pairs: the id of pairs that the server has open; "" for those it shows first.
            family: how the model scores; null for what its config says.
            reference: the Hub id of a DPO policy's reference model.
            secret: as an earlier /start_run gave it, for the run to belong to the same; "" for new.

        Returns:
            What /run says of it, and the secret that it belongs to.
        """
        order = ModelOrder.of({"model": model, "family": family, "reference": reference})
        selection = requested_selection(requested_table(self.tables, pairs), per_subset, seed, keys)
        visitor = caller(request, profile, token, secret, self.settings)
        if self.settings.public and visitor.owner == EVERYBODY:
            secret = token_urlsafe(_SECRET_BYTES)
            visitor = caller(request, profile, token, secret, self.settings)
        work = partial(self.runs.start, visitor, order, selection)
        live = _begun(self.runs.live.begin(visitor, model, work))
        belongs = self.settings.public and not visitor.signed_in
        started = self._now(visitor, live.id, None)
        started["secret"] = secret if belongs else ""
        return started

    @guarded
    def run(
        self,
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        token: gr.OAuthToken | None,
        id: str,
        action: Action = "look",
        rows_from: int | None = None,
        secret: str = "",
    ) -> RunNow:
        """How far a run is that is kept; stop it, or let one that was stopped go on.

        A run has another id once its model is loaded and it is kept; until the server starts anew
        both are known. It is "waiting" for its turn behind the people counted by "ahead", then
        "loading", "running", and at last "finished", "stopped" or "failed"; it is "refused" before
        anything was scored. Ask again after "retry_after_seconds", null at its end. At most 3000
        rows are given, null where none were asked for.

        Args:
            id: as /start_run or /runs gave it.
            action: "look"; "stop" ends it after its present pack; "resume" goes on where it ended.
            rows_from: how many scored pairs are known already, to be given those after; or null.
            secret: as /start_run gave it, where the run is the caller's own on a shared server.

        Returns:
            Its status, why it ended, its numbers so far, its settings, and the rows asked for.
        """
        asked = one_of("An action", ("look", "stop", "resume"), action)
        place = None
        if rows_from is not None:
            place = checked_integer("The first row", rows_from, 0, _MOST_PLACE)
        visitor = caller(request, profile, token, secret, self.settings)
        if asked == "stop":
            self._stop(visitor, id)
        elif asked == "resume":
            table_of = partial(pairs_of, library=self.tables)
            known = self.runs.live.get(visitor, id)
            stored = id if known is None else known.run_id
            work = partial(self.runs.resume, visitor, stored, table_of)
            live = _begun(self.runs.live.begin(visitor, "", work))
            return self._now(visitor, live.id, place)
        return self._now(visitor, id, place)

    def _stop(self, visitor: Visitor, run_id: object) -> None:
        live = self.runs.live.get(visitor, run_id)
        if live is not None:
            live.stop.set()
            live.ended.wait(FIRST_SECONDS)
        elif self.runs.store.opened_own(run_id, visitor).status == "running":
            raise KnownError("This run goes on in another process, and can only be stopped there.")

    def _now(self, visitor: Visitor, run_id: object, place: int | None) -> Any:
        """How far a run is. place: of the first row that is wanted; None for no rows.

        Raises:
            KnownError: there is no such run, or it is someone else's.
        """
        live = self.runs.live.get(visitor, run_id)
        progress = None if live is None else live.progress  # whose pairs go when it has ended
        run: Run | None
        summary: Summary | None
        if live and progress and not (live.ended.is_set() and progress.run):
            run, scored, status = progress.run, list(progress.scored), progress.stage
            total, summary = progress.total, summarise_run(scored, run.facts if run else None)
        else:
            run = kept = self.runs.store.open(live.run_id if live else run_id, visitor)
            scored, status = [] if place is None else scored_rows(kept), kept.status
            total, summary = kept.facts.n_pairs, summary_of(kept)
        end = None if place is None else place + MOST_ANSWERED_ROWS
        return as_json(
            {
                "id": run.id if run else live and live.id,
                "status": status,
                "message": progress.message if progress else "",
                "ahead": progress.ahead if progress else 0,
                "total": total,
                **result_json(summary),
                "rows": None if place is None else [row_json(each) for each in scored[place:end]],
                "settings": settings_json(run.facts) if run else None,
                "retry_after_seconds": ASK_AGAIN_SECONDS if status in _UNDER_WAY else None,
            }
        )


def _begun(live: LiveRun) -> LiveRun:
    """A run, once it scores or took long to begin.

    Raises:
        KnownError: it was refused.
    """
    until = time.monotonic() + FIRST_SECONDS
    while live.progress.stage in _UNDER_WAY[:2] and time.monotonic() < until:
        live.ended.wait(_LOOK_SECONDS)
    if live.progress.stage == "refused":
        raise KnownError(live.progress.message)
    return live


def publish_runs(endpoints: RunEndpoints) -> None:
    """Make the endpoints part of the page that is being built."""
    for name in ("start_run", "run"):
        gr.api(getattr(endpoints, name), api_name=name)
