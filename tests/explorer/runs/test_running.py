import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core.settings import DEMO_MODEL, Settings
from explorer.data.table import PairTable, Rows
from explorer.runs.cards import RunCard, card_of, change_card
from explorer.runs.models import WarmModel
from explorer.runs.orders import ModelOrder
from explorer.runs.progress import Progress
from explorer.runs.running import Rewarded, Runs
from explorer.runs.selections import Selection
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from scoring.record import Run, new_folder
from scoring.spec import Plan, ScoredPack, ScoredPair
from tests.support import beginning
from tests.support.beginning import small_packs, stopped
from tests.support.run_facts import MADE_UP
from tests.support.stepping import stepwise, told_by

PACK = 1024
"""Tokens of a pack here, so that few pairs fill several."""
SMALL = small_packs(ModelOrder("demo"), PACK)
begun = partial(beginning.begun, budget=PACK)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, hub: Hub) -> Runs:
    """One for all tests, so that the demo model is loaded once."""
    return Runs(Settings(home=tmp_path_factory.mktemp("home")), hub)


@pytest.fixture(scope="module")
def rows(demo: PairTable) -> Rows:
    """The 40 shortest pairs, in table order: more packs than two."""
    total = demo.chars["prompt"] + demo.chars["chosen"] + demo.chars["rejected"]
    return np.sort(np.argsort(total)[:40])


def run_of(progress: Progress) -> Run:
    assert progress.run is not None
    return progress.run


def sizes_of(run: Run) -> list[int]:
    """Pairs in each of its packs."""
    return [len(pack) for pack in run.plan()[0]]


def told(stream: Iterable[Progress]) -> list[Progress]:
    """Each progress once; while a pack takes long, what was known before it is told again."""
    stages = [each for each in stream if each.stage != "running" or each.scored]
    return [stages[0], *(later for former, later in pairwise(stages) if later is not former)]


def first_pack(stream: Iterator[Progress]) -> Progress:
    return next(progress for progress in stream if progress.stage == "running" and progress.scored)


# A run from beginning to end.


def test_a_run_loads_scores_each_pair_once_and_finishes(
    runs: Runs, demo: PairTable, rows: Rows
) -> None:
    stream = told(begun(runs, "me", "demo", demo, rows))
    run = run_of(stream[-1])
    sizes = sizes_of(run)
    assert len(sizes) > 2
    loading = [p for p in stream if p.stage == "loading"]
    rest = stream[len(loading) :]
    assert loading and [p.stage for p in rest] == [*["running"] * len(sizes), "finished"]
    assert [len(p.scored) for p in rest] == [*accumulate(sizes), 40]
    assert {(p.total, p.message) for p in stream} == {(40, "")}
    assert {p.run for p in loading} == {None} and {run_of(p).id for p in rest} == {run.id}
    told_last = stream[-1].scored
    assert sorted(pair.key for pair in told_last) == sorted(demo.keys[row] for row in rows)
    for pair in told_last:
        row = demo.hashes.index(pair.text_hash)
        assert (pair.key, pair.subset) == (demo.keys[row], demo.subset_of_row[row])
        assert pair.margin is not None
    assert (tuple(run.rows()), run.status) == (told_last, "finished")
    assert Run.open(run.folder) == run


# Stopping.


@pytest.mark.parametrize("leaves", [False, True], ids=["stopped", "left"])
def test_a_stopped_run_ends_after_its_pack_is_kept_and_frees_the_device(
    leaves: bool, runs: Runs, demo: PairTable, rows: Rows
) -> None:
    stream = begun(runs, "me", "demo", demo, rows[:20])
    shown = first_pack(stream)
    if leaves:
        stream.close()
    else:
        last = stopped(stream)
        assert (last.stage, last.scored) == ("stopped", shown.scored)
    run = runs.store.open(run_of(shown).id, None)
    assert (run.status, tuple(run.rows())) == ("stopped", shown.scored)
    assert run.n_scored == len(shown.scored) == sizes_of(run)[0] < 20
    assert list(begun(runs, "you", "demo", demo, rows[:3]))[-1].stage == "finished"


