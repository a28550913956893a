"""Scoring as the public endpoints give it: plain numbers, None where unknown.

Arguments come from anybody and are checked here.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from explorer.core.files import plain
from explorer.core.settings import Settings
from explorer.core.validation import whole_number
from explorer.data.table import PairTable
from explorer.runs.cards import card_of
from explorer.runs.lines import summary_of
from explorer.runs.model_list import ModelEntry, entry_of, licence_note, model_list
from explorer.runs.orders import MOST_SEED, ModelOrder
from explorer.runs.progress import Progress
from explorer.runs.running import Rewarded
from explorer.runs.selections import (
    MOST_PER_SUBSET,
    Selection,
    selected_by_typed_keys,
    selected_per_subset,
)
from explorer.runs.shelf import RunShelf
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError, shown
from scoring.models.policy import DEMO
from scoring.record import Run
from scoring.spec import ASKED, BASELINES, RunFacts, ScoredPair
from scoring.summary import Summary, Tally, summarise

MOST_RUNS = 1_000
STOPPED = "It was stopped before all pairs were scored."
_SETTINGS = (
    "model", "revision", "family", "reading", "reference", "device", "dtype", "max_length",
    "truncation_side", "template", "seed", "versions",
)  # fmt: skip
"""Facts that a number rests on, whatever the pairs."""


def asked_order(model: object, family: object, reference: object) -> ModelOrder:
    """The model that a program names.

    Raises:
        KnownError: a value is of the wrong type, or there is no such family.
    """
    return ModelOrder.of({"model": model, "family": family, "reference": reference})


def asked_selection(table: PairTable, per_subset: object, seed: object, keys: object) -> Selection:
    """The pairs that a program names.

    keys: a list of keys; None for so many of each subset.

    Raises:
        KnownError: a value is of the wrong type or out of range, or there is no such pair.
    """
    if keys is None:
        n = whole_number("Pairs per subset", per_subset, 1, MOST_PER_SUBSET)
        return selected_per_subset(table, n, whole_number("The seed", seed, 0, MOST_SEED))
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise KnownError(f"Keys are a list of texts such as hep-rust:3, not {shown(keys)}.")
    return selected_by_typed_keys(table, "\n".join(keys))


def pair_score_json(scored: Rewarded) -> dict[str, Any]:
    """One pair's rewards, and what they rest on."""
    [pair] = scored.scored
    cells = _pair(pair)
    names = ("chosen_reward", "rejected_reward", "margin", "outcome")
    tokens = ("chosen_tokens", "rejected_tokens")
    return {
        **{name: cells[name] for name in (*names, *tokens)},
        "settings": settings_json(scored.facts),
    }


def selection_score_json(
    stream: Iterable[Progress | Rewarded], total: int
) -> Iterator[dict[str, Any]]:
    """Scoring under way: a message for each step, with the rows that are new.

    The last one says how it ended, "finished", or "stopped" where pairs are left, and why, and has
    all rows.
    """
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


def models_json(settings: Settings) -> dict[str, Any]:
    """Which models can be scored with here, what is known of them, and how much may be scored."""
    listed = list(dict.fromkeys((DEMO, *settings.models, *BASELINES)))
    allowed = [entry for name in settings.models if (entry := entry_of(name))]
    known = allowed if settings.models else model_list()
    return {
        "models": listed,
        "any": not settings.models,
        "known": [_known(entry) for entry in known],
        "own_code": list(settings.own_code),
        "max_gigabytes": plain(settings.max_model_gigabytes),
        "max_pairs": settings.max_pairs,
        "seconds_per_hour": plain(settings.seconds_per_hour),
        "sign_in": settings.sign_in == "required",
        "served_families": list(ASKED) if settings.servers else [],
    }


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


def runs_json(shelf: RunShelf, visitor: Visitor, limit: object = 100) -> dict[str, Any]:
    """The runs that a visitor may see, newest first.

    Raises:
        KnownError: a limit that is none.
    """
    most = whole_number("The limit", limit, 1, MOST_RUNS)
    return {"runs": [_run(run, shelf, visitor) for run in shelf.visible(visitor)[:most]]}


def _run(run: Run, shelf: RunShelf, visitor: Visitor) -> dict[str, Any]:
    card, summary = card_of(run), summary_of(run)
    return {
        "id": run.id,
        "title": card.title,
        "own": shelf.is_own(card, visitor),
        "public": card.public,
        "status": run.status,
        "started": datetime.fromtimestamp(run.started, UTC).isoformat(timespec="seconds"),
        "pairs": run.facts.pairs,
        "selection": run.facts.selection,
        "total": run.facts.n_pairs,
        **_result(summary),
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
    return {
        "stage": stage,
        "ahead": ahead,
        "total": total,
        **_result(summarise(done, "" if facts is None else facts.family)),
        "rows": [_pair(pair) for pair in newly],
        "settings": None if facts is None else settings_json(facts),
    }


def _result(summary: Summary | None) -> dict[str, Any]:
    """What pairs come to; without a summary nothing is known."""
    tally = Tally() if summary is None else summary.total
    interval = tally.interval
    return {
        "scored": sum(tally.counts.values()),
        "accuracy": plain(tally.accuracy),
        "tie_counts": tally.tie,
        "interval": None if interval is None else [plain(end) for end in interval],
        "score": None if summary is None else plain(summary.score),
        "sections": {}
        if summary is None
        else {name: plain(score) for name, score in summary.sections.items()},
    }


def _pair(pair: ScoredPair) -> dict[str, Any]:
    return {
        "key": pair.key,
        "subset": pair.subset,
        "chosen_reward": plain(pair.chosen_reward),
        "rejected_reward": plain(pair.rejected_reward),
        "margin": plain(pair.margin),
        "outcome": pair.outcome,
        "chosen_tokens": pair.chosen_tokens,
        "rejected_tokens": pair.rejected_tokens,
        "truncated": pair.chosen_truncated or pair.rejected_truncated,
    }
