"""What judges and raters are asked by our own prompt, and how a server's answers are read."""

import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.engine.formatting import Prepared
from scoring.engine.scorer import facts
from scoring.families.chat import Reply, verdict
from scoring.families.prompts import (
    LABELS,
    RATINGS,
    digest,
    parse_rating,
    parse_verdict,
    prompt_forms,
)
from scoring.families.server import KEY_VARIABLE
from scoring.spec import Family, Message, Pair, RunSettings
from tests.support.chat_server import Answer, ChatServer, InTurn, error, said, shown
from tests.support.judging import judge, rating_prompt, rewards, scored, verdict_prompt

GOOD = Pair("mine:1", "mine", "Name a colour.", "Red, like a ripe tomato.", "Seven.")
BAD = Pair("mine:2", "mine", "Name a colour.", "Seven.", "Red, like a ripe tomato.")
EQUAL = Pair("mine:3", "mine", "Name a colour.", "Blue.", "Blue.")


def prefers_long(path: str, body: dict[str, Any]) -> Answer:
    """Finds A better by its length, with a liking for whatever stands first."""
    first, second = shown(body)
    share = 1 / (1 + math.exp(-0.05 * (len(first) - len(second)) - 0.37))
    return said("whatever", {"A": 0.9 * share, "B": 0.9 * (1 - share), "The": 0.1})


def says_long(path: str, body: dict[str, Any]) -> Answer:
    first, second = shown(body)
    return said("A" if len(first) > len(second) else "[[B]]")


def test_a_judge_is_asked_in_both_orders_as_the_protocol_says_and_once_of_equal_ones() -> None:
    with ChatServer(prefers_long) as model:
        _, equal = rewards(judge(model, seed=5), GOOD, EQUAL)
        assert equal[0] == equal[1] == pytest.approx(0.5)
        by_text = {shown(request.body): request.body for request in model.asked}
        assert len(model.asked) == 3 and by_text.pop((EQUAL.chosen, EQUAL.chosen))
        assert {request.path for request in model.asked} == {"/v1/chat/completions"}
    assert {*by_text} == {(GOOD.chosen, GOOD.rejected), (GOOD.rejected, GOOD.chosen)}
    for body in by_text.values():
        assert (body["model"], body["temperature"], body["seed"]) == ("org/judge", 0, 5)
        assert (body["logprobs"], body["top_logprobs"]) == (True, 20)
        assert 1 <= body["max_tokens"] <= 64
        assert [message["role"] for message in body["messages"]] == ["user"]
        assert GOOD.prompt in body["messages"][0]["content"]


def by_order(path: str, body: dict[str, Any]) -> Answer:
    if len(shown(body)[0]) > len(shown(body)[1]):
        return said("A", {"A": 0.4, " A": 0.2, "\nB": 0.2, "An": 0.1})
    return said("B", {"The": 0.2, "A": 0.32, "B": 0.32, " B": 0.16})


def with_logprobs(text: str, *content: Any) -> InTurn:
    given = said(text)
    given.body["choices"][0]["logprobs"] = {"content": content}
    return InTurn(given)