def test_a_run_stopped_while_it_loads_scores_nothing(
    runs: Runs, demo: PairTable, rows: Rows
) -> None:
    before = len(runs.store.visible(None))
    stream = begun(runs, "me", "demo", demo, rows[:20])
    assert next(stream).stage == "loading"
    last = stopped(stream)
    assert (last.stage, last.scored, last.run) == ("stopped", (), None)
    assert len(runs.store.visible(None)) == before


def test_pairs_are_scored_without_a_run_at_once_or_pack_by_pack(
    runs: Runs, demo: PairTable, rows: Rows
) -> None:
    pairs, before = as_pairs(demo.arrow, rows[:20].tolist()), len(runs.store.visible(None))
    me = Visitor(session="me")
    found = runs.rewards(me, SMALL, pairs)
    assert (found.facts.model, found.facts.device) == ("demo", "cpu")
    stream = stepwise(partial(runs.rewarding, me, SMALL, pairs))
    packs = [each for each in stream if isinstance(each, Rewarded)]
    assert sorted(row.key for pack in packs for row in pack.scored) == sorted(
        pair.key for pair in pairs
    )
    stream = stepwise(partial(runs.rewarding, me, SMALL, pairs))
    first = next(each for each in stream if isinstance(each, Rewarded) and each.scored)
    assert 0 < len(first.scored) < 20
    stream.close()
    assert len(runs.store.visible(None)) == before
    run = run_of(list(begun(runs, "me", "demo", demo, rows[:20]))[-1])
    margins = {row.key: row.margin for row in run.rows()}
    assert {row.key: row.margin for row in found.scored} == pytest.approx(margins, abs=1e-6)


# Going on.


def stopped_run(runs: Runs, demo: PairTable, rows: Rows) -> Run:
    stream = begun(runs, "me", "demo", demo, rows[:20], "20 of the shortest")
    first_pack(stream)
    return run_of(stopped(stream))


def test_a_stopped_run_goes_on_to_what_an_unbroken_one_gives(
    runs: Runs, demo: PairTable, rows: Rows
) -> None:
    run = stopped_run(runs, demo, rows)
    before = len(run.rows())
    stages = told(stepwise(partial(runs.resume, Visitor(session="you"), run.id, lambda _: demo)))
    running = [each for each in stages if each.stage == "running"]
    assert len(running[0].scored) == before and stages[-1].stage == "finished"
    unbroken = list(begun(runs, "me", "demo", demo, rows[:20], "20 of the shortest"))[-1]
    assert stages[-1].scored == unbroken.scored
    assert run_of(stages[-1]).id == run.id and len(Run.open(run.folder).rows()) == 20
    with pytest.raises(KnownError, match="is finished"):
        runs.resume(Visitor(), run.id, lambda _: demo, print)


def test_the_same_run_cannot_go_on_twice_at_once_nor_by_another_server(
    runs: Runs, hub: Hub, demo: PairTable, rows: Rows
) -> None:
    run, other = stopped_run(runs, demo, rows), Runs(Settings(home=runs.store.folder.parent), hub)
    stream = stepwise(partial(runs.resume, Visitor(session="a"), run.id, lambda _: demo))
    next(stream)
    for each in (runs, other):
        assert each.store.open(run.id, None).status == "running", "though it only loads as yet"
        with pytest.raises(KnownError, match="under way already"):
            each.resume(Visitor(session="b"), run.id, lambda _: demo, print)
        with pytest.raises(KnownError, match="under way already"):
            each.store.delete(run.id, Visitor())
    assert list(stream)[-1].stage == "finished"
    other.store.delete(run.id, Visitor())
    assert not run.folder.exists()


