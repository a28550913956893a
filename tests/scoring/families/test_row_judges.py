"""Judges of RewardBench 2 as upstream asks them: four responses at once, and *Ties* rated.

What upstream's rewardbench/generative_v2.py and scripts/run_generative_v2.py do is written once
more here, without our reading of answers.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import KnownError
from scoring.families.chat import Reply, meaning_of, response_order
from scoring.families.prompts import prompt_for
from scoring.rows import WHOLE_ROW
from scoring.spec import Family, JudgePrompt, Pair
from tests.support.chat_server import Answer, ChatServer, InTurn, said
from tests.support.files import write_jsonl
from tests.support.judging import LETTERS, asked, judge, judged, opinion, scored, some_rows
from tests.support.rewardbench2 import expected_scores

ROW = Pair("Focus:1", "Focus", "Name one.", "Red.", "Soon.", more_rejected=("No.", "Seven."))
TIES = Pair(
    "Ties:tied:1", "Ties", "Name a colour.", "Red.", "Soon.", (), ("Blue.",), ("No.", "Red.")
)
judge_rows = partial(judge, judge_prompt="rewardbench-2")
UPSTREAM = ("--judge-prompt", "upstream")


def sections(question: str) -> list[str]:
    """The responses that are shown as A, B, C and D."""
    return [
        re.findall(
            rf"\[The Start of Assistant {letter}'s Answer\]\n(.*?)\n"
            rf"\[The End of Assistant {letter}'s Answer\]",
            question,
            re.DOTALL,
        )[0]
        for letter in LETTERS
    ]


def read_verdict(text: str) -> str:
    """Upstream's process_judgement."""
    for letter in LETTERS:
        if f"[[{letter}]]" in text:
            return letter
    return "error"


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
    [question] = [
        each
        for each in questions
        if each.startswith(f"[User Question]\n{row['prompt']}\n\n")
        and sorted(sections(each)) == sorted(responses)
    ]
    winner = read_verdict(opinion(question))
    if winner == "error":
        return [0.25] * 4
    return [float(response == sections(question)[LETTERS.index(winner)]) for response in responses]


