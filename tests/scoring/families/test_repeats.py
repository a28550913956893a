"""A judge that is asked everything several times: its mean, and how far its answers differ."""

import json
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.families.answers import read_answers
from scoring.spec import ModelSpec, RunSettings, ScoredPair
from scoring.summary import summarise_run
from tests.support.chat_server import Answer, ChatServer, error, said
from tests.support.files import write_jsonl
from tests.support.judging import COLOURS as PAIRS
from tests.support.judging import asked, drawn, judged, some_rows
from tests.support.rewardbench2 import expected_scores

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


def test_a_row_with_other_rewards_is_decided_by_them() -> None:
    row = ScoredPair("Focus:1", "Focus", "h", 1.0, 0.0, 1, 1, rewards=(1.0, 0.0, 0.0, 0.0))
    other = row.with_rewards([0.5, 2.0, float("nan"), 0.0])
    told = (other.outcome, other.chosen_reward, other.rewards)
    assert told == ("missing", None, (0.5, 2.0, None, 0.0))
    assert row.with_rewards([0.5, 0.0, 2.0, 1.0]).margin == -1.5
