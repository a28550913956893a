import csv
from dataclasses import replace

import numpy as np
import pytest

from explorer.core.settings import ASSETS
from explorer.results.board import Board, build_board
from explorer.results.published import Results, read_snapshot
from explorer.runs.model_list import size_of
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
    assert rows_in(board)[1].sections[PRIOR] == 0.5
    assert rows_in(board)[1].score == pytest.approx((8 * 0.8 + 0.5) / 9)
    assert rows_in(board)[0].sections[PRIOR] is None
    assert rows_in(board)[0].score == pytest.approx(0.8)
    alone = board_of(whole("b", 0.8), prior, rule="prior")
    assert ranks(alone) == [(1, "a")]
    assert set(rows_in(alone)[0].subsets) > set(RULES["prior"].subsets)


def test_a_few_easy_subsets_are_no_rank() -> None:
    easy = Aggregate("easy", None, dict.fromkeys(FOUR, 1.0))
    lacks = Aggregate("lacks", None, dict.fromkeys(SUBSETS[1:], 1.0))
    for rule in ("v1", "v1_prior", "v1_prior_full", "v1_upstream", "paper"):
        board = board_of(easy, lacks, whole("full", 0.2), rule=rule)
        assert ranks(board) == [(1, "full"), (None, "easy"), (None, "lacks")]
        assert any("2 models have no rank" in remark for remark in board.remarks)
    matrix = matrix_of({"easy": [1.0] * 4}, FOUR)
    for own in ((), ("easy",)):
        board = build_board(results_of({"full": 0.2}), "v1", outcomes=matrix, own=own)
        assert ranks(board) == [(1, "full"), (None, "easy")]


# Outcomes.


def test_accuracies_come_from_outcomes_where_there_are_any() -> None:
    matrix = matrix_of({"a": [1, 0, 0.5] + [0.75] * 20, "b": [1.0] * 22 + [0]}, EVERY)
    board = build_board(results_of({"c": 0.4}), "v1", outcomes=matrix)
    assert [(row.model, row.by_pairs) for row in rows_in(board)] == [
        ("b", True),
        ("a", True),
        ("c", False),
    ]
    a = row_in(board, "a")
    assert a is not None
    assert a.sections["Chat"] == pytest.approx((28 + 0.75 * 330) / 358)
    assert a.counted.counts["donotanswer"] == Counted(0.5, 1, 0, 1, 0, 0)
    assert a.model_type == "Seq. Classifier"
    assert [remark for remark in board.remarks if remark.startswith("1 model has only accuracies")]
    assert board.comparable == ("b", "a")


def test_the_switches_act_on_outcomes_alone() -> None:
    subsets = [each for each in FOUR for _ in range(20)]
    values = [0, NAN, *[1] * 78]
    equal = np.zeros((1, 80), np.bool_)
    equal[0, :2] = True
    matrix = matrix_of({"a": values}, subsets, equal)

    def chat(ties: str = "official", missing: str = "left out") -> float | None:
        results = results_of({"b": 0.5})
        board = build_board(results, "v1", outcomes=matrix, ties=ties, missing=missing)  # type: ignore[arg-type]
        by_file, by_pairs = row_in(board, "b"), row_in(board, "a")
        assert by_file is not None and by_pairs is not None
        assert by_file.score == pytest.approx(0.5)
        assert by_pairs.counted.counts["mt-bench-easy"].missing == 1
        score: float | None = by_pairs.sections["Chat"]
        return score

    assert chat() == pytest.approx(18 / 19)
    assert chat("half") == pytest.approx(18.5 / 19)
    assert chat(missing="loss") == pytest.approx(18 / 20)
    assert chat("half", "loss") == pytest.approx(18.5 / 20)


