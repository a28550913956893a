import json
from collections.abc import Iterator
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
from scoring.pairs.opening import as_pairs, read_pairs
from scoring.spec import Pair
from tests.support.beginning import baseline_run, loaded
from tests.support.stepping import stepwise

WHO = Visitor()
PAIR = {
    "key", "subset", "chosen_reward", "rejected_reward", "margin", "outcome", "chosen_tokens",
    "rejected_tokens", "truncated",
}  # fmt: skip
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
    found = pair_score_json(runs.rewards(WHO, ModelOrder("longer"), [pair]))
    assert found.pop("settings").keys() == SETTINGS
    assert found == {
        "chosen_reward": 12.0,
        "rejected_reward": 3.0,
        "margin": 9.0,
        "outcome": "win",
        "chosen_tokens": 0,
        "rejected_tokens": 0,
    }


def messages(runs: Runs, table: PairTable, **asked: Any) -> list[dict[str, Any]]:
    given = {"per_subset": 1, "seed": 0, "keys": None} | asked
    selection = requested_selection(table, **given)
    pairs = as_pairs(table.arrow, selection.rows.tolist())
    stream = stepwise(partial(runs.rewarding, WHO, ModelOrder("longer"), pairs))
    return list(selection_score_json(stream, len(pairs)))


def test_a_selection_streams_every_pair_once_and_ends_with_the_whole(
    runs: Runs, demo: PairTable
) -> None:
    told = messages(runs, demo, per_subset=2)
    assert all(map(is_plain, told))
    first, last = told[0], told[-1]
    assert (first["stage"], first["scored"], first["accuracy"]) == ("loading", 0, None)
    rows = [row for each in told[:-1] for row in each["rows"]]
    total = 2 * len(demo.subset_counts)
    assert len({row["key"] for row in rows}) == len(rows) == total == last["total"]
    assert all(row.keys() == PAIR for row in rows)
    assert (last["stage"], last["scored"], last["rows"]) == ("finished", total, rows)
    assert last["message"] == ""
    won = sum(row["outcome"] == "win" for row in rows)
    assert last["accuracy"] == won / total
    low, high = last["interval"]
    assert 0 <= low <= last["accuracy"] <= high <= 1
    assert last["settings"].keys() == SETTINGS and 0 <= last["score"] <= 1
    counts = [each["scored"] for each in told]
    assert counts == sorted(counts)


def test_keys_of_a_program_are_taken_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    pair = {"prompt": "a", "chosen": "b", "rejected": "c", "subset": "one, two"}
    path.write_text("".join(f"{json.dumps({**pair, 'id': each})}\n" for each in ("1", "2")))
    table = PairTable(read_pairs(path))
    assert requested_selection(table, 1, 0, [" one, two:2"] * 2).rows.tolist() == [1]


def test_what_is_stopped_says_so(demo: PairTable, runs: Runs) -> None:
    def cut() -> Iterator[Any]:
        pairs = as_pairs(demo.arrow, range(40))
        stream = stepwise(partial(runs.rewarding, WHO, ModelOrder("longer"), pairs))
        for told in stream:
            yield told
            if not hasattr(told, "stage"):
                return

    *_, last = selection_score_json(cut(), 40)
    assert last["stage"] == "stopped" and 0 < last["scored"] < 40
    assert last["message"] == STOPPED
    assert [each["stage"] for each in selection_score_json([], 40)] == ["stopped"]


def test_whose_seconds_are_used_up_is_told_so(demo: PairTable, tmp_path: Path, hub: Hub) -> None:
    runs = Runs(Settings(home=tmp_path, public=True, seconds_per_hour=1e-9), hub)
    pairs = as_pairs(demo.arrow, range(100))
    who, order = Visitor(address="8.8.8.8"), ModelOrder("longer")
    loaded(runs, order, who)
    *before, last = selection_score_json(
        stepwise(partial(runs.rewarding, who, order, pairs)), len(pairs)
    )
    assert (last["stage"], last["message"]) == (
        "stopped",
        "You have used up your scoring time for this hour.",
    )
    assert 0 < last["scored"] < 100 and not any("message" in each for each in before)
    assert is_plain(last)


