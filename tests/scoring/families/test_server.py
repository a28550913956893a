"""How a server is asked: at once, again, after a pause, not for ever, and without telling a key.

And reward models behind vLLM, which are asked for raw rewards.
"""

import logging
import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from scoring.errors import KnownError
from scoring.families import server as server_module
from scoring.families.server import KEY_VARIABLE, RequestFailed, Served, Server
from scoring.spec import Message, ModelSpec, Pair, RunSettings
from tests.conftest import PATIENCE
from tests.support.chat_server import Answer, ChatServer, error, in_turn, nowhere
from tests.support.judging import rewards, scored

SECRET = "sk-do-not-tell-4711"


def number(answer: Any) -> int:
    return int(answer["n"])


def ask_all(server: Server, n: int = 1) -> list[int | None]:
    answers = server.each(lambda item: server.post("/echo", {"n": item}, number), range(n))
    return [answers.get(item) for item in range(n)]


def echo(path: str, body: dict[str, Any]) -> Answer:
    return Answer(body)


def test_answers_come_in_the_order_of_the_items_and_not_too_many_are_asked_for_at_once() -> None:
    together = threading.Barrier(3, timeout=PATIENCE)

    def answer(path: str, body: dict[str, Any]) -> Answer:
        together.wait()
        return Answer(body, wait=0 if body["n"] else 0.1)

    with ChatServer(answer) as model:
        assert ask_all(Server(model.url + "/v1/", 3), 9) == list(range(9))
        assert {asked.path for asked in model.asked} == {"/v1/echo"}
        assert max(model.at_once) == 3


def test_any_text_is_sent_and_through_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, nowhere())
    body = {"n": "\ud800 \N{GRINNING FACE}"}
    with ChatServer(echo) as model:
        assert Server(model.url, 1).post("/echo", body, lambda answer: answer) == body


@pytest.mark.parametrize(
    ("failures", "is_asked_again"),
    [
        ([error(429), Answer({}, cut=9)], True),
        ([error(429, Retry_After="1000000")], True),
        *(([each], False) for each in (error(400), *map(Answer, (b'{"n": 1', b"\xff", {"m": 1})))),
    ],
    ids=["may pass", "wants too long a pause", "refused", "torn", "no text", "another shape"],
)
def test_what_may_pass_is_asked_again_and_what_was_refused_or_cannot_be_read_is_missing(
    failures: list[Answer], is_asked_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "LONGEST_RETRY_AFTER", 0.01)
    with ChatServer(in_turn(*failures, Answer({"n": 7}))) as model:
        assert ask_all(Server(model.url, 1)) == [7 if is_asked_again else None]
        assert len(model.asked) == len(failures) + is_asked_again


def test_what_never_passes_is_missing_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with ChatServer(in_turn(error(500, "out of\nluck"))) as model:
        server = Server(model.url, 2)
        assert ask_all(server, 2) == [None, None]
        assert len(model.asked) == 2 * server_module.TRIES
    [record] = caplog.records
    assert "it answered 500, out of luck" in record.getMessage()
    [told] = server.errors.sentences()
    assert told.endswith("failed, its pair is missing: 2 times in all.")


def test_a_server_that_stalls_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server_module, "READ_SECONDS", 1)
    with ChatServer(lambda _, body: Answer(body, wait=0 if body["n"] else PATIENCE)) as model:
        server = Server(model.url, 2)
        assert ask_all(server, 2) == [None, 1]
        assert len(model.asked) == 1 + server_module.TRIES
    assert "it took too long" in caplog.text


@pytest.mark.parametrize("status", [401, 404, 307])
def test_a_server_that_refuses_everything_or_points_elsewhere_ends_the_run(status: int) -> None:
    """It is neither tried again nor gone on with, and no text goes elsewhere."""
    with ChatServer(echo) as other:
        refusal = error(status, Location=f"{other.url}/echo")
        with ChatServer(in_turn(refusal)) as model:
            with pytest.raises(KnownError, match=rf"{model.url}.*{status}") as caught:
                ask_all(Server(model.url, 1), 100)
            assert (other.url in str(caught.value)) == (status == 307)
            assert (len(model.asked), other.asked) == (1, [])


def test_only_failures_in_a_row_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "GIVE_UP", 3)
    refused = error(400, "no temperature here")
    with ChatServer(in_turn(*[refused, refused, Answer({"n": 0})] * 3, refused)) as model:
        server = Server(model.url, 1)
        assert ask_all(server, 9) == [None, None, 0] * 3
        with pytest.raises(KnownError, match=r"3 requests in a row.*no temperature here"):
            ask_all(server, 100)
        assert len(model.asked) == 12


