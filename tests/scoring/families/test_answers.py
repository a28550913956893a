"""What judges write: read back from a run's folder, several times, and of four responses at once.

What upstream's rewardbench/generative_v2.py and scripts/run_generative_v2.py do with rows of
RewardBench 2 is written once more here, without our reading of answers.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.command import execution
from scoring.errors import KnownError
from scoring.families.answers import question_keys, read_answers
from scoring.families.chat import Reply, meaning_of, response_order
from scoring.families.prompts import prompt_for
from scoring.rows import WHOLE_ROW
from scoring.spec import JudgePrompt, Pair
from tests.support.chat_server import Answer, ChatServer, error, in_turn, said
from tests.support.files import write_jsonl
from tests.support.judging import COLOURS as PAIRS
from tests.support.judging import asked, cut, drawn, judge, judged, opinion, scored, some_rows

LETTERS = "ABCD"
UPSTREAM = ("--judge-prompt", "upstream")
MT_BENCH = ("--judge-prompt", "mt-bench", "--parallel", "1")


@pytest.fixture
def pairs_file(tmp_path: Path) -> Path:
    rows = [
        {"id": n, "subset": "mine", "prompt": p.prompt, "chosen": p.chosen, "rejected": p.rejected}
        for n, p in enumerate(PAIRS)
    ]
    return write_jsonl(tmp_path / "pairs.jsonl", rows)


def echo(path: str, body: dict[str, Any]) -> Answer:
    """An answer that repeats what was asked, prefers the first response, and rates it 7."""
    return said(f"{asked(body)} [[A]] 7", {"A": 0.75, "B": 0.25})


@pytest.mark.parametrize(
    ("options", "n"), [(MT_BENCH, 1), ((), 2), ((*UPSTREAM, "--family", "rater"), 2)]
)
def test_each_answer_is_found_for_the_pair_and_the_order_that_was_asked(
    options: tuple[str, ...], n: int, pairs_file: Path, tmp_path: Path
) -> None:
    with ChatServer(echo) as server:
        run = judged(server, tmp_path / "run", pairs_file, *options, "--seed", "3")
    orders, rewards = set(), {row.key: row for row in run.rows()}
    for pair, answers in zip(PAIRS, read_answers(run, PAIRS), strict=True):
        assert len(answers) == n
        for answer in answers:
            assert answer.reply is not None and pair.prompt in answer.reply.text
            places = [answer.reply.text.find(text) for text in pair.responses]
            in_order = sorted((place, at) for at, place in enumerate(places) if place > 0)
            assert answer.shown == tuple(at for _, at in in_order)
            orders.add(answer.shown)
        if n == 1:
            assert answers[0].better == answers[0].shown[0]
            assert (answers[0].better == 0) == (rewards[pair.key].chosen_reward == 1)
    assert len(orders) == 2


def test_what_was_cut_off_cannot_be_read_or_is_not_there_is_told_apart(
    pairs_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def answer(path: str, body: dict[str, Any]) -> Answer:
        if "Name 1 " in asked(body) or "Name 5 " in asked(body):
            return said("I cannot say.")
        return cut("[[B]] so") if "Name 2 " in asked(body) else said("<think>[[A]]</think>[[B]]")

    monkeypatch.setattr(execution, "LOG_SECONDS", -1.0)
    with ChatServer(answer) as server:
        run = judged(server, tmp_path / "run", pairs_file, *MT_BENCH)
    begin, *_, whole, last = capsys.readouterr().err.splitlines()
    assert begin.startswith("0 of 8 pairs, 1 of 8 answers of the next,")
    assert whole.startswith("8 of 8 pairs,")
    assert last == "An answer is no verdict: 2 times in all."
    path = run.folder / "answers.jsonl"
    [gone] = question_keys(run.facts, PAIRS[3])
    lines = [line for line in path.read_text().splitlines() if gone not in line]
    path.write_text("\n".join(["{", "", *lines, "[]", lines[0][:-9]]))
    first, unreadable, was_cut, none, *_ = (answers[0] for answers in read_answers(run, PAIRS))
    assert first.better == first.shown[1] and first.reply == Reply("<think>[[A]]</think>[[B]]")
    assert (unreadable.meaning, unreadable.better) == (None, None)
    assert was_cut.better == was_cut.shown[1] and was_cut.reply == Reply("[[B]] so", cut=True)
    assert (none.reply, none.meaning) == (None, None)


# Asked several times.

THRICE = (*UPSTREAM, "--temperature", "1", "--repeats", "3", "--seed", "5")


def moody(path: str, body: dict[str, Any]) -> Answer:
    """Another verdict by each seed."""
    return said(f"[[{'AB'[drawn(asked(body), str(body['seed'])) % 2]}]]")


def fails_once(path: str, body: dict[str, Any]) -> Answer:
    return error(500) if "Red 3" in asked(body) and body["seed"] == 6 else moody(path, body)


def test_repeats_that_fail_are_asked_again_alone_and_the_mean_the_spread_and_each_are_told(
    pairs_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(fails_once) as server:
        first = judged(server, tmp_path / "run", pairs_file, *THRICE)
        seeds = Counter(each.body["seed"] for each in server.asked)
    assert (seeds[5], seeds[7], len(seeds)) == (8, 8, 3)
    [missing] = [row for row in first.rows() if row.outcome == "missing"]
    assert missing.repeats[1] == (None, None) != missing.repeats[0]
    capsys.readouterr()
    with ChatServer(moody) as server:
        found = judged(server, tmp_path / "run", pairs_file, *THRICE, "--resume", "--json")
        assert [each.body["seed"] for each in server.asked] == [6]
    rows = {row.key: row for row in found.rows()}
    won = []
    for pair, answers in zip(PAIRS, read_answers(found, PAIRS), strict=True):
        row = rows[pair.key]
        won.append([each[0] == 1 for each in row.repeats])
        assert row.chosen_reward == pytest.approx(fmean(won[-1]))
        assert [(each.repeat, each.better == 0) for each in answers] == [*enumerate(won[-1])]
    accuracies = [*map(fmean, zip(*won, strict=True))]
    assert len(accuracies) == 3 and len({*accuracies}) > 1
    told = json.loads(capsys.readouterr().out)
    assert [each["accuracy"] for each in told["repeats"]["each"]] == pytest.approx(accuracies)
    spread = {"low": min(accuracies), "high": max(accuracies), "deviation": stdev(accuracies)}
    assert told["repeats"]["accuracy"] == pytest.approx(spread)
    assert told["facts"]["reading"].endswith("; the mean of 3 repeats")


# Four responses at once, and Ties rated.

ROW = Pair("Focus:1", "Focus", "Name one.", "Red.", "Soon.", more_rejected=("No.", "Seven."))


def sections(question: str) -> list[str]:
    """The responses that are shown as A, B, C and D."""
    between = r"\[The Start of Assistant ([A-D])'s Answer\]\n(.*?)\n\[The End of Assistant \1's"
    return [text for _, text in re.findall(between, question, re.DOTALL)]


def read_verdict(text: str) -> str:
    """Upstream's process_judgement."""
    return next((letter for letter in LETTERS if f"[[{letter}]]" in text), "error")


