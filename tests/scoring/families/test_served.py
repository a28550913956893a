import logging
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from scoring.engine.scorer import facts
from scoring.errors import KnownError
from scoring.families.server import KEY_VARIABLE, Served
from scoring.run import make_job, score
from scoring.spec import LabelWeights, Message, ModelSpec, Pair, RunSettings
from tests.conftest import PATIENCE
from tests.support.chat_server import Answer, ChatServer, error
from tests.support.judging import labels, rewards

GOOD = Pair("mine:1", "mine", "Name a colour.", "Red, like a ripe tomato.", "Seven.")
EQUAL = Pair("mine:2", "mine", "Name a colour.", "Blue.", "Blue.")
TURNS = (Message("system", "Be brief."), Message("user", "Hi!"), Message("assistant", "Hello."))
SEVERAL = Pair("mine:3", "mine", "(a transcript)", "One.", "Two, or three.", TURNS)

Heads = Callable[[list[dict[str, str]]], Sequence[Any]]


def by_length(messages: list[dict[str, str]]) -> list[float]:
    """A raw reward: far below 0, so that a sigmoid of it is told from it."""
    return [len(messages[-1]["content"]) - 50.0]


class Vllm:
    """Answers as some version of vLLM does: by which paths, and how the activation is called."""

    def __init__(
        self,
        heads: Heads = by_length,
        *,
        paths: Sequence[str] = ("/classify", "/pooling"),
        switch: str = "use_activation",
    ) -> None:
        self._heads, self._paths, self._switch = heads, paths, switch

    def __call__(self, path: str, body: dict[str, Any]) -> Answer:
        if path not in self._paths:
            return Answer({"detail": "Not Found"}, 404)
        if body["model"] != "org/rm":
            return error(404, f"The model `{body['model']}` does not exist.")
        if "messages" not in body or body.get("add_generation_prompt"):
            return error(400, "Field required")
        if path == "/pooling" and body.get("task") != "classify":
            return labels(path, [[1.0], [2.0], [3.0]])
        values = list(self._heads(body["messages"]))
        if body.get(self._switch, True):
            values = [1 / (1 + math.exp(-value)) for value in values]
        return labels(path, values)


def served(model: ChatServer, name: str = "org/rm", **more: Any) -> Served:
    reading: LabelWeights | None = more.pop("reading", None)
    spec = ModelSpec(name, "", "", "served", reading, url=model.url + more.pop("below", ""))
    return Served(spec, RunSettings(**more))


@pytest.mark.parametrize("below", ["", "/", "/v1", "/v1/"])
@pytest.mark.parametrize("path", ["/classify", "/pooling"])
def test_raw_rewards_come_from_the_route_that_answers(path: str, below: str) -> None:
    with ChatServer(Vllm(paths=[path])) as model:
        scorer = served(model, below=below)
        assert rewards(scorer, GOOD) == [(-26, -44)]
        assert [asked.path for asked in model.asked[-2:]] == [path] * 2
        assert f"raw (use_activation off), from POST {path}" in scorer.traits.reading


def test_the_server_gets_the_conversation_and_applies_its_template() -> None:
    with ChatServer(Vllm()) as model:
        scorer = served(model)
        before = len(model.asked)
        rewards(scorer, SEVERAL)
        bodies = [asked.body for asked in model.asked[before:]]
    shown = [message._asdict() for message in TURNS]
    assert sorted((body["messages"] for body in bodies), key=lambda each: str(each[-1])) == [
        [*shown, {"role": "assistant", "content": "One."}],
        [*shown, {"role": "assistant", "content": "Two, or three."}],
    ]
    assert all(body["add_generation_prompt"] is False for body in bodies)


@pytest.mark.parametrize("switch", ["use_activation", "activation", "softmax"])
def test_an_activation_is_switched_off_by_the_name_that_the_server_knows(switch: str) -> None:
    with ChatServer(Vllm(switch=switch)) as model:
        scorer = served(model)
        assert rewards(scorer, GOOD) == [(-26, -44)]
    assert f"({switch} off)" in scorer.traits.reading


def test_raw_rewards_between_0_and_1_are_raw_where_the_switch_changes_them() -> None:
    with ChatServer(lambda path, body: labels("/classify", [-26.0])) as model:
        assert "raw" in served(model).traits.reading  # it has no activation
    with ChatServer(Vllm(lambda messages: [0.5])) as model:
        scorer = served(model)
        assert rewards(scorer, GOOD) == [(0.5, 0.5)]
    assert "raw" in scorer.traits.reading


def test_an_activation_that_stays_on_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with ChatServer(Vllm(switch="no_such_name")) as model, caplog.at_level(logging.WARNING):
        scorer = served(model)
        ((chosen, rejected),) = rewards(scorer, GOOD)
    assert 0 < rejected < chosen < 1
    assert "maybe after a sigmoid or softmax" in scorer.traits.reading
    assert "org/rm gives values from 0 to 1" in caplog.text


