"""What the address says of the Score tab, and what it opens."""

import json
import re
from html import unescape

import gradio as gr
import numpy as np
import pytest

from explorer.data.table import PairTable
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.score.acts_view import ScoreTab
from explorer.tabs.score.state import SCORE_LINK, TAB, ScoreState, decode_score
from scoring.record import Run
from tests.explorer.beginning import finished
from tests.explorer.browsing import act
from tests.explorer.filling import Filled, filled
from tests.explorer.score_tab import score_tab


@pytest.fixture(scope="module")
def tab(stores: Stores) -> ScoreTab:
    return score_tab(stores)


@pytest.fixture
def runs(stores: Stores, demo: PairTable) -> list[Run]:
    """Two runs of one model, begun in the same second."""
    made = [finished(stores.runs, "shorter", demo, np.arange(n)) for n in (30, 40)]
    for run in made:
        file = run.folder / "run.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"started": 1.7e9}))
    return made


def opened(tab: ScoreTab, link: object, session: Session | None = None) -> Filled:
    return filled(tab.parts, tab.open(link, session or Session(Visitor("browser:me"))))


@pytest.mark.parametrize(
    "state",
    [ScoreState(), ScoreState("runs"), ScoreState(run_id="a/&=é"), ScoreState("runs", "b")],
)
def test_a_link_says_what_is_looked_at(state: ScoreState) -> None:
    assert decode_score(f"?tab={TAB}&{SCORE_LINK.encode(state)}") == state


@pytest.mark.parametrize(
    ("link", "state"),
    [
        ("?tab=score", ScoreState()),
        ("?tab=runs", ScoreState("runs")),
        ("?tab=runs&source=demo&nonsense=1", ScoreState("runs")),
        ("?tab=score&panel=nonsense", ScoreState()),
        ("?tab=pairs&panel=runs&run=a", ScoreState()),
        (None, ScoreState()),
    ],
)
def test_any_link_opens_something(link: object, state: ScoreState) -> None:
    assert decode_score(link) == state


def test_a_link_opens_a_run_with_its_report_or_in_the_list(tab: ScoreTab, runs: list[Run]) -> None:
    report = opened(tab, f"?tab=score&run={runs[0].id}")
    assert "30 of 30 pairs" in report["report.cards"] and report["columns.new"]["visible"]
    assert report.address == f"run={runs[0].id}"
    listed = opened(tab, f"?tab=score&panel=runs&run={runs[0].id}")
    assert "Show report" in listed["runs.listed"] and listed["columns.runs"]["visible"]
    assert listed["report.box"].visible is True


@pytest.mark.parametrize("panel", ["new", "runs"])
def test_a_link_to_a_run_that_is_not_here_says_so(
    panel: str, tab: ScoreTab, runs: list[Run]
) -> None:
    for run_id in ("gone", "../..", "\ud800", "<img src=x>"):
        shown = opened(tab, f"?tab=score&panel={panel}&run={run_id}")
        told = shown["runs.listed" if panel == "runs" else "report.status"]
        assert "no such run" in told and "<img" not in told
        assert shown[f"columns.{panel}"]["visible"] and "no such run" not in shown.panels
        # Not of another run, whatever was shown before.
        assert panel == "runs" or shown["report.cards"] == ""
        assert "run=" not in shown.address


def test_each_of_two_runs_begun_in_one_second_leads_to_its_own_failures(
    tab: ScoreTab, runs: list[Run]
) -> None:
    for run in runs:
        session = Session(Visitor("browser:me"))
        shown = opened(tab, f"?tab=score&run={run.id}", session)
        name = tab.scenes.fields.name_of(run.id, *session.where)
        html = shown["report.cards"] + shown["report.margins"]
        links = re.findall(r'href="\?tab=pairs&amp;([^"]*)"', html)
        assert {PairsState.parse(unescape(link))[0].model for link in links} == {name}


def test_what_is_followed_is_shown_again_after_the_list(tab: ScoreTab, runs: list[Run]) -> None:
    session = Session(Visitor("browser:me"))
    opened(tab, f"?tab=score&run={runs[0].id}", session)
    for name, sent in (("panel", {"value": "runs"}), ("open", {"id": runs[1].id})):
        listed = filled(tab.parts, tab.act(act(name, **sent), session))
        assert listed["columns.runs"]["visible"]
    report = filled(tab.parts, tab.act(act("panel", value="new"), session))
    assert "40 of 40 pairs" in report["report.cards"]
    filled(tab.parts, tab.act(act("close"), session))
    with pytest.raises(gr.Error):
        tab.act(act("panel", value="elsewhere"), session)
