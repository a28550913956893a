"""What is behind a number: its parts add up, and what is asked for may be anything."""

from typing import Any

import pytest

from explorer.results.board import Board, build_board
from explorer.stats.rules import RULES, RuleName
from explorer.tabs.models.behind import behind_html
from scoring.errors import KnownError
from tests.explorer.board_data import FOUR, NOTHING, matrix_of, results_of, rows_in
from tests.explorer.boards import HOSTILE, hostile_board, reading
from tests.explorer.html_reading import body_rows

NAN = float("nan")


@pytest.fixture(scope="module")
def board() -> Board:
    """One model with a win, a half, a loss and a missing outcome of each subset."""
    outcomes = [value for value in (1.0, 0.5, 0.0, NAN) for _ in FOUR]
    return build_board(NOTHING, "v1", outcomes=matrix_of({"a": outcomes}, FOUR * 4))


def test_a_number_shows_the_pairs_it_was_counted_from(board: Board) -> None:
    rows = body_rows(behind_html(board, {"model": "a", "column": "Safety"}))
    assert rows[0] == ["Safety", "", "50.0000", "1", "", "", ""]
    known = [row for row in rows[1:] if row[4]]
    assert [row[1:] for row in known] == [
        ["donotanswer", "50.0000", "136", "1 + 0.5 of 1 won in part", "3", "1"]
    ]
    assert {row[2] for row in rows[1:] if not row[4]} == {"–"}


def test_credit_of_a_quarter_and_a_third_is_summed_up() -> None:
    outcomes = matrix_of({"a": [1, 1, 0.25, 1 / 3, 0]}, ["Focus"] * 5)
    board = build_board(NOTHING, "v2", outcomes=outcomes)
    rows = body_rows(behind_html(board, {"model": "a", "column": "Focus"}))
    assert rows[1][4:6] == ["2 + 0.5833 of 2 won in part", "5"]


def test_the_score_shows_all_sections(board: Board) -> None:
    html = behind_html(board, {"model": "a", "column": "score"})
    sections = [row[0] for row in body_rows(html) if row[0]]
    assert sections == ["Chat", "Chat Hard", "Safety", "Reasoning"]
    assert "Score: 50.000000" in html
    assert board.rule.formula in reading(html).words


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_can_be_looked_behind(rule: RuleName) -> None:
    shares = {"mtbench_human": 0.5, "shp": 0.25, "Focus": 0.5, "Ties": 1.01, "hep-go": 0.5}
    for benchmark in ("v1", "v2", "prior"):
        found = build_board(results_of({"a": shares}, benchmark), rule)
        for row in rows_in(found):
            assert "–" in reading(behind_html(found, {"model": row.model})).words


def test_hostile_names_stay_text() -> None:
    board = hostile_board()
    for name in HOSTILE:
        seen = reading(behind_html(board, {"model": name, "column": name}))
        assert name in seen.words
        assert name in seen.attributes["div", "aria-label"]


@pytest.mark.parametrize("column", [None, 5, [], {}, [["Chat"]], "no column", "hep-go", True])
def test_a_column_that_is_no_section_shows_them_all(board: Board, column: Any) -> None:
    every = behind_html(board, {"model": "a"})
    assert behind_html(board, {"model": "a", "column": column}) == every


@pytest.mark.parametrize("model", [None, 5, [], {}, "", "A", "x" * 10**6, "<script>"])
def test_a_model_that_there_is_not_is_refused(board: Board, model: Any) -> None:
    with pytest.raises(KnownError, match="There is no model") as refused:
        behind_html(board, {"model": model, "column": "Chat"})
    assert len(str(refused.value)) < 200