def test_models_say_what_the_owner_allows() -> None:
    free = models_json(Settings(home=Path("unused")))
    assert (free["models"], free["any"]) == (["demo", "random", "longer", "shorter"], True)
    known = {each["id"]: each for each in free["known"]}
    fsfairx = known["sfairXC/FsfairX-LLaMA3-RM-v0.1"]
    assert (fsfairx["family"], fsfairx["billions"]) == ("classifier", 8)
    assert fsfairx["memory_gigabytes"] == 16 and fsfairx["reference"] is fsfairx["why_not"] is None
    assert "Llama 3" in fsfairx["licence"]
    assert any(each["why_not"] for each in known.values())
    assert (free["max_pairs"], free["seconds_per_hour"], free["sign_in"]) == (None, None, False)
    bound = models_json(
        Settings(
            home=Path("unused"),
            public=True,
            models=("org/a", "demo", "allenai/tulu-2-dpo-7b@main"),
            own_code=("org/a",),
            servers=("http://inner:8000/v1",),
            max_pairs=300,
            max_model_gigabytes=4.0,
            seconds_per_hour=300.0,
            sign_in="required",
        )
    )
    pinned = "allenai/tulu-2-dpo-7b@main"
    assert bound["models"] == ["demo", "org/a", pinned, "random", "longer", "shorter"]
    assert [each["id"] for each in bound["known"]] == ["allenai/tulu-2-dpo-7b"]
    assert (bound["any"], bound["own_code"], bound["sign_in"]) == (False, ["org/a"], True)
    assert bound["served_families"] == ["judge", "rater", "served"]
    assert "inner" not in json.dumps(bound)
    assert is_plain(free) and is_plain(bound)


@pytest.fixture
def public(tmp_path: Path, demo: PairTable) -> RunStore:
    """Runs of ana, of a browser, of nobody, and one that everybody may see."""
    settings = Settings(home=tmp_path, public=True)
    mine, secret, nobodys, shared = (baseline_run(settings.runs, demo, 3) for _ in range(4))
    change_card(mine, lambda _: RunCard("user:ana", "mine"))
    change_card(secret, lambda _: RunCard("browser:1", "secret"))
    change_card(nobodys, lambda _: RunCard("", "nobody's"))
    change_card(shared, lambda _: RunCard("user:ben", "shared", public=True))
    return RunStore(settings)


@pytest.mark.parametrize(
    ("who", "seen"),
    [
        (Visitor(), {"shared": False}),
        (Visitor("user:ana"), {"shared": False, "mine": True}),
        (Visitor("browser:1"), {"shared": False, "secret": True}),
        (Visitor("user:ben"), {"shared": True}),
    ],
)
def test_runs_of_others_are_not_told(who: Visitor, seen: dict[str, bool], public: RunStore) -> None:
    found = runs_json(public, who)
    assert {run["title"]: run["own"] for run in found["runs"]} == seen
    assert is_plain(found)
    assert "user:" not in json.dumps(found) and "browser:" not in json.dumps(found)


def test_a_run_is_told_with_its_result(tmp_path: Path, demo: PairTable) -> None:
    settings = Settings(home=tmp_path)
    run = baseline_run(settings.runs, demo, len(demo))
    [found] = runs_json(RunStore(settings), Visitor())["runs"]
    assert (found["id"], found["status"], found["own"]) == (run.id, "finished", True)
    assert found["total"] == found["scored"] == len(demo)
    rows = run.rows()
    assert found["accuracy"] == sum(row.outcome == "win" for row in rows) / len(rows)
    assert found["settings"]["model"] == "baseline/longer"
    assert found["started"].endswith("+00:00")