def test_a_run_of_a_model_that_changed_does_not_go_on(
    runs: Runs, demo: PairTable, rows: Rows
) -> None:
    run = stopped_run(runs, demo, rows)
    for card, words in (
        (replace(card_of(run), order=ModelOrder("longer")), "another one: its model is 'demo'"),
        (RunCard(), "cannot go on here"),
    ):
        change_card(run, lambda _, card=card: card)  # type: ignore[misc]
        with pytest.raises(KnownError, match=words):
            told_by(partial(runs.resume, Visitor(), run.id, lambda _: demo))


# What is refused.


UNUSABLE: dict[str, tuple[object, str]] = {
    "a text too long": ("x" * 501, "at most 500 characters"),
    "no name": ("", "No model was given"),
    "not here": ("org/name", "org/name is not on this machine, and the network is switched off"),
    "a lone surrogate": ("\ud800", "There is no model"),
}
ON_A_SPACE = (str(DEMO_MODEL), "~", "./assets/demo/model", "C:\\model")


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_model_that_is_none_is_refused_before_anything_is_scored(
    tmp_path: Path, hub: Hub, demo: PairTable, rows: Rows, case: str
) -> None:
    model, message = UNUSABLE[case]
    with pytest.raises(KnownError, match=message):
        list(begun(Runs(Settings(home=tmp_path), hub), "me", model, demo, rows))
    assert list(tmp_path.iterdir()) == []


def test_on_a_space_no_folder_is_read_and_nobody_scores_before_they_are_known(
    tmp_path: Path, public: Runs, demo: PairTable, rows: Rows
) -> None:
    for model in ON_A_SPACE:
        with pytest.raises(KnownError, match="give a Hub id such as org/name, or demo"):
            list(begun(public, "me", model, demo, rows))
    order, three = ModelOrder("longer"), Selection(demo, rows[:3], "")
    for who in (Visitor(), Visitor("browser:me"), Visitor(session="page")):
        with pytest.raises(KnownError, match="still loading"):
            public.start(who, order, three, print)
    assert list(tmp_path.iterdir()) == []
    assert told_by(partial(public.start, Visitor("browser:me", "page"), order, three))[1]


def test_too_few_and_too_many_pairs_are_refused_and_as_many_as_allowed_are_scored(
    tmp_path: Path, hub: Hub, demo: PairTable, rows: Rows
) -> None:
    runs = Runs(Settings(home=tmp_path, max_pairs=3), hub)
    for n, said in ((0, "No pairs are selected"), (4, "may have 3 pairs here, and 4 are selected")):
        with pytest.raises(KnownError, match=said):
            list(begun(runs, "me", "longer", demo, rows[:n]))
    assert list(tmp_path.iterdir()) == []
    assert list(begun(runs, "me", "longer", demo, rows[:3]))[-1].stage == "finished"


# Failing.


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KnownError("Out of memory."), "Out of memory."),
        (ZeroDivisionError(), "This is a bug in the app"),
    ],
)
def test_a_run_that_fails_later_keeps_its_pairs_and_frees_the_device(
    runs: Runs,
    demo: PairTable,
    rows: Rows,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    message: str,
) -> None:
    genuine = WarmModel.packs

    def breaks(self: WarmModel, *given: Any) -> Iterator[ScoredPack]:
        yield next(pack for pack in genuine(self, *given) if pack is not None)
        raise error

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(WarmModel, "packs", breaks)
        last = told(begun(runs, "me", "demo", demo, rows[:20]))[-1]
    assert last.stage == "failed" and message in last.message
    run = runs.store.open(run_of(last).id, None)
    assert (run.status, tuple(run.rows())) == ("failed", last.scored)
    assert len(last.scored) == run.n_scored == sizes_of(run)[0] < 20
    logged = [each.exc_info for each in caplog.records if each.name == "explorer.runs.running"]
    assert bool(logged) == (not isinstance(error, KnownError))
    assert list(begun(runs, "me", "demo", demo, rows[:3]))[-1].stage == "finished"