@pytest.mark.parametrize("family", ["judge", "rater"])
def test_thirty_rows_are_judged_as_an_independent_computation_has_it(
    family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = some_rows()
    path = write_jsonl(tmp_path / "rows.jsonl", rows)
    with ChatServer(lambda _, body: said(opinion(asked(body)))) as server:
        found = judged(server, tmp_path / "run", path, *UPSTREAM, "--json", "--family", family)
        questions = [asked(each.body) for each in server.asked]
        n_messages = {len(each.body["messages"]) for each in server.asked}
    rewards = [official_rewards(row, questions, family) for row in rows]
    if family == "judge":  # a reference's responses are all of its other row, too
        n_rated = sum(row["total_completions"] for row in rows if row["id"].startswith("tied"))
        assert len(questions) == 20 + n_rated
        assert n_messages == {1, 2}
    told = json.loads(capsys.readouterr().out)
    expected = expected_scores(rows, rewards)
    assert told["score"] == pytest.approx(expected.pop(""), abs=1e-12)
    assert told["sections"] == pytest.approx(expected, abs=1e-12)
    by_key = {row.key: row for row in found.rows()}
    of_rows = [by_key[f"{row['subset']}:{row['id']}"].all_rewards for row in rows]
    assert of_rows == [tuple(each) for each in rewards]
    assert "rewardbench-2" in told["facts"]["template"]
    assert "Ties" in told["facts"]["reading"]
    wins = [row.credit(0.5) for row in by_key.values() if row.subset != "Ties"]
    assert {0, 1} < {*wins}


@given(st.text(st.sampled_from("ABCDE[] 0123456789/.\n x\N{FULLWIDTH DIGIT NINE}"), max_size=12))
def test_answers_are_read_as_upstream_reads_them(text: str) -> None:
    meaning = meaning_of(Reply(text), WHOLE_ROW, "rewardbench-2")
    named = "error" if meaning is None else LETTERS[meaning.index(1.0)]
    assert named == read_verdict(text)
    assert meaning is None or sum(meaning) == 1
    rating = meaning_of(Reply(text), "rater", "rewardbench-2")
    assert (-1 if rating is None else rating[0]) == read_rating(text)


def test_the_right_response_stands_in_each_place_alike_and_the_order_is_the_rows_own() -> None:
    rows = [replace(ROW, key=f"Focus:{n}", prompt=f"Name {n}.") for n in range(400)]
    orders = [response_order(row, 0) for row in rows]
    assert all(80 < n < 120 for n in Counter(order.index(0) for order in orders).values())
    assert {*orders} == {(0, 1, 2, 3), (1, 0, 2, 3), (2, 1, 0, 3), (3, 1, 2, 0)}
    assert orders != [response_order(row, 1) for row in rows]
    with ChatServer(InTurn(said("[[B]]"))) as server:
        together = scored(judge_rows(server, parallel=3), rows[:24])
        apart = scored(judge_rows(server), rows[9:10], seed=9)
    assert together[rows[9].key] == apart[rows[9].key]
    for row, order in zip(rows[:24], orders, strict=False):
        rewards = together[row.key].rewards
        assert rewards == tuple(float(place == order[1]) for place in range(4))


@pytest.mark.parametrize(
    ("text", "credits"),
    [
        (None, {0.25}),
        ("我不知道。" * 10_000, {0.25}),
        ("y" * 100_000 + "[[B]]", {0, 1}),
    ],
)
def test_an_answer_that_names_none_counts_a_quarter(text: str | None, credits: set[float]) -> None:
    rows = [replace(ROW, key=f"Focus:{n}", prompt=f"Name {n}.") for n in range(16)]
    with ChatServer(InTurn(said(text))) as server:
        scorer = judge_rows(server)
        found = scored(scorer, rows).values()
        assert len(server.asked) == len(rows)
    assert {row.credit(0.5) for row in found} == credits
    assert {row.outcome for row in found} == ({"tie"} if 0.25 in credits else {"win", "loss"})
    assert bool(scorer.error_counts()) == (0.25 in credits)


def test_a_rating_that_is_none_is_the_lowest_of_ties() -> None:
    def answer(_: str, body: dict[str, Any]) -> Answer:
        text = asked(body)
        assert "need not consider depth" in text and body["messages"][0]["role"] == "user"
        return said("9" if "\nRed." in text else "Hm." if "\nBlue." in text else "Bad.\n3")

    with ChatServer(answer) as server:
        [row] = scored(judge_rows(server), [TIES]).values()
        assert len(server.asked) == 4  # an equal response has one rating
    assert row.rewards == (9, -1, 3, 3, 9)
    assert row.outcome == "loss"


def test_equal_responses_are_told_apart_by_their_place() -> None:
    twice = replace(ROW, more_rejected=("Red.", "No."))
    with ChatServer(InTurn(said("[[A]]"))) as server:
        found = [scored(judge_rows(server, seed=n), [twice])[ROW.key].rewards for n in range(4)]
    assert found == [
        tuple(float(at == response_order(twice, n)[0]) for at in range(4)) for n in range(4)
    ]


def test_rows_of_another_shape_are_refused_before_anything_is_asked() -> None:
    three = replace(ROW, key="Focus:3", more_rejected=("No.",))
    with ChatServer(InTurn(said("[[A]]"))) as server:
        for row in (three, replace(three, more_rejected=())):
            with pytest.raises(KnownError, match=r"Focus:3 has 1 right and \d wrong .* mt-bench"):
                scored(judge_rows(server), [ROW, row])
        assert server.asked == []
        rated = scored(judge_rows(server, "rater"), [three])
    assert rated[three.key].rewards == (-1, -1, -1)


PAIR, NAMED = (
    Pair("Focus:1", "Focus", "p", "a", "b"),
    replace(ROW, subset="mine", benchmark="reward-bench-2"),
)
ALL_RIGHT = replace(ROW, subset="Ties", more_chosen=("Blue.",))


@pytest.mark.parametrize(
    ("setting", "family", "model", "rows", "prompt"),
    [
        ("upstream", "judge", "org/judge", [ROW], "rewardbench-2"),
        ("upstream", "judge", "google/gemini-2.5-pro", [ROW], "rewardbench-2-gemini"),
        ("upstream", "rater", "org/judge", [ROW], "rewardbench-2"),
        ("upstream", "judge", "org/judge", [PAIR], "upstream"),
        ("upstream", "judge", "org/judge", [NAMED], "rewardbench-2"),
        ("mt-bench", "judge", "org/judge", [ROW], "mt-bench"),
        ("default", "judge", "org/judge", [ROW, ALL_RIGHT], "rewardbench-2"),
        ("default", "judge", "org/judge", [PAIR], "default"),
        ("default", "judge", "org/judge", [replace(ROW, more_rejected=("No.",))], "default"),
        ("default", "judge", "org/SteamSHP-large", [ROW], "default"),
    ],
)
def test_a_judge_of_rewardbench_2_is_asked_as_upstream_asks_where_nothing_else_is_set(
    setting: JudgePrompt, family: Family, model: str, rows: list[Pair], prompt: str
) -> None:
    assert prompt_for(setting, family, model, rows) == prompt
