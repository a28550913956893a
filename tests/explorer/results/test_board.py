import csv
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core.settings import ASSETS
from explorer.results.board import Board, build_board
from explorer.results.published import read_snapshot
from explorer.stats.rules import RULES
from explorer.stats.uncertainty import measure
from scoring.benchmark import COUNTS, SUBSETS
from scoring.results.accuracies import Aggregate
from tests.support.board_data import EVERY, FOUR, NOTHING, coin_flips, matrix_of, results_of
from tests.support.golden_files import check_golden

NAN = float("nan")
ALL_PAIRS = [subset for subset, n in COUNTS.items() for _ in range(n)]
EASY = results_of({"easy": dict.fromkeys(FOUR, 1.0), "lacks": dict.fromkeys(SUBSETS[1:], 1.0),
                   "full": 0.2})  # fmt: skip
"""Two models that lack subsets, and a worse one that has all."""
PRIOR = Aggregate("a", None, dict.fromkeys(RULES["prior"].subsets, 0.5), "prior")
JOINED = results_of({"a": 0.8, "b": 0.8})
JOINED = replace(JOINED, aggregates=(*JOINED.aggregates, PRIOR))
OF_FOUR = matrix_of({"easy": [1.0] * 4}, FOUR)
LONG_NAME = "<b>" + "x" * 500
UNREWARDED = matrix_of({"a": [1.0, 0.0] * 46, "b": [0.0] * 92}, EVERY * 4)
"""Published outcomes alone do not tell which losses were ties."""
REWARDS = np.full_like(UNREWARDED.chosen, NAN)
REWARDS[0, 0] = 1.0
REWARDED = replace(UNREWARDED, chosen=REWARDS, rejected=REWARDS - 1)


def beside_own(subsets: list[str]) -> dict[str, Any]:
    """A model beside a run of one's own that wins all pairs of these subsets."""
    won = matrix_of({"mine": [1.0] * len(subsets)}, subsets)
    return {"results": results_of({"a": 0.9}), "outcomes": won, "own": ("mine",)}


def repeated(subsets: Iterable[str], n: int) -> list[str]:
    return [subset for subset in subsets for _ in range(n)]


BOARDS: dict[str, dict[str, Any]] = {
    "equal scores share the better rank": {
        "results": results_of({"none": {}, "a": 0.7, "b": 0.9, "d": 0.8, "c": 0.8, "e": 0.1}),
    },
    "prior sets join by name": {"results": JOINED, "rule_name": "v1_prior"},
    "prior sets alone": {"results": JOINED, "rule_name": "prior"},
    "a few easy subsets are no rank": {"results": EASY},
    "a few easy subsets beside prior sets": {"results": EASY, "rule_name": "v1_prior"},
    "a few easy subsets by the rule of the paper": {"results": EASY, "rule_name": "paper"},
    "outcomes of a few easy subsets": {"results": results_of({"full": 0.2}), "outcomes": OF_FOUR},
    "own outcomes of a few easy subsets": {
        "results": results_of({"full": 0.2}), "outcomes": OF_FOUR, "own": ("easy",),
    },
    # Chat has 5 subsets, so 100 pairs
    "outcomes of fewer than nine in ten pairs of a section": {
        "outcomes": matrix_of(
            {"most": [NAN] * 10 + [1] * 450, "few": [NAN] * 11 + [1] * 449},
            repeated(EVERY, 20),
        ),
    },
    "an own run of all pairs": beside_own(ALL_PAIRS),
    "an own run of a few pairs": beside_own(repeated(SUBSETS, 3)),
    "accuracies are counted from outcomes": {
        "results": results_of({"c": 0.4}),
        "outcomes": matrix_of({"a": [1, 0, 0.5] + [0.75] * 20, "b": [1.0] * 22 + [0]}, EVERY),
    },
    "ties by the official rule": {"outcomes": REWARDED},
    "ties count half of the one whose rewards are known": {"outcomes": REWARDED, "ties": "half"},
    "ties count nothing where no rewards are known": {"outcomes": UNREWARDED, "ties": "half"},
    "too few outcomes that contradict the accuracies": {
        "results": results_of({"a": dict.fromkeys(FOUR, 0.25)}),
        "outcomes": matrix_of({"a": [1, NAN, NAN, NAN, *[0] * 12]}, repeated(FOUR, 4)),
    },
    "outcomes that contradict the accuracies": {
        "results": results_of({LONG_NAME: dict.fromkeys(FOUR, 0.5)}),
        "outcomes": matrix_of({LONG_NAME: [1, 1, 1, 0]}, FOUR),
    },
    "a missing outcome that upstream counts as lost": {
        "results": results_of({"a": {**dict.fromkeys(EVERY, 1.0), "mt-bench-easy": 0.95}}),
        "outcomes": matrix_of({"a": [NAN, *[1] * 459]}, repeated(EVERY, 20)),
    },
}  # fmt: skip
"""What a board shows -> what it is made of."""


