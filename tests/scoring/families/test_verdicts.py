"""Judges behind a server that write verdicts or ratings, by upstream's prompts and its reading."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scoring.command import execution
from scoring.engine.scorer import facts
from scoring.errors import KnownError
from scoring.families.chat import Answers, Reply
from scoring.families.prompts import questions
from scoring.spec import JudgePrompt, Message, Pair, RunSettings
from tests.support.chat_server import Answer, ChatServer, InTurn, error, said
from tests.support.judging import COLOURS as PAIRS
from tests.support.judging import asked, cut, judged, rewards, scored
from tests.support.judging import judge as judge_of

TURNS = (Message("user", "Hi!"), Message("assistant", "Hello."), Message("user", "Name a colour."))
TWO = Pair("mine:two", "mine", "a transcript", "Red.", "Soon.", TURNS)
THREE = Pair("mine:3", "mine", "a transcript", "Red.", "Soon.", (*TURNS, *TURNS[1:]))
judge = partial(judge_of, judge_prompt="upstream")


def prefers_red(path: str, body: dict[str, Any]) -> Answer:
    first = asked(body).index("Red") < asked(body).index("Soon")
    return said(f"Red is a colour.\n\n[[{'A' if first else 'B'}]]")


def test_a_verdict_is_asked_once_in_an_order_that_is_drawn() -> None:
    with ChatServer(prefers_red) as model:
        assert rewards(judge(model), *PAIRS) == [(1, 0)] * len(PAIRS)
        bodies = [each.body for each in model.asked]
        assert rewards(judge(model), *PAIRS) == [(1, 0)] * len(PAIRS)
        again = [each.body for each in model.asked[len(PAIRS) :]]
    assert len(bodies) == len(PAIRS)
    assert len({asked(body).index("Red") < asked(body).index("Soon") for body in bodies}) == 2
    assert sorted(map(asked, again)) == sorted(map(asked, bodies))
    for body in bodies:
        assert [each["role"] for each in body["messages"]] == ["system", "user"]
        assert body["messages"][0]["content"].endswith('"[[B]]" if assistant B is better.')
        assert asked(body).startswith("[User Question]\nName ")
        assert (body["max_tokens"], body["temperature"]) == (2048, 0)
        assert "logprobs" not in body


@pytest.mark.parametrize(
    ("text", "half"), [("I cannot say.", True), (None, True), ("[[B]] or [[A]]", False)]
)
def test_no_verdict_is_a_tie_and_both_are_the_first(
    text: str | None, half: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """As process_judgement reads it, and run_generative.py counts it."""
    with ChatServer(InTurn(said(text))) as model:
        found = rewards(judge(model), *PAIRS)
    assert set(found) == ({(0.5, 0.5)} if half else {(0, 1), (1, 0)})
    assert ("An answer is no verdict" in caplog.text) == half


def test_two_turns_have_a_prompt_of_their_own_and_more_are_ties() -> None:
    with ChatServer(prefers_red) as model:
        assert rewards(judge(model), TWO, THREE) == [(1, 0), (0.5, 0.5)]
        (request,) = model.asked
    assert "### User:\nHi!" in asked(request.body)
    with pytest.raises(KnownError, match="The prompt prometheus is for conversations of one turn"):
        questions("judge", TWO, "prometheus")


RM_R1 = "<think>[[B]], or [[A]]?</think>\n<answer>[[A]]</answer>"
"""The digits below are of a hash of the words in its repository, by its authors' own code."""


@pytest.mark.parametrize(
    ("name", "given", "prompt", "says"),
    [
        ("org/prometheus-7b", "upstream", "prometheus", "Feedback: ... [RESULT] A"),
        ("org/Con-J-Qwen2-7B", "upstream", "con-j", '{"原因": "...", "更好的回答": 1}'),
        ("org/OffsetBias-8B", "upstream", "offsetbias", "Output (a)"),
        ("org/Atla-8B", "upstream", "atla", "**Result:** A"),
        ("org/RISE-Judge-7B", "upstream", "rise", "[[A]]"),
        ("org/any", "gemini", "gemini", "[[A]]"),
        ("gaotang/RM-R1-Qwen2.5-Instruct-7B", "upstream", "rm-r1:e39e007ecaaf", RM_R1),
        ("RM-R1-DeepSeek-Distilled-Qwen-7B", "upstream", "rm-r1-reasoning:b303ba2eff62", RM_R1),
    ],
)
def test_a_models_name_or_a_word_chooses_the_prompt(
    name: str, given: JudgePrompt, prompt: str, says: str
) -> None:
    with ChatServer(InTurn(said(says))) as model:
        scorer = judge(model, name=name, judge_prompt=given)
        found = rewards(scorer, *PAIRS)
        bodies = [each.body for each in model.asked]
    wins = [asked(body).index("Red") < asked(body).index("Soon") for body in bodies]
    assert sorted(found) == sorted((float(won), float(not won)) for won in wins)
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
        rater = judge(model, "rater")
        assert rewards(rater, *PAIRS[:2]) == [(0, 0), (8, 3)]
        assert {each.body["max_tokens"] for each in model.asked} == {1024}
        assert scored(rater, [row])[row.key].rewards == (8, 3, 0, 3, 3)