def test_an_end_waits_neither_for_what_is_under_way_nor_for_a_pause() -> None:
    reached, over = threading.Barrier(3, timeout=PATIENCE), threading.Event()
    waited_for: list[bool] = []

    def answer(path: str, body: dict[str, Any]) -> Answer:
        reached.wait()
        if body["n"]:
            waited_for.append(not over.wait(PATIENCE))
        return error(429, Retry_After="600")

    with ChatServer(answer) as model:
        server = Server(model.url, 3)

        def ask(item: int) -> int:
            if item == 2:
                reached.wait()
                raise KnownError("enough")
            return server.post("/echo", {"n": item}, number)

        with pytest.raises(KnownError, match="enough"):
            server.each(ask, range(100))
        assert (len(model.asked), waited_for) == (2, [])
        over.set()


def test_a_server_that_is_not_there_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_PAUSE", "LONGEST_PAUSE"):
        monkeypatch.setattr(server_module, name, 10**6)
    with pytest.raises(KnownError, match=r"cannot be reached.*Check that it runs"):
        ask_all(Server(nowhere(), 8), 100)


def test_a_server_that_asks_to_wait_is_left_alone_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """One request is told to wait, and fails; the next one waits for that, too."""
    monkeypatch.setattr(server_module, "TRIES", 1)
    with ChatServer(in_turn(error(429, Retry_After="0.5"), Answer({"n": 1}))) as model:
        server = Server(model.url, 2)
        assert ask_all(server) + ask_all(server) == [None, 1]
        first, second = model.asked
    assert second.at - first.at >= 0.5


@pytest.mark.parametrize("status", [200, 400, 401, 404, 307, 500])
def test_the_key_is_sent_and_never_told(
    status: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, f" {SECRET}\n")
    caplog.set_level(logging.DEBUG)
    told = f"Incorrect key {SECRET[:-2]}**" if status == 401 else SECRET
    failures = []
    with ChatServer(in_turn(error(status, told))) as model:
        server = Server(model.url, 1)
        for ask in (partial(ask_all, server), partial(server.post, "/echo", {}, number)):
            try:
                ask()
            except (KnownError, RequestFailed) as failure:
                failures.append(str(failure))
        assert {asked.authorization for asked in model.asked} == {f"Bearer {SECRET}"}
    assert failures and SECRET[:-2] not in " ".join([*failures, caplog.text])
    assert "127.0.0.1" in caplog.text


def test_a_refusal_says_where_a_key_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(in_turn(Answer({"n": 0}), error(401))) as model:
        server = Server(model.url, 1)
        assert ask_all(server) == [0]
        assert [asked.authorization for asked in model.asked] == [None]
        with pytest.raises(KnownError, match=f"wants a key.*{KEY_VARIABLE}"):
            ask_all(server)
        monkeypatch.setenv(KEY_VARIABLE, SECRET)
        with pytest.raises(KnownError, match=f"does not accept the key in {KEY_VARIABLE}"):
            ask_all(Server(model.url, 1))


def test_an_address_or_a_key_that_cannot_be_is_refused_untold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for url in ("localhost:8000", "http://", "http://x..y", "http://h:99999", "file:///etc"):
        with pytest.raises(KnownError, match="no address of a server"):
            Server(url, 1)
    for url, key in (
        ("http://me:hunter-4711@host/v1", ""),
        ("http://localhost:8000", "sk-\nHost: evil-4711"),
        ("http://localhost:8000", "sk-\u00e4-4711"),
    ):
        monkeypatch.setenv(KEY_VARIABLE, key)
        with pytest.raises(KnownError, match=KEY_VARIABLE) as raised:
            Server(url, 1)
        assert "4711" not in str(raised.value)


# Reward models behind vLLM.

GOOD = Pair("mine:1", "mine", "Name a colour.", "Red, like a ripe tomato.", "Seven.")
EQUAL = Pair("mine:2", "mine", "Name a colour.", "Blue.", "Blue.")
TURNS = (Message("system", "Be brief."), Message("user", "Hi!"), Message("assistant", "Hello."))
SEVERAL = Pair("mine:3", "mine", "(a transcript)", "One.", "Two, or three.", TURNS)


def labels(path: str, values: Sequence[Any]) -> Answer:
    """What a served classifier gives, by either of vLLM's paths."""
    field = "probs" if path == "/classify" else "data"
    return Answer({"object": "list", "model": "org/rm", "data": [{"index": 0, field: values}]})


def by_length(text: str) -> float:
    """A raw reward: far below 0, so that a sigmoid of it is told from it."""
    return len(text) - 50.0


