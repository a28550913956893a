from typing import Any

import pytest

from explorer.results.board import Board, build_board
from explorer.results.published import Results, read_snapshot
from explorer.stats.rules import RULES, RuleName
from explorer.tabs.models.chart_data import OWN, axes_of, number_columns, points_of, subset_spreads
from explorer.tabs.models.state import NUMBERS, ModelsState
from scoring.benchmark import SUBSETS
from scoring.results.accuracies import Aggregate
from tests.explorer.board_data import FOUR, SOURCE, matrix_of, results_of


@pytest.fixture(scope="module")
def board() -> Board:
    results = results_of({"org/a-7B": 0.5, "org/b-0b": 0.25, "org/c": 0.75, "org/d-2B": {}})
    mine = matrix_of({"mine-8B": [1.0, 0.0, 1.0, 0.0]}, FOUR)
    return build_board(results, "v1", outcomes=mine, own=("mine-8B",))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_two_axes_among_its_columns_of_numbers(rule: RuleName) -> None:
    board = build_board(read_snapshot(), rule)
    columns = number_columns(board)
    assert set(columns) <= set(NUMBERS)
    assert len(set(columns)) == len(columns)
    x, y = axes_of(board, ModelsState())
    assert x != y and {x, y} <= set(columns)
    assert axes_of(board, ModelsState(x="score", y="size")) == ("score", "size")


def test_the_usual_trade_off() -> None:
    def usual(rule: RuleName) -> tuple[str, str]:
        return axes_of(build_board(read_snapshot(), rule), ModelsState(x="nonsense"))

    assert usual("v1") == usual("v1_prior") == usual("paper") == ("Chat Hard", "Safety")
    assert usual("v2") == ("Factuality", "Precise IF")
    assert usual("prior") == ("anthropic_helpful", "anthropic_hhh")


def test_points_have_both_numbers_in_percent_and_sizes_as_they_are(board: Board) -> None:
    def places(x: str, y: str) -> dict[str, tuple[float, float]]:
        return {each.model: (each.x, each.y) for each in points_of(board.table, x, y, ())}

    assert places("size", "score") == {"org/a-7B": (7.0, 50.0), "mine-8B": (8.0, 50.0)}
    three = {"org/a-7B": (50.0, 50.0), "org/b-0b": (25.0, 25.0), "org/c": (75.0, 75.0)}
    assert places("Chat", "hep-go") == {**three, "mine-8B": (100.0, 0.0)}


def test_points_know_what_they_are(board: Board) -> None:
    points = {
        each.model: each
        for each in points_of(board.table, "Chat", "score", ("org/c", "x"), intervals=True)
    }
    assert (points["mine-8B"].kind, points["org/c"].kind) == (OWN, "DPO")
    assert [model for model, each in points.items() if each.pinned] == ["org/c"]
    interval = points["org/c"].interval
    assert interval is not None and interval.low < 75 < interval.high < 100
    assert not any(each.interval for each in points_of(board.table, "Chat", "score", ()))


# Spreads.


def board_of(*models: dict[str, Any]) -> Board:
    aggregates = [Aggregate(str(at), "DPO", each) for at, each in enumerate(models)]
    return build_board(Results(SOURCE, tuple(aggregates)), "v1")


def test_accuracies_of_a_subset_are_summed_up() -> None:
    board = board_of(*({"hep-go": at / 4} for at in range(5)), {"math-prm": 0.5})
    math, go = subset_spreads(board, board.table)
    assert (math.subset, math.n, math.low, math.high) == ("math-prm", 1, 0.5, 0.5)
    assert (go.subset, go.section, go.n, go.mean) == ("hep-go", "Reasoning", 5, 0.5)
    assert (go.low, go.q1, go.median, go.q3, go.high) == (0.0, 0.25, 0.5, 0.75, 1.0)


def test_only_the_rows_that_are_shown_count_and_subsets_stand_in_order() -> None:
    board = build_board(read_snapshot(), "v1")
    spreads = subset_spreads(board, board.table.head(3))
    assert [each.subset for each in spreads] == list(SUBSETS)
    assert {each.n for each in spreads} == {3}
    assert subset_spreads(board, board.table.head(0)) == []


def test_prior_sets_that_do_not_count_are_of_no_section() -> None:
    board = build_board(read_snapshot(), "prior")
    sections = {each.subset: each.section for each in subset_spreads(board, board.table)}
    assert sections["shp"] == "Prior Sets" and sections["mtbench_gpt4"] is None
    assert list(sections)[:2] == ["anthropic_helpful", "anthropic_hhh"]