def read_rating(text: str) -> int:
    """Upstream's get_single_rating: a whole number from 1 to 10 at the end; -1 for none."""
    text = text.strip()
    for rating in map(str, range(10, 0, -1)):
        before = text[: -len(rating)][-1:]
        if text.endswith(rating) and not (before.isalnum() or before == "_"):
            return int(rating)
    return -1


def official_rewards(row: dict[str, Any], questions: Sequence[str], family: str) -> list[float]:
    """Of a row's responses, such that they share its credit as upstream counts it."""
    responses, is_tie = [*row["chosen"], *row["rejected"]], row["subset"] == "Ties"
    if family == "rater" or is_tie:
        kind = "accuracy of the response, but" if is_tie else "depth, creativity"
        about = [each for each in questions if kind in each]
        texts = [f"[Query]\n{row['prompt']}\n\n[Response]\n{each}\n\n" for each in responses]
        of_each = [[question for question in about if text in question] for text in texts]
        return [float(read_rating(opinion(question))) for [question] in of_each]
    begin = f"[User Question]\n{row['prompt']}\n\n"
    asked_of_it = [each for each in questions if each.startswith(begin)]
    [question] = [each for each in asked_of_it if sorted(sections(each)) == sorted(responses)]
    winner = read_verdict(opinion(question))
    if winner == "error":
        return [0.25] * 4
    return [float(response == sections(question)[LETTERS.index(winner)]) for response in responses]


