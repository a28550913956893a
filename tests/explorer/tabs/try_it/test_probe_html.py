"""The bias probe: run, stopped, refused, taken away; hostile names."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from explorer.page import views_of
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.try_it.state import TryState
from explorer.tabs.try_it.view import TryView
from tests.conftest import until
from tests.support.browsing import library_of
from tests.support.hostile import MARKUP
from tests.support.html_reading import HtmlReading
from tests.support.tables import row, small_table

ME = Visitor("browser:me", address="1")


@pytest.fixture
def tab(stores: Stores) -> TryView:
    return views_of(stores).trial


def asked(**state: Any) -> str:
    """The address of a probe of few edits, by a model that counts characters."""
    return TryState(**{"model": "longer", "change": ("longer", "upper"), **state}).href()


def run(tab: TryView, **state: Any) -> tuple[str, str]:
    """Probe; what is said then, and what was found."""
    tab.start_probe(asked(**state), ME, {})
    return shown(tab)


def shown(tab: TryView, who: Visitor = ME) -> tuple[str, str]:
    regions = tab.regions(asked(), who, {})[1]
    return regions["probe"](), regions["found"]()


def said(html: str) -> str:
    return HtmlReading(html).words


def button(html: str) -> str:
    """The words of the button that runs and stops."""
    return html.partition("</button>")[0].rpartition(">")[2]


def test_it_runs_to_its_end(tab: TryView) -> None:
    assert "No result yet" in shown(tab)[1] and button(shown(tab)[0]) == "Run"
    state, found = run(tab)
    assert "Done: 23 pairs" in said(state) and button(state) == "Run"
    assert "Longer with filler" in said(found) and "Polite" not in said(found)
    assert "<circle" in found and "probe-csv-pairs" in found
    assert "No result yet" in shown(tab, Visitor("browser:other"))[1]


def test_it_waits_for_its_turn_and_can_be_stopped_meanwhile(tab: TryView) -> None:
    thread = threading.Thread(target=run, args=(tab,))
    with tab.runs.scorers.turn(Visitor(session="other", address="2")):
        thread.start()
        until(lambda: "1 ahead of you" in shown(tab)[0])
        assert button(shown(tab)[0]) == "Stop"
        tab.stop_probe(asked(), ME, {})
        thread.join()
    assert "Stopped: 0 of 23 pairs" in said(shown(tab)[0])


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({"change": ("",)}, "No change is chosen"),
        ({"model": MARKUP}, ""),
        ({"which": "filter", "pairs": "q=no+such+words+anywhere"}, "No pairs"),
    ],
)
def test_what_cannot_be_probed_is_told(state: dict[str, Any], why: str, tab: TryView) -> None:
    told, found = run(tab, **state)
    assert why in said(told) and "wrong" in told and button(told) == "Run"
    assert "No result yet" in found


def test_rows_with_further_responses_are_refused(stores: Stores) -> None:
    library = library_of(small_table(row(rejected=["one", "two"]), row()))
    tab = views_of(replace(stores, pairs=library)).trial
    assert "several chosen or several rejected" in run(tab, which="filter")[0]
