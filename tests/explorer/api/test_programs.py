"""Programs over HTTP: what they are told of the endpoints, and a journey from a search to a run."""

import ast
import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from gradio_client import Client  # type: ignore[import-untyped]
from pydantic import TypeAdapter

from explorer.api import scoring
from explorer.api.results import compare_json, failures_json, pair_json
from explorer.api.scoring import requested_selection, selection_score_json
from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.runs.cards import change_card
from explorer.runs.models import WarmModel
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.runs.selections import selected_by_typed_keys
from explorer.runs.visitors import Visitor as Person
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from tests.conftest import until
from tests.explorer.conftest import Serve
from tests.golden.visit import Server
from tests.support.board_data import coin_flips, write_results
from tests.support.fields import CHOSEN, MODEL, small_field
from tests.support.hostile import CELL, NAMES
from tests.support.posting import Visitor
from tests.support.stepping import stepwise
from tests.support.tables import row, small_table

TEXTS = {"prompt": "Say hi.", "chosen": "Hello there!", "rejected": "No."}


@pytest.fixture(scope="module")
def visitor(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Visitor:
    shares = {"org/a": 0.95, "org/b": 0.2, NAMES[0]: 0.5}
    outcomes = {name: coin_flips(share) for name, share in shares.items()}
    results = write_results(tmp_path_factory.mktemp("results"), outcomes)
    return serve(mcp=True, public=True, results=str(results))


@pytest.fixture(scope="module")
def server(visitor: Visitor) -> Server:
    return Server(visitor.page.local_url)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """While it is not set, each run stands still after its first pack."""
    packs, opened = WarmModel.packs, threading.Event()

    def held(*of: Any) -> Iterator[Any]:
        for pack in packs(*of):
            yield pack
            while pack and not opened.is_set():
                yield None
                time.sleep(0.01)

    monkeypatch.setattr(WarmModel, "packs", held)
    return opened


def asked(server: Server, name: str, **arguments: Any) -> Any:
    [(kind, answer)] = server.ask(name, **arguments).items()
    assert kind == "complete", answer
    return answer[0]


def refused(server: Server, name: str, **arguments: Any) -> str:
    told = str(server.ask(name, **arguments)["error"]["error"])
    assert "<script>" not in told and "error of ours" not in told and len(told) < 800
    return told


def followed(server: Server, is_so: Callable[[Any], bool], **arguments: Any) -> Any:
    """What /run says once it is so."""
    said: list[Any] = [None]

    def follow() -> bool:
        said[0] = asked(server, "run", **arguments)
        return is_so(said[0])

    until(follow)
    return said[0]


def has_ended(now: Any) -> bool:
    return now["retry_after_seconds"] is None


def test_every_answer_is_as_described(visitor: Visitor, server: Server, home: Path) -> None:
    searched = asked(server, "search_pairs", text="rust", page_rows=2)
    key = searched["rows"][0]["key"]
    started = asked(server, "start_run", model="longer", keys=[key])
    secret = {"secret": started["secret"]}
    ended = followed(server, has_ended, id=started["id"], rows_from=0, **secret)
    client, kept = Client(visitor.page.local_url, verbose=False), {*(home / "runs").iterdir()}
    answers = {
        "leaderboard": client.predict(api_name="/leaderboard", limit=1),
        "failures": asked(server, "failures", model="org/b", limit=2),
        "compare": asked(server, "compare", model_a="org/a", model_b="org/b"),
        "pair": asked(server, "pair", key=asked(server, "hardest")["rows"][0]["key"]),
        "hardest": asked(server, "hardest"),
        "search_pairs": searched,
        "score_pair": asked(server, "score_pair", model="longer", **TEXTS),
        "score_selection": asked(server, "score_selection", model="longer", keys=[key]),
        "models": asked(server, "models"),
        "runs": asked(server, "runs", **secret),
        "start_run": started,
        "run": ended,
    }
    assert {*(home / "runs").iterdir()} == kept, "of what is scored without a run nothing is kept"
    assert "path" not in answers["score_pair"]["settings"], "a client would fetch it as a file"
    public = {fn.api_name: fn.fn for fn in visitor.page.fns.values() if fn.api_name in answers}
    assert public.keys() == answers.keys()
    for name, answer in answers.items():
        described = get_type_hints(public[name], include_extras=True)["return"]
        described = get_args(described)[0] if name == "score_selection" else described
        # What is not described is left out, and what is missing or of another type raises.
        assert TypeAdapter(described).validate_python(answer, strict=True) == answer, name
    assert len(answers["leaderboard"]["rows"]) == 1 and answers["runs"]["runs"]


def test_who_asks_first_has_results_read_and_measured(server: Server, demo: PairTable) -> None:
    rows = asked(server, "failures", model="org/b", limit=3000)["rows"]
    assert len(rows) == 92 - sum(coin_flips(0.2)) and {each["outcome"] for each in rows} == {"loss"}
    until(lambda: not asked(server, "leaderboard")["measuring"])
    board = asked(server, "leaderboard")
    assert [row["model"] for row in board["rows"]] == ["org/a", NAMES[0], "org/b"]
    for each in board["rows"]:
        assert each["paired"] and each["interval"][0] <= each["score"] <= each["interval"][1]
    assert asked(server, "leaderboard", ties="loss") == board  # the former name of that rule
    found = asked(server, "pair", key=demo.key_of(7))
    assert (found["chosen"], found["outcomes"]) == (demo.cells(7)["chosen"], [])


def test_pairs_are_found_by_filters_and_text_page_by_page(server: Server) -> None:
    asks = {"text": "sorry|can't", "regex": True, "where": "chosen", "sort": "-chosen"}
    asks |= {"filters": {"section": ["Safety"]}, "lengths": {"chosen.words": [20, None]}}
    total, rows = asked(server, "search_pairs", **asks)["total"], []
    assert 5 < total < 42
    for page in range(-(-total // 5)):
        rows += asked(server, "search_pairs", page_rows=5, page=1 + page, **asks)["rows"]
    assert len({row["key"] for row in rows}) == len(rows) == total
    assert {row["section"] for row in rows} == {"Safety"}
    assert all("sorry" in row["chosen"].lower() or "can't" in row["chosen"] for row in rows)
    lengths = [row["chosen_chars"] for row in rows]
    assert lengths == sorted(lengths, reverse=True)


def test_a_journey_from_a_search_to_what_a_run_of_ones_own_fails(
    server: Server, gate: threading.Event, home: Path
) -> None:
    found = asked(server, "search_pairs", filters={"section": ["Safety", "Chat"]}, page_rows=60)
    keys = [row["key"] for row in found["rows"]]
    started = asked(server, "start_run", model="longer", keys=keys)
    assert started["secret"] and not has_ended(started) and started["total"] == 60
    mine = {"secret": started["secret"]}
    asks = {"id": started["id"], **mine}
    under_way = followed(server, lambda now: now["scored"] > 0, rows_from=0, **asks)
    assert under_way["status"] == "running" and under_way["rows"][0]["key"] in keys
    stopped = followed(server, has_ended, action="stop", **asks)
    assert (stopped["status"], stopped["scored"]) == ("stopped", under_way["scored"])
    assert 0 < stopped["scored"] < 60
    gate.set()
    run = {"id": stopped["id"], **mine}
    assert asked(server, "run", action="resume", **run)["id"] == stopped["id"]
    ended = followed(server, has_ended, rows_from=stopped["scored"], **run)
    assert (ended["status"], ended["scored"], ended["message"]) == ("finished", 60, "")
    assert len(ended["rows"]) == 60 - stopped["scored"]
    failed = asked(server, "failures", model=run["id"], **mine)["rows"]
    assert len(failed) == round(60 * (1 - ended["accuracy"])) > 0
    other = {"model_a": run["id"], "model_b": "org/a"}
    assert "different pairs" in refused(server, "compare", **other, **mine)
    for secret in ("", "a secret of somebody else"):
        for action in ("look", "stop", "resume"):
            said = refused(server, "run", id=run["id"], action=action, secret=secret)
            assert "There is no such run" in said
        said = refused(server, "failures", model=run["id"], secret=secret)
        assert "There are no per-pair results" in said
        assert run["id"] not in str(asked(server, "runs", secret=secret))
    listed = {each["id"]: each for each in asked(server, "runs", **mine)["runs"]}
    assert listed[run["id"]]["own"] and "browser:" not in str(listed), "nor who its owner is"
    stored = Run.open(home / "runs" / run["id"])
    assert stored.about["owner"] and started["secret"] not in str(stored.about)
    change_card(stored, lambda card: replace(card, public=True))
    assert asked(server, "run", id=run["id"])["status"] == "finished"
    assert "There is no such run" in refused(server, "run", id=run["id"], action="stop")


def test_the_seconds_of_a_program_are_counted_by_its_address(serve: Serve) -> None:
    server = Server(serve(public=True, seconds_per_hour=1e-9).page.local_url)
    assert "used up your scoring time" in refused(server, "score_pair", model="longer", **TEXTS)
    for name, asks in (("score_pair", TEXTS), ("score_selection", {})):
        assert "Try again in" in refused(server, name, model="longer", **asks)


NONSENSE: list[tuple[str, dict[str, Any], str]] = [
    ("search_pairs", {"text": "x" * 501}, "may have 500 characters"),
    ("search_pairs", {"filters": {NAMES[0]: ["a"]}}, "One can pick by section"),
    ("search_pairs", {"filters": {str(n): [] for n in range(10**3)}}, "Filters are at most"),
    ("search_pairs", {"lengths": {"chosen.chars": 7}}, "The least and the most"),
    ("search_pairs", {"pairs": "../../etc"}, "is not in memory any more"),
    ("start_run", {"model": "longer", "secret": "x" * 201}, "A secret is ASCII text"),
    ("run", {"id": "x", "action": "remove"}, "An action is one of look, stop, resume"),
    ("failures", {"model": "org/a", "section": "Gone"}, "A section is one of Chat"),
    ("leaderboard", {"ties": {"a": {}}}, "A tie is one of official, half, not dict"),
    ("hardest", {"limit": 3001}, "The limit is 3001; it must be"),
    ("score_pair", {"model": "demo", **TEXTS, "chosen": "x" * 20_001}, "has 20,001 characters"),
    ("score_selection", {"model": "longer", "keys": [NAMES[0]]}, "Not found among these pairs"),
]
"""Endpoint, what it is asked -> the sentence."""


def test_nonsense_is_one_clear_message(server: Server) -> None:
    for name, arguments, words in NONSENSE:
        assert words in refused(server, name, **arguments)


async def agent_asks(url: str, calls: list[tuple[str, dict[str, Any]]]) -> tuple[Any, list[Any]]:
    """The tools of a server, and what they answer."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as agent:
        await agent.initialize()
        tools = (await agent.list_tools()).tools
        return tools, [await agent.call_tool(name, arguments) for name, arguments in calls]


def test_tools_are_described_and_answer_in_pythons_notation(visitor: Visitor) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_pairs", {"filters": {"section": ["Chat"]}, "page_rows": 2}),
        ("start_run", {"model": "longer", "per_subset": 1}),
        ("failures", {"model": "gone", "limit": 0}),
    ]
    url = f"{visitor.page.local_url}gradio_api/mcp/"
    tools, (*answers, refused) = asyncio.run(agent_asks(url, calls))
    told = {tool.name: tool for tool in tools}
    assert told["failures"].inputSchema["properties"]["limit"].items() >= {
        "type": "integer", "default": 100, "description": "pairs at most, 1 to 3000.",
    }.items()  # fmt: skip
    assert "Returns: The pairs, each with its key" in told["failures"].description
    found, started = (ast.literal_eval(each.content[0].text) for each in answers)
    assert [row["section"] for row in found["rows"]] == ["Chat", "Chat"]
    assert started["total"] == 23
    assert refused.isError and "The limit is 0; it must be" in refused.content[0].text


# What answers say.


def plain(value: Any) -> Any:
    """A value as it comes out of JSON; fails where it holds anything that JSON has not."""
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    return value


def test_failures_are_losses_and_ties_the_worst_or_else_the_most_surprising_first() -> None:
    answers = [plain(failures_json([small_field()], model))["rows"] for model in (MODEL, "b")]
    told = [[(each["key"], each["outcome"], each["margin"]) for each in rows] for rows in answers]
    assert told == [
        [("hep-go:3", "loss", -3.5), ("hep-go:2", "loss", -0.5), ("donotanswer:7", "tie", 0.0)],
        [
            ("hep-go:1", "loss", None),
            ("donotanswer:4", "tie", None),
            ("donotanswer:6", "loss", None),
        ],
    ]


def test_each_of_two_models_has_its_wins_and_its_score_under_its_own_name() -> None:
    sections = plain(compare_json([small_field()], "b", MODEL))["sections"]
    assert sections["Reasoning"] == {
        "both": 1, "only_a": 2, "only_b": 1, "neither": 0, "score_a": 0.75, "score_b": 0.5,
        "p_value": 1.0,
    }  # fmt: skip


def test_what_is_not_known_of_a_pair_is_null() -> None:
    found = plain(pair_json([small_field()], [], "donotanswer:4"))
    assert found["prompt"] == f"p4{CELL}" and found["rejected"] == CELL
    assert found["outcomes"] == [
        {"model": MODEL, "outcome": "win", "chosen_reward": CHOSEN[4], "rejected_reward": 0.5},
        {"model": "b", "outcome": "tie", "chosen_reward": None, "rejected_reward": None},
    ]
    found = plain(pair_json([small_field(has_texts=False)], [], "hep-go:0"))
    assert found["prompt"] is found["chosen"] is found["rejected"] is None


def test_a_selection_streams_every_pair_once_and_ends_with_the_whole_or_says_why_not(
    tmp_path: Path, hub: Hub, demo: PairTable
) -> None:
    runs, order = Runs(Settings(home=tmp_path), hub), ModelOrder("longer")
    selection = requested_selection(demo, 4, 0, None)
    pairs = as_pairs(demo.arrow, selection.rows.tolist())
    stream = stepwise(partial(runs.rewarding, Person(), order, pairs))
    told = list(selection_score_json(stream, len(pairs)))
    first, *_, last = plain(told)
    assert (first["stage"], first["scored"], first["accuracy"]) == ("loading", 0, None)
    rows = [row for each in told[:-1] for row in each["rows"]]
    assert len({row["key"] for row in rows}) == len(rows) == 4 * len(demo.subset_counts)
    assert (last["stage"], last["message"], last["rows"]) == ("finished", "", rows)
    counts = [each["scored"] for each in told]
    assert counts == sorted(counts) and counts[-1] == last["total"] == len(rows)
    [alone] = selection_score_json([], 40)
    assert (alone["stage"], alone["message"]) == ("stopped", scoring.STOPPED)
    who = Person(address="8.8.8.8")
    bounded = Runs(Settings(home=tmp_path, public=True, seconds_per_hour=1e-9), hub)
    bounded.scorers.models.load(who, order)
    stream = stepwise(partial(bounded.rewarding, who, order, pairs))
    *_, last = selection_score_json(stream, len(pairs))
    assert last["stage"] == "stopped" and 0 < last["scored"] < len(pairs)
    assert last["message"] == "You have used up your scoring time for this hour."


def test_keys_of_a_program_are_taken_as_they_are_and_pasted_ones_told_apart() -> None:
    table = small_table(*(row(subset="one, two", id=each) for each in ("1", "2")))
    assert requested_selection(table, 1, 0, [" one, two:2"] * 2).rows.tolist() == [1]
    table = small_table(*(row(subset="Help/Data Management", id=n) for n in range(3)))
    first, second = table.keys[0], table.keys[2]
    for between in ("\r\n", ", ", " ;\n\n "):
        found = selected_by_typed_keys(table, f" {first}{between}{second} \n")
        assert found.rows.tolist() == [0, 2], between
    with pytest.raises(KnownError, match=f"Not found among these pairs .*{first} Help"):
        selected_by_typed_keys(table, f"{first} {second}")


def test_models_say_what_the_owner_allows() -> None:
    pinned = "allenai/tulu-2-dpo-7b@main"
    named = Settings(home=Path("unused"), public=True, models=("org/a", "demo", pinned))
    allowed = replace(named, own_code=("org/a",), servers=("http://inner:8000/v1",))
    bound = plain(scoring.models_json(allowed))
    assert bound["models"] == ["demo", "org/a", pinned, "random", "longer", "shorter"]
    assert [each["id"] for each in bound["known"]] == ["allenai/tulu-2-dpo-7b"]
    assert (bound["any"], bound["own_code"]) == (False, ["org/a"])
    assert bound["served_families"] == ["judge", "rater", "served"]
    assert "inner" not in json.dumps(bound)
