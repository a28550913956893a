"""Runs as they are begun: scored, stopped, gone on with, refused, failed; whoever looks at them."""

import gc
import logging
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.table import PairTable, Rows
from explorer.runs.cards import RunCard, card_of, change_card
from explorer.runs.live import LiveRun, LiveRuns, Work
from explorer.runs.models import WarmModel
from explorer.runs.orders import ModelOrder
from explorer.runs.progress import Follow, Progress
from explorer.runs.running import Runs
from explorer.runs.selections import Selection
from explorer.runs.store import RunStore
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError, Stopped
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from scoring.spec import ScoredPack, ScoredPair
from tests.conftest import PATIENCE, until
from tests.support.beginning import begun, small_packs, stopped
from tests.support.stepping import stepwise, told_by

ME = Visitor("browser:me", "page")
Begin = Callable[..., Generator[Progress, None, None]]
PACK = 1024
"""Tokens of a pack here, so that few pairs fill several."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, hub: Hub) -> Runs:
    """One for all tests, so that the demo model is loaded once."""
    return Runs(Settings(home=tmp_path_factory.mktemp("home")), hub)


@pytest.fixture(scope="module")
def rows(demo: PairTable) -> Rows:
    """The 40 shortest pairs, in table order: more packs than two."""
    total = demo.chars["prompt"] + demo.chars["chosen"] + demo.chars["rejected"]
    return np.sort(np.argsort(total)[:40])


@pytest.fixture(scope="module")
def begin(runs: Runs, demo: PairTable, rows: Rows) -> Begin:
    """Begins a run of so many of the rows."""

    def begin(n: int, model: str = "demo", by: Runs = runs) -> Generator[Progress, None, None]:
        return begun(by, "me", model, demo, rows[:n], budget=PACK)

    return begin


def run_of(progress: Progress) -> Run:
    assert progress.run is not None
    return progress.run


def sizes_of(run: Run) -> list[int]:
    """Pairs in each of its packs."""
    return [len(pack) for pack in run.plan()[0]]


def first_pack(stream: Iterator[Progress]) -> Progress:
    return next(progress for progress in stream if progress.stage == "running" and progress.scored)


def test_a_run_loads_scores_each_pair_once_and_finishes(
    runs: Runs, begin: Begin, demo: PairTable, rows: Rows
) -> None:
    stream = list(begin(40))
    run, scored = run_of(stream[-1]), stream[-1].scored
    assert len(sizes_of(run)) > 2 and stream[0].stage == "loading"
    told = dict.fromkeys((each.stage, len(each.scored)) for each in stream if each.scored)
    assert [*told] == [*(("running", n) for n in accumulate(sizes_of(run))), ("finished", 40)]
    assert sorted(pair.key for pair in scored) == sorted(demo.keys[row] for row in rows)
    assert (tuple(run.rows()), run.status) == (scored, "finished")
    assert Run.open(run.folder) == run
    pairs, order = as_pairs(demo.arrow, rows.tolist()), small_packs(ModelOrder("demo"), PACK)
    alone = {row.key: row.margin for row in runs.rewards(Visitor(), order, pairs).scored}
    assert alone == pytest.approx({row.key: row.margin for row in scored}, abs=1e-6)


@pytest.mark.parametrize("leaves", [False, True], ids=["stopped", "left"])
def test_a_stopped_run_ends_after_its_pack_is_kept_and_frees_the_device(
    leaves: bool, runs: Runs, begin: Begin
) -> None:
    stream = begin(20)
    shown = first_pack(stream)
    if leaves:
        stream.close()
    else:
        last = stopped(stream)
        assert (last.stage, last.scored) == ("stopped", shown.scored)
    run = runs.store.open(run_of(shown).id, None)
    assert (run.status, tuple(run.rows())) == ("stopped", shown.scored)
    assert run.n_scored == len(shown.scored) == sizes_of(run)[0] < 20
    loading = begin(20)
    assert next(loading).stage == "loading"
    last = stopped(loading)
    assert (last.stage, last.scored, last.run) == ("stopped", (), None)
    assert list(begin(3))[-1].stage == "finished"


def test_a_stopped_run_goes_on_with_its_model_and_not_twice_at_once_nor_by_another_server(
    runs: Runs, hub: Hub, begin: Begin, demo: PairTable
) -> None:
    stream = begin(20)
    first_pack(stream)
    half = run_of(stopped(stream))
    mine = card_of(half)
    another = replace(mine, order=ModelOrder("longer"))
    for card, words in ((another, "its model is 'demo'"), (RunCard(), "cannot go on here")):
        change_card(half, lambda _, card=card: card)  # type: ignore[misc]
        with pytest.raises(KnownError, match=words):
            told_by(partial(runs.resume, Visitor(), half.id, lambda _: demo))
    change_card(half, lambda _: mine)
    other = Runs(Settings(home=runs.store.folder.parent), hub)
    stream = stepwise(partial(runs.resume, Visitor(session="a"), half.id, lambda _: demo))
    next(stream)
    for each in (runs, other):
        assert each.store.open(half.id, None).status == "running", "though it only loads as yet"
        with pytest.raises(KnownError, match="under way already"):
            each.resume(Visitor(session="b"), half.id, lambda _: demo, print)
        with pytest.raises(KnownError, match="under way already"):
            each.store.delete(half.id, Visitor())
    last = list(stream)[-1]
    assert (last.stage, last.scored) == ("finished", list(begin(20))[-1].scored), "as unbroken"
    with pytest.raises(KnownError, match="is finished"):
        runs.resume(Visitor(), half.id, lambda _: demo, print)
    other.store.delete(half.id, Visitor())
    assert not half.folder.exists()


def test_no_model_and_too_few_or_too_many_pairs_are_refused_before_anything_is_scored(
    tmp_path: Path, hub: Hub, begin: Begin
) -> None:
    runs = Runs(Settings(home=tmp_path, max_pairs=3), hub)
    for n, model, words in (
        (3, "org/name", "org/name is not on this machine, and the network is switched off"),
        (0, "longer", "No pairs are selected"),
        (4, "longer", "may have 3 pairs here, and 4 are selected"),
    ):
        with pytest.raises(KnownError, match=words):
            list(begin(n, model, runs))
    assert list(tmp_path.iterdir()) == []
    assert list(begin(3, "longer", runs))[-1].stage == "finished"
    (tmp_path / "file").touch()
    unwritten = Runs(Settings(home=tmp_path / "file"), hub)
    for _ in range(2):  # the first frees the device
        with pytest.raises(KnownError, match="cannot be kept on this disk: Not a directory"):
            list(begin(3, "longer", unwritten))


def test_on_a_space_nobody_scores_before_they_are_known(
    tmp_path: Path, hub: Hub, demo: PairTable, rows: Rows
) -> None:
    public = Runs(Settings(home=tmp_path, public=True), hub)
    order, three = ModelOrder("longer"), Selection(demo, rows[:3], "")
    for who in (Visitor(), Visitor("browser:me"), Visitor(session="page")):
        with pytest.raises(KnownError, match="still loading"):
            public.start(who, order, three, print)
    assert list(tmp_path.iterdir()) == []
    assert told_by(partial(public.start, ME, order, three))[1]


@pytest.mark.parametrize("error", [KnownError("Out of memory."), ZeroDivisionError()], ids=repr)
def test_a_run_that_fails_later_keeps_its_pairs_and_frees_the_device(
    runs: Runs,
    begin: Begin,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    genuine = WarmModel.packs

    def breaks(self: WarmModel, *given: Any) -> Iterator[ScoredPack]:
        yield next(pack for pack in genuine(self, *given) if pack is not None)
        raise error

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(WarmModel, "packs", breaks)
        last = list(begin(20))[-1]
    assert last.stage == "failed" and (str(error) or "This is a bug in the app") in last.message
    run = runs.store.open(run_of(last).id, None)
    assert (run.status, tuple(run.rows())) == ("failed", last.scored)
    assert len(last.scored) == run.n_scored == sizes_of(run)[0] < 20
    logged = [each for each in caplog.records if each.name == "explorer.runs.running"]
    assert bool(logged) == (not isinstance(error, KnownError))
    assert list(begin(3))[-1].stage == "finished"


# While they go on in the server.


def gated() -> tuple[threading.Semaphore, Work]:
    """What a run does, one step whenever it is let."""
    lets = threading.Semaphore(0)

    def work(tell: Follow) -> None:
        try:
            for stage in ("loading", "running", "finished"):
                assert lets.acquire(timeout=PATIENCE)
                tell(Progress(stage, 9))
        except Stopped:
            tell(Progress("stopped", 9))

    return lets, work


def last_of(run: LiveRun) -> Progress:
    assert run.ended.wait(PATIENCE)
    return run.progress


def test_a_run_goes_on_whoever_looks_and_is_its_owners_on_every_page(tmp_path: Path) -> None:
    live = LiveRuns(RunStore(Settings(home=tmp_path, public=True)))
    lets, work = gated()
    run = live.begin(ME, "demo", work)
    for stranger in (Visitor("browser:you", "page"), Visitor(), Visitor(session="page")):
        assert live.of(stranger) == [] and live.get(stranger, run.id) is None
    for other in ("", None, [run.id]):
        assert live.get(ME, other) is None
    lets.release(2)
    until(lambda: run.progress.stage == "running")
    assert live.of(Visitor(ME.owner, "another page")) == [run] == [live.get(ME, run.id)]
    lets.release()
    assert last_of(run).stage == "finished"
    assert live.of(ME) == [] and live.get(ME, run.id) is run
    broken = last_of(live.begin(ME, "demo", lambda tell: tell(Progress("loading", 1 // 0))))
    assert broken.stage == "refused" and "This is a bug in the app" in broken.message


def scored_pairs() -> set[int]:
    """All that are in memory."""
    gc.collect()
    return {id(each) for each in gc.get_objects() if type(each) is ScoredPair}


def test_a_server_holds_no_pairs_of_a_run_that_ended_and_takes_none_when_it_ends(
    tmp_path: Path, hub: Hub, demo: PairTable
) -> None:
    runs, before = Runs(Settings(home=tmp_path), hub), scored_pairs()
    work = partial(runs.start, ME, ModelOrder("longer"), Selection(demo, np.arange(188), "all"))
    last = last_of(runs.live.begin(ME, "longer", work))
    assert last.stage == "finished" and last.run is not None and last.scored == ()
    until(lambda: scored_pairs() <= before)
    lets, steps = gated()
    under_way = runs.live.begin(ME, "longer", steps)
    ending = threading.Thread(target=runs.live.end)
    ending.start()
    until(under_way.stop.is_set)
    lets.release(9)
    ending.join(PATIENCE)
    assert last_of(under_way).stage == "stopped"
    refused = last_of(runs.live.begin(ME, "longer", work))
    assert "The server is shutting down" in refused.message
