"""Judges and raters behind a server: what they are asked, and how their answers are read.

By our own prompt they are read by probabilities, by upstream's by the verdict that they write.
"""

import math
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from scoring.errors import KnownError
from scoring.families import prompts
from scoring.families.chat import Answers, Reply, verdict
from scoring.spec import JudgePrompt, Message, Pair
from tests.support.chat_server import Answer, ChatServer, error, in_turn, said, shown
from tests.support.judging import COLOURS as PAIRS
from tests.support.judging import asked, cut, judge, rewards, scored

ODD = " {braces} %s \\n \n\n 🤔 \0 "
GOOD = Pair("mine:1", "mine", "Name a colour.", f"Red, like a ripe tomato.{ODD}", f"Seven.{ODD}")
BAD = replace(GOOD, chosen=GOOD.rejected, rejected=GOOD.chosen)
EQUAL = Pair("mine:3", "mine", "Name a colour.", "Blue.", "Blue.")
TURNS = (Message("user", "Hi!"), Message("assistant", "Hello."), Message("user", "Name a colour."))
TWO = Pair("mine:two", "mine", "a transcript", "Red.", "Soon.", TURNS)
THREE = replace(TWO, turns=(*TURNS, *TURNS[1:]))
writer = partial(judge, judge_prompt="upstream")


def says_long(path: str, body: dict[str, Any]) -> Answer:
    first, second = shown(body)
    return said("A" if len(first) > len(second) else "[[B]]")


def test_a_judge_is_asked_in_both_orders_as_the_protocol_says_and_once_of_equal_ones() -> None:
    with ChatServer(says_long) as model:
        assert rewards(judge(model, seed=5), GOOD, EQUAL) == [(1, 0), (0.5, 0.5)]
        assert {request.path for request in model.asked} == {"/v1/chat/completions"}
        bodies = [request.body for request in model.asked]
    sides = GOOD.chosen, GOOD.rejected
    both_orders = [sides, sides[::-1], (EQUAL.chosen, EQUAL.chosen)]
    assert sorted(map(shown, bodies)) == sorted(both_orders)
    for body in bodies:
        [message] = body.pop("messages")
        assert message["role"] == "user"
        assert f"[Conversation]\n{GOOD.prompt}\n" in message["content"]
        how = {"max_tokens": 16, "temperature": 0, "seed": 5, "logprobs": True, "top_logprobs": 20}
        assert body == {"model": "org/judge", **how}


def by_order(path: str, body: dict[str, Any]) -> Answer:
    if len(shown(body)[0]) > len(shown(body)[1]):
        return said("A", {"A": 0.4, " A": 0.2, "\nB": 0.2, "An": 0.1})
    return said("B", {"The": 0.2, "A": 0.32, "B": 0.32, " B": 0.16})


def with_logprobs(text: str, content: Any) -> Any:
    given = said(text)
    given.body["choices"][0]["logprobs"] = {"content": [content]}
    return in_turn(given)