def two_labels(messages: list[dict[str, str]]) -> list[float]:
    return [by_length(messages)[0], 2 * by_length(messages)[0]]


@pytest.mark.parametrize(
    ("reading", "expected", "words"),
    [
        (1, (-52, -88), "label 1 of 2"),
        ((1.0, -1.0), (26, 44), "labels weighted 1, -1"),
        (None, None, "2 labels, and which"),
        (2, None, "no label 2"),
        ((1.0,), None, "1 weights"),
    ],
)
def test_several_labels_are_read_as_declared_or_refused(
    reading: LabelWeights | None, expected: tuple[float, float] | None, words: str
) -> None:
    with ChatServer(Vllm(two_labels)) as model:
        if expected is None:
            with pytest.raises(KnownError, match=words):
                served(model, reading=reading)
            return
        scorer = served(model, reading=reading)
        assert rewards(scorer, GOOD) == [expected]
    assert words in scorer.traits.reading


def test_a_reward_for_each_token_is_refused() -> None:
    heads: Heads = lambda messages: [[0.1], [0.2]]  # noqa: E731

    def tokenwise(path: str, body: dict[str, Any]) -> Answer:
        return labels(path, heads([])) if path == "/pooling" else error(404)

    with ChatServer(tokenwise) as model, pytest.raises(KnownError, match="each token"):
        served(model)


@pytest.mark.parametrize("status", [400, 404, 422, 500, 501])
def test_a_server_without_either_route_says_what_was_tried(status: int) -> None:
    with (
        ChatServer(lambda path, body: error(status, "is a chat model")) as model,
        pytest.raises(
            KnownError, match=rf"/classify.*{status}, is a chat model.*/pooling.*vllm serve"
        ),
    ):
        served(model)


def test_a_server_that_refuses_or_is_not_there_is_told() -> None:
    unknown = pytest.raises(KnownError, match=r"org/other.*does not exist.*name")
    with ChatServer(Vllm()) as model, unknown:
        served(model, "org/other")
    with ChatServer(lambda path, body: error(401)) as model:
        with pytest.raises(KnownError, match=KEY_VARIABLE):
            served(model)
        assert len(model.asked) == 1


def test_equal_responses_are_asked_once_and_tie() -> None:
    with ChatServer(Vllm()) as model:
        scorer = served(model)
        before = len(model.asked)
        ((chosen, rejected),) = rewards(scorer, EQUAL)
        assert chosen == rejected == -45
        assert len(model.asked) == before + 1


@pytest.mark.parametrize(
    "broken",
    [
        error(500),
        error(400, "longer than the context"),
        Answer(b'{"data": [{"probs": [1.'),
        Answer({"data": []}),
        labels("/classify", []),
        labels("/classify", [None]),
        labels("/classify", [1.0, 2.0]),
        Answer({"data": [{"probs": "AAAA"}]}),
    ],
)
def test_a_failed_conversation_has_no_reward(broken: Answer) -> None:
    vllm = Vllm()

    def answer(path: str, body: dict[str, Any]) -> Answer:
        is_bad = body["messages"][-1]["content"] == GOOD.rejected
        return broken if is_bad else vllm(path, body)

    with ChatServer(answer) as model:
        scorer = served(model)
        ((chosen, rejected),) = rewards(scorer, GOOD)
    assert chosen == -26
    assert math.isnan(rejected)


def test_a_run_of_a_served_model() -> None:
    nan = Pair("mine:4", "mine", "Name a colour.", "NaN", "Blue.")
    heads: Heads = lambda messages: (  # noqa: E731
        [math.nan] if messages[-1]["content"] == "NaN" else by_length(messages)
    )
    vllm = Vllm(heads)

    scoring, three = threading.Event(), threading.Event()

    def once_three_ask(path: str, body: dict[str, Any]) -> Answer:
        if model.most_at_once >= 3:
            three.set()
        assert not scoring.is_set() or three.wait(PATIENCE)
        return vllm(path, body)

    with ChatServer(once_three_ask) as model:
        scorer = served(model, parallel=3)
        scoring.set()
        settings = RunSettings(parallel=3)
        job = make_job([GOOD, EQUAL, SEVERAL, nan], scorer, seed=0)
        rows = {row.key: row for pack in score(job, scorer) for row in pack.rows}
        assert model.most_at_once == 3
        assert all(asked.body["messages"] for asked in model.asked)
        said_so = facts(scorer, settings, "demo", 4)
    assert [rows[f"mine:{n}"].outcome for n in (1, 2, 3, 4)] == ["win", "tie", "loss", "missing"]
    assert rows["mine:4"].rejected_reward == -45
    assert said_so.path == "asked over the network, 3 at once"
    assert said_so.template == "the server's own"