def vllm(
    head: Callable[[str], float] = by_length, switch: str = "activation", only: str = "/classify"
) -> Callable[[str, dict[str, Any]], Answer]:
    """Answers as some version does: by which path, and how the activation is called."""

    def answer(path: str, body: dict[str, Any]) -> Answer:
        if path != only:
            return Answer({"detail": "Not Found"}, 404)
        if body["model"] != "org/rm":
            return error(404, f"The model `{body['model']}` does not exist.")
        if body["add_generation_prompt"]:
            return error(400, "Field required")
        if path == "/pooling" and body.get("task") != "classify":
            return labels(path, [[1.0], [2.0], [3.0]])
        value = head(body["messages"][-1]["content"])
        return labels(path, [1 / (1 + math.exp(-value)) if body.get(switch, True) else value])

    return answer


def served(model: ChatServer, name: str = "org/rm", below: str = "", **more: Any) -> Served:
    spec = ModelSpec(name, "", "", "served", url=model.url + below)
    return Served(spec, RunSettings(**more))


@pytest.mark.parametrize(
    ("path", "below", "switch"),
    [("/classify", "", "softmax"), ("/pooling", "/v1/", "use_activation")],
)
def test_raw_rewards_come_by_the_route_that_answers(path: str, below: str, switch: str) -> None:
    with ChatServer(vllm(switch=switch, only=path)) as model:
        scorer = served(model, below=below)
        assert rewards(scorer, GOOD) == [(-26, -44)]
        assert [asked.path for asked in model.asked[-2:]] == [path] * 2
        assert f"raw ({switch} off), from POST {path}" in scorer.traits.reading


def test_what_lies_between_0_and_1_is_raw_or_told_of(caplog: pytest.LogCaptureFixture) -> None:
    with ChatServer(vllm(lambda _: 0.5)) as model:
        scorer = served(model)
        assert rewards(scorer, GOOD) == [(0.5, 0.5)]
    assert "raw" in scorer.traits.reading and not caplog.text
    with ChatServer(vllm(switch="no_such_name")) as model, caplog.at_level(logging.WARNING):
        scorer = served(model)
        ((chosen, rejected),) = rewards(scorer, GOOD)
    assert 0 < rejected < chosen < 1
    assert "maybe after a sigmoid or softmax" in scorer.traits.reading
    assert "org/rm gives values from 0 to 1" in caplog.text


BY_TOKEN = in_turn(error(404), labels("/pooling", [[0.1], [0.2]]))
CHAT_MODEL = in_turn(error(400, "is a chat model"))
NEITHER = r"/classify.*40., is a chat model.*/pooling.*vllm serve"


@pytest.mark.parametrize(
    ("answer", "name", "said"),
    [
        pytest.param(BY_TOKEN, "org/rm", "gives a reward for each token", id="tokens"),
        pytest.param(CHAT_MODEL, "org/rm", NEITHER, id="chat"),
        pytest.param(vllm(), "org/other", r"org/other.*does not exist.*name", id="name"),
        pytest.param(in_turn(error(401)), "org/rm", KEY_VARIABLE, id="key"),
    ],
)
def test_a_server_without_such_rewards_is_refused(answer: Any, name: str, said: str) -> None:
    with ChatServer(answer) as model, pytest.raises(KnownError, match=said):
        served(model, name)


def test_a_run_of_a_served_model_asks_once_of_equal_responses_with_their_conversation() -> None:
    """A conversation that fails, or whose reward is none, has none."""
    broken = {
        "long": error(400, "too long"),
        "two": labels("/classify", [1.0, 2.0]),
        "none": labels("/classify", [math.nan]),
    }

    def answer(path: str, body: dict[str, Any]) -> Answer:
        return broken.get(body["messages"][-1]["content"]) or vllm()(path, body)

    bad = [Pair(f"mine:{text}", "mine", "Name a colour.", text, "Blue.") for text in broken]
    with ChatServer(answer) as model:
        scorer = served(model, parallel=3)
        before = len(model.asked)
        rows = scored(scorer, [GOOD, EQUAL, SEVERAL, *bad]).values()
        asked = [each.body["messages"] for each in model.asked[before:]]
    assert len(asked) == 8  # one for Blue. in all pairs
    shown = [message._asdict() for message in TURNS]
    assert [*shown, {"role": "assistant", "content": "One."}] in asked
    outcomes = {row.key.removeprefix("mine:"): row.outcome for row in rows}
    ends = {"1": "win", "2": "tie", "3": "loss"}
    assert outcomes == {**ends, **dict.fromkeys(broken, "missing")}
    assert {row.rejected_reward for row in rows if row.outcome == "missing"} == {-45}
    assert scorer.traits.path == "asked over the network, 3 at once"
    assert scorer.traits.template == "the server's own"
