import csv
from dataclasses import replace

import numpy as np
import pytest

from explorer.core.settings import ASSETS
from explorer.results.board import Board, build_board
from explorer.results.published import Results, read_snapshot
from explorer.stats.aggregate import Counted
from explorer.stats.rules import PRIOR, RULES
from explorer.stats.uncertainty import measure
from scoring.benchmark import COUNTS, SUBSETS
from scoring.results.accuracies import Aggregate
from tests.support.board_data import (
    EVERY,
    FOUR,
    NOTHING,
    SOURCE,
    matrix_of,
    results_of,
    row_in,
    rows_in,
)

NAN = float("nan")
ALL_PAIRS = [subset for subset, n in COUNTS.items() for _ in range(n)]


def whole(model: str, value: float) -> Aggregate:
    return Aggregate(model, None, dict.fromkeys(SUBSETS, value))


def board_of(*aggregates: Aggregate, rule: str = "v1") -> Board:
    return build_board(Results(SOURCE, aggregates), rule)


def ranks(board: Board) -> list[tuple[int | None, str]]:
    return [(row.rank, row.model) for row in rows_in(board)]


# Ranking.


def test_equal_scores_share_the_better_rank_and_models_without_score_come_last() -> None:
    scores = {"a": 0.7, "b": 0.9, "d": 0.8, "c": 0.8, "e": 0.1}
    board = board_of(Aggregate("none", None, {}), *(whole(*each) for each in scores.items()))
    assert ranks(board) == [(1, "b"), (2, "c"), (2, "d"), (4, "a"), (5, "e"), (None, "none")]
    assert rows_in(board)[-1].score is None
    assert rows_in(board)[0].score == pytest.approx(0.9)


def test_prior_sets_join_by_name_and_may_be_missing() -> None:
    prior = Aggregate("a", None, dict.fromkeys(RULES["prior"].subsets, 0.5), "prior")
    board = board_of(whole("a", 0.8), whole("b", 0.8), prior, rule="v1_prior")
    assert ranks(board) == [(1, "b"), (2, "a")]
    assert [row.sections[PRIOR] for row in rows_in(board)] == [None, 0.5]
    assert [row.score for row in rows_in(board)] == pytest.approx([0.8, (8 * 0.8 + 0.5) / 9])
    assert ranks(board_of(whole("b", 0.8), prior, rule="prior")) == [(1, "a")]


def test_a_few_easy_subsets_or_too_few_outcomes_are_no_rank() -> None:
    easy = Aggregate("easy", None, dict.fromkeys(FOUR, 1.0))
    lacks = Aggregate("lacks", None, dict.fromkeys(SUBSETS[1:], 1.0))
    for rule in ("v1", "v1_prior", "paper"):
        board = board_of(easy, lacks, whole("full", 0.2), rule=rule)
        assert ranks(board) == [(1, "full"), (None, "easy"), (None, "lacks")]
        assert any("2 models have no rank" in remark for remark in board.remarks)
    matrix = matrix_of({"easy": [1.0] * 4}, FOUR)
    for own in ((), ("easy",)):
        board = build_board(results_of({"full": 0.2}), "v1", outcomes=matrix, own=own)
        assert ranks(board) == [(1, "full"), (None, "easy")]
    subsets = [each for each in EVERY for _ in range(20)]  # Chat has 5 subsets, so 100 pairs
    matrix = matrix_of({"most": [NAN] * 10 + [1] * 450, "few": [NAN] * 11 + [1] * 449}, subsets)
    assert ranks(build_board(NOTHING, "v1", outcomes=matrix)) == [(1, "most"), (None, "few")]


def test_own_runs_are_marked_and_ranked_only_where_they_are_whole() -> None:
    few = [subset for subset in SUBSETS for _ in range(3)]
    for subsets, expected in (
        (ALL_PAIRS, [("mine", True, 1), ("a", False, 1)]),  # as if there were no other
        (few, [("a", False, 1), ("mine", True, None)]),
    ):
        matrix = matrix_of({"mine": [1.0] * len(subsets)}, subsets)
        board = build_board(results_of({"a": 0.9}), "v1", outcomes=matrix, own=("mine",))
        assert [(row.model, row.own, row.rank) for row in rows_in(board)] == expected


# Outcomes.


def test_accuracies_come_from_outcomes_where_there_are_any() -> None:
    matrix = matrix_of({"a": [1, 0, 0.5] + [0.75] * 20, "b": [1.0] * 22 + [0]}, EVERY)
    board = build_board(results_of({"c": 0.4}), "v1", outcomes=matrix)
    assert [(row.model, row.by_pairs) for row in rows_in(board)] == [
        *[("b", True), ("a", True), ("c", False)]
    ]
    a = row_in(board, "a")
    assert a.sections["Chat"] == pytest.approx((28 + 0.75 * 330) / 358)
    assert a.counted.counts["donotanswer"] == Counted(0.5, 1, 0, 1, 0, 0)
    assert [remark for remark in board.remarks if remark.startswith("1 model has only accuracies")]
    assert board.comparable == ("b", "a")


