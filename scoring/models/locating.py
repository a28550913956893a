"""From what a person typed to a reward model that can be loaded."""

from dataclasses import replace
from typing import Literal, Unpack

from scoring.hub.access import Hub
from scoring.limits import Tell, tell_nobody
from scoring.models.finding import Asked, Found, find
from scoring.models.policy import ModelPolicy
from scoring.spec import ModelSpec


def locate(typed: str, policy: ModelPolicy, hub: Hub, **asked: Unpack[Asked]) -> ModelSpec:
    """Find the model a person typed, downloading it where need be.

    Args:
        typed: its name, as of `find`.
        policy: what is allowed here.
        hub: decides whether the network is used.
        asked: what else is said of it.

    Raises:
        KnownError: nothing was typed, it is not allowed, not found, or not a reward model.
    """
    found = find(typed, policy, hub, **asked)
    token = asked.get("token", False)
    with hub.room.staying(found.repos):
        return with_folders(
            found, [fetched(each, hub, token) for each in (found, found.reference) if each]
        )


def fetched(found: Found, hub: Hub, token: str | Literal[False], tell: Tell = tell_nobody) -> str:
    """The folder of a model that was found, downloaded where need be; its reference is not."""
    if found.listing is None:
        return found.spec.folder
    return str(hub.fetch(found.listing, [*found.sizes], token=token, tell=tell))


def with_folders(found: Found, folders: list[str]) -> ModelSpec:
    """What can be loaded. folders: as `fetched` gives them, of the model and of its reference."""
    spec, *beside = (
        each.spec
        if each.listing is None
        else replace(each.spec, folder=folder, revision=each.listing.commit)
        for each, folder in zip((found, found.reference), folders, strict=False)
        if each is not None
    )
    return replace(spec, reference=beside[0]) if beside else spec
