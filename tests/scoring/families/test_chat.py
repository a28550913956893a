"""Judges and raters behind a server, read by the probabilities of their answers."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from scoring.engine.formatting import Prepared
from scoring.engine.scorer import facts
from scoring.families.chat import ChatJudge, Reply, verdict
from scoring.families.prompts import digest
from scoring.families.server import KEY_VARIABLE
from scoring.run import make_job, score
from scoring.spec import Family, ModelSpec, Pair, RunSettings, ScoredPair
from tests.support.chat_server import Answer, ChatServer, InTurn, error, said, shown
from tests.support.judging import rewards

GOOD = Pair("mine:1", "mine", "Name a colour.", "Red, like a ripe tomato.", "Seven.")
BAD = Pair("mine:2", "mine", "Name a colour.", "Seven.", "Red, like a ripe tomato.")
EQUAL = Pair("mine:3", "mine", "Name a colour.", "Blue.", "Blue.")


def judge(server: ChatServer, family: Family = "judge", **settings: Any) -> ChatJudge:
    spec = ModelSpec("org/judge", "", "", family, url=server.url + "/v1")
    return ChatJudge(spec, RunSettings(**settings))


def prefers_long(path: str, body: dict[str, Any]) -> Answer:
    """Finds A better by its length, with a liking for whatever stands first."""
    first, second = shown(body)
    share = 1 / (1 + math.exp(-0.05 * (len(first) - len(second)) - 0.37))
    return said("whatever", {"A": 0.9 * share, "B": 0.9 * (1 - share), "The": 0.1})


def says_long(path: str, body: dict[str, Any]) -> Answer:
    first, second = shown(body)
    return said("A" if len(first) > len(second) else "[[B]]")


def without_logprobs(path: str, body: dict[str, Any]) -> Answer:
    return error(400, "logprobs are not supported") if "logprobs" in body else says_long(path, body)


def test_a_judge_is_asked_in_both_orders_as_the_protocol_says() -> None:
    with ChatServer(prefers_long) as model:
        rewards(judge(model, seed=5), GOOD)
        asked = [request.body for request in model.asked]
        assert {request.path for request in model.asked} == {"/v1/chat/completions"}
    assert sorted(map(shown, asked)) == [(GOOD.chosen, GOOD.rejected), (GOOD.rejected, GOOD.chosen)]
    for body in asked:
        assert (body["model"], body["temperature"], body["seed"]) == ("org/judge", 0, 5)
        assert (body["logprobs"], body["top_logprobs"]) == (True, 20)
        assert 1 <= body["max_tokens"] <= 64
        assert [message["role"] for message in body["messages"]] == ["user"]
        assert GOOD.prompt in body["messages"][0]["content"]


def by_order(path: str, body: dict[str, Any]) -> Answer:
    if len(shown(body)[0]) > len(shown(body)[1]):
        return said("A", {"A": 0.4, " A": 0.2, "\nB": 0.2, "An": 0.1})
    return said("B", {"The": 0.2, "A": 0.32, "B": 0.32, " B": 0.16})


def with_logprobs(logprobs: Any) -> Callable[[str, dict[str, Any]], Answer]:
    def answer(path: str, body: dict[str, Any]) -> Answer:
        given = says_long(path, body)
        given.body["choices"][0]["logprobs"] = logprobs
        return given

    return answer


def token_taken_alone(path: str, body: dict[str, Any]) -> Answer:
    label = says_long(path, body).body["choices"][0]["message"]["content"].strip("[]")
    given = said("?", {label: 0.9})
    given.body["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = []
    return given


OTHER_SHAPES: tuple[Any, ...] = (
    *(None, {}, [1], "none", {"content": None}, {"content": []}, {"content": [{"token": "A"}]}),
)
READ: list[tuple[str, Any, float]] = [
    ("the mean probability over both orders", by_order, (0.75 + 0.6) / 2),
    *(
        ("a judge that always says A ties", InTurn(said("A", first)), 0.5)
        for first in ({"A": 0.83, "B": 0.17}, {"A": 0.9}, None)
    ),
    ("a text without probabilities", says_long, 1.0),
    *(("probabilities of another shape", with_logprobs(each), 1.0) for each in OTHER_SHAPES),
    *(
        ("a text where neither label is likely", InTurn(said("Response B is better.", first)), 0.5)
        for first in ({"Response": 0.9, "I": 0.1}, {"A": 0, "B": 0, "The": 1})
    ),
    ("the token taken where only that is known", token_taken_alone, 1.0),
]


@pytest.mark.parametrize(("answer", "chosen"), [pytest.param(*row, id=name) for name, *row in READ])
def test_a_reward_is_what_both_orders_say(answer: Any, chosen: float) -> None:
    with ChatServer(answer) as model:
        good, bad = rewards(judge(model), GOOD, BAD)
        assert len(model.asked) == 2  # the same two questions
    assert good == pytest.approx((chosen, 1 - chosen))
    assert bad == good[::-1]
    assert chosen != 0.5 or good[0] == good[1]  # to the last bit


def test_an_answer_that_hardly_begins_with_a_label_is_read_as_text() -> None:
    reply = Reply("The better one is B.", (("The", math.log(0.9)), ("A", math.log(0.04))))
    assert verdict(reply) == (0.0, 1.0)
    assert verdict(reply._replace(text="The")) is None


def test_equal_responses_tie_exactly_and_are_asked_once() -> None:
    with ChatServer(prefers_long) as model:
        ((chosen, rejected),) = rewards(judge(model), EQUAL)
        assert len(model.asked) == 1
    assert chosen == rejected == pytest.approx(0.5)


def test_a_server_that_refuses_logprobs_is_asked_without_from_then_on() -> None:
    with ChatServer(without_logprobs) as model:
        scorer = judge(model, parallel=1)
        assert rewards(scorer, GOOD) == [(1, 0)]
        assert ["logprobs" in asked.body for asked in model.asked] == [True, False, False]
        assert rewards(scorer, BAD) == [(0, 1)]
        assert not any("logprobs" in asked.body for asked in model.asked[3:])


def test_a_text_too_long_does_not_cost_the_others_their_probabilities() -> None:
    long = Pair("mine:9", "mine", "Name a colour.", "Red. " * 50, "Blue.")

    def answer(path: str, body: dict[str, Any]) -> Answer:
        if long.chosen in body["messages"][0]["content"]:
            return error(400, "longer than the context")
        return prefers_long(path, body)

    with ChatServer(answer) as model:
        scorer = judge(model, parallel=1)
        missing, good = rewards(scorer, long, GOOD)
        assert all("logprobs" in asked.body for asked in model.asked[-2:])
    assert all(map(math.isnan, missing))
    assert 0.5 < good[0] < 1


@pytest.mark.parametrize("text", ["Hm.", "A or B?", "", None])
def test_nonsense_is_missing_and_told(text: str | None, caplog: pytest.LogCaptureFixture) -> None:
    with ChatServer(InTurn(said(text))) as model:
        scorer = judge(model)
        (found,) = rewards(scorer, GOOD)
        assert all(map(math.isnan, found))
    assert caplog.text.count("An answer is no verdict") == 1
    assert scorer.errors.sentences() == ["An answer is no verdict: 2 times in all."]


@pytest.mark.parametrize(
    "broken",
    [error(400), Answer(b'{"choices": ['), Answer({"choices": [{"message": {"content": 3}}]})],
)
@pytest.mark.parametrize("family", ["judge", "rater"])
def test_a_failed_request_makes_the_pair_missing(broken: Answer, family: Family) -> None:
    def answer(path: str, body: dict[str, Any]) -> Answer:
        if family == "judge":
            return broken if shown(body)[1] == GOOD.chosen else said("A")
        return broken if GOOD.chosen in body["messages"][0]["content"] else said("7")

    with ChatServer(answer) as model:
        scorer = judge(model, family)
        (found,) = rewards(scorer, GOOD)
    assert all(map(math.isnan, found))


def rates(path: str, body: dict[str, Any]) -> Answer:
    asked = body["messages"][0]["content"]
    assert "logprobs" not in body
    if "tomato" in asked:
        return said("Rating: 8/10")
    return said("3" if "Seven" in asked else "fine")


def test_a_rater_rates_each_response_alone() -> None:
    with ChatServer(rates) as model:
        scorer = judge(model, "rater")
        assert rewards(scorer, GOOD, BAD) == [(8, 3), (3, 8)]
        assert all(
            ("tomato" in asked.body["messages"][0]["content"])
            != ("Seven" in asked.body["messages"][0]["content"])
            for asked in model.asked
        )
        assert all(map(math.isnan, rewards(scorer, EQUAL)[0]))


def test_a_run_says_what_is_missing_and_why() -> None:
    """A win, a loss, a tie, and two pairs that are missing, each for another reason."""
    unsure = Pair("mine:4", "mine", "Name a colour.", "Mu.", "Mumu.")
    broken = Pair("mine:5", "mine", "Name a colour.", "Crash.", "Crash now.")

    def answer(path: str, body: dict[str, Any]) -> Answer:
        both = shown(body)
        if unsure.chosen in both:
            return said("I cannot say.")
        return error(500) if broken.chosen in both else prefers_long(path, body)

    with ChatServer(answer) as model:
        scorer = judge(model, parallel=3)
        job = make_job([GOOD, BAD, EQUAL, unsure, broken], scorer, seed=0)
        rows = {row.key: row for pack in score(job, scorer) for row in pack.rows}
        assert model.most_at_once <= 3
    outcomes = {key: row.outcome for key, row in rows.items()}
    told = ("win", "loss", "tie", "missing", "missing")
    assert outcomes == {f"mine:{at}": each for at, each in enumerate(told, 1)}
    assert isinstance(rows["mine:4"], ScoredPair)
    assert rows["mine:4"].chosen_reward is rows["mine:5"].rejected_reward is None


@pytest.mark.parametrize("family", ["judge", "rater"])
def test_the_facts_say_how_it_was_asked(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk-do-not-tell")
    with ChatServer(prefers_long) as model:
        settings = RunSettings(parallel=3)
        scorer = judge(model, family, parallel=3)
        said_so = facts(scorer, settings, "demo", 2)
    assert said_so.path == "asked over the network, 3 at once"
    assert said_so.template == digest(family)
    assert said_so.versions.keys() == {"httpx"}
    assert ("both orders averaged" in said_so.reading) == (family == "judge")
    assert said_so.budget == 16
    assert "sk-do-not-tell" not in repr(said_so)


def test_a_pack_keeps_all_requests_busy() -> None:
    with ChatServer(prefers_long) as model:
        assert judge(model, parallel=64).traits.budget == 64
        assert judge(model).prepare([GOOD]) == [Prepared(GOOD)]
