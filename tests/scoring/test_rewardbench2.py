"""Rows with several right and wrong responses, from a file to upstream's result files."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.command.report import as_table
from scoring.engine.formatting import Prepared
from scoring.errors import KnownError
from scoring.pairs.opening import as_pairs, read_pairs
from scoring.record import Run
from scoring.results.accuracies import read_aggregates
from scoring.results.pairs import read_pair_results
from scoring.rows import MOST_COMPARED, check_compared, parts_of, scored_row
from scoring.run import make_job
from scoring.spec import ModelSpec, ScoredPair
from scoring.summary import summarise
from tests.support.files import write_jsonl
from tests.support.rewardbench2 import expected_scores, made_up_rows
from tests.support.watched_scorers import Reading

ROWS = made_up_rows()


def test_a_file_is_scored_as_an_independent_computation_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what is written in upstream's layout is read back the same."""
    file, folder = write_jsonl(tmp_path / "rb2.jsonl", ROWS), tmp_path / "run"
    given = ("--model", "longer", "--pairs", file, "--out", folder, "--json")
    assert main([*map(str, given)]) == 0
    run = Run.open(folder)
    rows = {row.key: row for row in run.rows()}
    rewards = [[*rows[f"{row['subset']}:{row['id']}"].all_rewards] for row in ROWS]
    lengths = [[len(text) for text in (*row["chosen"], *row["rejected"])] for row in ROWS]
    assert rewards == lengths
    expected = expected_scores(ROWS, lengths)

    told = json.loads(capsys.readouterr().out)
    assert told["score"] == pytest.approx(expected.pop(""), abs=1e-12)
    assert told["sections"] == pytest.approx(expected, abs=1e-12)
    of_subsets = {name: each["accuracy"] for name, each in told["subsets"].items()}
    assert of_subsets == told["sections"] and told["subsets"]["Ties"]["interval"] is None
    table = as_table(run, [], [], dry_run=False)
    assert "mean of the subsets present" in table and "12 prompts have both forms" in table
    (result,), left_out = read_aggregates(folder)
    assert (result.benchmark, left_out) == ("v2", [])
    assert result.accuracies == pytest.approx(expected, abs=1e-12)
    found = read_pair_results(folder / "eval-set-scores" / f"{run.facts.model}.json")
    assert found.scores is not None and found.num_correct is not None
    assert [found.scores.row(at).tolist() for at in range(len(ROWS))] == rewards
    assert found.num_correct.tolist() == [row["num_correct"] for row in ROWS]
    assert found.order.ids == [row["id"] for row in ROWS]


def row_of(key: str, rewards: Sequence[float | None], right: int) -> ScoredPair:
    row = ScoredPair(key, key.partition(":")[0], "", None, None, 1, 1, n_chosen=right)
    return row.with_rewards(rewards)


def test_those_that_share_the_highest_reward_share_the_credit() -> None:
    cases: list[tuple[list[float | None], int, float | None]] = [
        ([1.0, 0.5, 0.2, 0.1], 1, 1.0),
        ([1.0, 1.0, 1.0, 0.1], 1, 1 / 3),
        ([0.5, 1.0, 0.0, 0.0], 1, 0.0),
        ([1.0, 0.5, 1.0, 0.1], 2, 0.5),
        ([1.0, None, 0.2, 0.1], 1, None),
    ]
    for rewards, right, credit in cases:
        row = row_of("Focus:1", rewards, right)
        assert row.credit(0.0) == row.credit(0.5) == credit
        summary = summarise([row], "classifier")
        assert summary.score == summary.sections["Focus"] == credit


def test_in_ties_each_right_response_must_beat_each_wrong_one() -> None:
    one_below, as_good = [2, 0.5, 1, 0], [2, 1, 1, 0]
    rows = ([2, 1.5, 1, 0], one_below, as_good, [2, None, 1, 0])
    outcomes = [row_of("Ties:tied:1", rewards, 2).outcome for rewards in rows]
    assert outcomes == ["win", "loss", "loss", "missing"]


def test_a_ties_row_without_its_reference_is_told_and_loses_nothing() -> None:
    tied = [row_of(f"Ties:tied:{at}", [2, 1.8, 1.9, 0.5, 0.1], 3) for at in (1, 2)]
    rows = [*tied, row_of("Ties:mine", [2, 1, 0], 1)]
    whole = [row_of("Ties:ref:1", [2, 0.5, 0.1], 1), *rows]
    assert summarise(whole, "classifier").score == 1.009999665971563
    lacking = summarise(rows, "classifier")
    assert (lacking.score, lacking.total.n, lacking.total.wins) == (None, 3, 3)
    assert lacking.ties is not None
    assert (lacking.ties.n_both, lacking.ties.missing) == (0, 1)


ROW = {"prompt": "p", "chosen": ["a"], "rejected": ["b", "c"], "subset": "Math"}


def test_a_judge_compares_every_two_and_not_too_many(tmp_path: Path) -> None:
    several = {**ROW, "rejected": [f"r{at}" for at in range(MOST_COMPARED)]}
    few, many = as_pairs(
        read_pairs(write_jsonl(tmp_path / "r.jsonl", [ROW, several])).table, [0, 1]
    )
    parts = parts_of(few, "judge")
    sides = [(part.chosen, part.rejected) for part in parts]
    assert sides == [("a", "b"), ("a", "c"), ("b", "c")]
    given = [(0.875, 0.125), (0.5, 0.5), (0.25, 0.75)]
    row = scored_row(few, [Prepared(part) for part in parts], given, "judge")
    assert row.rewards == (0.6875, 0.1875, 0.625)
    with pytest.raises(KnownError, match="41 responses, and a judge compares every two"):
        check_compared(many, "judge")
    judge = Reading()
    judge.spec = ModelSpec("judge", "", "", "judge")
    with pytest.raises(KnownError, match="41 responses"):  # before anything is scored
        make_job([*[few] * 9, many], judge, 0, sample=1)
    assert judge.ready == 0