def shown(board: Board) -> str:
    """Rank, model, score, sections and what else is so of each row; then the remarks."""
    lines = []
    for model, row in board.rows.items():
        numbers = {name: row[name] for name in ("score", *board.rule.sections)}
        known = [f"{name} {number:.5f}" for name, number in numbers.items() if number is not None]
        so = [name for name in ("own", "by_pairs") if row[name]]
        so += ["comparable"] if model in board.comparable else []
        lines.append(f"{row['rank'] or '–'} {model}: {', '.join([*known, *so])}")
    return "\n".join([*lines, *(f"- {remark}" for remark in board.remarks), ""])


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_shows_what_it_showed(name: str) -> None:
    board = build_board(**{"results": NOTHING, "rule_name": "v1", **BOARDS[name]})
    check_golden(Path(__file__).parent / "boards" / f"{name.replace(' ', '-')}.txt", shown(board))


# Uncertainty.


def test_ranks_take_in_models_that_were_not_measured_and_have_wide_intervals() -> None:
    flips = {
        name: coin_flips(share, len(ALL_PAIRS)) for name, share in (("good", 0.9), ("bad", 0.3))
    }
    matrix = matrix_of(flips, ALL_PAIRS)
    results = results_of({"best": 0.99, "rival": 0.9, "worst": 0.01})
    plain = build_board(results, "v1", outcomes=matrix)
    sure = measure(matrix, RULES["v1"], ranked=plain.comparable, replicates=200)
    board = plain.measured(sure)
    ranks = {
        model: (row["best_rank"], row["worst_rank"], row["tie_group"], row["paired"])
        for model, row in board.rows.items()
    }
    assert ranks == {
        "best": (None, None, None, False),
        "good": (2, 3, 1, True),
        "rival": (None, None, None, False),
        "bad": (4, 4, 2, True),
        "worst": (None, None, None, False),
    }
    rival = board.rows["rival"]
    assert rival["score_low"] < 0.9 < rival["score_high"]
    assert rival["Chat_low"] is not None and rival["Chat_group"] is None
    assert any(remark.startswith("2 models have per-pair results") for remark in board.remarks)


def test_uncertainty_of_other_numbers_is_not_used() -> None:
    matrix = matrix_of({"a": [1.0] * 40, "b": [0.0] * 40}, FOUR * 10)
    other = matrix_of({"a": [0.0] * 40, "b": [1.0] * 40}, FOUR * 10)
    sure = measure(other, RULES["v1"], replicates=50)
    for row in build_board(NOTHING, "v1", outcomes=matrix).measured(sure).rows.values():
        assert (row["paired"], row["best_rank"], row["tie_group"]) == (False, None, None)
        assert row["score_low"] is not None


# The real models.


def test_the_snapshot_has_82_models_and_the_papers_numbers_by_its_rule() -> None:
    board = build_board(read_snapshot(), "paper")
    assert len(board.rows) == 82
    lines = (ASSETS / "leaderboard" / "paper-v2.csv").read_text("utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if line[:1] != "#")
    printed = {row["model"]: row for row in rows}
    # The mean of five where prior sets are printed; without them some averages are of four.
    columns = {"avg": "score", "chat": "Chat", "chat_hard": "Chat Hard", "safety": "Safety",
               "reasoning": "Reasoning"}  # fmt: skip
    for model, row in board.rows.items():
        for name, column in columns.items():
            paper = float(printed[model][f"printed_{name}"])
            assert abs(100 * (row[column] or 0) - paper) <= 0.1 + 1e-9
