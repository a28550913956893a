"""The public endpoints that score, and what is known of models and runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import gradio as gr

from explorer.api.score_json import (
    asked_order,
    asked_selection,
    models_json,
    pair_score_json,
    runs_json,
    selection_score_json,
)
from explorer.core.parts import guarded
from explorer.core.settings import Settings
from explorer.data.library import Library
from explorer.data.typed import longest_text, typed_pair
from explorer.runs.running import Runs
from explorer.runs.visitors import Visitor
from explorer.tabs.score.signin_view import visitor_of
from scoring.errors import KnownError, shown
from scoring.pairs.opening import as_pairs

FamilyName = Literal[
    "classifier", "dpo", "logprob-sum", "logprob-mean", "judge", "rater", "pairrm", "random",
    "longer", "shorter",
]  # fmt: skip
"""Families that a program can name; a server's models are scored on the page."""


@dataclass(frozen=True)
class ScoreEndpoints:
    """What can be asked without a browser. Types are checked by `explorer.api.score_json`.

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
    ) -> dict[str, Any]:
        """Score one preference pair with a reward model: which response does it prefer?

        Args:
            model: a Hub id such as org/name or org/name@revision, demo, or a baseline.
            prompt: what both answer; several turns each after a line [system], [user], [assistant].
            chosen: the response that ought to score higher.
            rejected: the other one.
            family: how the model scores; null for what its config says.
            reference: the Hub id of a DPO policy's reference model.

        Returns:
            {"chosen_reward", "rejected_reward", "margin": their difference, "outcome": "win",
            "loss", "tie" or "missing", "chosen_tokens", "rejected_tokens", "settings": what the
            numbers rest on}. A reward that the model does not give is null.
        """
        order = asked_order(model, family, reference)
        longest = longest_text(self.settings)
        pair = typed_pair(prompt, chosen, rejected, longest=longest)
        visitor = self._visitor(request, profile, token)
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
    ) -> Iterator[dict[str, Any]]:
        """Score pairs of the benchmark with a reward model; rows stream in as they are scored.

        Nothing is kept, and who disconnects ends it: score on the page for a run that goes on.

        Args:
            model: as of /score_pair.
            per_subset: pairs of each subset, 1 to 1000, drawn with the seed.
            seed: of the drawing, 0 to 4294967295.
            keys: these pairs instead, such as ["hep-rust:3"]; null to draw them.
            pairs: the id of pairs that the server has open; "" for those it shows first.
            family: how the model scores; null for what its config says.
            reference: the Hub id of a DPO policy's reference model.

        Returns:
            One message after the other: {"stage": "waiting", "loading", "running", and at last
            "finished" or "stopped", "ahead": people who are served first, "total": pairs,
            "scored": how many so far, "accuracy", "tie_counts": what a tie adds to it, half a win
            for judges and else 0, "interval": of it, [low, high] at 95 %, each pair taken alone
            though those of one prompt go together, "score": RewardBench's of what is scored,
            "sections": {name: score}, "rows": the pairs that are new, in the last message all of
            them, each {"key", "subset", "chosen_reward", "rejected_reward", "margin", "outcome",
            "chosen_tokens", "rejected_tokens", "truncated"}, "settings": what the numbers
            rest on}. The last one has a "message" besides: why pairs are left, "" where none are.
            Shares are 0 to 1; what is not known is null.
        """
        order = asked_order(model, family, reference)
        table = self.tables.here(_table_id(pairs))
        selection = asked_selection(table, per_subset, seed, keys)
        taken = as_pairs(table.arrow, selection.rows.tolist())
        visitor = self._visitor(request, profile, token)
        yield from selection_score_json(self.runs.rewarding(visitor, order, taken), len(taken))

    @guarded
    def models(self) -> dict[str, Any]:
        """Which models may be scored with on this server, and how much.

        Returns:
            {"models": ids that are offered, "any": whether any other id of the Hub may be used,
            "known": a list of {"id", "family", "billions": weights, "memory_gigabytes": in
            bfloat16, "reference": of a DPO policy, "licence": of what it is built from by its name,
            "why_not": in words, why it cannot run here} of well-known ones, "own_code": ids whose
            own Python runs here, "max_gigabytes": of a model's weights,
            "max_pairs": of one request, "seconds_per_hour": of scoring by one visitor, "sign_in":
            whether only who signed in may score, "served_families": families that a server of the
            owner's can run}. null means no limit.
        """
        return models_json(self.settings)

    @guarded
    def stored_runs(
        self,
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        token: gr.OAuthToken | None,
        limit: int = 100,
    ) -> dict[str, Any]:
        """Runs that are kept on this server, newest first: the caller's own, and public ones.

        Args:
            limit: runs at most, 1 to 1000.

        Returns:
            {"runs": a list of {"id", "title", "own": whether it is the caller's, "public",
            "status": "running", "finished", "stopped" or "failed", "started": UTC, "pairs": their
            source, "selection": in words, "total": pairs, "scored", "accuracy", "interval",
            "score", "sections", "settings": what the numbers rest on, as of /score_selection}}.
        """
        return runs_json(self.runs.shelf, self._visitor(request, profile, token), limit)

    def _visitor(
        self, request: gr.Request, profile: gr.OAuthProfile | None, token: gr.OAuthToken | None
    ) -> Visitor:
        return visitor_of(request, profile, token, settings=self.settings)


def _table_id(value: object) -> str:
    if not isinstance(value, str):
        raise KnownError(f"Pairs are named by the text of their id, not {shown(value)}.")
    return value


def publish_scoring(endpoints: ScoreEndpoints) -> None:
    """Make the endpoints part of the page that is being built."""
    gr.api(endpoints.score_pair, api_name="score_pair")
    gr.api(endpoints.score_selection, api_name="score_selection")
    gr.api(endpoints.models, api_name="models")
    gr.api(endpoints.stored_runs, api_name="runs")
