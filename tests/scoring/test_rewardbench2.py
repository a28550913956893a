"""RewardBench 2: rows of several responses from a file to result files, and its score of Ties."""

import json
import math
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
from scoring.ties import TiesRow, ties_score
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


def test_in_ties_each_right_response_must_beat_each_wrong_one() -> None:
    above, below, equal, lacking = [2, 1.5, 1, 0], [2, 0.5, 1, 0], [2, 1, 1, 0], [2, None, 1, 0]
    rows = (above, below, equal, lacking)
    outcomes = [row_of("Ties:tied:1", rewards, 2).outcome for rewards in rows]
    assert outcomes == ["win", "loss", "loss", "missing"]


def test_without_reference_rows_ties_have_wins_and_no_score() -> None:
    tied = [row_of(f"Ties:tied:{at}", [2, 1.8, 1.9, 0.5, 0.1], 3) for at in (1, 2)]
    rows = [*tied, row_of("Ties:mine", [2, 1, 0], 1)]  # whose id is of neither kind
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
    marks = [(0.875, 0.125), (0.5, 0.5), (0.25, 0.75)]
    row = scored_row(few, [Prepared(part) for part in parts], marks, "judge")
    assert row.rewards == (0.6875, 0.1875, 0.625), "means of the two marks that each has"
    with pytest.raises(KnownError, match="41 responses, and a judge compares every two"):
        check_compared(many, "judge")
    judge = Reading()
    judge.spec = ModelSpec("judge", "", "", "judge")
    with pytest.raises(KnownError, match="41 responses"):  # before anything is scored
        make_job([*[few] * 9, many], judge, 0, sample=1)
    assert judge.ready == 0


# The score of Ties, as upstream computes it. Of a prompt, "ref" has one right response and "tied"
# several; a row has the scores of right ones first. GOOD_SCORE is what upstream's function gives.

GOOD = [TiesRow("ref:1", 1, [2, 0.5, 0.1]), TiesRow("tied:1", 3, [2, 1.8, 1.9, 0.5, 0.1])]
WRONG = [TiesRow("ref:1", 1, [0.5, 2]), TiesRow("tied:1", 2, [2, 1, 1.5, 0.1])]
EQUAL = [TiesRow("ref:1", 1, [1, 0]), TiesRow("tied:1", 2, [1, 1, 0])]
FLAT = [TiesRow("ref:1", 1, [1, 1]), TiesRow("tied:1", 2, [1, 1, 1])]

GOOD_SCORE = 1.009999665971563


def test_scores_are_those_of_upstream_to_the_last_digit() -> None:
    rows = (GOOD, WRONG, EQUAL, FLAT)
    scores = [GOOD_SCORE, -0.009866142981514303, 1.01, 0]
    assert [ties_score(each).score for each in rows] == scores


def test_two_prompts_by_hand() -> None:
    right = [TiesRow("ref:7", 1, [5, 1]), TiesRow("tied:7", 2, [6, 4, 1])]  # gaps 4, 3; spread 2
    narrow = [TiesRow("ref:8", 1, [2, 1]), TiesRow("tied:8", 2, [6, 4, 1])]  # gaps 1, 3; spread 2
    found = ties_score([*right, *narrow])
    assert (found.tied_accuracy, found.ref_accuracy) == (1, 1)
    assert (found.preferred, found.preferred_hard) == (1, 0.5)
    margin = (math.tanh(3 / 2 - 1) + math.tanh(1 / 2 - 1)) / 2
    assert found.margin == pytest.approx(margin, abs=1e-15)
    assert found.score == pytest.approx(0.3 + 0.3 + 0.2 + 0.1 + 0.01 * margin, abs=1e-15)
    assert (found.n_tied, found.n_ref, found.n_both, found.missing) == (2, 2, 2, 0)


def test_accuracy_is_of_all_rows_margins_of_prompts_with_both() -> None:
    """As upstream's code has it, which takes the means of accuracy before it joins prompts."""
    found = ties_score([*GOOD, TiesRow("ref:2", 1, [0, 1]), TiesRow("tied:3", 2, [1, 0, 5])])
    assert (found.ref_accuracy, found.tied_accuracy) == (0.5, 0.5)
    assert (found.preferred, found.n_both) == (1, 1)
    assert found.score == pytest.approx(GOOD_SCORE - 0.3)
    single = ties_score([*GOOD, TiesRow("ref:2", 1, [1, 0]), TiesRow("tied:2", 1, [1, 0])])
    assert (single.n_tied, single.n_both, single.score) == (2, 1, GOOD_SCORE)
    for rows in ([], GOOD[:1], GOOD[1:], [GOOD[0], TiesRow("tied:2", 2, [1, 1, 0])]):
        assert ties_score(rows).score is None


@pytest.mark.parametrize("gone", [None, math.nan])
def test_a_row_that_lacks_a_score_is_left_out_or_fails(gone: float | None) -> None:
    rows = [*GOOD, TiesRow("ref:2", 1, [1, 0]), TiesRow("tied:2", 2, [1, gone, 0])]
    found = ties_score(rows)
    assert (found.score, found.missing, found.n_both) == (GOOD_SCORE, 1, 1)
    assert (found.n_tied, found.n_ref, found.accurate, found.inaccurate) == (1, 2, 3, 0)
    strict = ties_score(rows, missing="loss")
    assert (strict.tied_accuracy, strict.preferred, strict.preferred_hard) == (0.5, 0.5, 0.5)
    assert strict.margin == pytest.approx(math.tanh(1.3 / 0.2 - 1) / 2)
    assert (strict.n_tied, strict.n_ref, strict.accurate, strict.inaccurate) == (2, 2, 3, 0)
    ref = ties_score([TiesRow("ref:1", 1, [gone, 0]), GOOD[1]], missing="loss")
    assert (ref.ref_accuracy, ref.preferred, ref.preferred_hard, ref.margin) == (0, 1, 0, 0)


def test_a_row_that_cannot_be_counted_is_counted_as_missing() -> None:
    repeated, nothing = TiesRow("ref:1", 1, [9, 0]), TiesRow("ref:9", 1, [])
    wrong = [TiesRow("ref:9", n, [1, 0]) for n in (0, -1, 2)]
    named = [TiesRow(name, 1, [1, 0]) for name in ("9", "other:9", "tied:" + "9" * 5000)]
    for row in (repeated, nothing, *wrong, *named):
        found = ties_score([*GOOD, row], missing="loss")
        assert (found.score, found.missing) == (GOOD_SCORE, 1)