@pytest.mark.parametrize("family", ["judge", "rater"])
def test_thirty_rows_are_judged_as_upstream_does(family: str, tmp_path: Path) -> None:
    """What becomes of such rewards is held by test_rewardbench2.py."""
    rows = some_rows()
    path = write_jsonl(tmp_path / "rows.jsonl", rows)
    with ChatServer(lambda _, body: said(opinion(asked(body)))) as server:
        found = judged(server, tmp_path / "run", path, *UPSTREAM, "--family", family)
        questions = [asked(each.body) for each in server.asked]
    if family == "judge":  # a reference's responses are all of its other row, too
        n_rated = sum(row["total_completions"] for row in rows if row["id"].startswith("tied"))
        assert len(questions) == 20 + n_rated
    by_key = {row.key: row for row in found.rows()}
    for row in rows:
        expected = official_rewards(row, questions, family)
        assert by_key[f"{row['subset']}:{row['id']}"].all_rewards == tuple(expected)
    assert "rewardbench-2" in found.facts.template
    assert "Ties" in found.facts.reading


@given(st.text(st.sampled_from("ABCDE[] 0123456789/.\n x\N{FULLWIDTH DIGIT NINE}"), max_size=12))
def test_answers_are_read_as_upstream_reads_them(text: str) -> None:
    meaning = meaning_of(Reply(text), WHOLE_ROW, "rewardbench-2")
    named = "error" if meaning is None else LETTERS[meaning.index(1.0)]
    assert named == read_verdict(text)
    assert meaning is None or sum(meaning) == 1
    rating = meaning_of(Reply(text), "rater", "rewardbench-2")
    assert (-1 if rating is None else rating[0]) == read_rating(text)
    own = meaning_of(Reply(text), "rater", "")
    assert own is None or 1 <= own[0] <= 10


def test_the_right_response_stands_in_each_place_alike_and_the_order_is_the_rows_own() -> None:
    rows = [replace(ROW, key=f"Focus:{n}", prompt=f"Name {n}.") for n in range(400)]
    orders = [response_order(row, 0) for row in rows]
    assert all(80 < n < 120 for n in Counter(order.index(0) for order in orders).values())
    assert {*orders} == {(0, 1, 2, 3), (1, 0, 2, 3), (2, 1, 0, 3), (3, 1, 2, 0)}
    assert orders != [response_order(row, 1) for row in rows]


def test_rows_of_another_shape_are_refused_before_anything_is_asked() -> None:
    three = replace(ROW, key="Focus:3", more_rejected=("No.",))
    with ChatServer(in_turn(said("[[A]]"))) as server:
        for row in (three, replace(three, more_rejected=())):
            with pytest.raises(KnownError, match=r"Focus:3 has 1 right and \d wrong .* mt-bench"):
                scored(judge(server, judge_prompt="rewardbench-2"), [ROW, row])
        assert server.asked == []


PAIR = Pair("Focus:1", "Focus", "p", "a", "b")
ALL_RIGHT = replace(ROW, subset="Ties", more_chosen=("Blue.",))
OF_THREE = replace(ROW, more_rejected=("No.",))
ASKED_BY = [
    ("upstream", "org/judge", [ROW], "rewardbench-2"),
    ("upstream", "google/gemini-2.5-pro", [ROW], "rewardbench-2-gemini"),
    ("upstream", "org/judge", [PAIR], "upstream"),
    ("default", "org/judge", [ROW, ALL_RIGHT], "rewardbench-2"),
    ("default", "org/judge", [OF_THREE], "default"),
    ("default", "org/SteamSHP-large", [ROW], "default"),
]
"""A setting, a model and rows -> the prompt."""


@pytest.mark.parametrize(("setting", "model", "rows", "prompt"), ASKED_BY)
def test_rows_of_rewardbench_2_have_upstreams_prompt_where_nothing_else_is_set(
    setting: JudgePrompt, model: str, rows: list[Pair], prompt: str
) -> None:
    assert prompt_for(setting, "judge", model, rows) == prompt