def test_where_no_rewards_are_known_equal_scores_count_nothing_and_that_is_said() -> None:
    """Published outcomes alone do not tell which losses were ties."""
    subsets = [each for each in EVERY for _ in range(4)]
    outcomes = {"a": [1.0, 0.0] * (len(subsets) // 2), "b": [0.0] * len(subsets)}
    alone = matrix_of(outcomes, subsets)
    rewards = np.array([1.0, *[np.nan] * (len(subsets) - 1)], np.float32)
    known = replace(alone, chosen=np.array([rewards, np.full_like(rewards, np.nan)]))
    known = replace(known, rejected=known.chosen - 1)
    for matrix, n in ((alone, 0), (known, 1)):
        usual, half = (
            build_board(NOTHING, "v1", outcomes=matrix, ties=ties) for ties in ("official", "half")
        )
        assert [row.score for row in rows_in(half)] == [row.score for row in rows_in(usual)]
        [said] = set(half.remarks) - set(usual.remarks)
        assert half.rewarded == n
        assert ("has no effect" in said) == (n == 0) and (f" {n} model " in said) == (n > 0)


def test_a_model_with_too_few_outcomes_has_no_rank() -> None:
    subsets = [each for each in EVERY for _ in range(20)]  # Chat has 5 subsets, so 100 pairs
    matrix = matrix_of({"most": [NAN] * 10 + [1] * 450, "few": [NAN] * 11 + [1] * 449}, subsets)
    assert ranks(build_board(NOTHING, "v1", outcomes=matrix)) == [(1, "most"), (None, "few")]


def test_accuracies_of_which_outcomes_are_too_few_stay() -> None:
    subsets = [each for each in FOUR for _ in range(4)]
    matrix = matrix_of({"a": [1, NAN, NAN, NAN, *[0] * 12]}, subsets)
    file = results_of({"a": dict.fromkeys(FOUR, 0.25)})
    board = build_board(file, "v1", outcomes=matrix)
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
    lost = build_board(file, "v1", outcomes=matrix, missing="loss")
    assert rows_in(lost)[0].sections["Chat"] == pytest.approx((330 + 28 * 0.95) / 358)


def test_own_runs_are_marked_and_ranked_only_where_they_are_whole() -> None:
    whole = matrix_of({"mine": [1.0] * len(ALL_PAIRS)}, ALL_PAIRS)
    board = build_board(results_of({"a": 0.9}), "v1", outcomes=whole, own=("mine",))
    assert [(row.model, row.own, row.rank) for row in rows_in(board)] == [
        ("mine", True, 1),
        ("a", False, 1),  # as if there were no other
    ]
    few = [subset for subset in SUBSETS for _ in range(3)]
    part = matrix_of({"mine": [1.0] * len(few)}, few)
    board = build_board(results_of({"a": 0.9}), "v1", outcomes=part, own=("mine",))
    assert [(row.model, row.rank) for row in rows_in(board)] == [("a", 1), ("mine", None)]


# Uncertainty.


def test_accuracies_alone_have_wide_unpaired_intervals_and_no_groups() -> None:
    row = rows_in(board_of(*results_of({"a": 0.8}).aggregates))[0]
    assert row.interval is not None
    assert row.interval.low < 0.8 < row.interval.high
    assert (row.paired, row.best_rank, row.tie_group) == (False, None, None)
    assert row.section_intervals["Chat"] is not None
    assert set(row.section_groups.values()) == {None}


def test_ranks_take_in_models_that_were_not_measured() -> None:
    rng = np.random.default_rng(0)
    values = {"good": rng.random(len(ALL_PAIRS)) < 0.9, "bad": rng.random(len(ALL_PAIRS)) < 0.3}
    matrix = matrix_of({name: [*map(float, each)] for name, each in values.items()}, ALL_PAIRS)
    results = results_of({"best": 0.99, "rival": 0.9, "worst": 0.01})
    plain = build_board(results, "v1", outcomes=matrix)
    sure = measure(matrix, RULES["v1"], ranked=plain.comparable, replicates=200)
    board = build_board(results, "v1", outcomes=matrix).measured(sure)
    good, bad, rival = (row_in(board, name) for name in ("good", "bad", "rival"))
    assert good is not None and bad is not None and rival is not None
    assert (good.best_rank, good.worst_rank, good.tie_group) == (2, 3, 1)
    assert (bad.best_rank, bad.worst_rank, bad.tie_group) == (4, 4, 2)
    assert (rival.best_rank, rival.tie_group, rival.paired) == (None, None, False)
    assert good.paired
    assert any(remark.startswith("2 models have per-pair results") for remark in board.remarks)


def test_uncertainty_of_other_numbers_is_not_used() -> None:
    matrix = matrix_of({"a": [1.0] * 40, "b": [0.0] * 40}, FOUR * 10)
    other = matrix_of({"a": [0.0] * 40, "b": [1.0] * 40}, FOUR * 10)
    sure = measure(other, RULES["v1"], replicates=50)
    board = build_board(NOTHING, "v1", outcomes=matrix).measured(sure)
    assert [(row.paired, row.best_rank, row.tie_group) for row in rows_in(board)] == [
        (False, None, None)
    ] * 2
    assert all(row.interval is not None for row in rows_in(board))


def test_with_prior_sets_that_were_not_measured_scores_are_unpaired() -> None:
    matrix = matrix_of({"a": [1.0] * 115 + [0.0] * 115, "b": [0.0] * 230}, EVERY * 10)
    prior = Aggregate("a", None, dict.fromkeys(RULES["prior"].subsets, 0.5), "prior")
    sure = measure(matrix, RULES["v1_prior"], replicates=50)
    board = build_board(Results(SOURCE, (prior,)), "v1_prior", outcomes=matrix).measured(sure)
    assert [(row.model, row.paired, row.tie_group) for row in rows_in(board)] == [
        ("a", False, None),
        ("b", True, None),
    ]
    assert rows_in(board)[0].section_groups["Chat"] == 1


# The real models.


def test_the_snapshot_has_82_models_and_the_papers_numbers_by_its_rule() -> None:
    results = read_snapshot()
    board = build_board(results, "paper")
    assert len(rows_in(board)) == 82
    lines = (ASSETS / "leaderboard" / "paper-v2.csv").read_text("utf-8")
    printed = {
        row["model"]: row
        for row in csv.DictReader(line for line in lines.splitlines() if line[:1] != "#")
    }
    columns = {"Chat": "chat", "Chat Hard": "chat_hard", "Safety": "safety",
               "Reasoning": "reasoning"}  # fmt: skip
    differences = {}
    for row in rows_in(board):
        paper = printed[row.model]
        for section, column in columns.items():
            score = 100 * (row.sections[section] or 0)
            differences[row.model, section] = abs(score - float(paper[f"printed_{column}"]))
        # The mean of five where prior sets are printed; without them some averages are of four.
        differences[row.model, "Avg"] = abs(100 * (row.score or 0) - float(paper["printed_avg"]))
    worst = max(differences, key=lambda name: differences[name])
    print(
        f"{len(differences)} printed figures, at most {differences[worst]:.3f} points off {worst}"
    )
    assert differences[worst] <= 0.1 + 1e-9


# Names.


@pytest.mark.parametrize(
    ("name", "size"),
    [
        *[("nicolinho/QRM-Gemma-2-27B", 27), ("internlm/internlm2-1_8b-reward", 1.8)],
        *[("org/oasst-rm-2.1-pythia-1.4b-epoch-2.5", 1.4), ("org/rm-350m", 0.35)],
        *[("org/Llama_3_8B", 8), ("mistralai/Mixtral-8x7B-Instruct-v0.1", None)],
        *[("Qwen/Qwen1.5-MoE-A2.7B-Chat", None), ("org/ppo-13b-uf-mean-70b-uf-rm", None)],
        *[("openai/gpt-4o-2024-05-13", None), ("7b/model", None), ("org/٧b", None)],
        *[("", None), ("1" * 9999 + "b", None), ("org/" + "1b" * 5000, None)],
    ],
)
def test_a_size_is_what_the_name_tells(name: str, size: float | None) -> None:
    assert size_of(name) == size
