"""From what a person typed to a reward model that can be loaded."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, Unpack

from scoring.hub.access import Hub
from scoring.limits import Step, Tell, tell_nobody
from scoring.models.finding import Asked, Found, find
from scoring.models.policy import ModelPolicy
from scoring.spec import ModelSpec
from scoring.stopping import check_stop


def allow_any(_: Found) -> None:
    """For those who refuse none of what was found."""


def locate(
    typed: str,
    policy: ModelPolicy,
    hub: Hub,
    *,
    check: Callable[[Found], None] = allow_any,
    tell: Tell = tell_nobody,
    stop: threading.Event | None = None,
    **asked: Unpack[Asked],
) -> ModelSpec:
    """Find the model a person typed, downloading it where need be.

    Args:
        typed: its name, as of `find`.
        policy: what is allowed here.
        hub: decides whether the network is used.
        asked: what else is said of it.
        check: raises a KnownError for a model that is not to be fetched or loaded, such as
            `devices.FitsOn`; asked before any weights are fetched.
        tell: is told how far the download is, from another thread.
        stop: set it from anywhere to end the search or the download at once.

    Raises:
        Stopped: `stop` is set.
        KnownError: nothing was typed, it is not allowed, not found, or not a reward model.
    """
    tell(Step("asking"))
    found = find(typed, policy, hub, stop=stop, **asked)
    check(found)
    token = asked.get("token", False)
    listings = [each.listing for each in (found, found.reference) if each is not None]
    with hub.room.staying(listing.hub_id.repo for listing in listings if listing is not None):
        spec = _fetched(found, hub, token, tell, stop)
        if found.reference is not None:
            spec = replace(spec, reference=_fetched(found.reference, hub, token, tell, stop))
        check_stop(stop)
    return spec


def _fetched(
    found: Found,
    hub: Hub,
    token: str | Literal[False],
    tell: Tell,
    stop: threading.Event | None,
) -> ModelSpec:
    if found.listing is None:
        return found.spec
    folder = hub.fetch(found.listing, [*found.sizes], token=token, tell=tell, stop=stop)
    return replace(found.spec, folder=str(folder), revision=folder.name)
