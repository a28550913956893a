"""A visitor's marks one after the other: the second of two quick ones must see the first.

Gradio would read what a stay remembers before an event has its turn, and one queue that runs these
events singly would let all visitors of a server wait for each other. So each `Stay` has a lock, and
whoever holds it reads and changes the stay.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import wraps
from typing import Any

from explorer.ui.downloads import passing_folder
from explorer.ui.relay import EVENT
from explorer.ui.reviewview import Offered, Panel, Stay

IN_TURN: dict[str, Any] = {**EVENT, "concurrency_id": "review", "concurrency_limit": None}
"""One queue begins these events in the order in which they come, without waiting for any."""
MARK: dict[str, Any] = {**IN_TURN, "trigger_mode": "multiple", "preprocess": False}
"""No press is dropped. What Gradio would prepare in threads could overtake what came before."""


def in_turn(callback: Callable[..., Panel]) -> Callable[..., Coroutine[Any, Any, list[Any]]]:
    """The event of a callback that gives the panel anew, and remembers it.

    It takes what the callback is asked, then `ReviewView.state`; and fills `ReviewView.panel`.
    """

    @wraps(callback)
    async def turn(*values: Any) -> list[Any]:
        *asked, table_id, stay, note, noted, kept = values
        async with stay.turn:
            state = stay.state(table_id, note, noted, kept)
            shown = await asyncio.to_thread(callback, *asked, *state)
            stay.review, stay.open_key, stay.theirs = shown.review, shown.open_key, shown.theirs
        return [*shown.filled, stay]

    return turn


def offering(callback: Callable[..., Offered]) -> Callable[..., Coroutine[Any, Any, list[Any]]]:
    """The event of a callback that offers subsets; it may end the review."""

    @wraps(callback)
    async def offer(table_id: object, stay: Stay, kept: object) -> list[Any]:
        async with stay.turn:
            shown = await asyncio.to_thread(callback, table_id, stay.review, kept)
            if shown.review is None:
                stay.review = stay.open_key = None
        return [*shown.filled, stay]

    return offer


def exporting(callback: Callable[..., str]) -> Callable[..., AsyncIterator[str]]:
    """The event of a callback that writes a file into a folder, which is its first argument."""

    @wraps(callback)
    async def export(*values: Any) -> AsyncIterator[str]:
        *asked, table_id, stay, note, noted, kept = values
        async with stay.turn:
            state = stay.state(table_id, note, noted, kept)
        with passing_folder() as folder:
            yield await asyncio.to_thread(callback, folder, *asked, *state)

    return export
