"""Files of the Hub, downloaded by a worker: its bytes and seconds are counted."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Literal

from explorer.core.work import repeated
from explorer.core.workers import ANOTHER, GIGABYTE, Limit, WayOut, run_in_new_worker
from scoring.errors import KnownError
from scoring.hub.access import Hub, Listing
from scoring.hub.cache import cache_folder, remove_unfinished
from scoring.limits import OnProgress, Step, ignore_progress
from scoring.tasks import fetch_files

LOOK_SECONDS, LOOK_BYTES = 30.0, GIGABYTE // 2
"""What a look at a repository or a folder has."""
FETCH_BYTES = GIGABYTE
FETCH_SECONDS, FETCH_BYTES_A_SECOND = 60.0, 100_000
"""In how long a download must have how much, again and again."""
_FETCHING: dict[WayOut, str] = {
    "model": "Downloading the model",
    "file": "Downloading the pairs",
    "tokenizer": "Downloading the tokenizer",
}


def fetching(  # noqa: PLR0917
    hub: Hub,
    listing: Listing,
    names: Sequence[str],
    token: str | Literal[False],
    way_out: WayOut = "model",
    tell: OnProgress = ignore_progress,
) -> str:
    """The folder of a repository with these files, downloaded where need be.

    Raises:
        KnownError: they cannot be had, or come too slowly, or without end.
    """
    missing, repo = listing.missing(names), listing.hub_id.repo
    size = sum(listing.sizes[name] for name in missing)
    another = ANOTHER[way_out]
    with ExitStack() as stack:
        stack.enter_context(hub.room_for(listing, size))
        if not missing:
            return str(listing.folder)
        blobs = [listing.blobs[name] for name in missing if name in listing.blobs]
        stack.callback(remove_unfinished, cache_folder(repo, listing.repo_type), blobs)
        limit = Limit(_FETCHING[way_out], None, FETCH_BYTES, way_out=way_out)
        since, before = time.monotonic(), 0

        def bounded(step: Step) -> None:
            nonlocal since, before
            if step.done > size:
                said = f"{size / 1e6:,.1f} MB"
                raise KnownError(
                    f"Gave up downloading {repo}: it is larger than the stated {said}. Choose "
                    f"{another}."
                )
            seconds = time.monotonic() - since
            if seconds > FETCH_SECONDS:
                if step.done - before < seconds * FETCH_BYTES_A_SECOND:
                    raise KnownError(
                        f"Download too slow, stopped: {repo} came at less than "
                        f"{FETCH_BYTES_A_SECOND // 1000} kB/s for {seconds:.0f} s. "
                        f"Try again later, or choose {another}."
                    )
                since, before = time.monotonic(), step.done
            tell(step)

        given = (hub, listing, names, token)
        told = repeated(bounded, Step("fetching", 0, size))
        folder: str = run_in_new_worker(fetch_files, *given, limit=limit, tell=told, online=True)
        return folder
