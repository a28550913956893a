import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from scoring.engine.scorer import facts
from scoring.errors import KnownError
from scoring.families.server import KEY_VARIABLE, Served
from scoring.spec import LabelWeights, Message, ModelSpec, Pair, RunSettings
from tests.support.chat_server import Answer, ChatServer, InTurn, error
from tests.support.judging import labels, rewards, scored

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


@pytest.mark.parametrize(
    ("path", "below", "switch"),
    [("/classify", "", "softmax"), ("/pooling", "/v1/", "use_activation")],
)
def test_raw_rewards_come_from_the_route_that_answers_by_the_switch_that_it_knows(
    path: str, below: str, switch: str
) -> None:
    with ChatServer(Vllm(paths=[path], switch=switch)) as model:
        scorer = served(model, below=below)
        assert rewards(scorer, GOOD) == [(-26, -44)]
        assert [asked.path for asked in model.asked[-2:]] == [path] * 2
        assert f"raw ({switch} off), from POST {path}" in scorer.traits.reading


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


def test_raw_rewards_between_0_and_1_are_raw_where_the_switch_changes_them_else_that_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ChatServer(lambda path, body: labels("/classify", [-26.0])) as model:
        assert "raw" in served(model).traits.reading  # it has no activation
    with ChatServer(Vllm(lambda messages: [0.5])) as model:
        scorer = served(model)
        assert rewards(scorer, GOOD) == [(0.5, 0.5)]
    assert "raw" in scorer.traits.reading and not caplog.text
    with ChatServer(Vllm(switch="no_such_name")) as model, caplog.at_level(logging.WARNING):
        scorer = served(model)
        ((chosen, rejected),) = rewards(scorer, GOOD)
    assert 0 < rejected < chosen < 1
    assert "maybe after a sigmoid or softmax" in scorer.traits.reading
    assert "org/rm gives values from 0 to 1" in caplog.text


def two_labels(messages: list[dict[str, str]]) -> list[float]:
    return [by_length(messages)[0], 2 * by_length(messages)[0]]


def test_several_labels_are_read_as_declared_or_refused() -> None:
    with ChatServer(Vllm(two_labels)) as model:
        second, weighted = served(model, reading=1), served(model, reading=(1.0, -1.0))
        assert rewards(second, GOOD) == [(-52, -88)]
        assert rewards(weighted, GOOD) == [(26, 44)]
        assert "label 1 of 2" in second.traits.reading
        with pytest.raises(KnownError, match="2 labels, and which"):
            served(model)


def by_token(path: str, body: dict[str, Any]) -> Answer:
    return labels(path, [[0.1], [0.2]]) if path == "/pooling" else error(404)


NEITHER = r"/classify.*40., is a chat model.*/pooling.*vllm serve"


@pytest.mark.parametrize(
    ("answer", "name", "said"),
    [
        (by_token, "org/rm", "gives a reward for each token"),
        (InTurn(error(400, "is a chat model")), "org/rm", NEITHER),
        (InTurn(error(404, "is a chat model")), "org/rm", NEITHER),
        (Vllm(), "org/other", r"org/other.*does not exist.*name"),
        (InTurn(error(401)), "org/rm", KEY_VARIABLE),
    ],
    ids=["tokens", "400", "404", "name", "key"],
)
def test_a_server_that_has_no_such_rewards_says_what_was_tried(
    answer: Any, name: str, said: str
) -> None:
    with ChatServer(answer) as model, pytest.raises(KnownError, match=said):
        served(model, name)


@pytest.mark.parametrize(
    "broken",
    [
        error(500),
        error(400, "longer than the context"),
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


def test_a_run_of_a_served_model_asks_once_of_equal_responses() -> None:
    nan = Pair("mine:4", "mine", "Name a colour.", "NaN", "Blue.")

    def heads(messages: list[dict[str, str]]) -> list[float]:
        return [math.nan] if messages[-1]["content"] == "NaN" else by_length(messages)

    with ChatServer(Vllm(heads)) as model:
        scorer = served(model, parallel=3)
        before = len(model.asked)
        rows = scored(scorer, [GOOD, EQUAL, SEVERAL, nan])
        assert len(model.asked) == before + 6  # one for Blue. in both pairs
        told = facts(scorer, RunSettings(parallel=3), "demo", 4)
    assert [rows[f"mine:{n}"].outcome for n in (1, 2, 3, 4)] == ["win", "tie", "loss", "missing"]
    assert rows["mine:4"].rejected_reward == -45
    assert told.path == "asked over the network, 3 at once"
    assert told.template == "the server's own"
