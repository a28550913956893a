"""Reward models on the Hub by their names, where there is a network."""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from scoring.errors import KnownError, shown
from scoring.hub import Hub, first_line

SEARCH_SECONDS = 4.0
"""How long the Hub may take to answer."""
LONGEST_SEARCH = 100
MOST_FOUND = 100
_KINDS: tuple[dict[str, str], ...] = (
    {"pipeline_tag": "text-classification"},
    {"filter": "reward-model"},
)
"""What reward models are marked as there; not all of either kind can score."""


@dataclass(frozen=True, slots=True)
class HubModel:
    """One model as the Hub lists it. is_gated: its owner must grant access."""

    id: str
    downloads: int = 0
    is_gated: bool = False


@dataclass(frozen=True, slots=True)
class HubSearch:
    """What was found, the most downloaded first; reason: why nothing could be, "" where it could.

    All of it is a stranger's text.
    """

    models: tuple[HubModel, ...] = ()
    reason: str = ""


def search_models(
    words: object, hub: Hub, *, token: str | Literal[False] = False, limit: int = 20
) -> HubSearch:
    """Models on the Hub that may be reward models.

    Args:
        words: that the names hold; "" for the most downloaded of all.
        hub: decides whether the network is used.
        token: the visitor's own; False sends none.
        limit: models at most, 1 to `MOST_FOUND`.

    Raises:
        KnownError: no text is searched for, or too long a one, or `limit` is out of range.
    """
    if not isinstance(words, str) or len(words) > LONGEST_SEARCH:
        raise KnownError(
            f"Models are searched for with at most {LONGEST_SEARCH} characters of text, not "
            f"{shown(words)}."
        )
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_FOUND:
        raise KnownError(f"{shown(limit)} models cannot be listed; 1 to {MOST_FOUND} are allowed.")
    if not hub.reachable():
        return HubSearch(reason=hub.reason or "the Hub was not asked")
    found: dict[str, HubModel] = {}
    errors: list[Exception] = []

    def ask(kind: dict[str, str]) -> None:
        try:
            for model in _listed(words.strip(), kind, token, limit):
                found[model.id] = model
        except Exception as error:  # the client lets its transport's errors through
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(kind,), daemon=True) for kind in _KINDS]
    for thread in threads:
        thread.start()
    until = time.monotonic() + SEARCH_SECONDS
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    models = sorted(found.copy().values(), key=lambda model: (-model.downloads, model.id))[:limit]
    if models or (not errors and not any(thread.is_alive() for thread in threads)):
        return HubSearch(tuple(models))
    why = first_line(errors[0]) if errors else "it did not answer in time"
    return HubSearch(reason=f"the Hub could not be searched: {why}")


def _listed(
    words: str, kind: dict[str, str], token: str | Literal[False], limit: int
) -> Iterable[HubModel]:
    from huggingface_hub import HfApi

    told: Iterable[Any] = HfApi(token=False).list_models(
        search=words or None, sort="downloads", limit=limit, token=token, **kind
    )
    return [
        HubModel(str(model.id), int(model.downloads or 0), bool(getattr(model, "gated", False)))
        for model in told
    ]
