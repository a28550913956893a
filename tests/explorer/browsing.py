"""The callbacks of the Pairs tab, and what they show, by name."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.core.settings import Settings
from explorer.data.library import Library
from explorer.data.sources import Candidate, Sources
from explorer.data.table import PairTable
from explorer.data.tokens import TokenCounter
from explorer.page import Page
from explorer.reader.reading import READER_ACTS
from explorer.reader.scene import Scenes
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.results.cache import OutcomeCache
from explorer.results.fields import Fields
from explorer.stores import Stores, open_stores
from explorer.tabs.pairs.acts_view import PairsTab
from explorer.tabs.pairs.review.view import remembered_review
from explorer.tabs.pairs.view import PairsParts, build_pairs, remembered_notes
from scoring.hub.access import Hub
from tests.explorer.filling import Filled, answered, filled, laid_out
from tests.explorer.posting import Visitor

ACTS = (
    *READER_ACTS, "sort", "panel", "chart", "reset", "pick", "unpick", "search", "range", "unrange",
)  # fmt: skip
"""What a person does to the pairs that are listed."""
FIELDS = (
    "value", "facet", "names", "name", "words", "where", "regex", "case", "measure", "unit",
    "low", "high", "shown", "by_subset",
)  # fmt: skip
"""What acts send."""


def library_of(*tables: PairTable) -> Library:
    """A library that shows the first of the tables and has the others."""
    settings, hub = Settings(home=Path("/nonexistent"), offline=True), Hub(offline=True)
    library = Library(Sources([Candidate("first", lambda: tables[0])], hub), hub, settings)
    for table in tables[1:]:
        library._opened[table.id] = table
    return library


@cache
def pairs_parts() -> PairsParts:
    """The components of the tab, on a page of their own."""
    settings = Settings(home=Path("/nonexistent"), offline=True)
    counter = TokenCounter(settings.home, Hub(offline=True), settings.model_policy)
    return laid_out(lambda: build_pairs(counter, remembered_review(), remembered_notes()))


def scenes_on(stores: Stores) -> Scenes:
    """What sessions see of the pairs of these stores."""
    return Scenes(stores.pairs, stores.counter, stores.fields)


def scenes_of(library: Library) -> Scenes:
    """What sessions see of the pairs of a library, without results."""
    settings = Settings(home=Path("/nonexistent"), offline=True, pairs="demo")
    stores = replace(open_stores(settings), pairs=library)
    fields = Fields(stores.results, stores.pairs, OutcomeCache(settings.home), stores.runs)
    return scenes_on(replace(stores, fields=fields))


def pairs_tab_on(*tables: PairTable) -> PairsTab:
    """The callbacks of the tab where these tables are at hand, and no results."""
    settings = Settings(home=Path("/nonexistent"), offline=True, pairs="demo")
    return PairsTab(scenes_of(library_of(*tables)), settings, pairs_parts())


def page_on(state: PairsState) -> Session:
    """A page that shows this of the pairs."""
    session = Session()
    session.show(state)
    return session


def opened(tab: PairsTab, link: object = "") -> Filled:
    """What a link shows; "seen" is the state."""
    session = Session()
    shown = filled(tab.parts, tab.open(link, session, {}))
    return Filled(shown, seen=session.seen(PairsState))


def acted(tab: PairsTab, seen: PairsState, name: object, **sent: object) -> Filled:
    """What an act of a person shows; "seen" is the state after it."""
    session = page_on(seen)
    shown = filled(tab.parts, tab.act(act(name, **sent), session, {}))
    return Filled(shown, seen=session.seen(PairsState))


def by_name(values: list[Any]) -> Filled:
    """What an event of the tab was answered."""
    return answered(pairs_parts(), values)


def page_opened(visitor: Visitor, link: object = "") -> Filled:
    """What the Pairs tab shows once the page was opened by a link."""
    parts = pairs_parts()
    _, *values = visitor.data(Page.open, {"Textbox": link})
    return answered(parts, values[: len(parts.outputs)])


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
