"""The score of Ties, as upstream computes it."""

import math

import pytest

from scoring.ties import TiesRow, ties_score

A = [TiesRow("ref:1", 1, [2, 0.5, 0.1]), TiesRow("tied:1", 3, [2, 1.8, 1.9, 0.5, 0.1])]
WRONG = [TiesRow("ref:1", 1, [0.5, 2]), TiesRow("tied:1", 2, [2, 1, 1.5, 0.1])]
EQUAL = [TiesRow("ref:1", 1, [1, 0]), TiesRow("tied:1", 2, [1, 1, 0])]
FLAT = [TiesRow("ref:1", 1, [1, 1]), TiesRow("tied:1", 2, [1, 1, 1])]


def test_the_worked_examples_to_the_last_digit() -> None:
    rows = (A, WRONG, EQUAL, FLAT)
    scores = [1.009999665971563, -0.009866142981514303, 1.01, 0]
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
    found = ties_score([*A, TiesRow("ref:2", 1, [0, 1]), TiesRow("tied:3", 2, [1, 0, 5])])
    assert (found.ref_accuracy, found.tied_accuracy) == (0.5, 0.5)
    assert (found.preferred, found.n_both) == (1, 1)
    assert found.score == pytest.approx(1.009999665971563 - 0.3)
    single = ties_score([*A, TiesRow("ref:2", 1, [1, 0]), TiesRow("tied:2", 1, [1, 0])])
    assert (single.n_tied, single.n_both, single.score) == (2, 1, ties_score(A).score)
    for rows in ([], A[:1], A[1:], [A[0], TiesRow("tied:2", 2, [1, 1, 0])]):
        assert ties_score(rows).score is None


@pytest.mark.parametrize("gone", [None, math.nan])
def test_a_row_that_lacks_a_score_is_left_out_or_fails(gone: float | None) -> None:
    rows = [*A, TiesRow("ref:2", 1, [1, 0]), TiesRow("tied:2", 2, [1, gone, 0])]
    found = ties_score(rows)
    assert (found.score, found.missing, found.n_both) == (ties_score(A).score, 1, 1)
    assert (found.n_tied, found.n_ref, found.accurate, found.inaccurate) == (1, 2, 3, 0)
    strict = ties_score(rows, missing="loss")
    assert (strict.tied_accuracy, strict.preferred, strict.preferred_hard) == (0.5, 0.5, 0.5)
    assert strict.margin == pytest.approx(math.tanh(1.3 / 0.2 - 1) / 2)
    assert (strict.n_tied, strict.n_ref, strict.accurate, strict.inaccurate) == (2, 2, 3, 0)
    ref = ties_score([TiesRow("ref:1", 1, [gone, 0]), A[1]], missing="loss")
    assert (ref.ref_accuracy, ref.preferred, ref.preferred_hard, ref.margin) == (0, 1, 0, 0)


def test_a_row_that_cannot_be_counted_is_counted_as_missing() -> None:
    before, nothing = TiesRow("ref:1", 1, [9, 0]), TiesRow("ref:9", 1, [])
    wrong = [TiesRow("ref:9", n, [1, 0]) for n in (0, -1, 2)]
    named = [TiesRow(name, 1, [1, 0]) for name in ("9", "other:9", "tied:" + "9" * 5000)]
    for row in (before, nothing, *wrong, *named):
        found = ties_score([*A, row], missing="loss")
        assert (found.score, found.missing) == (ties_score(A).score, 1)