def test_where_no_rewards_are_known_equal_scores_count_nothing_and_that_is_said() -> None:
    """Published outcomes alone do not tell which losses were ties."""
    alone = matrix_of({"a": [1.0, 0.0] * 46, "b": [0.0] * 92}, EVERY * 4)
    chosen = alone.chosen.copy()
    chosen[0, 0] = 1.0
    for matrix, n in ((alone, 0), (replace(alone, chosen=chosen, rejected=chosen - 1), 1)):
        usual, half = (
            build_board(NOTHING, "v1", outcomes=matrix, ties=ties) for ties in ("official", "half")
        )
        assert [row.score for row in rows_in(half)] == [row.score for row in rows_in(usual)]
        [said] = set(half.remarks) - set(usual.remarks)
        assert half.rewarded == n
        assert ("has no effect" in said) == (n == 0) and (f" {n} model " in said) == (n > 0)


def test_accuracies_of_which_outcomes_are_too_few_stay() -> None:
    subsets = [each for each in FOUR for _ in range(4)]
    matrix = matrix_of({"a": [1, NAN, NAN, NAN, *[0] * 12]}, subsets)
    board = build_board(results_of({"a": dict.fromkeys(FOUR, 0.25)}), "v1", outcomes=matrix)
    assert (rows_in(board)[0].score, rows_in(board)[0].by_pairs) == (0.25, False)
    assert any("are too few" in remark for remark in board.remarks)


def test_outcomes_that_differ_from_the_accuracies_are_taken_and_told() -> None:
    name = "<b>" + "x" * 500
    matrix = matrix_of({name: [1, 1, 1, 0]}, FOUR)
    board = build_board(results_of({name: dict.fromkeys(FOUR, 0.5)}), "v1", outcomes=matrix)
    assert rows_in(board)[0].score == pytest.approx(0.75)
    [said] = [remark for remark in board.remarks if "contradict" in remark]
    assert "50.00 points" in said
    assert len(said) < 400


def test_a_null_that_upstream_counts_as_lost_is_no_other_evaluation() -> None:
    subsets = [each for each in EVERY for _ in range(20)]
    matrix = matrix_of({"a": [NAN, *[1] * 459]}, subsets)
    file = results_of({"a": {**dict.fromkeys(EVERY, 1.0), "mt-bench-easy": 0.95}})
    board = build_board(file, "v1", outcomes=matrix)
    assert rows_in(board)[0].by_pairs
    assert rows_in(board)[0].sections["Chat"] == 1.0
    assert board.remarks == ()


# Uncertainty.


def test_ranks_take_in_models_that_were_not_measured_and_have_wide_intervals() -> None:
    rng = np.random.default_rng(0)
    values = {"good": rng.random(len(ALL_PAIRS)) < 0.9, "bad": rng.random(len(ALL_PAIRS)) < 0.3}
    matrix = matrix_of({name: [*map(float, each)] for name, each in values.items()}, ALL_PAIRS)
    results = results_of({"best": 0.99, "rival": 0.9, "worst": 0.01})
    plain = build_board(results, "v1", outcomes=matrix)
    sure = measure(matrix, RULES["v1"], ranked=plain.comparable, replicates=200)
    board = plain.measured(sure)
    good, bad, rival = (row_in(board, name) for name in ("good", "bad", "rival"))
    assert (good.best_rank, good.worst_rank, good.tie_group) == (2, 3, 1)
    assert (bad.best_rank, bad.worst_rank, bad.tie_group) == (4, 4, 2)
    assert good.paired
    assert (rival.best_rank, rival.tie_group, rival.paired) == (None, None, False)
    assert rival.interval.low < 0.9 < rival.interval.high
    assert rival.section_intervals["Chat"] is not None
    assert set(rival.section_groups.values()) == {None}
    assert any(remark.startswith("2 models have per-pair results") for remark in board.remarks)


def test_uncertainty_of_other_numbers_is_not_used() -> None:
    matrix = matrix_of({"a": [1.0] * 40, "b": [0.0] * 40}, FOUR * 10)
    other = matrix_of({"a": [0.0] * 40, "b": [1.0] * 40}, FOUR * 10)
    sure = measure(other, RULES["v1"], replicates=50)
    board = build_board(NOTHING, "v1", outcomes=matrix).measured(sure)
    for row in rows_in(board):
        assert (row.paired, row.best_rank, row.tie_group) == (False, None, None)
        assert row.interval is not None


# The real models.


def test_the_snapshot_has_82_models_and_the_papers_numbers_by_its_rule() -> None:
    board = build_board(read_snapshot(), "paper")
    assert len(rows_in(board)) == 82
    lines = (ASSETS / "leaderboard" / "paper-v2.csv").read_text("utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if line[:1] != "#")
    printed = {row["model"]: row for row in rows}
    for row in rows_in(board):
        paper = printed[row.model]
        # The mean of five where prior sets are printed; without them some averages are of four.
        numbers = {"avg": row.score} | {
            name: row.sections[name.replace("_", " ").title()]
            for name in ("chat", "chat_hard", "safety", "reasoning")
        }
        for name, score in numbers.items():
            assert abs(100 * (score or 0) - float(paper[f"printed_{name}"])) <= 0.1 + 1e-9
