import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from explorer.api.scoring import (
    STOPPED,
    models_json,
    pair_score_json,
    requested_selection,
    runs_json,
    selection_score_json,
)
from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.runs.cards import RunCard, change_card
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.runs.store import RunStore
from explorer.runs.visitors import Visitor
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from scoring.spec import Pair
from tests.support.beginning import baseline_run, loaded
from tests.support.stepping import stepwise
from tests.support.tables import row, small_table

WHO = Visitor()
LONGER = ModelOrder("longer")
SETTINGS = {
    "model", "revision", "family", "reading", "reference", "device", "dtype", "max_length",
    "truncation_side", "template", "computed", "seed", "versions",
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, hub: Hub) -> Runs:
    return Runs(Settings(home=tmp_path_factory.mktemp("home")), hub)


def is_plain(value: Any) -> bool:
    """Whether JSON gives a value back as it is."""
    return bool(json.loads(json.dumps(value, allow_nan=False)) == value)


def test_a_pair_has_its_rewards_and_what_they_rest_on(runs: Runs) -> None:
    pair = Pair("typed", "typed", "Say hi.", "Hello there!", "No.")
    found = pair_score_json(runs.rewards(WHO, LONGER, [pair]))
    assert found["settings"].keys() == SETTINGS
    rewards = [found[name] for name in ("chosen_reward", "rejected_reward", "margin", "outcome")]
    assert rewards == [12.0, 3.0, 9.0, "win"]


def test_a_selection_streams_every_pair_once_and_ends_with_the_whole(
    runs: Runs, demo: PairTable
) -> None:
    selection = requested_selection(demo, 2, 0, None)
    pairs = as_pairs(demo.arrow, selection.rows.tolist())
    stream = stepwise(partial(runs.rewarding, WHO, LONGER, pairs))
    told = list(selection_score_json(stream, len(pairs)))
    assert all(map(is_plain, told))
    first, last = told[0], told[-1]
    assert (first["stage"], first["scored"], first["accuracy"]) == ("loading", 0, None)
    rows = [row for each in told[:-1] for row in each["rows"]]
    total = 2 * len(demo.subset_counts)
    assert len({row["key"] for row in rows}) == len(rows) == total == last["total"]
    assert (last["stage"], last["message"], last["rows"]) == ("finished", "", rows)
    assert last["accuracy"] == sum(row["outcome"] == "win" for row in rows) / total
    low, high = last["interval"]
    assert 0 <= low <= last["accuracy"] <= high <= 1
    counts = [each["scored"] for each in told]
    assert counts == sorted(counts) and counts[-1] == total


def test_keys_of_a_program_are_taken_as_they_are() -> None:
    table = small_table(*(row(subset="one, two", id=each) for each in ("1", "2")))
    assert requested_selection(table, 1, 0, [" one, two:2"] * 2).rows.tolist() == [1]


def test_what_is_stopped_or_has_no_seconds_left_says_so(
    demo: PairTable, runs: Runs, tmp_path: Path, hub: Hub
) -> None:
    pairs = as_pairs(demo.arrow, range(100))

    def cut() -> Iterator[Any]:
        for told in stepwise(partial(runs.rewarding, WHO, LONGER, pairs)):
            yield told
            if not hasattr(told, "stage"):
                return

    *_, last = selection_score_json(cut(), 100)
    assert (last["stage"], last["message"]) == ("stopped", STOPPED) and 0 < last["scored"] < 100
    assert [each["stage"] for each in selection_score_json([], 40)] == ["stopped"]

    bounded = Runs(Settings(home=tmp_path, public=True, seconds_per_hour=1e-9), hub)
    who = Visitor(address="8.8.8.8")
    loaded(bounded, LONGER, who)
    stream = stepwise(partial(bounded.rewarding, who, LONGER, pairs))
    *before, last = selection_score_json(stream, 100)
    assert last["stage"] == "stopped" and 0 < last["scored"] < 100
    assert last["message"] == "You have used up your scoring time for this hour."
    assert not any("message" in each for each in before)


def test_models_say_what_the_owner_allows() -> None:
    free = models_json(Settings(home=Path("unused")))
    assert (free["models"], free["any"]) == (["demo", "random", "longer", "shorter"], True)
    pinned = "allenai/tulu-2-dpo-7b@main"
    named = Settings(home=Path("unused"), public=True, models=("org/a", "demo", pinned))
    allowed = replace(named, own_code=("org/a",), servers=("http://inner:8000/v1",))
    bound = models_json(allowed)
    assert bound["models"] == ["demo", "org/a", pinned, "random", "longer", "shorter"]
    assert [each["id"] for each in bound["known"]] == ["allenai/tulu-2-dpo-7b"]
    assert (bound["any"], bound["own_code"]) == (False, ["org/a"])
    assert bound["served_families"] == ["judge", "rater", "served"]
    assert "inner" not in json.dumps(bound) and is_plain(free) and is_plain(bound)


def owned(card: RunCard, _: RunCard) -> RunCard:
    return card


def test_runs_of_others_are_not_told(tmp_path: Path, demo: PairTable) -> None:
    settings = Settings(home=tmp_path, public=True)
    for owner, title in (("user:ana", "mine"), ("browser:1", "secret"), ("", "nobody's")):
        change_card(baseline_run(settings.runs, demo, 3), partial(owned, RunCard(owner, title)))
    shared = baseline_run(settings.runs, demo, 3)
    change_card(shared, lambda _: RunCard("user:ben", "shared", public=True))
    for owner, seen in (
        ("", {"shared": False}),
        ("user:ana", {"shared": False, "mine": True}),
        ("browser:1", {"shared": False, "secret": True}),
        ("user:ben", {"shared": True}),
    ):
        found = runs_json(RunStore(settings), Visitor(owner))
        assert {run["title"]: run["own"] for run in found["runs"]} == seen and is_plain(found)
        assert "user:" not in json.dumps(found) and "browser:" not in json.dumps(found)
    told = next(run for run in found["runs"] if run["id"] == shared.id)
    outcomes = [each.outcome for each in shared.rows()]
    assert (told["status"], told["scored"], told["total"]) == ("finished", 3, 3)
    assert told["accuracy"] == outcomes.count("win") / 3
