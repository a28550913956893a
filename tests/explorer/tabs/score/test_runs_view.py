"""The list of runs: what is in it, what its owner can do with a run, its files."""

import csv
import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest

from explorer.api.scoring import runs_json
from explorer.core.parts import nothing_new
from explorer.data.table import PairTable
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.results.own import own_names
from explorer.runs.cards import RunCard, card_of, write_card
from explorer.runs.orders import ModelOrder
from explorer.runs.selections import Selection
from explorer.runs.store import RunStore
from explorer.runs.visitors import Visitor
from explorer.stores import Stores, open_stores
from explorer.tabs.score.acts_view import ScoreTab
from explorer.tabs.score.run_view import Followed
from explorer.tabs.score.state import PAGE, ScoreState
from scoring.errors import KnownError
from scoring.record import Run
from tests.conftest import PATIENCE
from tests.explorer.beginning import begun, finished
from tests.explorer.browsing import act
from tests.explorer.filling import Filled, filled
from tests.explorer.html_reading import HtmlReading
from tests.explorer.score_tab import score_tab

TAGS = {"div", "button", "a", "h3", "dl", "dt", "dd", "span", "input", "label"}
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def tab(stores: Stores) -> ScoreTab:
    """Of a server that has no runs yet."""
    shutil.rmtree(stores.runs.store.folder, ignore_errors=True)
    return score_tab(stores)


@pytest.fixture
def me(demo: PairTable) -> Session:
    """A page of whom the runs are."""
    session = Session(Visitor("browser:me"))
    session.show(PairsState(demo.id))
    session.show(ScoreState("runs"))
    return session


def shown_to(tab: ScoreTab, session: Session) -> Filled:
    """The list as it stands."""
    return parted(filled(tab.parts, tab.turn_back(session)))


def acted(tab: ScoreTab, session: Session, name: str, **sent: Any) -> Filled:
    return parted(filled(tab.parts, tab.act(act(name, **sent), session)))


def parted(shown: Filled) -> Filled:
    """With the list and the open run below it each by its name."""
    listed, opens, opened = str(shown["runs.listed"]).partition('<div class="behind run">')
    return Filled(shown, listed=listed, opened=opens + opened)


def test_a_run_is_listed_with_what_it_came_to(
    tab: ScoreTab, stores: Stores, demo: PairTable, me: Session
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(40), "the first forty")
    [line] = [row for row in shown_to(tab, me).listed.split("<tr") if run.id in row]
    won = sum(pair.outcome == "win" for pair in run.rows())
    assert "40 / 40" in line and "the first forty" in line and f"{100 * won / 40:.1f} %" in line
    [name] = own_names([run], ())
    assert "finished" in line and name.partition("your run of ")[2].rstrip(")") in line
    assert "browser:me" not in line


@dataclass
class Hasty(Session):
    """A page on which Runs is pressed while the report is still being drawn."""

    def show(self, value: object) -> None:
        super().show(value)
        if isinstance(value, Followed):
            super().show(ScoreState("runs"))


def test_who_turns_to_the_list_before_the_tab_is_filled_is_not_turned_back(
    tab: ScoreTab, stores: Stores, demo: PairTable
) -> None:
    finished(stores.runs, "longer", demo, np.arange(4))
    page = Hasty(Visitor("browser:me"))
    assert tab.turn_back(page) == nothing_new()
    assert page.seen(ScoreState).panel == "runs"


def test_without_runs_it_says_what_to_do(tab: ScoreTab, me: Session) -> None:
    shown = shown_to(tab, me).listed
    assert "No runs yet" in shown and "lost when it restarts" not in shown
    space = replace(tab, settings=replace(tab.settings, space="me/space", home=Path("/")))
    assert "lost when it restarts" in shown_to(space, me).listed


