"""The public endpoints that score, and what is known of models and runs.

Arguments come from anybody and are checked here: Gradio does not.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import gradio as gr

from explorer.api.answers import (
    MOST_RUNS,
    FamilyName,
    Models,
    PairScore,
    SelectionProgress,
    StoredRuns,
)
from explorer.api.callers import caller, requested_table
from explorer.core.error_view import guarded
from explorer.core.files import as_json
from explorer.core.settings import Settings
from explorer.core.validation import checked_integer
from explorer.core.work import streamed
from explorer.data.library import Library
from explorer.data.table import PairTable
from explorer.data.typed import longest_text, typed_pair
from explorer.runs.cards import card_of
from explorer.runs.model_list import ModelEntry, entry_of, licence_note, model_list
from explorer.runs.orders import ModelOrder
from explorer.runs.outcomes import summary_of
from explorer.runs.progress import Progress
from explorer.runs.running import Rewarded, Runs
from explorer.runs.selections import Selection, selected_by_keys, selected_per_subset
from explorer.runs.store import RunStore
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError, shown
from scoring.models.finding import DEMO_NAME
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from scoring.spec import ASKED, BASELINES, RunFacts, ScoredPair
from scoring.summary import Summary, Tally, summarise_run

STOPPED = "It was stopped before all pairs were scored."
_SETTINGS = (
    "model", "revision", "family", "reading", "reference", "device", "dtype", "max_length",
    "truncation_side", "template", "seed", "versions",
)  # fmt: skip
"""Facts that a number rests on, whatever the pairs."""
_PAIR = (
    "key", "subset", "chosen_reward", "rejected_reward", "margin", "outcome", "chosen_tokens",
    "rejected_tokens",
)  # fmt: skip


@dataclass(frozen=True)
class ScoreEndpoints:
    """What can be asked without a browser.

    Who signed in on the page asks as themselves; any other program is a visitor like others, whose
    seconds are counted by its address.
    """

    runs: Runs
    tables: Library
    settings: Settings

    @guarded
    def score_pair(
        self,
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        token: gr.OAuthToken | None,
        model: str,
        prompt: str,
        chosen: str,
        rejected: str,
        family: FamilyName | None = None,
        reference: str = "",
    ) -> PairScore:
        """Score one preference pair with a reward model: which response does it prefer?

        The margin is the chosen reward minus the rejected one. A reward that the model does not
        give is null. "settings" are what the numbers rest on.

        Args:
            model: a Hub id such as org/name or org/name@revision, demo, or a baseline.
            prompt: what both answer; several turns each after a line [system], [user], [assistant].
            chosen: the response that ought to score higher.
            rejected: the other one.
            family: how the model scores; null for what its config says.
            reference: the Hub id of a DPO policy's reference model.

        Returns:
            Both rewards, their margin, the outcome, the tokens, and the settings.
        """
        order = ModelOrder.of({"model": model, "family": family, "reference": reference})
        longest = longest_text(self.settings)
        pair = typed_pair(prompt, chosen, rejected, longest=longest)
        visitor = caller(request, profile, token, "", self.settings)
        return pair_score_json(self.runs.rewards(visitor, order, [pair]))

    @guarded
    def score_selection(
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
    ) -> Iterator[SelectionProgress]:
        """Score pairs of the benchmark with a reward model; rows stream in as they are scored.

        Nothing is kept, and who disconnects ends it: /start_run begins a run that goes on.

        One message comes after the other, with the stage "waiting" while people counted by "ahead"
        are served first, "loading", "running", and at last "finished" or "stopped". Its rows are
        the pairs that are new, in the last message all of them; that one says in "message" why
        pairs are left. The accuracy has a 95 % interval, pairs of one prompt taken together; a tie
        adds "tie_counts" to it, half a win for judges and else 0. The score is RewardBench's of
        what is scored. Shares are 0 to 1; what is not known is null.

        Args:
            model: as of /score_pair.
            per_subset: pairs of each subset, 1 to 1000, drawn with the seed.
            seed: of the drawing, 0 to 4294967295.
            keys: these pairs instead, such as ["alpacaeval-easy:900001"]; null to draw them.
            pairs: the id of pairs that the server has open; "" for those it shows first.
            family: how the model scores; null for what its config says.
            reference: the Hub id of a DPO policy's reference model.

        Returns:
            How far it is, the numbers so far, the rows that are new, and the settings.
        """
        order = ModelOrder.of({"model": model, "family": family, "reference": reference})
        selection = requested_selection(requested_table(self.tables, pairs), per_subset, seed, keys)
        taken = as_pairs(selection.table.arrow, selection.rows.tolist())
        visitor = caller(request, profile, token, "", self.settings)
        steps = streamed(partial(self.runs.rewarding, visitor, order, taken))
        with closing(steps):
            yield from selection_score_json(steps, len(taken))

    @guarded
    def models(self) -> Models:
        """Which models may be scored with on this server, and how much.

        "any" says whether any other id of the Hub may be used; "own_code" names the ids whose own
        Python runs here. Of well-known ones the weights are counted in billions, the memory is that
        of bfloat16, and "why_not" says why one cannot run here. null means no limit.

        Returns:
            The ids that are offered, what is known of models, and the limits of this server.
        """
        return models_json(self.settings)

    @guarded
    def stored_runs(
        self,
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        token: gr.OAuthToken | None,
        limit: int = 100,
        secret: str = "",
    ) -> StoredRuns:
        """Runs that are kept on this server, newest first: the caller's own, and public ones.

        Args:
            limit: runs at most, 1 to 1000.
            secret: as /start_run gave it, to see the caller's own on a shared server.

        Returns:
            The runs, each with its status, its numbers so far and what they rest on.
        """
        visitor = caller(request, profile, token, secret, self.settings)
        return runs_json(self.runs.store, visitor, limit)


def requested_selection(
    table: PairTable, per_subset: object, seed: object, keys: object
) -> Selection:
    """The pairs that a program names. keys: a list of keys; None for so many of each subset."""
    if keys is None:
        return selected_per_subset(table, per_subset, seed)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise KnownError(
            f"Keys are a list of texts such as {table.example_keys}, not {shown(keys)}."
        )
    return selected_by_keys(table, list(dict.fromkeys(filter(None, map(str.strip, keys)))))


def pair_score_json(scored: Rewarded) -> Any:
    """One pair's rewards, and what they rest on."""
    [pair] = scored.scored
    cells = {name: getattr(pair, name) for name in _PAIR[2:]}
    return as_json({**cells, "settings": settings_json(scored.facts)})