def test_a_home_that_cannot_be_written_is_told_and_frees_the_device(
    tmp_path: Path, hub: Hub, demo: PairTable, rows: Rows
) -> None:
    home = tmp_path / "home"
    home.write_text("a file", encoding="utf-8")
    runs, words = (
        Runs(Settings(home=home), hub),
        "Runs cannot be kept on this disk: Not a directory",
    )
    for _ in range(2):
        with pytest.raises(KnownError, match=words):
            list(begun(runs, "me", "longer", demo, rows[:3]))


# Who sees which run.


def made(home: Path) -> Run:
    return Run.create(new_folder(home), MADE_UP, Plan(((0, 2), (1,))), ["s:1", "s:2", "s:3"])


def stored(home: Path, card: RunCard = RunCard()) -> Run:  # noqa: B008
    run = made(Settings(home=home).runs).mark_ended("finished")
    change_card(run, lambda _: card)
    return run


@pytest.fixture
def public(tmp_path: Path, hub: Hub) -> Runs:
    return Runs(Settings(home=tmp_path, public=True), hub)


def test_on_a_space_ones_own_runs_and_public_ones_are_seen(tmp_path: Path, public: Runs) -> None:
    me, store = Visitor("browser:me"), public.store
    mine, yours = (stored(tmp_path, RunCard(f"browser:{who}")) for who in ("me", "you"))
    shared = stored(tmp_path, RunCard("browser:you", public=True))
    stored(tmp_path, RunCard(""))
    assert store.visible(me) == [shared, mine]
    assert store.own(me) == [mine]
    for stranger in (Visitor(), Visitor("browser:she"), None, [mine.id], "browser:me"):
        assert store.visible(stranger) == [shared] and store.own(stranger) == []
    assert store.open(mine.id, me) == mine
    with pytest.raises(KnownError, match="no such run"):
        store.open(yours.id, me)


@pytest.mark.parametrize("who", [Visitor(), Visitor("browser:she"), None])
def test_only_its_owner_changes_a_run(tmp_path: Path, public: Runs, who: object) -> None:
    card, you = RunCard("browser:you", "their name", public=True), Visitor("browser:you")
    run = stored(tmp_path, card)
    with pytest.raises(KnownError, match="no such run"):
        public.store.change(run.id, who, lambda card: card.titled("mine"))
    with pytest.raises(KnownError, match="no such run"):
        public.store.delete(run.id, who)
    assert card_of(run) == card
    public.store.change(run.id, you, lambda card: card.titled("  new  name "))
    assert card_of(run) == replace(card, title="new name")
    public.store.delete(run.id, you)
    assert not run.folder.exists()


def test_no_other_id_opens_a_run(tmp_path: Path, hub: Hub) -> None:
    outside, inside = made(tmp_path), stored(tmp_path)
    others: tuple[object, ...] = ("", ".", "*", None, 5, ["x"], {}, "x" * 501)
    for run_id in (f"../{outside.id}", f"./{inside.id}", *others):
        with pytest.raises(KnownError, match="no such run"):
            Runs(Settings(home=tmp_path), hub).store.open(run_id, [str(run_id)])


def test_a_run_that_a_killed_server_left_is_shown_as_stopped(tmp_path: Path, hub: Hub) -> None:
    left = made(Settings(home=tmp_path).runs)
    assert left.status == "running"
    runs = Runs(Settings(home=tmp_path), hub)
    assert runs.store.visible(None) == [replace(left, status="stopped")]
    rows = [ScoredPair(key, "hep-go", "0" * 16, 1.0, 0.0, 1, 1) for key in ("s:1", "s:3")]
    list(left.record([ScoredPack(0, tuple(rows), 4)]))
    assert runs.store.visible(None) == [replace(left, status="stopped", n_scored=2)]
    assert runs.store.open(left.id, None).n_scored == 2
