"""The callbacks of the Browse tab, and what they show, by name."""

from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.core.settings import Settings
from explorer.data.library import Library
from explorer.data.sources import Candidate, Sources
from explorer.data.table import PairTable
from explorer.data.tokens import TokenCounter
from explorer.reader.session import Session
from explorer.reader.state import Tables, View
from explorer.tabs.pairs.browse_view import Browse, BrowseParts, build_browse
from explorer.tabs.pairs.review.view import remembered_review
from scoring.hub.access import Hub
from tests.explorer.filling import Filled, answered, filled, laid_out


def library_of(*tables: PairTable) -> Library:
    """A library that shows the first of the tables and has the others."""
    settings, hub = Settings(home=Path("/nonexistent"), offline=True), Hub(offline=True)
    library = Library(Sources([Candidate("first", lambda: tables[0])], hub), hub, settings)
    for table in tables[1:]:
        library._opened[table.id] = table
    return library


@cache
def browse_parts() -> BrowseParts:
    """The components of the tab, on a page of their own."""
    settings = Settings(home=Path("/nonexistent"), offline=True)
    counter = TokenCounter(settings.home, Hub(offline=True), settings.model_policy)
    return laid_out(lambda: build_browse(counter, remembered_review()))


def browse_on(*tables: PairTable) -> Browse:
    """The callbacks of the tab where these tables are at hand."""
    settings, hub = Settings(home=Path("/nonexistent"), offline=True), Hub(offline=True)
    counter = TokenCounter(settings.home, hub, settings.model_policy)
    return Browse(Tables(library_of(*tables), counter), settings, browse_parts())


def page_on(view: View) -> Session:
    """A page that shows this of the pairs."""
    session = Session()
    session.show(view)
    return session


def opened(browse: Browse, link: object = "") -> Filled:
    """What a link shows; "seen" is the view."""
    session = Session()
    shown = filled(browse.parts, browse.open(link, session))
    return Filled(shown, seen=session.seen(View))


def acted(browse: Browse, seen: View, name: object, **sent: object) -> Filled:
    """What an act of a person shows; "seen" is the view after it."""
    session = page_on(seen)
    shown = filled(browse.parts, browse.act(act(name, **sent), session))
    return Filled(shown, seen=session.seen(View))


def by_name(values: list[Any]) -> Filled:
    """What an event of the tab was answered."""
    return answered(browse_parts(), values)


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
