"""What a judge wrote of a pair, read back from a run's folder: as the run was asked and read it."""

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from scoring.__main__ import main
from scoring.families.answers import Answer, question_keys, read_answers
from scoring.families.chat import Answers, Reply
from scoring.families.prompts import questions
from scoring.record import Run
from tests.support.chat_server import ChatServer, said
from tests.support.judging import COLOURS as PAIRS
from tests.support.judging import asked, cut, judged

MT_BENCH = ("--judge-prompt", "mt-bench", "--parallel", "1")


def echo(path: str, body: dict[str, Any]) -> Any:
    """An answer that repeats what was asked, prefers the first response, and rates it 7."""
    return said(f"{asked(body)} [[A]] 7", {"A": 0.75, "B": 0.25})


def texts_in_order(answer: Answer) -> list[str]:
    assert answer.reply is not None
    return sorted(("Red", "Soon"), key=answer.reply.text.find)


@pytest.mark.parametrize(
    ("given", "n"),
    [(MT_BENCH, 1), ((), 2), (("--family", "rater", "--judge-prompt", "upstream"), 2)],
)
def test_each_answer_is_found_for_the_pair_and_the_order_that_was_asked(
    given: tuple[str, ...], n: int, pairs_file: Path, tmp_path: Path
) -> None:
    with ChatServer(echo) as server:
        run = judged(server, tmp_path / "run", pairs_file, *given, "--seed", "3")
    orders, rewards = set(), {row.key: row for row in run.rows()}
    for pair, answers in zip(PAIRS, read_answers(run, PAIRS), strict=True):
        assert len(answers) == n
        for answer in answers:
            assert answer.reply is not None and pair.prompt in answer.reply.text
            shown = [pair.responses[at].split()[0] for at in answer.shown]
            assert [text for text in texts_in_order(answer) if text in answer.reply.text] == shown
            orders.add(answer.shown)
        if n == 1:
            assert answers[0].better == answers[0].shown[0]
            assert (answers[0].better == 0) == (rewards[pair.key].chosen_reward == 1)
    assert len(orders) == 2


def test_what_was_cut_off_cannot_be_read_or_is_not_there_is_told_apart(
    pairs_file: Path, tmp_path: Path
) -> None:
    def answer(path: str, body: dict[str, Any]) -> Any:
        if "Name 1 " in asked(body):
            return said("I cannot say.")
        return cut("[[B]] so") if "Name 2 " in asked(body) else said("<think>[[A]]</think>[[B]]")

    with ChatServer(answer) as server:
        run = judged(server, tmp_path / "run", pairs_file, *MT_BENCH)
    path = run.folder / "answers.jsonl"
    [gone] = question_keys(run.facts, PAIRS[3])
    lines = [line for line in path.read_text().splitlines() if gone not in line]
    path.write_text("\n".join(["{", "", *lines, "[]", lines[0][:-9]]))
    first, unreadable, was_cut, none, *_ = (answers[0] for answers in read_answers(run, PAIRS))
    assert first.better == first.shown[1] and first.reply == Reply("<think>[[A]]</think>[[B]]")
    assert (unreadable.meaning, unreadable.better) == (None, None)
    assert was_cut.reply == Reply("[[B]] so", cut=True)
    assert was_cut.better == was_cut.shown[1]
    assert (none.reply, none.meaning) == (None, None)


def test_of_large_files_only_what_is_shown_is_read(pairs_file: Path, tmp_path: Path) -> None:
    """The last answer to a question counts, as for a run that goes on."""
    with ChatServer(echo) as server:
        run = judged(server, tmp_path / "run", pairs_file, *MT_BENCH)
    [[answer]] = read_answers(run, PAIRS[:1])
    more = Answers(run.folder)
    for n in range(40):
        more.add(questions("rater", PAIRS[n % 6])[0], Reply("x" * 500_000))
    [question] = questions("judge", PAIRS[0], "mt-bench", swapped=answer.shown == (1, 0))
    more.add(question, Reply("[[B]]"))
    tracemalloc.start()
    [[answer]] = read_answers(run, PAIRS[:1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answer.reply == Reply("[[B]]")
    assert peak < 5_000_000 < sum(each.stat().st_size for each in run.folder.glob("answers*"))


def test_other_runs_have_no_words(pairs_file: Path, tmp_path: Path) -> None:
    given = ["--model", "longer", "--pairs", str(pairs_file), "--out", str(tmp_path / "run")]
    assert main(given) == 0
    assert [*read_answers(Run.open(tmp_path / "run"), PAIRS[:1])] == [[]]
