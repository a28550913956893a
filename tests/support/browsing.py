"""The page as a test asks for it: regions by an address, and other pairs that are opened."""

import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from explorer.core.settings import Settings
from explorer.data.library import Library
from explorer.data.sources import Candidate, Sources
from explorer.data.table import PairTable
from explorer.reader.scene import Scenes
from explorer.reader.state import PairsState
from explorer.results.fields import Fields
from explorer.runs.visitors import Visitor
from explorer.stores import Stores, open_stores
from explorer.tabs.pairs.view import PairsView
from scoring.hub.access import Hub
from tests.conftest import until
from tests.support.files import write_jsonl
from tests.support.posting import Visitor as Poster

NOBODY = Visitor()
ALONE = Settings(home=Path("/nonexistent"), offline=True, pairs="demo")


def library_of(*tables: PairTable) -> Library:
    """A library that shows the first of the tables and has the others."""
    hub = Hub(offline=True)
    library = Library(Sources([Candidate("first", lambda: tables[0])], hub), hub, ALONE)
    for table in tables[1:]:
        library._opened[table.id] = table
    return library


def stores_of_rows(home: Path, rows: Sequence[dict[str, Any]]) -> Stores:
    """What visitors share where rows of several responses are open. home: a folder of its own."""
    path = write_jsonl(home / "rb2.jsonl", rows)
    return open_stores(Settings(home / "home", pairs=str(path), offline=True))


def pairs_view_on(*tables: PairTable) -> PairsView:
    """The tab where these tables are at hand, and no results."""
    stores = replace(open_stores(ALONE), pairs=library_of(*tables))
    fields = Fields(stores.results, stores.pairs, stores.runs)
    return PairsView(Scenes(stores.pairs, stores.counter, fields), ALONE)


class Answered(dict[str, str]):
    """Regions by name, as HTML; `query` is the address as it is understood."""

    query: str = ""

    @property
    def state(self) -> PairsState:
        """What the address says."""
        return PairsState.parse(self.query)[0]


def answered_of(view: PairsView, query: str = "", visitor: Visitor = NOBODY) -> Answered:
    """All regions of an address of the Pairs tab."""
    understood, regions = view.regions(query, visitor)
    found = Answered({name: write() for name, write in regions.items()})
    found.query = understood
    return found


def followed(by: Poster, link: object, **posted: object) -> Answered:
    """What the Pairs tab shows of an address."""
    answer = by.render("pairs", link, **posted)
    found = Answered(answer["regions"])
    found.query = answer["query"]
    return found


def opening(by: Poster, action: str, value: str = "") -> tuple[str, str]:
    """Open other pairs: what is told at last, and their id, "" where there are none.

    action, value: as of `explorer.tabs.data.view.DataView`.
    """
    answers = [by.render("data", "", secret=by.session, action=action, sent={"value": value})]

    def is_settled() -> bool:
        if "data-refresh" not in answers[-1].get("regions", {}).get("status", ""):
            return True
        answers.append(by.render("data", "", secret=by.session))
        return False

    until(is_settled)
    status = str(answers[-1].get("error") or unescape(answers[-1]["regions"]["status"]))
    [link, *_] = [*links_in(status, "Show them"), ""]
    return status, dict(parse_qsl(link.removeprefix("?"))).get("source", "")


def links_in(html: str, words: str) -> list[str]:
    """Where links lead whose label, or else whose text, begins with these words."""
    found = []
    for attributes, inside in re.findall(r"<a\s([^>]*)>(.*?)</a>", html, re.DOTALL):
        label = re.search(r'aria-label="([^"]*)"', attributes)
        told = label[1] if label else re.sub(r"<[^>]*>", " ", inside)
        if unescape(" ".join(told.split())).startswith(words):
            found += [unescape(href) for href in re.findall(r'href="([^"]*)"', attributes)]
    return found
