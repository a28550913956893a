from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.runs.orders import ModelOrder
from explorer.runs.quotas import HOUSEHOLD, Quotas
from explorer.runs.running import Runs
from explorer.runs.selections import Selection
from explorer.runs.visitors import Visitor, owner_of
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from scoring.spec import Pair
from tests.support.beginning import loaded, small_packs
from tests.support.stepping import stepwise

PUBLIC = Settings(home=Path("unused"), public=True, seconds_per_hour=100.0)
ANA = Visitor("user:ana", "s1", "hf_ana", "8.8.8.8")
BROWSER = Visitor(owner_of(None, "secret"), "s1", address="8.8.8.8")
PASSER = Visitor(session="s1", address="8.8.8.8")
ORDER = small_packs(ModelOrder("demo"), 1024)


class Clock:
    """Seconds that pass when told."""

    now = 5000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def quotas(clock: Clock) -> Quotas:
    return Quotas(PUBLIC, clock)


def may(quotas: Quotas, visitor: Visitor) -> bool:
    try:
        quotas.check(visitor)
    except KnownError:
        return False
    return True


def test_on_ones_own_machine_there_is_no_limit() -> None:
    quotas = Quotas(Settings(home=Path("unused")))
    quotas.spend(PASSER, 1e9)
    quotas.check(PASSER)
    assert quotas.left(PASSER) is None


@pytest.mark.parametrize("visitor", [ANA, BROWSER, PASSER])
def test_the_seconds_of_an_hour_are_counted_and_who_used_them_hears_when_to_come_back(
    visitor: Visitor, quotas: Quotas, clock: Clock
) -> None:
    quotas.check(visitor)
    quotas.spend(visitor, 60)
    assert quotas.left(visitor) == 40 and may(quotas, visitor)
    clock.now += 1800
    quotas.spend(visitor, 1000)  # a run may overdraw
    quotas.spend(visitor, -5000)
    assert quotas.left(visitor) == 0
    with pytest.raises(KnownError, match=r"Your 100 s .* again in 60 minutes"):
        quotas.check(visitor)
    clock.now += 3599
    with pytest.raises(KnownError, match=r"again in 1 minute\."):
        quotas.check(visitor)
    clock.now += 1
    assert quotas.left(visitor) == 100 and may(quotas, visitor)


@pytest.mark.parametrize("address", ["8.8.8.8", ""])
def test_who_forgets_who_they_are_meets_the_limit_of_their_address(
    address: str, quotas: Quotas
) -> None:
    for number in range(HOUSEHOLD):
        fresh = Visitor(owner_of(None, f"secret {number}"), f"s{number}", address=address)
        quotas.check(fresh)
        quotas.spend(fresh, 100)
    assert not may(quotas, Visitor(owner_of(None, "new"), "new", address=address))
    assert not may(quotas, Visitor(session="new", address=address))
    assert may(quotas, Visitor(owner_of(None, "new"), "new", address="1.1.1.1"))
    assert may(quotas, replace(ANA, address=address))


# Scoring spends them.


@pytest.fixture
def few(demo: PairTable) -> Selection:
    return Selection(demo, np.arange(40), "some")


def started(runs: Runs, who: Visitor, few: Selection, order: ModelOrder = ORDER) -> Any:
    """What a run says last."""
    return [*stepwise(partial(runs.start, who, order, few))][-1]


WAYS: dict[str, Callable[[Runs, Visitor, list[Pair]], Any]] = {
    "a few pairs": lambda runs, who, pairs: runs.rewards(who, ORDER, pairs),
    "a stream": lambda runs, who, pairs: [*stepwise(partial(runs.rewarding, who, ORDER, pairs))],
    "token rewards": lambda runs, who, pairs: runs.token_rewards(who, ORDER, pairs[0], print),
}


def test_whatever_scores_and_loads_spends_seconds_and_ends_where_they_are_used_up(
    home: Path, hub: Hub, few: Selection
) -> None:
    runs = Runs(Settings(home=home, public=True, seconds_per_hour=1e-6), hub)
    pairs = as_pairs(few.table.arrow, few.rows.tolist())
    quotas, other = runs.scorers.quotas, replace(ANA, owner="user:ben")
    with pytest.raises(KnownError, match="used up your scoring time for this hour"):
        started(runs, ANA, few)
    assert not runs.scorers.models.is_warm(ANA, ORDER), "a loading ends, too"
    loaded(runs, ORDER, ANA)
    last = started(runs, other, few)
    assert last.stage == "stopped" and 0 < len(last.scored) < len(few.rows)
    for spent in (
        lambda: started(runs, replace(other, session="another"), few),
        lambda: runs.resume(other, last.run.id, lambda _: few.table, print),
    ):
        with pytest.raises(KnownError, match="Try again in 60 minutes"):
            spent()
    for name, scored in WAYS.items():
        who = replace(ANA, owner=f"user:{name}")
        loaded(runs, ORDER, who)
        scored(runs, who, pairs)
        assert quotas.left(who) == 0, name
        with pytest.raises(KnownError, match="Try again in"):
            scored(runs, who, pairs)


def test_what_fails_spends_seconds_all_the_same(home: Path, hub: Hub, few: Selection) -> None:
    runs = Runs(replace(PUBLIC, home=home), hub)
    with pytest.raises(KnownError, match="not on this machine"):
        started(runs, ANA, few, ModelOrder("org/missing"))
    left = runs.scorers.quotas.left(ANA)
    assert left is not None and left < 100


def test_where_signing_in_is_required_nobody_else_scores(
    home: Path, hub: Hub, few: Selection
) -> None:
    runs = Runs(Settings(home=home, public=True, space="a/b", sign_in="required"), hub)
    pairs = as_pairs(few.table.arrow, few.rows[:2].tolist())
    assert runs.rewards(ANA, ModelOrder("longer"), pairs).scored
    for who in (BROWSER, PASSER):
        with pytest.raises(KnownError, match="people who signed in"):
            runs.rewards(who, ORDER, pairs)
        with pytest.raises(KnownError, match="people who signed in"):
            started(runs, who, few)
