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
from explorer.runs.progress import Progress
from explorer.runs.quotas import HOUSEHOLD, Quotas
from explorer.runs.running import Rewarded, Runs
from explorer.runs.selections import Selection
from explorer.runs.visitors import Visitor, owner_of
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from tests.support.beginning import loaded, small_packs
from tests.support.stepping import stepwise

PUBLIC = Settings(home=Path("unused"), public=True, seconds_per_hour=100.0)
ANA = Visitor("user:ana", "s1", "hf_ana", "8.8.8.8")
BROWSER = Visitor(owner_of(None, "secret"), "s1", address="8.8.8.8")
PASSER = Visitor(session="s1", address="8.8.8.8")


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
def test_the_seconds_of_an_hour_are_counted(visitor: Visitor, quotas: Quotas, clock: Clock) -> None:
    quotas.check(visitor)
    quotas.spend(visitor, 60)
    assert quotas.left(visitor) == 40
    assert may(quotas, visitor)
    clock.now += 1800
    quotas.spend(visitor, 40)
    assert quotas.left(visitor) == 0
    assert not may(quotas, visitor)
    clock.now += 1799
    assert not may(quotas, visitor)
    clock.now += 1
    assert quotas.left(visitor) == 60
    assert may(quotas, visitor)


def test_who_used_too_much_hears_when_to_come_back(quotas: Quotas, clock: Clock) -> None:
    quotas.spend(ANA, 70)
    clock.now += 600
    quotas.spend(ANA, 30)
    with pytest.raises(KnownError, match=r"Your 100 s .* again in 50 minutes"):
        quotas.check(ANA)
    quotas.spend(ANA, 70)
    with pytest.raises(KnownError, match="again in 60 minutes"):
        quotas.check(ANA)
    clock.now += 3599
    with pytest.raises(KnownError, match="again in 1 minute\\."):
        quotas.check(ANA)


def test_a_run_may_overdraw_and_then_its_owner_waits(quotas: Quotas) -> None:
    quotas.check(ANA)
    quotas.spend(ANA, 1000)
    assert (quotas.left(ANA), may(quotas, ANA)) == (0, False)
    quotas.spend(ANA, -5000)
    assert not may(quotas, ANA)


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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def runs(home: Path, hub: Hub) -> Runs:
    """Where a visitor has so few seconds that whatever is scored uses them up."""
    runs = Runs(Settings(home=home, public=True, seconds_per_hour=1e-6), hub)
    loaded(runs, ORDER, ANA)
    return runs


@pytest.fixture
def few(demo: PairTable) -> Selection:
    total = demo.chars["prompt"] + demo.chars["chosen"] + demo.chars["rejected"]
    return Selection(demo, np.sort(np.argsort(total)[:40]), "the shortest")


ORDER = small_packs(ModelOrder("demo"), 1024)


def test_a_run_ends_when_the_seconds_of_its_visitor_are_used_up(runs: Runs, few: Selection) -> None:
    *_, last = stepwise(partial(runs.start, ANA, ORDER, few))
    assert isinstance(last, Progress)
    assert last.stage == "stopped" and 0 < len(last.scored) < len(few.rows)
    with pytest.raises(KnownError, match="Try again in 60 minutes"):
        list(stepwise(partial(runs.start, replace(ANA, session="another"), ORDER, few)))
    assert last.run is not None
    with pytest.raises(KnownError, match="Try again in"):
        list(stepwise(partial(runs.resume, ANA, last.run.id, lambda _: few.table)))
    *_, other = stepwise(partial(runs.start, replace(ANA, owner="user:ben"), ORDER, few))
    assert other.stage == "stopped"


@pytest.mark.parametrize(
    "scoring_of",
    [
        lambda runs, who, pairs: runs.rewards(who, ORDER, pairs),
        lambda runs, who, pairs: list(stepwise(partial(runs.rewarding, who, ORDER, pairs))),
        lambda runs, who, pairs: list(stepwise(partial(runs.token_rewards, who, ORDER, pairs[0]))),
    ],
)
def test_whatever_scores_spends_seconds(
    scoring_of: Callable[[Runs, Visitor, Any], Any], runs: Runs, few: Selection
) -> None:
    pairs = as_pairs(few.table.arrow, few.rows.tolist())
    scoring_of(runs, ANA, pairs)
    assert runs.scorers.quotas.left(ANA) == 0
    with pytest.raises(KnownError, match="Try again in"):
        scoring_of(runs, ANA, pairs)
    for _ in range(HOUSEHOLD):
        fresh = Visitor(owner_of(None, str(_)), address="8.8.8.8")
        runs.scorers.quotas.spend(fresh, 1)
    with pytest.raises(KnownError, match="Try again in"):
        scoring_of(runs, Visitor(owner_of(None, "new"), address="8.8.8.8"), pairs)


def test_what_fails_spends_seconds_all_the_same(home: Path, hub: Hub, few: Selection) -> None:
    runs = Runs(replace(PUBLIC, home=home), hub)
    with pytest.raises(KnownError, match="not on this machine"):
        list(stepwise(partial(runs.start, ANA, ModelOrder("org/missing"), few)))
    left = runs.scorers.quotas.left(ANA)
    assert left is not None and left < 100


@pytest.mark.parametrize(
    "scoring_of",
    [
        lambda runs, pairs, few: list(stepwise(partial(runs.start, ANA, ORDER, few))),
        lambda runs, pairs, few: list(stepwise(partial(runs.rewarding, ANA, ORDER, pairs))),
        lambda runs, pairs, few: list(stepwise(partial(runs.rewards, ANA, ORDER, pairs))),
        lambda runs, pairs, few: runs.rewards(ANA, ORDER, pairs),
    ],
)
def test_a_loading_ends_when_the_seconds_of_its_visitor_are_used_up(
    scoring_of: Callable[[Runs, Any, Selection], Any], runs: Runs, few: Selection
) -> None:
    runs.scorers.models.release()
    with pytest.raises(KnownError, match="used up your scoring time for this hour"):
        scoring_of(runs, as_pairs(few.table.arrow, few.rows.tolist()), few)
    assert not runs.scorers.models.is_warm(ANA, ORDER)


def test_where_signing_in_is_required_nobody_else_scores(
    home: Path, hub: Hub, few: Selection
) -> None:
    runs = Runs(Settings(home=home, public=True, space="a/b", sign_in="required"), hub)
    pairs = as_pairs(few.table.arrow, few.rows[:2].tolist())
    assert isinstance(runs.rewards(ANA, ORDER, pairs), Rewarded)
    for who in (BROWSER, PASSER):
        for scoring_of in (
            lambda who: runs.rewards(who, ORDER, pairs),
            lambda who: list(stepwise(partial(runs.start, who, ORDER, few))),
        ):
            with pytest.raises(KnownError, match="people who signed in"):
                scoring_of(who)
