"""What a judge wrote of a pair, read back from a run's folder: as the run was asked and read it."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from scoring.__main__ import main
from scoring.families.answers import Answer, question_keys, read_answers
from scoring.families.chat import Answers, Reply
from scoring.families.prompts import questions
from scoring.pairs.opening import as_pairs, read_pairs
from scoring.record import Run
from scoring.spec import Pair
from tests.support.chat_server import ChatServer, said
from tests.support.judging import asked, cut

ROWS: list[dict[str, Any]] = [
    {
        "subset": "mine",
        "id": n,
        "prompt": f"Name {n}.",
        "chosen": f"Red {n}.",
        "rejected": f"Soon {n}.",
    }
    for n in range(6)
]


@pytest.fixture
def pairs_file(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def judged(folder: Path, pairs: Path, server: ChatServer, *given: str) -> tuple[Run, list[Pair]]:
    """A run of the command line, and its pairs."""
    model = ("--model", "org/judge", "--url", f"{server.url}/v1", "--parallel", "1")
    assert main([*model, "--pairs", str(pairs), "--out", str(folder), *given]) == 0
    table = read_pairs(pairs).table
    return Run.open(folder), as_pairs(table, range(len(table)))


def echo(path: str, body: dict[str, Any]) -> Any:
    """An answer that repeats what was asked, prefers the first response, and rates it 7."""
    return said(f"{asked(body)} [[A]] 7", {"A": 0.75, "B": 0.25})


def answers_of(run: Run, pair: Pair) -> list[Answer]:
    [answers] = read_answers(run, [pair])
    return answers


def texts_in_order(answer: Answer, pair: Pair) -> list[str]:
    assert answer.reply is not None
    shown = [pair.responses[place] for place in answer.shown]
    return sorted(shown, key=answer.reply.text.index)


@pytest.mark.parametrize(
    ("given", "n"),
    [
        (("--family", "judge", "--judge-prompt", "mt-bench"), 1),
        (("--family", "judge", "--judge-prompt", "gemini", "--seed", "3"), 1),
        (("--family", "judge"), 2),
        (("--family", "rater"), 2),
        (("--family", "rater", "--judge-prompt", "upstream"), 2),
    ],
)
def test_each_answer_is_found_for_the_pair_and_the_order_that_was_asked(
    given: tuple[str, ...], n: int, pairs_file: Path, tmp_path: Path
) -> None:
    with ChatServer(echo) as server:
        run, pairs = judged(tmp_path / "run", pairs_file, server, *given)
    orders = set()
    rewards = {row.key: row for row in run.rows()}
    for pair in pairs:
        answers = answers_of(run, pair)
        assert len(answers) == n
        for answer in answers:
            assert pair.prompt in (answer.reply or Reply("")).text
            assert texts_in_order(answer, pair) == [pair.responses[at] for at in answer.shown]
            orders.add(answer.shown)
        if "mt-bench" in given:
            [answer] = answers
            assert answer.better == answer.shown[0]
            assert (answer.better == 0) == (rewards[pair.key].chosen_reward == 1)
    assert len(orders) == 2


def test_a_row_of_many_responses_has_an_answer_for_each(tmp_path: Path) -> None:
    row = {"prompt": "Name one.", "chosen": ["Red."], "rejected": ["Soon.", "No.", "Red."]}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"subset": "mine", "id": 1, **row}) + "\n")
    with ChatServer(echo) as server:
        run, [pair] = judged(tmp_path / "run", path, server, "--family", "rater")
    answers = answers_of(run, pair)
    assert [each.shown for each in answers] == [(0,), (1,), (2,)]
    for answer in answers:
        assert answer.reply is not None and pair.responses[answer.shown[0]] in answer.reply.text


def test_what_was_cut_off_cannot_be_read_or_is_not_there_is_told_apart(
    pairs_file: Path, tmp_path: Path
) -> None:
    def answer(path: str, body: dict[str, Any]) -> Any:
        if "Name 1." in asked(body):
            return said("I cannot say.")
        return (
            cut("[[B]] because") if "Name 2." in asked(body) else said("<think>[[A]]</think>[[B]]")
        )

    with ChatServer(answer) as server:
        given = ("--family", "judge", "--judge-prompt", "mt-bench")
        run, pairs = judged(tmp_path / "run", pairs_file, server, *given)
    path = run.folder / "answers.jsonl"
    [gone] = question_keys(run.facts, pairs[3])
    lines = [line for line in path.read_text().splitlines() if gone not in line]
    path.write_text("\n".join(["{", "", *lines, "[]", lines[0][:-9]]))
    first, unreadable, was_cut, none, *_ = (answers_of(run, pair)[0] for pair in pairs)
    assert first.better == first.shown[1] and first.reply == Reply("<think>[[A]]</think>[[B]]")
    assert (unreadable.meaning, unreadable.better) == (None, None)
    assert was_cut.reply == Reply("[[B]] because", cut=True)
    assert was_cut.better == was_cut.shown[1]
    assert (none.reply, none.meaning) == (None, None)


def test_of_large_files_only_what_is_shown_is_read(pairs_file: Path, tmp_path: Path) -> None:
    """The last answer to a question counts, as for a run that goes on."""
    with ChatServer(echo) as server:
        given = ("--family", "judge", "--judge-prompt", "mt-bench")
        run, pairs = judged(tmp_path / "run", pairs_file, server, *given)
    more = Answers(run.folder)
    for n in range(60):
        more.add(questions("rater", pairs[n % 6])[0], Reply("x" * 500_000))
    [question] = questions(
        "judge", pairs[0], "mt-bench", swapped=answers_of(run, pairs[0])[0].shown == (1, 0)
    )
    more.add(question, Reply("[[B]]"))
    tracemalloc.start()
    [answer] = answers_of(run, pairs[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answer.reply == Reply("[[B]]")
    assert peak < 5_000_000 < sum(each.stat().st_size for each in run.folder.glob("answers*"))


def test_other_runs_have_no_words(pairs_file: Path, tmp_path: Path) -> None:
    given = ["--model", "longer", "--pairs", str(pairs_file), "--out", str(tmp_path / "run")]
    assert main(given) == 0
    table = read_pairs(pairs_file).table
    [pair, *_] = as_pairs(table, range(len(table)))
    assert answers_of(Run.open(tmp_path / "run"), pair) == []