def selection_score_json(stream: Iterable[Progress | Rewarded], total: int) -> Iterator[Any]:
    """As of `ScoreEndpoints.score_selection`."""
    done: list[ScoredPair] = []
    facts: RunFacts | None = None
    why = ""
    for told in stream:
        if isinstance(told, Progress):
            yield _message(told.stage, done, (), total, facts, ahead=told.ahead)
        else:
            done += told.scored
            facts, why = told.facts, told.message
            yield _message("running", done, told.scored, total, facts)
    is_whole = len(done) == total
    last = _message("finished" if is_whole else "stopped", done, done, total, facts)
    yield {**last, "message": "" if is_whole else why or STOPPED}


def settings_json(facts: RunFacts) -> dict[str, Any]:
    """What a number rests on."""
    # Gradio's client takes whatever has a "path" for a file, and fetches it.
    return {**{name: getattr(facts, name) for name in _SETTINGS}, "computed": facts.path}


def models_json(settings: Settings) -> Any:
    """As of `ScoreEndpoints.models`."""
    listed = list(dict.fromkeys((DEMO_NAME, *settings.models, *BASELINES)))
    allowed = [entry for name in settings.models if (entry := entry_of(name))]
    known = allowed if settings.models else model_list()
    return as_json(
        {
            "models": listed,
            "any": not settings.models,
            "known": [_known(entry) for entry in known],
            "own_code": settings.own_code,
            "max_gigabytes": settings.max_model_gigabytes,
            "max_pairs": settings.max_pairs,
            "seconds_per_hour": settings.seconds_per_hour,
            "sign_in": settings.sign_in == "required",
            "served_families": ASKED if settings.servers else [],
        }
    )


def _known(entry: ModelEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "family": entry.family,
        "billions": entry.billions,
        "memory_gigabytes": round(entry.memory_bytes() / 1e9, 1),
        "reference": entry.reference or None,
        "licence": licence_note(entry.id) or None,
        "why_not": entry.why_not or None,
    }


def runs_json(store: RunStore, visitor: Visitor, limit: object = 100) -> Any:
    """As of `ScoreEndpoints.stored_runs`."""
    most = checked_integer("The limit", limit, 1, MOST_RUNS)
    return as_json({"runs": [_run(run, store, visitor) for run in store.visible(visitor)[:most]]})


def _run(run: Run, store: RunStore, visitor: Visitor) -> dict[str, Any]:
    card, summary = card_of(run), summary_of(run)
    return {
        "id": run.id,
        "title": card.title,
        "own": store.is_own(card, visitor),
        "public": card.public,
        "status": run.status,
        "started": datetime.fromtimestamp(run.started, UTC).isoformat(timespec="seconds"),
        "pairs": run.facts.pairs,
        "selection": run.facts.selection,
        "total": run.facts.n_pairs,
        **result_json(summary),
        "settings": settings_json(run.facts),
    }


def _message(
    stage: str,
    done: Sequence[ScoredPair],
    newly: Sequence[ScoredPair],
    total: int,
    facts: RunFacts | None,
    *,
    ahead: int = 0,
) -> dict[str, Any]:
    return as_json(
        {
            "stage": stage,
            "ahead": ahead,
            "total": total,
            **result_json(summarise_run(done, facts)),
            "rows": [row_json(pair) for pair in newly],
            "settings": None if facts is None else settings_json(facts),
        }
    )


def result_json(summary: Summary | None) -> dict[str, Any]:
    """What pairs come to; without a summary nothing is known."""
    tally = Tally() if summary is None else summary.total
    return {
        "scored": sum(tally.counts.values()),
        "accuracy": tally.accuracy,
        "tie_counts": tally.tie,
        "interval": None if summary is None else summary.total_interval,
        "score": None if summary is None else summary.score,
        "sections": {} if summary is None else summary.sections,
    }


def row_json(pair: ScoredPair) -> dict[str, Any]:
    """A pair as it was scored."""
    cells = {name: getattr(pair, name) for name in _PAIR}
    return {**cells, "truncated": pair.chosen_truncated or pair.rejected_truncated}


def publish_scoring(endpoints: ScoreEndpoints) -> None:
    """Make the endpoints part of the page that is being built."""
    for name in ("score_pair", "score_selection", "models"):
        gr.api(getattr(endpoints, name), api_name=name)
    gr.api(endpoints.stored_runs, api_name="runs")
