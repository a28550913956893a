"""Runs that belong to the server: whoever looks, leaves, comes back or stops them."""

import gc
import logging
import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.runs.live import LiveRun, LiveRuns
from explorer.runs.orders import ModelOrder
from explorer.runs.progress import Follow, Progress, Stage
from explorer.runs.running import Runs
from explorer.runs.selections import Selection
from explorer.runs.store import RunStore
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError, Stopped
from scoring.hub.access import Hub
from scoring.spec import ScoredPair
from tests.conftest import PATIENCE, until

ME, YOU = Visitor("browser:me", "page"), Visitor("browser:you", "page")


@dataclass
class Gated:
    """What a run does, one step whenever it is let."""

    stages: tuple[Stage, ...] = ("loading", "running", "finished")
    ends_with: Exception | None = None
    lets: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __call__(self, tell: Follow) -> None:
        try:
            for stage in self.stages:
                assert self.lets.acquire(timeout=PATIENCE)
                tell(Progress(stage, 9))
        except Stopped:
            tell(Progress("stopped", 9))
        if self.ends_with is not None:
            raise self.ends_with

    def let(self, steps: int = 9) -> None:
        self.lets.release(steps)


@pytest.fixture
def live(tmp_path: Path) -> LiveRuns:
    """Of a server where people are told apart."""
    return LiveRuns(RunStore(Settings(home=tmp_path, public=True)))


def last_of(run: LiveRun) -> Progress:
    assert run.ended.wait(PATIENCE)
    return run.progress


def test_a_run_goes_on_whoever_looks_and_ends_by_itself(live: LiveRuns) -> None:
    gated = Gated()
    run = live.begin(ME, "demo", gated)
    gated.let(2)
    until(lambda: run.progress.stage == "running")
    assert live.of(ME) == [run] == [live.get(ME, run.id)]
    gated.let()
    assert last_of(run).stage == "finished"
    assert live.of(ME) == [] and live.get(ME, run.id) is run


def test_runs_are_their_owners_on_every_page_and_nobody_elses(live: LiveRuns) -> None:
    gated = Gated()
    run = live.begin(ME, "demo", gated)
    for stranger in (YOU, Visitor(), Visitor(session=ME.session)):
        assert live.of(stranger) == [] and live.get(stranger, run.id) is None
    for other in ("", None, [run.id]):
        assert live.get(ME, other) is None
    [known] = live.of(Visitor(ME.owner, "another page"))
    known.stop.set()
    gated.let()
    assert last_of(run).stage == "stopped"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KnownError("No such model."), "No such model."),
        (ZeroDivisionError(), "This is a bug in the app"),
    ],
)
def test_what_goes_wrong_is_told_to_who_follows(
    live: LiveRuns, error: Exception, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    gated = Gated(("loading",), error)
    gated.let()
    with caplog.at_level(logging.ERROR):
        last = last_of(live.begin(ME, "demo", gated))
    assert last.stage == "refused" and message in last.message
    assert bool(caplog.records) == (not isinstance(error, KnownError))


def scored_pairs() -> set[int]:
    """All that are in memory."""
    gc.collect()
    return {id(each) for each in gc.get_objects() if type(each) is ScoredPair}


def test_a_server_holds_no_pairs_of_a_run_that_ended_and_takes_none_when_it_ends(
    tmp_path: Path, hub: Hub, demo: PairTable
) -> None:
    runs, before = Runs(Settings(home=tmp_path), hub), scored_pairs()
    few = Selection(demo, np.arange(188), "all")
    work = partial(runs.start, ME, ModelOrder.of({"model": "longer"}), few)
    last = last_of(runs.live.begin(ME, "longer", work))
    assert last.stage == "finished" and last.run is not None and last.scored == ()
    until(lambda: scored_pairs() <= before)
    gated = Gated()
    under_way = runs.live.begin(ME, "longer", gated)
    ending = threading.Thread(target=runs.live.end)
    ending.start()
    until(under_way.stop.is_set)
    gated.let()
    ending.join(PATIENCE)
    assert last_of(under_way).stage == "stopped"
    refused = last_of(runs.live.begin(ME, "longer", work))
    assert "The server is shutting down" in refused.message