@pytest.mark.parametrize("prompt", ["probabilities", "upstream"])
def test_what_is_thought_is_no_answer_and_the_settings_are_sent_and_told(
    prompt: JudgePrompt,
) -> None:
    text = "<think>Is it A? [[A]] or B?</think>\n\n[[B]]"
    with ChatServer(InTurn(said(text, {"<think>": 1.0}))) as model:
        scorer = judge(model, judge_prompt=prompt, max_tokens=4096, temperature=0.5)
        found = rewards(scorer, *PAIRS)
        sent = {(each.body["max_tokens"], each.body["temperature"]) for each in model.asked}
    assert sent == {(4096, 0.5)}
    assert set(found) <= {(0.5, 0.5)} if prompt == "probabilities" else {(0, 1), (1, 0)}
    told = facts(scorer, RunSettings(), "demo", 1)
    assert told.reading.endswith("; 4,096 tokens at most, temperature 0.5")


def test_answers_that_are_all_cut_off_end_the_run_with_a_way_out() -> None:
    hopeless = pytest.raises(KnownError, match=r"cut off at 16 tokens;.*--max-tokens 4096")
    with ChatServer(InTurn(cut("<think>Hm, A"))) as model, hopeless:
        rewards(judge(model, judge_prompt="probabilities"), *PAIRS)
    with ChatServer(InTurn(said("A"), cut("<think>Hm"))) as model:
        found = rewards(judge(model, judge_prompt="probabilities", parallel=1), *PAIRS[:2])
    assert all(math.isnan(reward) for pair in found for reward in pair)


def newer(path: str, body: dict[str, Any]) -> Answer:
    """Takes no temperature and another name for the number of tokens, as newer models do."""
    if "max_tokens" in body:
        return error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")
    if "temperature" in body:
        return error(400, "Unsupported value: 'temperature' does not support 0 with this model.")
    return prefers_red(path, body)


def test_a_server_that_refuses_a_value_is_asked_without_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ChatServer(newer) as model:
        scorer = judge(model, parallel=4)
        assert rewards(scorer, *PAIRS) == [(1, 0)] * len(PAIRS)
        before = len(model.asked)
        assert rewards(scorer, TWO) == [(1, 0)]
        [request] = model.asked[before:]
    assert request.body["max_completion_tokens"] == 2048
    assert "The server takes no max_tokens, temperature" in caplog.text


def test_answers_are_kept_as_they_were_and_asked_for_once_whatever_became_of_the_run(
    tmp_path: Path,
) -> None:
    with ChatServer(prefers_red) as model:
        scorer = judge(model)
        scorer.keep_answers(tmp_path)
        first = rewards(scorer, *PAIRS[:3])
        path = tmp_path / "answers.jsonl"
        path.write_text(path.read_text("utf-8") + '{"question": "torn', "utf-8")
        later = judge(model)
        later.keep_answers(tmp_path, "-2")
        assert rewards(later, *PAIRS[:4]) == [*first, (1, 0)]
        assert len(model.asked) == 4
    assert len((tmp_path / "answers-2.jsonl").read_text("utf-8").splitlines()) == 1
    reply = Reply("<b>A</b>\n", (("A", -0.25), (" A", -3.0)), cut=True)
    Answers(tmp_path).add(TURNS, reply)
    assert Answers(tmp_path).get(TURNS) == reply
    assert Answers().get(TURNS) is None


def test_the_command_line_tells_how_far_it_is_within_a_pack_and_what_went_wrong_once(
    pairs_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def hums(path: str, body: dict[str, Any]) -> Answer:
        return said("Hm.") if "Red 5" in asked(body) or "Red 6" in asked(body) else said("[[A]]")

    monkeypatch.setattr(execution, "LOG_SECONDS", -1.0)
    given = ("--parallel", "1", "--judge-prompt", "mt-bench", "--max-tokens", "99")
    with ChatServer(hums) as model:
        judged(model, tmp_path / "run", pairs_file, *given)
    told = capsys.readouterr().err.splitlines()
    assert [line.rpartition(",")[0] for line in told[:-1]] == [
        *(f"0 of 8 pairs, {n} of 8 answers of the next" for n in range(1, 9)),
        "8 of 8 pairs",
    ]
    assert told[-1] == "An answer is no verdict: 2 times in all."
