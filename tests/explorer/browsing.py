"""What the callbacks of the Browse tab give, by name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.core.settings import Settings
from explorer.data.library import Library
from explorer.data.sources import Candidate, Shelf
from explorer.data.table import PairTable
from explorer.data.tokens import TokenCounter
from explorer.reader.state import PANELS
from explorer.tabs.pairs.browse_view import Browse
from scoring.hub.access import Hub

OUTPUTS = (
    "seen", "table_id", "address", "facets", "bar", "panels",
    *(f"column_{panel}" for panel in PANELS),
    "pairs", "reader_bar", "pair",
    "controls", "tokenizing", "status", "plot", "stats",
    "snippet",
)  # fmt: skip
"""The outputs of the tab, in their order."""


def library_of(*tables: PairTable) -> Library:
    """A library that shows the first of the tables and has the others."""
    settings, hub = Settings(home=Path("/nonexistent"), offline=True), Hub(offline=True)
    library = Library(Shelf([Candidate("first", lambda: tables[0])], hub), hub, settings)
    for table in tables[1:]:
        library._opened[table.id] = table
    return library


def browse_on(*tables: PairTable) -> Browse:
    """The callbacks of the tab where these tables are at hand."""
    settings, hub = Settings(home=Path("/nonexistent"), offline=True), Hub(offline=True)
    counter = TokenCounter(settings.home, hub, settings.model_policy)
    return Browse(library_of(*tables), counter, settings)


def by_name(values: Sequence[Any]) -> dict[str, Any]:
    """A value for each output."""
    return dict(zip(OUTPUTS, values, strict=True))


def act(name: object, /, **sent: object) -> gr.EventData:
    """An act of a person."""
    return gr.EventData(None, posted(name, **sent))


def posted(name: object, /, **sent: object) -> dict[str, Any]:
    """An act as it is posted."""
    return {"act": name, "sent": sent}


def stays(value: object) -> bool:
    """Whether an output is left as it is."""
    skip = gr.skip()
    return value == skip or value == {**skip, "props": skip}
