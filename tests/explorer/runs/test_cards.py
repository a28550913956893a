"""What is known of a run beside its numbers: nothing of it is lost, whoever writes at once."""

import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.core.settings import Settings
from explorer.runs.cards import RunCard, card_of, change_card
from explorer.runs.store import RunStore
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError
from scoring.record import Run, new_folder
from scoring.spec import Plan
from tests.conftest import PATIENCE, until
from tests.support.run_facts import MADE_UP
from tests.support.run_users import WRITES, writes

ME, YOU = Visitor("browser:me"), Visitor("browser:you")


def stored(home: Path) -> Run:
    run = Run.create(new_folder(Settings(home=home).runs), MADE_UP, Plan(((0,),)), ["s:1"])
    change_card(run, lambda _: RunCard(ME.owner, "a name"))
    return run.mark_ended("finished")


def test_two_processes_that_write_a_card_lose_nothing_of_each_other(tmp_path: Path) -> None:
    processes = multiprocessing.get_context("spawn")
    run, ready = stored(tmp_path), processes.Barrier(2)
    other = processes.Process(target=writes, args=(tmp_path, run.id, ME, "one", ready))
    other.start()
    writes(tmp_path, run.id, ME, "two", ready)
    other.join(PATIENCE)
    card = card_of(run)
    assert (other.exitcode, card.owner, card.title) == (0, ME.owner, "a name")
    for name in ("one", "two"):
        mine = [note for note in card.notes if note.startswith(name)]
        assert mine == [f"{name} {number}" for number in range(WRITES)]
    assert not [path.name for path in run.folder.iterdir() if path.suffix == ".part"]


@pytest.mark.parametrize("damage", [{"public": "yes"}, {"order": {"model": 5}}], ids=str)
def test_settings_that_cannot_be_read_are_told_and_never_written(
    tmp_path: Path, damage: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    run = stored(tmp_path)
    run.update(lambda now: replace(now, about={**now.about, **damage}))
    content = (run.folder / "run.json").read_text()
    store = RunStore(Settings(home=tmp_path))
    assert store.visible(ME) == [run]
    assert "is damaged" in card_of(run).wrong
    with pytest.raises(KnownError, match=r"settings file run\.json is damaged"):
        store.change(run.id, ME, lambda card: card.titled("another"))
    assert (run.folder / "run.json").read_text() == content
    shared = RunStore(Settings(home=tmp_path, public=True))
    assert shared.visible(ME) == [run] == shared.own(ME), "its owner finds it all the same"
    assert f"settings of run {run.id[:15]} cannot be read" in caplog.text
    assert shared.visible(YOU) == []


def test_a_run_of_an_earlier_version_keeps_its_owner_and_name(tmp_path: Path) -> None:
    run, store = stored(tmp_path), RunStore(Settings(home=tmp_path, public=True))
    card = json.dumps(json.loads((run.folder / "run.json").read_text())["about"])
    run.update(lambda now: replace(now, about={}))
    assert card_of(run) == RunCard() and store.visible(ME) == [], "a run of the command line"
    (run.folder / "card.json").write_text(card)
    again = Run.open(run.folder.rename(run.folder.with_name("former")))
    assert card_of(again) == RunCard(ME.owner, "a name")
    store.change("former", ME, lambda card: card.titled("another"))
    assert card_of(again) == RunCard(ME.owner, "another")


def test_what_is_seen_is_the_same_until_a_run_or_its_card_changes(tmp_path: Path) -> None:
    run, store = stored(tmp_path), RunStore(Settings(home=tmp_path, public=True))
    seen = store.seen(ME)
    assert store.seen(ME) is seen and seen.runs == (run,)
    store.change(run.id, ME, lambda card: replace(card, title="another name", public=True))
    renamed = store.seen(ME)
    assert renamed.cards[run.id].title == "another name"
    assert store.seen(YOU) is renamed, "others see it now, too"
    going_on = stored(tmp_path)
    store.delete(run.id, ME)
    assert store.seen(ME).runs == (going_on,)
    change_card(going_on, lambda _: RunCard(ME.owner, "by another process"))
    until(lambda: store.seen(ME).cards[going_on.id].title == "by another process")
