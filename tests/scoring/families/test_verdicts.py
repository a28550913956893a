"""Judges behind a server that write verdicts or ratings, by upstream's prompts and its reading."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scoring.__main__ import main
from scoring.command import execution
from scoring.engine.scorer import facts
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.families.chat import Answers, ChatJudge, Reply
from scoring.families.prompts import questions
from scoring.record import Run
from scoring.run import make_job, score
from scoring.spec import Family, JudgePrompt, Message, ModelSpec, Pair, RunSettings
from tests.support.chat_server import Answer, ChatServer, InTurn, error, said
from tests.support.judging import COLOURS as PAIRS
from tests.support.judging import asked, cut, lines, rewards

TURNS = (Message("user", "Hi!"), Message("assistant", "Hello."), Message("user", "Name a colour."))
TWO = Pair("mine:two", "mine", "a transcript", "Red.", "Soon.", TURNS)
THREE = Pair("mine:3", "mine", "a transcript", "Red.", "Soon.", (*TURNS, *TURNS[1:]))


def judge(
    server: ChatServer, family: Family = "judge", name: str = "org/judge", **settings: Any
) -> ChatJudge:
    spec = ModelSpec(name, "", "", family, url=server.url + "/v1")
    return ChatJudge(spec, RunSettings(**{"judge_prompt": "upstream", **settings}))


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
    ("text", "half"),
    [("I cannot say.", True), ("", True), (None, True), ("[[C]]", True), ("[[B]] or [[A]]", False)],
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


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("org/prometheus-7b", "upstream", "Feedback: ... [RESULT] A"),
        ("org/Con-J-Qwen2-7B", "upstream", '{"原因": "...", "更好的回答": 1}'),
        ("org/OffsetBias-8B", "upstream", "Output (a)"),
        ("org/Atla-8B", "upstream", "**Result:** A"),
        ("org/RISE-Judge-7B", "upstream", "[[A]]"),
        ("org/any", "gemini", "[[A]]"),
    ],
)
def test_a_models_name_or_a_word_chooses_the_prompt(
    name: str, given: JudgePrompt, says: str
) -> None:
    with ChatServer(InTurn(said(says))) as model:
        scorer = judge(model, name=name, judge_prompt=given)
        found = rewards(scorer, *PAIRS)
        orders = [asked(each.body).index("Red") for each in model.asked]
        told = [asked(each.body).index("Soon") for each in model.asked]
    wins = [red < soon for red, soon in zip(orders, told, strict=True)]
    assert sorted(found) == sorted((float(won), float(not won)) for won in wins)
    assert not scorer.traits.template.startswith("mt-bench")


def test_ratings_are_read_at_the_end_and_one_that_is_none_is_a_tie() -> None:
    def answer(path: str, body: dict[str, Any]) -> Answer:
        assert asked(body).endswith("[Your judgement]")
        if "Red 0" in asked(body):
            return said("9 of ten would like it.")
        return said("Fine.\n\n8" if "Red" in asked(body) else "8/10 is too much: 3")

    with ChatServer(answer) as model:
        found = rewards(judge(model, "rater"), *PAIRS[:2])
        assert {each.body["max_tokens"] for each in model.asked} == {1024}
    assert found == [(0, 0), (8, 3)]


def test_of_more_responses_a_rating_that_is_none_is_the_lowest() -> None:
    def answer(path: str, body: dict[str, Any]) -> Answer:
        return said("Hm." if "Soon" in asked(body) else "9" if "Red" in asked(body) else "2")

    row = replace(PAIRS[0], more_rejected=("Soon 1.", "Blue."))
    twice = replace(PAIRS[1], more_rejected=(PAIRS[1].rejected,))
    with ChatServer(answer) as model:
        rater = judge(model, "rater")
        job = make_job([row, twice], rater, 0)
        found = {each.key: each.rewards for pack in score(job, rater) for each in pack.rows}
    assert found == {row.key: (9, 0, 0, 2), twice.key: (9, 0, 0)}


@pytest.mark.parametrize("prompt", ["probabilities", "upstream"])
def test_what_is_thought_is_no_answer(prompt: JudgePrompt) -> None:
    text = "<think>Is it A? [[A]] or B?</think>\n\n[[B]]"
    with ChatServer(InTurn(said(text, {"<think>": 1.0}))) as model:
        found = rewards(judge(model, judge_prompt=prompt, max_tokens=4096), *PAIRS)
        assert {each.body["max_tokens"] for each in model.asked} == {4096}
    assert set(found) <= {(0.5, 0.5)} if prompt == "probabilities" else {(0, 1), (1, 0)}


def test_answers_that_are_all_cut_off_end_the_run_with_a_way_out() -> None:
    with ChatServer(InTurn(cut("<think>Hm, A"))) as model:
        scorer = judge(model, judge_prompt="probabilities")
        with pytest.raises(KnownError, match=r"cut off at 16 tokens;.*--max-tokens 4096"):
            rewards(scorer, *PAIRS)
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


@pytest.mark.parametrize("prompt", ["probabilities", "upstream"])
def test_a_server_that_refuses_a_value_is_asked_without_it(
    prompt: JudgePrompt, caplog: pytest.LogCaptureFixture
) -> None:
    with ChatServer(newer) as model:
        scorer = judge(model, judge_prompt=prompt, parallel=4)
        assert rewards(scorer, *PAIRS) == [(1, 0)] * len(PAIRS)
        before = len(model.asked)
        assert rewards(scorer, TWO) == [(1, 0)]
        body = model.asked[-1].body
        assert len(model.asked) - before == (2 if prompt == "probabilities" else 1)
    assert body["max_completion_tokens"] == (16 if prompt == "probabilities" else 2048)
    assert "The server takes no max_tokens, temperature" in caplog.text


def test_the_settings_are_sent_and_told() -> None:
    with ChatServer(prefers_red) as model:
        scorer = judge(model, max_tokens=300, temperature=0.5)
        rewards(scorer, PAIRS[0])
        body = model.asked[0].body
        usual = judge(model)
    assert (body["max_tokens"], body["temperature"]) == (300, 0.5)
    told = facts(scorer, RunSettings(), "demo", 1)
    assert told.reading.endswith("; 300 tokens at most, temperature 0.5")
    assert told.template.startswith("mt-bench judge prompt:")
    assert facts(usual, RunSettings(), "demo", 1).template == told.template


@pytest.mark.parametrize(
    ("name", "prompt", "digits"),
    [
        ("gaotang/RM-R1-Qwen2.5-Instruct-7B", "rm-r1", "e39e007ecaaf"),
        ("gaotang/RM-R1-DeepSeek-Distilled-Qwen-7B", "rm-r1-reasoning", "b303ba2eff62"),
    ],
)
def test_rm_r1_is_asked_its_authors_words_and_may_think(
    name: str, prompt: str, digits: str
) -> None:
    """digits: of a hash of the words in their repository, put together by their own code."""

    def thinks(path: str, body: dict[str, Any]) -> Answer:
        verdict = prefers_red(path, body).body["choices"][0]["message"]["content"][-5:]
        return said(f"<think>[[A]], or is it [[B]]?</think>\n<answer>{verdict}</answer>")

    with ChatServer(thinks) as model:
        scorer = judge(model, name=name)
        assert rewards(scorer, *PAIRS) == [(1, 0)] * len(PAIRS)
        body = model.asked[0].body
    assert body["max_tokens"] == 8192
    assert [each["role"] for each in body["messages"]] == ["system", "user"][len(prompt) > 5 :]
    assert scorer.traits.template == f"{prompt} judge prompt:{digits}"
    with pytest.raises(KnownError, match=f"The prompt {prompt} is for conversations of one turn"):
        questions("judge", TWO, prompt)


@pytest.mark.parametrize(
    "given", [{"max_tokens": 9}, {"temperature": 1.0}, {"judge_prompt": "atla"}]
)
def test_where_nothing_is_written_the_settings_have_no_meaning(given: dict[str, Any]) -> None:
    with pytest.raises(KnownError, match="for judges and raters that write answers"):
        open_scorer(ModelSpec("baseline/longer", "", "", "longer"), RunSettings(**given))


def test_answers_are_asked_for_once_whatever_became_of_the_run(tmp_path: Path) -> None:
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


def test_an_answer_is_kept_as_it_was(tmp_path: Path) -> None:
    question = (Message("user", "A or B?"),)
    reply = Reply("<b>A</b>\n", (("A", -0.25), (" A", -3.0)), cut=True)
    Answers(tmp_path).add(question, reply)
    assert Answers(tmp_path).get(question) == reply
    assert Answers().get(question) is None


def run(model: ChatServer, folder: Path, *more: str) -> Sequence[str | None]:
    """The command line's run with a judge; how each pair came out."""
    (folder / "pairs.jsonl").write_text(lines(*PAIRS), "utf-8")
    given = ["--model", "m", "--family", "judge", "--url", model.url + "/v1", "--parallel", "1"]
    given += ["--pairs", str(folder / "pairs.jsonl"), "--out", str(folder / "run"), *more]
    assert main([*given, "--judge-prompt", "mt-bench", "--max-tokens", "99"]) == 0
    return [row.outcome for row in Run.open(folder / "run").rows()]


def test_the_command_line_tells_how_far_it_is_within_a_pack_and_what_went_wrong_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hums(path: str, body: dict[str, Any]) -> Answer:
        return said("Hm.") if "Red 5" in asked(body) or "Red 6" in asked(body) else said("[[A]]")

    monkeypatch.setattr(execution, "LOG_SECONDS", -1.0)
    with ChatServer(hums) as model:
        run(model, tmp_path)
    told = capsys.readouterr().err.splitlines()
    assert [line.rpartition(",")[0] for line in told[:-1]] == [
        *(f"0 of 8 pairs, {n} of 8 answers of the next" for n in range(1, 9)),
        "8 of 8 pairs",
    ]
    assert told[-1] == "An answer is no verdict: 2 times in all."