TAKEN_ALONE = {"token": "A", "logprob": -0.1, "top_logprobs": []}
READ: list[tuple[str, Any, float]] = [
    ("the mean probability over both orders", by_order, (0.75 + 0.6) / 2),
    ("a judge that always says A ties", in_turn(said("A", {"A": 0.83, "B": 0.17})), 0.5),
    ("a text without probabilities", says_long, 1.0),
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


def newer(path: str, body: dict[str, Any]) -> Answer:
    """Takes no temperature, and another name for the number of tokens, as newer models do."""
    for name in ("max_tokens", "temperature", "logprobs"):
        if name in body:
            return error(400, f"Unsupported parameter: '{name}'.")
    return says_long(path, body)


def test_a_value_that_a_server_refuses_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with ChatServer(newer) as model:
        scorer = judge(model, parallel=4)
        assert rewards(scorer, GOOD) == [(1, 0)]
        before = len(model.asked)
        assert rewards(scorer, EQUAL) == [(0.5, 0.5)]
        [request] = model.asked[before:]
    assert request.body["max_completion_tokens"] <= 64
    assert "The server takes no max_tokens, temperature, logprobs" in caplog.text


def test_a_failed_request_makes_its_pair_missing_and_others_are_asked_as_before() -> None:
    def answer(path: str, body: dict[str, Any]) -> Answer:
        is_long = shown(body)[0] == GOOD.chosen
        return error(400, "longer than the context") if is_long else says_long(path, body)

    with ChatServer(answer) as model:
        failed, equal = rewards(judge(model, parallel=1), GOOD, EQUAL)
        assert "logprobs" in model.asked[-1].body
    assert all(map(math.isnan, failed)) and equal == (0.5, 0.5)


def test_a_rater_rates_each_response_alone() -> None:
    def rates(path: str, body: dict[str, Any]) -> Answer:
        text = asked(body)
        assert "logprobs" not in body and GOOD.prompt in text
        assert sum(each in text for each in (*GOOD.responses, *EQUAL.responses[:1])) == 1
        seven = "3" if "Seven" in text else "fine"
        return said("Rating: 8/10" if "tomato" in text else seven)

    with ChatServer(rates) as model:
        scorer = judge(model, "rater")
        assert rewards(scorer, GOOD, BAD) == [(8, 3), (3, 8)]
        assert all(map(math.isnan, rewards(scorer, EQUAL)[0]))


VERDICTS = {
    **dict.fromkeys(["A", "**A**", "Response A is better.", "A, since A is right"], "A"),
    **dict.fromkeys(["[[B]]", " B\n"], "B"),
    **dict.fromkeys(["A or B", "a", "AB", "Better", ""], None),
}
NUMBERS = {
    "1": 1.0, "10": 10.0, "7.5": 7.5, "8/10": 8.0, "Rating: 3.": 3.0,
    **dict.fromkeys(["0.9", "10.1", "100", "nine", "", "9" * 400], None),
}  # fmt: skip


def test_a_verdict_is_the_one_label_named_and_a_rating_the_first_number_from_1_to_10() -> None:
    """Also where an answer hardly begins with a label."""
    assert {text: prompts.parse_verdict(text) for text in VERDICTS} == VERDICTS
    assert {text: prompts.parse_rating(text) for text in NUMBERS} == NUMBERS
    reply = Reply("The better one is B.", (("The", math.log(0.9)), ("A", math.log(0.04))))
    assert (verdict(reply), verdict(reply._replace(text="The"))) == ((0.0, 1.0), None)


def test_the_words_are_known_by_their_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("", "mt-bench", "rewardbench-2", "rewardbench-2-gemini")
    before = {each: prompts.digest(*each) for each in product(("judge", "rater"), names)}
    assert before["judge", ""].startswith("judge prompt:")
    assert len({*before.values()}) == len(before)
    monkeypatch.setitem(prompts.prompt_forms()["rater"], "user", "Other words.")
    assert [each for each in before if prompts.digest(*each) != before[each]] == [("rater", "")]


# Verdicts and ratings that are written, by upstream's prompts and its reading.


def is_red_first(body: dict[str, Any]) -> bool:
    return asked(body).index("Red") < asked(body).index("Soon")


def prefers_red(path: str, body: dict[str, Any]) -> Answer:
    return said(f"Red is a colour.\n\n[[{'A' if is_red_first(body) else 'B'}]]")


def test_a_verdict_is_asked_once_in_an_order_that_is_drawn() -> None:
    with ChatServer(prefers_red) as model:
        for _ in range(2):
            assert rewards(writer(model), *PAIRS) == [(1, 0)] * len(PAIRS)
        bodies = [each.body for each in model.asked]
    first, again = bodies[: len(PAIRS)], bodies[len(PAIRS) :]
    assert len({*map(is_red_first, first)}) == 2
    assert sorted(map(asked, again)) == sorted(map(asked, first))
    for body in bodies:
        system, user = body.pop("messages")
        assert (system["role"], user["role"]) == ("system", "user")
        assert system["content"].endswith('"[[B]]" if assistant B is better.')
        assert user["content"].startswith("[User Question]\nName ")
        assert body == {"model": "org/judge", "max_tokens": 2048, "temperature": 0, "seed": 0}


def test_two_turns_have_a_prompt_of_their_own_and_more_are_ties() -> None:
    with ChatServer(prefers_red) as model:
        assert rewards(writer(model), TWO, THREE) == [(1, 0), (0.5, 0.5)]
        (request,) = model.asked
    assert "### User:\nHi!" in asked(request.body)
    with pytest.raises(KnownError, match="The prompt prometheus is for conversations of one turn"):
        prompts.questions("judge", TWO, "prometheus")


RM_R1 = "<think>[[B]], or [[A]]?</think>\n<answer>[[A]]</answer>"
"""The digits below are of a hash of the words in its repository, by its authors' own code."""


@pytest.mark.parametrize(
    ("name", "given", "prompt", "says"),
    [
        ("org/Con-J-Qwen2-7B", "upstream", "con-j", '{"原因": "...", "更好的回答": 1}'),
        ("org/OffsetBias-8B", "upstream", "offsetbias", "Output (a)"),
        ("org/any", "gemini", "gemini", "[[A]]"),
        ("gaotang/RM-R1-Qwen2.5-Instruct-7B", "upstream", "rm-r1:e39e007ecaaf", RM_R1),
        ("RM-R1-DeepSeek-Distilled-Qwen-7B", "upstream", "rm-r1-reasoning:b303ba2eff62", RM_R1),
    ],
)
def test_a_models_name_or_a_word_chooses_the_prompt(
    name: str, given: JudgePrompt, prompt: str, says: str
) -> None:
    with ChatServer(in_turn(said(says))) as model:
        scorer = judge(model, name=name, judge_prompt=given)
        found = rewards(scorer, *PAIRS)
        bodies = [each.body for each in model.asked]
    n_won = sum(map(is_red_first, bodies))
    assert sorted(found) == [(0, 1)] * (len(PAIRS) - n_won) + [(1, 0)] * n_won
    words, _, digits = prompt.partition(":")
    assert scorer.traits.template.startswith(f"{words} judge prompt:{digits}")
    assert (bodies[0]["max_tokens"] == 8192) == (says == RM_R1)


def test_ratings_are_read_at_the_end_and_one_that_is_none_is_a_tie_or_of_many_the_lowest() -> None:
    def answer(path: str, body: dict[str, Any]) -> Answer:
        assert asked(body).endswith("[Your judgement]")
        if "Red 0" in asked(body):
            return said("9 of ten would like it.")
        return said("Fine.\n\n8" if "Red" in asked(body) else "8/10 is too much: 3")

    row = replace(PAIRS[1], key="mine:row", more_rejected=("Red 0.", "Soon 1.", "Blue."))
    with ChatServer(answer) as model:
        rater = writer(model, "rater")
        assert rewards(rater, *PAIRS[:2]) == [(0, 0), (8, 3)]
        assert {each.body["max_tokens"] for each in model.asked} == {1024}
        assert scored(rater, [row])[row.key].rewards == (8, 3, 0, 3, 3)


def test_thoughts_are_no_answer_and_settings_are_sent_and_told() -> None:
    text = "<think>Is it A? [[A]] or B?</think>\n\nNeither."
    with ChatServer(in_turn(said(None), said(text))) as model:
        scorer = writer(model, max_tokens=4096, temperature=0.5)
        assert {*rewards(scorer, *PAIRS)} == {(0.5, 0.5)}
        sent = {(each.body["max_tokens"], each.body["temperature"]) for each in model.asked}
    assert sent == {(4096, 0.5)}
    assert scorer.traits.reading.endswith("; 4,096 tokens at most, temperature 0.5")


def test_answers_that_are_all_cut_off_end_the_run_with_a_way_out() -> None:
    hopeless = pytest.raises(KnownError, match=r"cut off at 16 tokens;.*--max-tokens 4096")
    with ChatServer(in_turn(cut("<think>Hm, A"))) as model, hopeless:
        rewards(judge(model), *PAIRS)
    with ChatServer(in_turn(said("A"), cut("<think>Hm"))) as model:
        found = rewards(judge(model, parallel=1), *PAIRS[:2])
    assert all(math.isnan(reward) for pair in found for reward in pair)


def test_answers_are_kept_and_asked_for_once_whatever_became_of_the_run(tmp_path: Path) -> None:
    with ChatServer(prefers_red) as model:
        for part, n in (("", 3), ("-2", 4)):
            scorer = writer(model)
            scorer.keep_answers(tmp_path, part)
            assert rewards(scorer, *PAIRS[:n]) == [(1, 0)] * n
        assert len(model.asked) == 4
    assert len((tmp_path / "answers-2.jsonl").read_text("utf-8").splitlines()) == 1
    reply = Reply("<b>A</b>\n", (("A", -0.25), (" A", -3.0)), cut=True)
    Answers(tmp_path).add(TURNS, reply)
    assert Answers(tmp_path).get(TURNS) == reply