def test_an_open_run_says_what_it_rests_on_and_where_its_failures_are(
    tab: ScoreTab, stores: Stores, demo: PairTable, me: Session
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(40))
    shown = acted(tab, me, "open", id=run.id)
    read = HtmlReading(shown.opened, TAGS)
    links = read.attributes["a", "href"]
    assert any(link.startswith("?tab=pairs&model=") for link in links)
    assert any(link.startswith("?tab=models&panel=compare&a=") for link in links)
    assert demo.id in shown.opened and "Resume" not in shown.opened
    assert acted(tab, me, "close").opened == ""


def test_a_run_is_named_shared_and_removed_in_two_steps(
    tab: ScoreTab, stores: Stores, demo: PairTable, me: Session
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(9))
    acted(tab, me, "open", id=run.id)
    shown = acted(tab, me, "title", id=run.id, value=HOSTILE)
    assert HOSTILE not in shown.listed + shown.opened and "&lt;img" in shown.listed
    assert card_of(run).title == HOSTILE
    shown = acted(tab, me, "share", id=run.id, value=True)
    assert card_of(run).public and "public" in shown.listed
    asked = acted(tab, me, "delete", id=run.id)
    assert "Yes, delete it" in asked.opened and run.folder.exists()
    kept = acted(tab, me, "keep")
    assert "Yes, delete it" not in kept.opened and run.folder.exists()
    acted(tab, me, "delete", id=run.id)
    gone = acted(tab, me, "remove", id=run.id)
    assert not run.folder.exists() and gone.opened == "" and run.id not in gone.listed


def test_who_does_not_own_a_public_run_can_look_at_it_and_change_nothing(
    stores: Stores, demo: PairTable, me: Session
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(4))
    write_card(run.folder, replace(card_of(run), public=True))
    space = score_tab(open_stores(replace(stores.settings, public=True)))
    you = Session(Visitor("browser:you"))
    you.show(PairsState(demo.id))
    you.show(ScoreState("runs"))
    for session, is_own in ((me, True), (you, False)):
        shown = acted(space, session, "open", id=run.id)
        assert run.facts.model in shown.opened
        acts = HtmlReading(shown.opened, TAGS).attributes["button", "data-act"]
        assert ("delete" in acts) is is_own and ("run-owned" in shown.opened) is is_own


DAMAGED = [
    None,
    b"",
    b'{"facts": {"mod',
    b"null",
    b"[]",
    b"\xff\xfe",
    b"[" * 99_999,
    {"facts": None},
    {"facts": {"model": 5}},
    {"status": "gone"},
    {"started": "today"},
    {"seconds": -1},
    {"tokens": 10**400},
]
"""What is in the file of a run: nothing, other bytes, or what it holds but for this."""


@pytest.mark.parametrize("damage", DAMAGED, ids=lambda damage: str(damage)[:20])
@pytest.mark.parametrize("name", ["run.json", "card.json"])
def test_a_damaged_run_is_listed_and_removed_and_harms_no_other(
    tab: ScoreTab,
    stores: Stores,
    demo: PairTable,
    me: Session,
    name: str,
    damage: object,
    caplog: pytest.LogCaptureFixture,
) -> None:
    other, run = (finished(stores.runs, "longer", demo, np.arange(n)) for n in (4, 5))
    path = run.folder / name
    content = path.read_bytes()
    path.unlink()
    if isinstance(damage, bytes):
        path.write_bytes(damage)
    elif isinstance(damage, dict):
        path.write_text(json.dumps({**json.loads(content), **damage}))
    caplog.clear()
    listed = shown_to(tab, me).listed
    assert other.id in listed and run.id in listed
    if name == "run.json":
        assert f"{run.id} is damaged" in listed
    told = runs_json(stores.runs.store, me.visitor)["runs"]
    assert other.id in [each["id"] for each in told]
    assert own_names(stores.runs.store.visible(me.visitor), ())
    listed = acted(tab, me, "remove", id=run.id).listed
    assert not run.folder.exists() and run.id not in listed and other.id in listed
    assert not [record for record in caplog.records if record.exc_info]


