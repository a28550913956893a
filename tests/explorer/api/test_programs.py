"""Programs over HTTP: what they are told of the endpoints, and a journey from a search to a run."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from gradio_client import Client  # type: ignore[import-untyped]
from gradio_client.exceptions import AppError  # type: ignore[import-untyped]
from pydantic import TypeAdapter

from explorer.data.table import PairTable
from explorer.runs.cards import change_card
from explorer.runs.models import WarmModel
from scoring.record import Run
from tests.conftest import until
from tests.explorer.conftest import Serve
from tests.support.board_data import coin_flips, write_results
from tests.support.hostile import NAMES
from tests.support.posting import Visitor

SHARES = {"org/a": 0.95, "org/b": 0.2, NAMES[0]: 0.5}
TEXTS = {"prompt": "Say hi.", "chosen": "Hello there!", "rejected": "No."}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outcomes = {name: coin_flips(share) for name, share in SHARES.items()}
    return write_results(tmp_path_factory.mktemp("results"), outcomes)


@pytest.fixture(scope="module")
def server(serve: Serve, results: Path) -> Visitor:
    return serve(public=True, results=str(results))


@pytest.fixture(scope="module")
def client(server: Visitor) -> Client:
    return Client(server.page.local_url, verbose=False)


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


def asked(client: Client, name: str, **arguments: Any) -> Any:
    return client.predict(api_name=f"/{name}", **arguments)


def refused(client: Client, name: str, **arguments: Any) -> str:
    with pytest.raises(AppError) as caught:
        asked(client, name, **arguments)
    assert "<script>" not in str(caught.value) and len(str(caught.value)) < 800
    assert "error of ours" not in str(caught.value)
    return str(caught.value)


def followed(client: Client, is_so: Callable[[Any], bool], **arguments: Any) -> Any:
    """What /run says once it is so."""
    said: list[Any] = []

    def follow() -> bool:
        said.append(asked(client, "run", **arguments))
        return is_so(said[-1])

    until(follow)
    return said[-1]


def has_ended(now: Any) -> bool:
    return now["retry_after_seconds"] is None


# What is told of endpoints


PARAMETERS = {
    "/leaderboard": ["benchmark", "prior_sets", "ties", "limit"],
    "/failures": ["model", "subset", "limit", "section", "secret"],
    "/compare": ["model_a", "model_b", "section", "secret"],
    "/pair": ["key"],
    "/hardest": ["limit"],
    "/search_pairs": [
        "text", "where", "regex", "case", "filters", "lengths", "sort", "page", "page_rows",
        "pairs",
    ],
    "/score_pair": ["model", "prompt", "chosen", "rejected", "family", "reference"],
    "/score_selection": [
        "model", "per_subset", "seed", "keys", "pairs", "family", "reference",
    ],
    "/models": [],
    "/runs": ["limit", "secret"],
    "/start_run": [
        "model", "per_subset", "seed", "keys", "pairs", "family", "reference", "secret",
    ],
    "/run": ["id", "action", "rows_from", "secret"],
}  # fmt: skip


def test_every_parameter_and_answer_is_described(server: Visitor, client: Client) -> None:
    named = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    names = {
        name: [each["parameter_name"] for each in told["parameters"]]
        for name, told in named.items()
    }
    assert list(names.items()) == list(PARAMETERS.items())
    for name, told in named.items():
        assert len(told["description"]) > 40
        assert all(each["type"] for each in told["parameters"]), name
        [answer] = told["returns"]
        if name != "/score_selection":  # of an answer that streams in Gradio tells no type
            assert answer["type"]["properties"] and answer["type"]["required"], name
    [limit] = [
        each for each in named["/failures"]["parameters"] if each["parameter_name"] == "limit"
    ]
    assert (limit["python_type"]["type"], limit["parameter_default"]) == ("int", 100)
    assert "the chosen reward minus the rejected reward" in named["/failures"]["description"]
    assert "known where results have rewards" in named["/leaderboard"]["description"]


def test_every_answer_is_as_described(server: Visitor, client: Client) -> None:
    searched = asked(client, "search_pairs", text="rust", page_rows=2)
    key = searched["rows"][0]["key"]
    started = asked(client, "start_run", model="longer", keys=[key])
    secret = {"secret": started["secret"]}
    ended = followed(client, has_ended, id=started["id"], rows_from=0, **secret)
    answers = {
        "leaderboard": asked(client, "leaderboard", limit=1),
        "failures": asked(client, "failures", model="org/b", limit=2),
        "compare": asked(client, "compare", model_a="org/a", model_b="org/b"),
        "pair": asked(client, "pair", key=asked(client, "hardest")["rows"][0]["key"]),
        "hardest": asked(client, "hardest"),
        "search_pairs": searched,
        "score_pair": asked(client, "score_pair", model="longer", **TEXTS),
        "score_selection": asked(client, "score_selection", model="longer", keys=[key]),
        "models": asked(client, "models"),
        "runs": asked(client, "runs", **secret),
        "start_run": started,
        "run": ended,
    }
    public = {fn.api_name: fn.fn for fn in server.page.fns.values() if fn.api_name in answers}
    assert public.keys() == answers.keys()
    for name, answer in answers.items():
        described = get_type_hints(public[name], include_extras=True)["return"]
        described = get_args(described)[0] if name == "score_selection" else described
        # What is not described is left out, and what is missing or of another type raises.
        assert TypeAdapter(described).validate_python(answer, strict=True) == answer, name
    assert len(answers["leaderboard"]["rows"]) == 1 and answers["runs"]["runs"]


# Published results


def test_who_asks_first_has_results_read_and_measured(
    server: Visitor, client: Client, demo: PairTable
) -> None:
    rows = asked(client, "failures", model="org/b", limit=3000)["rows"]
    assert len(rows) == 92 - sum(coin_flips(0.2)) and {each["outcome"] for each in rows} == {"loss"}
    some = asked(client, "failures", model="org/b", subset="hep-go", limit=2)["rows"]
    assert len(some) == 2 and {each["subset"] for each in some} == {"hep-go"}
    until(lambda: not asked(client, "leaderboard")["measuring"])
    board = asked(client, "leaderboard")
    assert [row["model"] for row in board["rows"]] == ["org/a", NAMES[0], "org/b"]
    assert [row["tie_group"] for row in board["rows"]] == [1, 2, 3]
    for row in board["rows"]:
        assert row["paired"] and row["interval"][0] <= row["score"] <= row["interval"][1]
    assert asked(client, "leaderboard", ties="loss") == board  # the former name of that rule
    half = asked(client, "leaderboard", prior_sets=True, ties="half")
    assert (half["source"]["rule"], half["source"]["ties"]) == ("v1_prior", "half")
    assert {row["sections"]["Prior Sets"] for row in half["rows"]} == {None}
    bundled = asked(client, "leaderboard", benchmark="v2")
    assert "RewardBench 2 leaderboard" in bundled["source"]["name"]
    assert {row["tie_group"] for row in bundled["rows"]} == {None}
    found = asked(client, "pair", key=demo.key_of(7))
    assert (found["chosen"], found["outcomes"]) == (demo.cells(7)["chosen"], [])


def test_an_answer_is_json_as_it_stands(server: Visitor) -> None:
    with server.open("call/v2/leaderboard", b'{"prior_sets": false}') as answer:
        event = json.load(answer)["event_id"]
    with server.open(f"call/leaderboard/{event}") as stream:
        lines = stream.read().decode().splitlines()
    assert lines[0] == "event: complete"
    [found] = json.loads(lines[1].removeprefix("data: "))
    assert found["rows"][0]["model"] == "org/a"


# Searching


def test_pairs_are_found_by_filters_and_text_page_by_page(client: Client) -> None:
    everything = asked(client, "search_pairs")
    assert everything["total"] == everything["of"] == 188 and len(everything["rows"]) == 25
    assert sum(everything["counts"]["section"].values()) == 188
    asks = {"text": "sorry|can't", "regex": True, "where": "chosen"}
    asks |= {"filters": {"section": ["Safety"]}, "lengths": {"chosen.words": [20, None]}}
    found = asked(client, "search_pairs", page_rows=3, sort="-chosen", **asks)
    assert 3 < found["total"] < 42 and found["pages"] == -(-found["total"] // 3)
    pages = [
        asked(client, "search_pairs", page_rows=3, sort="-chosen", page=1 + number, **asks)
        for number in range(found["pages"])
    ]
    rows = [row for page in pages for row in page["rows"]]
    assert len({row["key"] for row in rows}) == len(rows) == found["total"]
    assert {row["section"] for row in rows} == {"Safety"}
    assert all("sorry" in row["chosen"].lower() or "can't" in row["chosen"] for row in rows)
    lengths = [row["chosen_chars"] for row in rows]
    assert lengths == sorted(lengths, reverse=True)
    assert asked(client, "search_pairs", page=9_000)["rows"] == []
    assert asked(client, "search_pairs", text="No pair holds this.")["total"] == 0


# Runs


def test_a_journey_from_a_search_to_what_a_run_fails(client: Client, gate: threading.Event) -> None:
    found = asked(client, "search_pairs", filters={"section": ["Safety", "Chat"]}, page_rows=60)
    keys = [row["key"] for row in found["rows"]]
    started = asked(client, "start_run", model="demo", keys=keys)
    assert started["secret"] and not has_ended(started) and started["total"] == 60
    mine = {"secret": started["secret"]}
    asks = {"id": started["id"], **mine}
    under_way = followed(client, lambda now: now["scored"] > 0, rows_from=0, **asks)
    assert under_way["status"] == "running"
    assert {row["key"] for row in under_way["rows"]} <= set(keys)
    stopped = followed(client, has_ended, action="stop", **asks)
    assert (stopped["status"], stopped["scored"]) == ("stopped", under_way["scored"])
    assert 0 < stopped["scored"] < 60
    gate.set()
    run = {"id": stopped["id"], **mine}
    assert asked(client, "run", action="resume", **run)["id"] == stopped["id"]
    ended = followed(client, has_ended, rows_from=stopped["scored"], **run)
    assert (ended["status"], ended["scored"], ended["message"]) == ("finished", 60, "")
    assert len(ended["rows"]) == 60 - stopped["scored"]
    failed = asked(client, "failures", model=run["id"], **mine)["rows"]
    assert len(failed) == round(60 * (1 - ended["accuracy"])) > 0
    assert [row["margin"] for row in failed] == sorted(row["margin"] for row in failed)
    safe = asked(client, "failures", model=run["id"], section="Safety", **mine)["rows"]
    chat = asked(client, "failures", model=run["id"], section="Chat", **mine)["rows"]
    assert len(safe) + len(chat) == len(failed) and safe
    whole = asked(client, "compare", model_a=run["id"], model_b=run["id"], **mine)
    assert (whole["neither"], whole["p_value"]) == (len(failed), 1.0)
    part = asked(client, "compare", model_a=run["id"], model_b=run["id"], section="Safety", **mine)
    assert part == {
        **whole["sections"]["Safety"],
        "sections": {"Safety": part["sections"]["Safety"]},
    }
    assert part["neither"] == len(safe)
    assert "different pairs" in refused(
        client, "compare", model_a=run["id"], model_b="org/a", **mine
    )


def test_a_run_is_its_owners_unless_it_is_public(server: Visitor, client: Client) -> None:
    started = asked(client, "start_run", model="longer", per_subset=1)
    mine = {"secret": started["secret"]}
    run = followed(client, has_ended, id=started["id"], **mine)["id"]
    again = asked(client, "start_run", model="shorter", per_subset=1, **mine)
    assert again["secret"] == started["secret"]
    assert {each["id"] for each in asked(client, "runs", **mine)["runs"]} >= {run}
    stranger = Client(server.page.local_url, verbose=False)
    for secret in ("", "a secret of somebody else"):
        for action in ("look", "stop", "resume"):
            said = refused(stranger, "run", id=run, action=action, secret=secret)
            assert "There is no such run" in said
        assert "There are no per-pair results" in refused(
            stranger, "failures", model=run, secret=secret
        )
        assert run not in str(asked(stranger, "runs", secret=secret))
    store = next(
        fn.fn.__self__ for fn in server.page.fns.values() if fn.api_name == "run"
    ).runs.store
    stored = Run.open(store.folder / run)
    assert stored.about["owner"] and started["secret"] not in str(stored.about)
    change_card(stored, lambda card: replace(card, public=True))
    assert asked(stranger, "run", id=run)["status"] == "finished"
    until(lambda: run in str(asked(stranger, "runs")))
    assert asked(stranger, "failures", model=run)["rows"]
    assert "There is no such run" in refused(stranger, "run", id=run, action="stop")


def test_on_ones_own_machine_no_secret_is_needed(serve: Serve) -> None:
    client = Client(serve().page.local_url, verbose=False)
    started = asked(client, "start_run", model="longer", per_subset=1)
    assert started["secret"] == ""
    ended = followed(client, has_ended, id=started["id"])
    assert ended["status"] == "finished"
    assert asked(client, "failures", model=ended["id"], limit=1)["rows"]


SCORING = {"model": "demo", **TEXTS}
NONSENSE: list[tuple[str, dict[str, Any], str]] = [
    ("search_pairs", {"text": 7}, "A search must be text"),
    ("search_pairs", {"text": "x" * 501}, "may have 500 characters"),
    ("search_pairs", {"where": NAMES[0]}, "A search is in all, prompt"),
    ("search_pairs", {"filters": {NAMES[0]: ["a"]}}, "One can pick by section"),
    ("search_pairs", {"filters": {str(n): [] for n in range(10**3)}}, "Filters are at most"),
    ("search_pairs", {"lengths": {"chosen.tokens": [1, 2]}}, "one of chars, words"),
    ("search_pairs", {"lengths": {"chosen.chars": 7}}, "The least and the most"),
    ("search_pairs", {"sort": "margin"}, "An order is one of"),
    ("search_pairs", {"page": 0}, "The page is 0"),
    ("search_pairs", {"page_rows": 201}, "1 to 200"),
    ("search_pairs", {"pairs": "../../etc"}, "is not in memory any more"),
    ("start_run", {"model": ["demo"]}, "A model is named by"),
    ("start_run", {"model": "longer", "keys": [NAMES[0]]}, "Not found among these pairs"),
    ("start_run", {"model": "longer", "secret": "x" * 201}, "A secret is ASCII text"),
    ("run", {"id": "../x"}, "There is no such run"),
    ("run", {"id": "x", "action": "remove"}, "An action is one of look, stop, resume"),
    ("run", {"id": "x", "rows_from": -1}, "The first row is -1"),
    ("failures", {"model": "org/a", "section": "Gone"}, "A section is one of Chat"),
    ("failures", {"model": "org/a", "secret": 7}, "A secret is ASCII text"),
    ("compare", {"model_a": "org/a", "model_b": "org/b", "section": [1]}, "A section is one"),
    ("leaderboard", {"limit": 0}, "The limit is 0; it must be"),
    ("runs", {"secret": "é"}, "A secret is ASCII text"),
    ("leaderboard", {"benchmark": "v3"}, "A benchmark is one of v1, v2, rm-bench, "),
    ("leaderboard", {"prior_sets": 1}, "Prior sets is one of True, False, not 1"),
    ("leaderboard", {"ties": {"a": {}}}, "A tie is one of official, half, not dict"),
    ("failures", {"model": None}, "A model is named by a text of 1 to 1,000 characters"),
    ("failures", {"model": "org/a", "subset": "gone"}, "no subset 'gone'"),
    ("compare", {"model_a": "org/a", "model_b": ["x"]}, "not list"),
    ("compare", {"model_a": NAMES[1], "model_b": "org/a"}, "no per-pair results"),
    ("pair", {"key": "hep-go:9999"}, "no pair 'hep-go:9999'"),
    ("pair", {"key": {"a": 1}}, "A key is named by a text"),
    ("hardest", {"limit": 3001}, "The limit is 3001; it must be"),
    *(("score_pair", {**SCORING, **changes}, words) for changes, words in (
        ({"model": ""}, "No model was given"),
        ({"model": ["demo"]}, "A model is named by"),
        ({"model": "../x"}, "is not a model that can be used here"),
        ({"prompt": None}, "The prompt must be text"),
        ({"chosen": "x" * 20_001}, "has 20,001 characters"),
        ({"family": "guess"}, "The family is 'guess'"),
        ({"family": "served"}, "is not among the servers"),
        ({"reference": 7}, "A reference model is named by"),
    )),
    *(("score_selection", {"model": "longer", **changes}, words) for changes, words in (
        ({"per_subset": 0}, "Pairs per subset is 0"),
        ({"seed": -1}, "Seed is -1"),
        ({"keys": [1]}, "Keys are a list of texts"),
        ({"keys": [NAMES[0]]}, "Not found among these pairs"),
        ({"pairs": "../../etc"}, "is not in memory any more"),
        ({"pairs": 7}, "Pairs are named by the text of their id"),
    )),
]  # fmt: skip
"""Endpoint, what it is asked -> the sentence."""


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    NONSENSE,
    ids=[f"{name}: {words}" for name, _, words in NONSENSE],
)
def test_nonsense_is_one_clear_message(
    client: Client, name: str, arguments: dict[str, Any], words: str
) -> None:
    assert words in refused(client, name, **arguments)
