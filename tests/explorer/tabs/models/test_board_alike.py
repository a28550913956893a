import numpy as np
import pytest

from explorer.stats.rules import RULES
from explorer.tabs.models.chart_data import alike
from tests.explorer.board_data import FOUR, matrix_of

V1, V2 = RULES["v1"], RULES["v2"]
NAN = float("nan")


def test_models_that_are_alike_stand_together() -> None:
    rng = np.random.default_rng(0)
    one, other = (rng.integers(0, 2, 40).astype(float) for _ in range(2))
    matrix = matrix_of({"a": one, "b": other, "a2": one, "b2": other, "c": 1 - one}, FOUR * 10)  # type: ignore[dict-item]
    found = alike(matrix, ["c", "a", "b", "a2", "b2", "gone"], V1)
    order = "".join(model[0] for model in found.models)
    assert sorted(found.models) == ["a", "a2", "b", "b2", "c"]
    assert "aa" in order and "bb" in order
    place = {model: at for at, model in enumerate(found.models)}
    assert found.correlation[place["a"], place["a2"]] == pytest.approx(1)
    assert found.correlation[place["a"], place["c"]] == pytest.approx(-1)
    expected = np.corrcoef(one, other)[0, 1]
    assert found.correlation[place["a"], place["b"]] == pytest.approx(expected)


def test_only_pairs_of_both_count_and_ties_as_they_do_in_the_table() -> None:
    outcomes = {"a": [1.0, 0.0, 0.0, NAN], "b": [1.0, 0.0, 1.0, 0.0]}
    equal = np.zeros((2, 4), np.bool_)
    equal[0, 2] = True
    matrix = matrix_of(outcomes, FOUR, equal)
    assert alike(matrix, ["a", "b"], V1).correlation[0, 1] == pytest.approx(0.5)
    halves = np.corrcoef([1, 0, 0.5], [1, 0, 1])[0, 1]
    assert alike(matrix, ["a", "b"], V1, "half").correlation[0, 1] == pytest.approx(halves)


def test_outcomes_of_a_composite_say_nothing() -> None:
    matrix = matrix_of({"a": [1.0, 0.0, 1, 0], "b": [1.0, 0.0, 0, 1]}, ["Math"] * 2 + ["Ties"] * 2)
    assert alike(matrix, ["a", "b"], V2).correlation[0, 1] == pytest.approx(1)


def test_nobody_and_one_alone() -> None:
    matrix = matrix_of({"a": [1.0, 0.0, 1.0, 0.0]}, FOUR)
    assert alike(matrix, [], V1).models == ()
    assert alike(matrix, ["a"], V1).correlation.tolist() == [[1.0]]
