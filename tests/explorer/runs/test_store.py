"""Runs that are kept: who sees, changes and uses one, and what its files say of it."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.runs.cards import RunCard, card_of, change_card
from explorer.runs.running import Runs
from explorer.runs.store import RunStore, is_locked
from explorer.runs.visitors import Visitor
from explorer.stats.matrix import order_of
from scoring.clusters import clusters_of
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.record import Run, locked, new_folder
from scoring.spec import Plan, ScoredPack, ScoredPair
from scoring.summary import summarise_run
from tests.conftest import PATIENCE, ROOT, until
from tests.support.beginning import finished
from tests.support.run_facts import MADE_UP

ME, YOU = Visitor("browser:me"), Visitor("browser:you")
MINE = RunCard(ME.owner, "a name")


def made(home: Path) -> Run:
    return Run.create(new_folder(home), MADE_UP, Plan(((0, 2), (1,))), ["s:1", "s:2", "s:3"])


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """Of a public server."""
    return RunStore(Settings(home=tmp_path, public=True))


def stored(store: RunStore, card: RunCard = MINE) -> Run:
    run = made(store.folder)
    change_card(run, lambda _: card)
    return run.mark_ended("finished")


# Who sees which run.


def test_on_a_space_ones_own_runs_and_public_ones_are_seen(store: RunStore) -> None:
    mine, yours = stored(store), stored(store, RunCard(YOU.owner))
    shared = stored(store, RunCard(YOU.owner, public=True))
    stored(store, RunCard(""))
    assert store.visible(ME) == [shared, mine] and store.own(ME) == [mine]
    for stranger in (Visitor(), Visitor("browser:she"), None, [mine.id], ME.owner):
        assert store.visible(stranger) == [shared] and store.own(stranger) == []
    assert store.open(mine.id, ME) == mine
    with pytest.raises(KnownError, match="no such run"):
        store.open(yours.id, ME)


def test_only_its_owner_changes_a_run(store: RunStore) -> None:
    card = RunCard(YOU.owner, "their name", public=True)
    run, nobodys = stored(store, card), stored(store, RunCard(public=True))
    for who in (Visitor(), ME, None):
        for each in (run, nobodys):
            with pytest.raises(KnownError, match="no such run"):
                store.change(each.id, who, lambda card: card.titled("mine"))
            with pytest.raises(KnownError, match="no such run"):
                store.delete(each.id, who)
    assert card_of(run) == card
    store.change(run.id, YOU, lambda card: card.titled("  new  name "))
    assert card_of(run) == replace(card, title="new name")
    store.delete(run.id, YOU)
    assert not run.folder.exists()


def test_no_other_id_opens_a_run(tmp_path: Path, store: RunStore) -> None:
    outside, inside = made(tmp_path), stored(store)
    own = RunStore(Settings(home=tmp_path))
    others: tuple[object, ...] = ("", ".", "*", None, 5, ["x"], {}, "x" * 501)
    for run_id in (f"../{outside.id}", f"./{inside.id}", *others):
        with pytest.raises(KnownError, match="no such run"):
            own.open(run_id, [str(run_id)])


def test_a_run_that_a_killed_server_left_is_shown_as_stopped(tmp_path: Path) -> None:
    store = RunStore(Settings(home=tmp_path))
    left = made(store.folder)
    assert left.status == "running"
    assert store.visible(None) == [replace(left, status="stopped")]
    rows = [ScoredPair(key, "hep-go", "0" * 16, 1.0, 0.0, 1, 1) for key in ("s:1", "s:3")]
    list(left.record([ScoredPack(0, tuple(rows), 4)]))
    assert store.visible(None) == [replace(left, status="stopped", n_scored=2)]


def test_what_is_seen_is_the_same_until_a_run_or_its_card_changes(store: RunStore) -> None:
    run = stored(store)
    seen = store.seen(ME)
    assert store.seen(ME) is seen and seen.runs == (run,)
    store.change(run.id, ME, lambda card: replace(card, title="another name", public=True))
    renamed = store.seen(ME)
    assert renamed.cards[run.id].title == "another name"
    assert store.seen(YOU) is renamed, "others see it now, too"
    going_on = stored(store)
    store.delete(run.id, ME)
    assert store.seen(ME).runs == (going_on,)
    change_card(going_on, lambda _: RunCard(ME.owner, "by another process"))
    until(lambda: store.seen(ME).cards[going_on.id].title == "by another process")


def test_a_damaged_run_is_removed_where_all_is_ones_own(tmp_path: Path, store: RunStore) -> None:
    other, run, own = stored(store), stored(store), RunStore(Settings(home=tmp_path))
    (run.folder / "run.json").write_text('{"facts": 5}')
    assert (store.damaged(ME), own.damaged(ME)) == ([], [run.id])
    assert store.visible(ME) == own.visible(ME) == [other]
    with pytest.raises(KnownError, match="no such run"):
        store.delete(run.id, ME)
    own.delete(run.id, ME)
    assert [*own.folder.iterdir()] == [other.folder]


# What is written of it.


def noted(card: RunCard, note: str) -> RunCard:
    return replace(card, notes=(*card.notes, note))


def test_two_who_write_a_card_lose_nothing_of_each_other(store: RunStore) -> None:
    run, ready = stored(store), threading.Barrier(2)
    notes = [[f"{name} {number}" for number in range(100)] for name in ("one", "two")]

    def write(of_one: list[str]) -> None:
        ready.wait(PATIENCE)
        for note in of_one:
            store.change(run.id, ME, partial(noted, note=note))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, notes))
    card = card_of(run)
    assert sorted(card.notes) == sorted(notes[0] + notes[1]) and replace(card, notes=()) == MINE
    assert not [path.name for path in run.folder.iterdir() if path.suffix == ".part"]


def test_settings_that_cannot_be_read_are_told_and_never_written(
    store: RunStore, caplog: pytest.LogCaptureFixture
) -> None:
    run = stored(store)
    run.update(lambda now: replace(now, about={**now.about, "order": {"model": 5}}))
    content = (run.folder / "run.json").read_text()
    assert "is damaged" in card_of(run).wrong
    with pytest.raises(KnownError, match=r"settings file run\.json is damaged"):
        store.change(run.id, ME, lambda card: card.titled("another"))
    assert (run.folder / "run.json").read_text() == content
    assert store.visible(ME) == [run] == store.own(ME), "its owner finds it all the same"
    assert f"settings of run {run.id[:15]} cannot be read" in caplog.text
    assert store.visible(YOU) == []


def test_a_run_that_another_process_uses_is_locked_until_that_is_killed(tmp_path: Path) -> None:
    waits = f"with scoring.record.locked(pathlib.Path({str(tmp_path)!r})): input()"
    program = [sys.executable, "-c", f"import pathlib, scoring.record\n{waits}"]
    with subprocess.Popen(program, cwd=ROOT, stdin=subprocess.PIPE) as other:
        until(lambda: is_locked(tmp_path))
        other.kill()
    assert not is_locked(tmp_path)


def test_who_looks_keeps_nobody_from_starting(tmp_path: Path) -> None:
    def start() -> None:
        for _ in range(1000):
            with locked(tmp_path):
                assert is_locked(tmp_path)

    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(start)
        while not starting.done():
            is_locked(tmp_path)
    starting.result()
    assert not is_locked(tmp_path)


def test_a_run_is_locked_and_has_an_owner_before_it_says_that_it_runs(
    tmp_path: Path, hub: Hub, demo: PairTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    genuine, told = Run._write_facts, []

    def watched(run: Run) -> None:
        told.append((run.status, is_locked(run.folder), "owner" in run.about))
        genuine(run)

    monkeypatch.setattr(Run, "_write_facts", watched)
    finished(Runs(Settings(home=tmp_path), hub), "longer", demo, np.arange(3))
    assert told == [("running", True, True), ("finished", True, True)]


def test_pairs_of_one_prompt_are_one_piece_of_evidence(real: PairTable) -> None:
    """As on the board and in Pairs, of RewardBench as a whole: prompts of others are not known."""
    wins = np.random.default_rng(0).random(len(real)) < 0.8
    each_pair = zip(real.keys, real.subset_of_row, clusters_of(order_of(real)), strict=True)
    rows = [
        ScoredPair(key, subset, "", float(wins[cluster]), 0.5, 1, 1)
        for key, subset, cluster in each_pair
    ]
    apart = [replace(row, key=f"{row.subset}:x") for row in rows[1:]]
    together, alone = (summarise_run(each, MADE_UP).intervals.total for each in (rows, apart))
    assert together and alone
    assert together.high - together.low > 1.2 * (alone.high - alone.low)
