"""Reward models on the Hub by their names, where there is a network."""

import re
from dataclasses import dataclass
from typing import Any

from scoring.errors import KnownError, first_line, shown
from scoring.hub.access import Hub, Token

SEARCH_SECONDS = 4.0  # in which the Hub must begin an answer; it is asked once for each kind
LONGEST_SEARCH = 100
MOST_FOUND = 20
_KINDS: tuple[dict[str, str], ...] = (
    {"pipeline_tag": "text-classification"},
    {"filter": "reward-model"},
)
"""Marks of reward models on the Hub; not all models with one can score."""


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model as the Hub lists it."""

    id: str
    downloads: int = 0
    is_gated: bool = False


@dataclass(frozen=True, slots=True)
class HubSearch:
    """Models, the most downloaded first, or the reason why none could be found; hostile text."""

    models: tuple[HubModel, ...] = ()
    reason: str = ""


def search_models(words: object, hub: Hub, *, token: Token = False) -> HubSearch:
    """Find models on the Hub by parts of their names, "" for all, or raise a `KnownError`."""
    from huggingface_hub import constants, get_session
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

    if not isinstance(words, str) or len(words) > LONGEST_SEARCH:
        raise KnownError(
            f"Models are searched for with at most {LONGEST_SEARCH} characters of text, not "
            f"{shown(words)}."
        )
    if not hub.reachable():
        return HubSearch(reason=hub.reason or "the Hub was not asked")
    found: dict[str, HubModel] = {}
    try:
        for kind in _KINDS:
            # The client's own listing asks again for half a minute.
            answer: Any = get_session().get(
                f"{constants.ENDPOINT}/api/models",
                params={"search": words.strip(), "sort": "downloads", "limit": MOST_FOUND, **kind},
                headers=build_hf_headers(token=token),
                timeout=SEARCH_SECONDS,
            )
            hf_raise_for_status(answer)
            for model in answer.json():
                name, downloads = str(model["id"]), int(model.get("downloads") or 0)
                found[name] = HubModel(name, downloads, bool(model.get("gated")))
    except Exception as error:  # the client lets its transport's errors through
        return HubSearch(reason=f"the Hub could not be searched: {first_line(error)}")
    models = sorted(found.values(), key=lambda model: (-model.downloads, model.id))
    return HubSearch(tuple(models[:MOST_FOUND]))


_PAGE = re.compile(
    r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/"
    r"(?P<repo>[\w.-]+/[\w.-]+?)"
    r"(?:/(?:tree|blob|resolve|commit)/(?P<revision>[\w.%-]+)(?:/[^?#]*)?)?"
    r"/?(?:[?#].*)?",
    re.ASCII,
)
_ELSEWHERE = ("datasets/", "spaces/", "collections/", "docs/", "papers/", "blog/", "api/")


def without_address(typed: str) -> str:
    """The id of the model whose page was typed, or a text that is no address as it is.

    Raises a `KnownError` for the address of something else.

    >>> without_address("https://huggingface.co/org/name/tree/v1"), without_address("org/name")
    ('org/name@v1', 'org/name')
    """
    if not typed.lower().startswith(("http://", "https://")):
        return typed
    page = _PAGE.fullmatch(typed)
    if page is None or page["repo"].startswith(_ELSEWHERE):
        raise KnownError(
            f"{shown(typed)} is an address, but not that of a model's page on the Hub. Give the "
            "model's id, such as org/name."
        )
    revision = page["revision"]
    return page["repo"] + (f"@{revision.replace('%2F', '/')}" if revision else "")
