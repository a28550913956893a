"""The head of the page: what is on screen, why not something else, and other pairs."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from explorer.data.sources import Candidate, Sources
from explorer.data.table import PairTable
from explorer.page import views_of
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.data.view import DataView
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.limits import Step
from tests.conftest import PATIENCE, until
from tests.support.browsing import library_of
from tests.support.hostile import NAMES
from tests.support.html_reading import HtmlReading
from tests.support.tables import file_table, row, small_table

ME = Visitor()


@pytest.fixture
def head(stores: Stores) -> DataView:
    return views_of(stores).data


def shown(head: DataView, query: str = "", who: Visitor = ME) -> dict[str, str]:
    return {name: write() for name, write in head.regions(query, who, {})[1].items()}


def done(head: DataView, query: str = "") -> str:
    """What is told once nothing is being opened any more."""
    until(lambda: "data-refresh" not in shown(head, query)["status"])
    return shown(head, query)["status"]


def test_while_the_network_is_asked_it_is_said_and_what_arrived_is_offered(
    head: DataView, demo: PairTable
) -> None:
    answered, remote = threading.Event(), file_table(NAMES[1], small_table(row(), row()).arrow)

    def slow() -> PairTable:
        answered.wait(PATIENCE)
        return remote

    def absent() -> PairTable:
        raise KnownError("nobody answers")

    library = library_of(demo)
    wanted = [Candidate("org/a", absent, slow), Candidate("demo", lambda: demo)]
    library.sources = Sources(wanted, Hub(offline=False))
    own = DataView(library, head.results, replace(head.settings, offline=False))
    own.retry("", ME, {})
    strip = shown(own)["strip"]
    answered.set()
    assert "Asking the Hugging Face Hub" in strip and "data-refresh" in strip
    assert "show-arrived" not in strip and "retry" not in strip
    own.pairs.sources.wait(PATIENCE)
    own.results.sources.wait(PATIENCE)
    strip = shown(own, f"?source={demo.id}")["strip"]
    assert "show-arrived" in strip and "Now available" in HtmlReading(strip).words
    best = shown(own)["strip"]
    assert "data-refresh" not in best and "show-arrived" not in best, "they are on screen"


def test_opening_is_stopped_and_the_next_begins_at_once(head: DataView, demo: PairTable) -> None:
    over = threading.Event()

    def slow(wanted: object, tell: Any) -> PairTable:
        while not over.wait(0.02):
            tell(Step("reading", 5))
        return demo

    library = library_of(small_table(row()), demo)
    library.open = slow  # type: ignore[method-assign, assignment]
    own = replace(head, pairs=library)
    own.open("", ME, {"value": "org/large"})
    until(lambda: "5 rows" in shown(own)["status"])
    assert "open-stop" in shown(own)["choose"] and "open-wanted" not in shown(own)["choose"]
    assert shown(own, who=Visitor("browser:other"))["status"] == ""
    own.stop("", ME, {})
    assert "Stopped before the pairs were opened" in done(own)
    own.open("", ME, {"value": "org/large"})
    over.set()
    assert "Show them" in done(own)
