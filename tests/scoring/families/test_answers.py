"""What a judge wrote of a pair, read back from a run's folder; and judges asked several times."""

import json
import tracemalloc
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.families.answers import question_keys, read_answers
from scoring.families.chat import Answers, Reply
from scoring.families.prompts import questions
from scoring.spec import ModelSpec, RunSettings
from scoring.summary import summarise_run
from tests.support.chat_server import Answer, ChatServer, error, said
from tests.support.files import write_jsonl
from tests.support.judging import COLOURS as PAIRS
from tests.support.judging import asked, cut, drawn, judged, some_rows
from tests.support.rewardbench2 import expected_scores

MT_BENCH = ("--judge-prompt", "mt-bench", "--parallel", "1")


def echo(path: str, body: dict[str, Any]) -> Answer:
    """An answer that repeats what was asked, prefers the first response, and rates it 7."""
    return said(f"{asked(body)} [[A]] 7", {"A": 0.75, "B": 0.25})


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
            places = [answer.reply.text.find(text) for text in pair.responses]
            in_order = sorted((place, at) for at, place in enumerate(places) if place > 0)
            assert answer.shown == tuple(at for _, at in in_order)
            orders.add(answer.shown)
        if n == 1:
            assert answers[0].better == answers[0].shown[0]
            assert (answers[0].better == 0) == (rewards[pair.key].chosen_reward == 1)
    assert len(orders) == 2


def test_what_was_cut_off_cannot_be_read_or_is_not_there_is_told_apart(
    pairs_file: Path, tmp_path: Path
) -> None:
    def answer(path: str, body: dict[str, Any]) -> Answer:
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


# Asked several times.

THRICE = ("--judge-prompt", "upstream", "--temperature", "1", "--repeats", "3")


def moody(path: str, body: dict[str, Any]) -> Answer:
    """Another verdict or rating by each seed."""
    n = drawn(asked(body), str(body["seed"]))
    if asked(body).endswith("[Your judgement]"):
        return said(f"Well.\n{n % 10 + 1}")
    letters = "ABCD" if "Assistant D" in asked(body) else "AB"
    return said(f"[[{letters[n % len(letters)]}]]")


def test_a_reward_is_the_mean_and_the_spread_and_the_words_of_each_repeat_are_told(
    pairs_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(moody) as server:
        found = judged(server, tmp_path / "run", pairs_file, *THRICE, "--json", "--seed", "5")
        seeds = [each.body["seed"] for each in server.asked]
    assert sorted(seeds) == [5] * 8 + [6] * 8 + [7] * 8
    rows = {row.key: row for row in found.rows()}
    for row in rows.values():
        assert len(row.repeats) == 3
        assert row.chosen_reward == pytest.approx(fmean(each[0] or 0 for each in row.repeats))
    for pair, answers in zip(PAIRS, read_answers(found, PAIRS), strict=True):
        assert [each.repeat for each in answers] == [0, 1, 2]
        preferred = [each.better for each in answers]
        assert preferred == [int((each[0] or 0) < 0.5) for each in rows[pair.key].repeats]
    accuracies = [fmean(float(row.repeats[at][0] == 1) for row in rows.values()) for at in range(3)]
    assert len({*accuracies}) > 1
    told = json.loads(capsys.readouterr().out)
    assert [each["accuracy"] for each in told["repeats"]["each"]] == pytest.approx(accuracies)
    low, high = min(accuracies), max(accuracies)
    assert told["repeats"]["accuracy"] == pytest.approx(
        {"low": low, "high": high, "deviation": stdev(accuracies)}
    )
    assert told["facts"]["reading"].endswith("; the mean of 3 repeats")
    with ChatServer(moody) as server:
        judged(server, tmp_path / "run", pairs_file, *THRICE, "--resume", "--seed", "5")
        assert server.asked == []
    table = capsys.readouterr().out
    assert f"accuracy of each of 3 repeats: {low:.1%} to {high:.1%}, standard deviation" in table


def test_each_repeat_has_the_numbers_of_a_run_by_its_seed(tmp_path: Path) -> None:
    """Of RewardBench 2, too, where repeats are summed up by the benchmark's own rule."""
    rows = some_rows()
    path = write_jsonl(tmp_path / "rows.jsonl", rows)
    with ChatServer(moody) as server:
        found = judged(server, tmp_path / "run", path, *THRICE)
    summary = summarise_run(found.rows(), found.facts)
    by_key = {row.key: row for row in found.rows()}
    in_order = [by_key[f"{row['subset']}:{row['id']}"] for row in rows]
    for at, each in enumerate(summary.repeats):
        rewards = [[reward or 0.0 for reward in row.repeats[at]] for row in in_order]
        expected = expected_scores(rows, rewards)
        assert each.score == pytest.approx(expected[""], abs=1e-12)
    assert len({each.score for each in summary.repeats}) == 3
    assert {*summary.spreads} == {"accuracy", "score"}


def test_what_fails_in_one_repeat_is_missing_and_asked_again_alone(
    pairs_file: Path, tmp_path: Path
) -> None:
    def fails_once(path: str, body: dict[str, Any]) -> Answer:
        fails = "Red 3" in asked(body) and body["seed"] == 1
        return error(500) if fails else moody(path, body)

    with ChatServer(fails_once) as server:
        first = judged(server, tmp_path / "run", pairs_file, *THRICE)
    [missing] = [row for row in first.rows() if row.outcome == "missing"]
    assert missing.repeats[1] == (None, None) != missing.repeats[0]
    with ChatServer(moody) as server:
        again = judged(server, tmp_path / "run", pairs_file, *THRICE, "--resume")
        assert [each.body["seed"] for each in server.asked] == [1]
        whole = judged(server, tmp_path / "whole", pairs_file, *THRICE)
    assert again.rows() == whole.rows()


def test_what_answers_alike_each_time_is_refused() -> None:
    here = ModelSpec("org/judge", "/nowhere", "", "judge")
    greedy = RunSettings(judge_prompt="upstream", repeats=3)
    with pytest.raises(KnownError, match=r"--repeats 3 .* at temperature 0 .*--temperature above"):
        open_scorer(here, greedy)
    with pytest.raises(KnownError, match="--repeats 3 is for judges and raters that write answers"):
        open_scorer(here, RunSettings(repeats=3))