TAKEN_ALONE = {"token": "A", "logprob": -0.1, "top_logprobs": []}
READ: list[tuple[str, Any, float]] = [
    ("the mean probability over both orders", by_order, (0.75 + 0.6) / 2),
    ("a judge that always says A ties", InTurn(said("A", {"A": 0.83, "B": 0.17})), 0.5),
    ("a text without probabilities", says_long, 1.0),
    ("probabilities of no token", with_logprobs("A"), 0.5),
    ("probabilities of another shape", with_logprobs("A", {"token": "A"}), 0.5),
    ("the token taken where only that is known", with_logprobs("?", TAKEN_ALONE), 0.5),
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


@pytest.mark.parametrize("refuses", ["logprobs", "a long text"])
def test_a_server_that_refuses_logprobs_is_asked_without_but_not_for_a_text(refuses: str) -> None:
    def answer(path: str, body: dict[str, Any]) -> Answer:
        if refuses in body:
            return error(400, "logprobs are not supported")
        is_long = refuses == "a long text" and GOOD.chosen in shown(body)
        return error(400, "longer than the context") if is_long else says_long(path, body)

    with ChatServer(answer) as model:
        found = rewards(judge(model, parallel=1), GOOD, EQUAL)
        asked = ["logprobs" in each.body for each in model.asked]
    assert found[1] == (0.5, 0.5)
    if refuses == "logprobs":
        assert found[0] == (1, 0) and asked == [True, False, False, False]
    else:
        assert all(map(math.isnan, found[0])) and asked[-1]


@pytest.mark.parametrize("broken", [error(400), Answer({"choices": [{"message": {"content": 3}}]})])
@pytest.mark.parametrize("family", ["judge", "rater"])
def test_a_failed_request_makes_the_pair_missing(broken: Answer, family: Family) -> None:
    def answer(path: str, body: dict[str, Any]) -> Answer:
        text = body["messages"][0]["content"]
        fails = GOOD.chosen in (shown(body)[0] if family == "judge" else text)
        return broken if fails else said("A" if family == "judge" else "7")

    with ChatServer(answer) as model:
        (found,) = rewards(judge(model, family), GOOD)
    assert all(map(math.isnan, found))


def test_a_rater_rates_each_response_alone() -> None:
    def rates(path: str, body: dict[str, Any]) -> Answer:
        asked = body["messages"][0]["content"]
        assert "logprobs" not in body and ("tomato" in asked) + ("Seven" in asked) < 2
        seven = "3" if "Seven" in asked else "fine"
        return said("Rating: 8/10" if "tomato" in asked else seven)

    with ChatServer(rates) as model:
        scorer = judge(model, "rater")
        assert rewards(scorer, GOOD, BAD) == [(8, 3), (3, 8)]
        assert all(map(math.isnan, rewards(scorer, EQUAL)[0]))


def test_a_run_says_what_is_missing_and_why(caplog: pytest.LogCaptureFixture) -> None:
    """A win, a loss, a tie, and pairs that are missing for one reason or another."""
    unsure = [
        Pair(f"mine:{n}", "mine", "Name a colour.", f"{n}. Mu", f"{n}. Mumu.") for n in (4, 5)
    ]
    broken = Pair("mine:6", "mine", "Name a colour.", "Crash.", "Crash now.")

    def answer(path: str, body: dict[str, Any]) -> Answer:
        both = shown(body)
        if "Mu" in both[0]:
            return said("A or B?" if "4" in both[0] else None)
        return error(500) if broken.chosen in both else prefers_long(path, body)

    with ChatServer(answer) as model:
        scorer = judge(model, parallel=3)
        rows = scored(scorer, [GOOD, BAD, EQUAL, *unsure, broken])
        assert model.most_at_once <= 3
    outcomes = [rows[f"mine:{n}"].outcome for n in range(1, 7)]
    assert outcomes == ["win", "loss", "tie", "missing", "missing", "missing"]
    assert rows["mine:4"].chosen_reward is rows["mine:6"].rejected_reward is None
    assert caplog.text.count("An answer is no verdict") == 1
    assert "An answer is no verdict: 4 times in all." in scorer.errors.sentences()


@pytest.mark.parametrize("family", ["judge", "rater"])
def test_the_facts_say_how_it_was_asked(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk-do-not-tell")
    with ChatServer(prefers_long) as model:
        said_so = facts(judge(model, family, parallel=3), RunSettings(parallel=3), "demo", 2)
        busy = judge(model, parallel=64)
        assert busy.traits.budget == 64  # a pack keeps all requests busy
        assert busy.prepare([GOOD]) == [Prepared(GOOD)]
    assert said_so.path == "asked over the network, 3 at once"
    assert said_so.template == digest(family)
    assert said_so.versions.keys() == {"httpx"}
    assert ("both orders averaged" in said_so.reading) == (family == "judge")
    assert "sk-do-not-tell" not in repr(said_so)


# The words.

ODD = " {braces} %s \\n \n\n [End of response A] 🤔 \0 "
TURNS = (Message("user", "Hello"), Message("assistant", "Hi"), Message("user", "Bye"))
ODD_PAIR = Pair("s:1", "s", f"the transcript{ODD}", f"Red.{ODD}", f"No.{ODD}", TURNS)


def test_a_judge_sees_the_conversation_and_both_responses_in_their_order_as_they_are() -> None:
    (message,) = verdict_prompt(ODD_PAIR, ODD_PAIR.rejected, ODD_PAIR.chosen)
    parts = [
        f"[Conversation]\n{ODD_PAIR.prompt}\n",
        f"[Start of response A]\n{ODD_PAIR.rejected}\n[End of response A]",
        f"[Start of response B]\n{ODD_PAIR.chosen}\n[End of response B]",
    ]
    places = [message.content.index(part) for part in parts]
    assert message.role == "user" and places == sorted(places)


def test_a_rater_sees_one_response_and_not_the_other() -> None:
    (message,) = rating_prompt(ODD_PAIR, ODD_PAIR.chosen)
    assert f"[Start of response]\n{ODD_PAIR.chosen}\n[End of response]" in message.content
    assert f"[Conversation]\n{ODD_PAIR.prompt}\n" in message.content
    assert ODD_PAIR.rejected not in message.content


VERDICTS = {
    **dict.fromkeys(["A", "**A**", "A.", "Response A is better.", "A, since A is right"], "A"),
    **dict.fromkeys(["B", "[[B]]", " B\n"], "B"),
    **dict.fromkeys(["A or B", "a", "b is better", "AB", "Better", "C", ""], None),
}
NUMBERS = {
    "1": 1.0, "10": 10.0, "7.5": 7.5, "8/10": 8.0, "Rating: 3.": 3.0, "[[9]]": 9.0,
    **dict.fromkeys(["0", "0.9", "10.1", "11", "100", "nine", "", "9" * 400], None),
}  # fmt: skip


def test_a_verdict_is_the_one_label_named_and_a_rating_the_first_number_from_1_to_10() -> None:
    assert {text: parse_verdict(text) for text in VERDICTS} == VERDICTS
    assert {text: parse_rating(text) for text in NUMBERS} == NUMBERS


@given(st.text())
def test_any_answer_is_read_without_an_error(text: str) -> None:
    verdict, rating = parse_verdict(text), parse_rating(text)
    assert verdict is None or (verdict in LABELS and verdict in text)
    assert rating is None or RATINGS[0] <= rating <= RATINGS[-1]


def test_the_words_are_known_by_their_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = ("", "mt-bench", "rewardbench-2", "rewardbench-2-gemini")
    before = {each: digest(*each) for each in product(("judge", "rater"), prompts)}
    assert before["judge", ""].startswith("judge prompt:")
    assert len({*before.values()}) == len(before)
    monkeypatch.setitem(prompt_forms()["rater"], "user", "Other words.")
    changed = [each for each in before if digest(*each) != before[each]]
    assert changed == [("rater", "")]
