"""Who scores when: in turn before the device, and for so many seconds of an hour."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.runs import scorers
from explorer.runs.orders import ModelOrder
from explorer.runs.queue import MOST_OF_ADDRESS, MOST_OF_ONE, Queue
from explorer.runs.quotas import HOUSEHOLD, Quotas
from explorer.runs.running import Runs
from explorer.runs.selections import Selection
from explorer.runs.visitors import Visitor, owner_of
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from tests.conftest import PATIENCE
from tests.support.beginning import small_packs
from tests.support.stepping import stepwise

PUBLIC = Settings(home=Path("unused"), public=True, seconds_per_hour=100.0)
ANA = Visitor("user:ana", "s1", "hf_ana", "8.8.8.8")
BROWSER = Visitor(owner_of(None, "secret"), "s1", address="8.8.8.8")
PASSER = Visitor(session="s1", address="8.8.8.8")
ORDER = small_packs(ModelOrder("demo"), 1024)


def test_the_first_is_served_and_the_next_hears_at_once_that_it_is_their_turn() -> None:
    queue = Queue()
    with ThreadPoolExecutor(1) as pool:
        with queue.join("a") as first:
            second, third = queue.join("b"), queue.join("c")
            assert first.wait(0) and not second.wait(0)
            assert (second.ahead(), third.ahead()) == ((1, None), (2, None))
            first.seconds = 4.0
            assert (second.ahead(), third.ahead()) == ((1, 4.0), (2, None))
            heard = pool.submit(second.wait, PATIENCE)
        assert heard.result() and second.ahead()[0] == 0 and not third.wait(0)


def test_nobody_fills_the_line_alone() -> None:
    queue = Queue()
    for _ in range(MOST_OF_ONE):
        queue.join("a")
    with pytest.raises(KnownError, match="Stop one first"):
        queue.join("a")
    for number in range(MOST_OF_ADDRESS):
        queue.join(f"made up {number}", "203.0.113.5")
    with pytest.raises(KnownError, match="Stop one first"):
        queue.join("made up again", "203.0.113.5")
    assert queue.join("else", "203.0.113.6")


def test_what_is_short_waits_for_what_is_short_of_its_owner_and_else_not_long() -> None:
    queue = Queue()
    own = queue.join("a", is_short=True)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(queue.first, "a", 0.01)
        with pytest.raises(TimeoutError):
            second.result(0.2)
        own.leave()
        with second.result(PATIENCE) as turn:
            assert turn.wait(0)
    with queue.join("a"), pytest.raises(KnownError, match="busy"):
        queue.first("a", 0.01)


@pytest.mark.parametrize("visitor", [ANA, BROWSER, PASSER])
def test_the_seconds_of_an_hour_are_counted_and_who_used_them_hears_when_to_come_back(
    visitor: Visitor,
) -> None:
    now = [5000.0]
    quotas = Quotas(PUBLIC, lambda: now[0])
    quotas.check(visitor)
    quotas.spend(visitor, 60)
    assert quotas.left(visitor) == 40
    now[0] += 1800
    quotas.spend(visitor, 1000)  # a run may overdraw
    quotas.spend(visitor, -5000)
    assert quotas.left(visitor) == 0
    with pytest.raises(KnownError, match=r"Your 100 s .* again in 60 minutes"):
        quotas.check(visitor)
    now[0] += 3599
    with pytest.raises(KnownError, match=r"again in 1 minute\."):
        quotas.check(visitor)
    now[0] += 1
    assert quotas.left(visitor) == 100
    quotas.check(visitor)


@pytest.mark.parametrize("address", ["8.8.8.8", ""])
def test_who_forgets_who_they_are_meets_the_limit_of_their_address(address: str) -> None:
    quotas = Quotas(PUBLIC)
    for number in range(HOUSEHOLD):
        fresh = Visitor(owner_of(None, f"secret {number}"), f"s{number}", address=address)
        quotas.check(fresh)
        quotas.spend(fresh, 100)
    for new in (Visitor(owner_of(None, "new"), "new", address=address), Visitor(address=address)):
        with pytest.raises(KnownError, match="are used up"):
            quotas.check(new)
    quotas.check(Visitor(owner_of(None, "new"), "new", address="1.1.1.1"))
    quotas.check(replace(ANA, address=address))


def test_where_signing_in_is_required_nobody_else_scores() -> None:
    quotas = Quotas(replace(PUBLIC, space="a/b", sign_in="required"))
    quotas.check(ANA)
    for who in (BROWSER, PASSER):
        with pytest.raises(KnownError, match="people who signed in"):
            quotas.check(who)


@pytest.fixture
def few(demo: PairTable) -> Selection:
    return Selection(demo, np.arange(40), "some")


def started(runs: Runs, who: Visitor, few: Selection, order: ModelOrder = ORDER) -> Any:
    """What a run says last."""
    return [*stepwise(partial(runs.start, who, order, few))][-1]


def test_whatever_scores_and_loads_spends_seconds_and_ends_where_they_are_used_up(
    home: Path, hub: Hub, few: Selection
) -> None:
    runs = Runs(Settings(home=home, public=True, seconds_per_hour=1e-6), hub)
    pairs = as_pairs(few.table.arrow, few.rows.tolist())
    quotas, other = runs.scorers.quotas, replace(ANA, owner="user:ben")
    with pytest.raises(KnownError, match="used up your scoring time for this hour"):
        started(runs, ANA, few)
    assert not runs.scorers.models.is_warm(ANA, ORDER), "a loading ends, too"
    runs.scorers.models.load(ANA, ORDER)
    last = started(runs, other, few)
    assert last.stage == "stopped" and 0 < len(last.scored) < len(few.rows)
    for spent in (
        lambda: started(runs, replace(other, session="another"), few),
        lambda: runs.resume(other, last.run.id, lambda _: few.table, print),
    ):
        with pytest.raises(KnownError, match="Try again in 60 minutes"):
            spent()
    ways: dict[str, Callable[[Visitor], Any]] = {
        "a few pairs": lambda who: runs.rewards(who, ORDER, pairs),
        "a stream": lambda who: [*stepwise(partial(runs.rewarding, who, ORDER, pairs))],
        "token rewards": lambda who: runs.token_rewards(who, ORDER, pairs[0], print),
    }
    for name, scored in ways.items():
        who = replace(ANA, owner=f"user:{name}")
        runs.scorers.models.load(who, ORDER)
        scored(who)
        assert quotas.left(who) == 0, name
        with pytest.raises(KnownError, match="Try again in"):
            scored(who)


def test_a_run_of_no_work_and_one_that_fails_are_counted_too(
    home: Path, hub: Hub, few: Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorers, "LEAST_SECONDS", 60.0)
    runs = Runs(replace(PUBLIC, home=home), hub)
    assert started(runs, ANA, few, ModelOrder("longer")).stage == "finished"
    other = replace(ANA, owner="user:ben")
    with pytest.raises(KnownError, match="not on this machine"):
        started(runs, other, few, ModelOrder("org/missing"))
    assert [runs.scorers.quotas.left(who) for who in (ANA, other)] == [40, 40]