def test_a_damaged_run_is_its_owners_alone(stores: Stores, demo: PairTable) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(4))
    (run.folder / "run.json").write_text("null")
    store = RunStore(replace(stores.settings, public=True))
    assert store.damaged(Visitor("browser:me")) == [run.id]
    assert store.damaged(Visitor("browser:you")) == store.damaged(Visitor()) == []
    with pytest.raises(KnownError, match="There is no such run"):
        store.delete(run.id, Visitor("browser:you"))
    store.delete(run.id, Visitor("browser:me"))
    assert not run.folder.exists()


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("open", {}),
        ("open", {"id": "../.."}),
        ("remove", {"id": None}),
        ("title", {"id": "x", "value": "y"}),
        ("page", {"value": -1}),
        ("page", {"value": "many"}),
        ("", {}),
        ("format", {"id": "x"}),
    ],
)
def test_what_is_no_act_is_refused(tab: ScoreTab, me: Session, name: str, sent: Any) -> None:
    with pytest.raises(gr.Error):
        acted(tab, me, name, **sent)


@pytest.mark.parametrize("title", [None, 5, "x" * 81, ["name"]])
def test_a_name_that_is_none_is_refused(
    tab: ScoreTab, stores: Stores, demo: PairTable, me: Session, title: object
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(3))
    with pytest.raises(gr.Error, match="at most 80 characters"):
        acted(tab, me, "title", id=run.id, value=title)


def test_many_runs_come_on_pages_newest_first(
    tab: ScoreTab, stores: Stores, demo: PairTable, me: Session
) -> None:
    runs = [finished(stores.runs, "longer", demo, np.arange(2)) for _ in range(PAGE + 2)]
    first = shown_to(tab, me)
    assert first.listed.count("<tr") == PAGE + 1 and "Page 1 of 2" in first.listed
    assert runs[-1].id in first.listed and runs[0].id not in first.listed
    second = acted(tab, me, "page", value=1)
    assert second.listed.count("<tr") == 3 and runs[0].id in second.listed


def test_the_list_beside_the_report_is_searched(
    tab: ScoreTab, stores: Stores, demo: PairTable, me: Session
) -> None:
    for model in ("longer", "shorter"):
        finished(stores.runs, model, demo, np.arange(2))
    found = acted(tab, me, "find", value=" LONG ")["report.latest"]
    assert found.count("run-row") == 1 and "longer" in found
    assert "No run has that in its name" in acted(tab, me, "find", value="gone")["report.latest"]
    assert acted(tab, me, "find", value="")["report.latest"].count("run-row") == 2


def test_a_stopped_run_can_be_gone_on_with(
    tab: ScoreTab, stores: Stores, demo: PairTable, me: Session
) -> None:
    stream = begun(stores.runs, "me", "demo", demo, np.arange(40))
    next(each for each in stream if each.stage == "running")
    stream.close()
    [run] = stores.runs.store.visible(me.visitor)
    shown = acted(tab, me, "open", id=run.id)
    assert f"Resume ({40 - len(run.rows())} pairs left)" in shown.opened
    resumed = acted(tab, me, "resume", id=run.id)
    assert resumed["columns.new"]["visible"] and not resumed["columns.runs"]["visible"]
    assert me.seen(ScoreState).run_id == run.id
    live = stores.runs.live.get(me.visitor, run.id)
    assert live is not None and live.ended.wait(PATIENCE)
    assert len(run.rows()) == 40


def test_runs_under_way_are_watched_from_here(
    tab: ScoreTab, stores: Stores, demo: PairTable, me: Session
) -> None:
    stream = begun(stores.runs, "me", "demo", demo, np.arange(40))
    running = next(each.run for each in stream if each.stage == "running")
    assert running is not None
    order, few = ModelOrder("longer"), Selection(demo, np.arange(3), "few")
    live = stores.runs.live.begin(
        me.visitor, "longer", lambda: stores.runs.start(me.visitor, order, few)
    )
    shown = acted(tab, me, "open", id=running.id)
    assert "A run of longer is waiting for its turn" in shown.listed
    for html, watched in ((shown.listed, live.id), (shown.opened, running.id)):
        [before, _] = html.split("Watch live")
        assert watched in before.rpartition("<button")[2]
    for seen_id, is_told in ((running.id, True), (live.id, False)):
        beside = acted(tab, me, "report", id=seen_id)["report.latest"]
        assert ("is waiting for its turn" in beside) is is_told
    acted(tab, me, "panel", value="runs")
    stream.close()
    assert live.ended.wait(PATIENCE)
    shown = shown_to(tab, me)
    assert "is waiting for its turn" not in shown.listed and "Watch live" not in shown.opened


