"""The public endpoint as a program asks it: plain numbers, one clear message for nonsense."""

import json
import time
from typing import Any

import pytest
from gradio_client import Client  # type: ignore[import-untyped]

from scoring.benchmark import SECTIONS
from tests.explorer.conftest import Serve
from tests.support.board_data import coin_flips, write_results
from tests.support.boards import HOSTILE
from tests.support.posting import Visitor

SHARES = {"org/best": 0.95, "org/worst": 0.2, HOSTILE[0]: 0.5}
ROW = {
    "rank", "model", "model_type", "score", "sections", "interval", "paired", "rank_interval",
    "tie_group",
}  # fmt: skip
KEYS = {"source", "remarks", "measuring", "retry_after_seconds", "rows"}
SOURCE = {"kind", "name", "revision", "date", "rule", "ties", "missing"}


@pytest.fixture(scope="module")
def visitor(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Visitor:
    outcomes = {name: coin_flips(share) for name, share in SHARES.items()}
    results = write_results(tmp_path_factory.mktemp("results"), outcomes)
    return serve(public=True, results=str(results))


@pytest.fixture(scope="module")
def client(visitor: Visitor) -> Client:
    return Client(visitor.page.local_url, verbose=False)


def asked(client: Client, **arguments: Any) -> dict[str, Any]:
    found = client.predict(api_name="/leaderboard", **arguments)
    assert isinstance(found, dict)
    return found


def numbers(row: dict[str, Any]) -> list[Any]:
    """Every number of a row, whole ones apart."""
    return [row["score"], *row["sections"].values(), *(row["interval"] or [])]


def test_a_server_that_nobody_looked_at_before_gives_what_is_documented(client: Client) -> None:
    """Its home is empty: no result of a pair was read, and nothing was measured."""
    found = asked(client)
    while found["measuring"]:  # only where that takes longer than the endpoint waits
        time.sleep(found["retry_after_seconds"])
        found = asked(client)
    assert found.keys() == KEYS and found["source"].keys() == SOURCE
    assert found["retry_after_seconds"] is None and found["remarks"] == []
    assert [row["model"] for row in found["rows"]] == ["org/best", HOSTILE[0], "org/worst"]
    for row in found["rows"]:
        assert row.keys() == ROW and row["sections"].keys() == SECTIONS.keys()
        assert row["paired"] is True and 0 <= row["score"] <= 1
        whole = [row["rank"], row["tie_group"], *row["rank_interval"]]
        assert all(type(each) is int for each in whole)
        assert all(type(each) is float for each in numbers(row))
    assert [row["tie_group"] for row in found["rows"]] == [1, 2, 3]


def test_what_is_not_known_is_null(client: Client) -> None:
    bundled = asked(client, benchmark="v2")
    assert "RewardBench 2 leaderboard" in bundled["source"]["name"]
    assert {row["tie_group"] for row in bundled["rows"]} == {None}
    for row in asked(client, prior_sets=True)["rows"]:
        assert row["sections"]["Prior Sets"] is None and row["score"] is not None


def test_what_is_asked_for_is_told_back(client: Client) -> None:
    found = asked(client, benchmark="v1", prior_sets=True, ties="half")
    assert (found["source"]["rule"], found["source"]["ties"]) == ("v1_prior", "half")
    assert found["source"]["kind"] == "folder"


def test_the_former_name_of_the_official_rule_is_answered_as_that(client: Client) -> None:
    found = asked(client, ties="loss")
    assert found["source"]["ties"] == "official" and found == asked(client)


def test_the_answer_is_json_as_it_stands(visitor: Visitor) -> None:
    body = json.dumps({"prior_sets": False}).encode()
    with visitor.open("call/v2/leaderboard", body) as answer:
        event = json.load(answer)["event_id"]
    with visitor.open(f"call/leaderboard/{event}") as stream:
        lines = stream.read().decode().splitlines()
    assert lines[0] == "event: complete"
    [found] = json.loads(lines[1].removeprefix("data: "))
    assert found["rows"][0]["model"] == "org/best"
