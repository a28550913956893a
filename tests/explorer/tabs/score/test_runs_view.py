"""The Runs tab: what is listed, what its owner can do with a run, its files."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest

from explorer.data.table import PairTable
from explorer.runs.cards import RunCard, card_of, write_card
from explorer.runs.lines import PAGE, RunsView
from explorer.runs.orders import ModelOrder
from explorer.runs.selections import Selection
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.score.runs_view import RunsTab, RunsTabShown
from scoring.record import Run
from tests.conftest import PATIENCE
from tests.explorer.beginning import begun, finished
from tests.explorer.html_reading import HtmlReading

TAGS = {"div", "button", "a", "h3", "dl", "dt", "dd", "span", "input", "label"}
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def tab(stores: Stores) -> RunsTab:
    """Of a server that has no runs yet."""
    shutil.rmtree(stores.runs.shelf.folder, ignore_errors=True)
    return RunsTab(stores.runs, stores.fields, stores.settings)


@pytest.fixture
def where(demo: PairTable) -> tuple[Any, ...]:
    return None, demo.id, Visitor("browser:me")


def act(name: str, **sent: Any) -> gr.EventData:
    return gr.EventData(None, {"act": name, "sent": sent})


def test_a_run_is_listed_with_what_it_came_to(
    tab: RunsTab, stores: Stores, demo: PairTable, where: Any
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(40), "the first forty")
    [line] = [row for row in tab.show(RunsView(), *where).listed.split("<tr") if run.id in row]
    won = sum(pair.outcome == "win" for pair in run.rows())
    assert "40 / 40" in line and "the first forty" in line and f"{100 * won / 40:.1f} %" in line
    assert "finished" in line and "browser:me" not in line


def test_without_runs_it_says_what_to_do(tab: RunsTab, where: Any) -> None:
    assert "No runs yet" in tab.show(RunsView(), *where).listed


def test_an_open_run_says_what_it_rests_on_and_where_its_failures_are(
    tab: RunsTab, stores: Stores, demo: PairTable, where: Any
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(40))
    shown = tab.act(act("open", id=run.id), RunsView(), *where)
    read = HtmlReading(shown.opened, TAGS)
    links = read.attributes["a", "href"]
    assert any(link.startswith("?tab=failures&model=") for link in links)
    assert any(link.startswith("?tab=compare&a=") for link in links)
    assert demo.id in shown.opened and "Go on" not in shown.opened
    assert tab.act(act("close"), shown.seen, *where).opened == ""


def test_a_run_is_named_shared_and_removed_in_two_steps(
    tab: RunsTab, stores: Stores, demo: PairTable, where: Any
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(9))
    seen = tab.act(act("open", id=run.id), RunsView(), *where).seen
    shown = tab.act(act("title", id=run.id, value=HOSTILE), seen, *where)
    assert HOSTILE not in shown.listed + shown.opened and "&lt;img" in shown.listed
    assert card_of(run).title == HOSTILE
    shown = tab.act(act("share", id=run.id, value=True), seen, *where)
    assert card_of(run).public and "public" in shown.listed
    asked = tab.act(act("delete", id=run.id), seen, *where)
    assert "Yes, remove it" in asked.opened and run.folder.exists()
    kept = tab.act(act("keep"), asked.seen, *where)
    assert "Yes, remove it" not in kept.opened and run.folder.exists()
    gone = tab.act(act("remove", id=run.id), asked.seen, *where)
    assert not run.folder.exists() and gone.opened == "" and run.id not in gone.listed


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
def test_what_is_no_act_is_refused(tab: RunsTab, where: Any, name: str, sent: Any) -> None:
    with pytest.raises(gr.Error):
        tab.act(act(name, **sent), RunsView(), *where)


@pytest.mark.parametrize("title", [None, 5, "x" * 81, ["name"]])
def test_a_name_that_is_none_is_refused(
    tab: RunsTab, stores: Stores, demo: PairTable, where: Any, title: object
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(3))
    with pytest.raises(gr.Error, match="at most 80 characters"):
        tab.act(act("title", id=run.id, value=title), RunsView(), *where)


def test_many_runs_come_on_pages_newest_first(
    tab: RunsTab, stores: Stores, demo: PairTable, where: Any
) -> None:
    runs = [finished(stores.runs, "longer", demo, np.arange(2)) for _ in range(PAGE + 2)]
    first = tab.show(RunsView(), *where)
    assert first.listed.count("<tr") == PAGE + 1 and "Page 1 of 2" in first.listed
    assert runs[-1].id in first.listed and runs[0].id not in first.listed
    second = tab.act(act("page", value=1), first.seen, *where)
    assert second.listed.count("<tr") == 3 and runs[0].id in second.listed


def test_a_stopped_run_can_be_gone_on_with(
    tab: RunsTab, stores: Stores, demo: PairTable, where: Any
) -> None:
    stream = begun(stores.runs, "me", "demo", demo, np.arange(40))
    next(each for each in stream if each.stage == "running")
    stream.close()
    [run] = stores.runs.visible(where[2])
    shown = tab.act(act("open", id=run.id), RunsView(), *where)
    assert f"Go on ({40 - len(run.rows())} pairs left)" in shown.opened
    assert tab.asked(act("resume", id=run.id))[:2] == ("resume", run.id)
    assert not isinstance(tab.asked(act("open", id=run.id)), tuple)
    assert isinstance(tab.act(act("resume", id=run.id), shown.seen, *where), RunsTabShown)


def test_runs_under_way_are_watched_from_here(
    tab: RunsTab, stores: Stores, demo: PairTable, where: Any
) -> None:
    stream = begun(stores.runs, "me", "demo", demo, np.arange(40))
    running = next(each.run for each in stream if each.stage == "running")
    assert running is not None
    order, few = ModelOrder("longer"), Selection(demo, np.arange(3), "few")
    live = stores.runs.live.begin(
        where[2], "longer", lambda: stores.runs.start(where[2], order, few)
    )
    shown = tab.act(act("open", id=running.id), RunsView(), *where)
    assert "A run of longer waits for its turn" in shown.listed
    for html, watched in ((shown.listed, live.id), (shown.opened, running.id)):
        [before, _] = html.split("Watch it live")
        assert watched in before.rpartition("<button")[2]
    stream.close()
    assert live.ended.wait(PATIENCE)
    shown = tab.show(shown.seen, *where)
    assert "waits for its turn" not in shown.listed and "Watch it live" not in shown.opened


def test_a_broken_run_is_listed_all_the_same(
    tab: RunsTab, stores: Stores, demo: PairTable, where: Any
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(3))
    next(run.folder.glob("rewards*")).write_text("{}\n")
    assert run.id in tab.show(RunsView(run.id), *where).listed
    write_card(run.folder, RunCard())
    (run.folder / "card.json").write_text("[")
    shown = tab.show(RunsView(run.id), *where)
    assert run.id in shown.listed and "card unreadable" in shown.listed
    [told] = HtmlReading(shown.opened, TAGS).of_class["wrong"]
    assert "cannot be read" in told and "Name of the run" not in shown.opened
    with pytest.raises(gr.Error, match="cannot be read"):
        tab.act(act("title", id=run.id, value="another"), RunsView(run.id), *where)
    assert (run.folder / "card.json").read_text() == "["


@pytest.fixture
def scored(stores: Stores, demo: PairTable) -> Run:
    return finished(stores.runs, "longer", demo, np.arange(20))


def exported(tab: RunsTab, form: str, run: Run, tmp_path: Path) -> str:
    stream = tab.export(form, RunsView(run.id), Visitor("browser:me"))
    path = Path(next(stream)["value"])
    content = path.read_text(encoding="utf-8")
    assert run.id not in path.name
    stream.close()  # type: ignore[attr-defined]
    return content


def test_every_pair_is_in_each_file(tab: RunsTab, scored: Run, tmp_path: Path) -> None:
    rows = {row.key: row for row in scored.rows()}
    as_csv = list(csv.DictReader(exported(tab, "csv", scored, tmp_path).splitlines()))
    lines = [json.loads(line) for line in exported(tab, "jsonl", scored, tmp_path).splitlines()]
    whole = json.loads(exported(tab, "json", scored, tmp_path))
    for told in (as_csv, lines, whole["pairs"]):
        assert {each["key"] for each in told} == rows.keys()
        assert all(float(each["margin"]) == rows[each["key"]].margin for each in told)
        assert all(each["outcome"] == rows[each["key"]].outcome for each in told)
    assert whole["facts"]["model"] == "baseline/longer"


def test_no_other_format_and_no_strangers_file(tab: RunsTab, scored: Run) -> None:
    with pytest.raises(gr.Error, match="no format"):
        next(tab.export("exe", RunsView(scored.id), Visitor()))
    with pytest.raises(gr.Error, match="no such run"):
        next(tab.export("csv", RunsView("other"), Visitor()))