def test_a_broken_run_is_listed_all_the_same(
    tab: ScoreTab, stores: Stores, demo: PairTable, me: Session
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(3))
    next(run.folder.glob("rewards*")).write_text("{}\n")
    me.show(ScoreState("runs", run.id))
    assert run.id in shown_to(tab, me).listed
    write_card(run.folder, RunCard())
    (run.folder / "card.json").write_text("[")
    shown = shown_to(tab, me)
    assert run.id in shown.listed and "card unreadable" in shown.listed
    [told] = HtmlReading(shown.opened, TAGS).of_class["wrong"]
    assert "cannot be read" in told and "Name of the run" not in shown.opened
    with pytest.raises(gr.Error, match="cannot be read"):
        acted(tab, me, "title", id=run.id, value="another")
    assert (run.folder / "card.json").read_text() == "["


def test_the_form_is_there_whatever_the_last_run_is(
    tab: ScoreTab, stores: Stores, demo: PairTable, me: Session
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(3))
    rewards = next(run.folder.glob("rewards*"))
    rewards.unlink()
    rewards.mkdir()
    me.show(ScoreState("runs"))
    filling = tab.act(act("panel", value="new"), me)
    assert filling[tab.parts.columns["new"]]["visible"] is True
    assert "cannot be read" in filling[tab.parts.report.status]


def test_a_poll_that_comes_after_the_list_was_turned_to_opens_no_other_run(
    tab: ScoreTab, stores: Stores, demo: PairTable, me: Session
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(3))
    me.show(Followed("gone"))
    me.show(ScoreState("runs", run.id))
    assert tab.act(act("again"), me) == nothing_new()
    assert me.seen(ScoreState) == ScoreState("runs", run.id)


@pytest.fixture
def scored(stores: Stores, demo: PairTable) -> Run:
    return finished(stores.runs, "longer", demo, np.arange(20))


def exported(tab: ScoreTab, form: str, run: Run, session: Session) -> str:
    session.show(ScoreState("runs", run.id))
    stream = tab.export(form, ("", ""), session)
    path = Path(next(stream)["value"])
    content = path.read_text(encoding="utf-8")
    assert run.id not in path.name
    stream.close()  # type: ignore[attr-defined]
    return content


def test_every_pair_is_in_each_file(tab: ScoreTab, scored: Run, me: Session) -> None:
    rows = {row.key: row for row in scored.rows()}
    as_csv = list(csv.DictReader(exported(tab, "csv", scored, me).splitlines()))
    lines = [json.loads(line) for line in exported(tab, "jsonl", scored, me).splitlines()]
    whole = json.loads(exported(tab, "json", scored, me))
    for told in (as_csv, lines, whole["pairs"]):
        assert {each["key"] for each in told} == rows.keys()
        assert all(float(each["margin"]) == rows[each["key"]].margin for each in told)
        assert all(each["outcome"] == rows[each["key"]].outcome for each in told)
    assert whole["facts"]["model"] == "baseline/longer"


def test_no_other_format_and_no_strangers_file(tab: ScoreTab, scored: Run) -> None:
    session = Session()
    session.show(ScoreState("runs", scored.id))
    with pytest.raises(gr.Error, match="no format"):
        next(tab.export("exe", ("", ""), session))
    session.show(ScoreState("runs", "other"))
    with pytest.raises(gr.Error, match="no such run"):
        next(tab.export("csv", ("", ""), session))
