import numpy as np
import pytest

from explorer.results.ensemble_field import ensemble_name, members_of, with_ensemble
from explorer.results.ensembles import WAYS
from explorer.results.field import Field
from explorer.stats.matrix import OutcomeMatrix, order_of
from explorer.tabs.pairs.fail_state import FailView, fail_scene
from scoring.errors import KnownError
from tests.explorer.tables import row, small_table

TABLE = small_table(*(row(id=str(at), subset="hep-go") for at in range(4)))
CHOSEN = np.array([[4.0, 0.0, 1.0, 2.0], [1.0, 1.0, 0.0, np.nan], [np.nan] * 4], np.float32)
REJECTED = np.array([[0.0, 3.0, 1.0, 0.0], [0.0, 0.0, 2.0, 0.0], [np.nan] * 4], np.float32)


def field() -> Field:
    outcomes = np.where(np.isnan(CHOSEN), np.nan, CHOSEN > REJECTED).astype(np.float32)
    outcomes[2] = [1, 0, 1, 0]
    matrix = OutcomeMatrix(
        ("a", "b", "bare"), ("DPO", None, None), ("1", "2", "3"), order_of(TABLE), outcomes,
        np.ones((3, 4), np.bool_), np.zeros((3, 4), np.bool_), CHOSEN, REJECTED, ("position",) * 3,
    )  # fmt: skip
    return Field(TABLE, matrix, {}, ("key",))


def by_hand(way: str) -> list[float]:
    """What the definition says, pair by pair."""
    sides = []
    known = ~np.isnan(CHOSEN[:2]).any(axis=0)
    for chosen, rejected in zip(CHOSEN[:2], REJECTED[:2], strict=True):
        both = np.concatenate([chosen[known], rejected[known]]).astype(float)
        sides.append([(side - both.mean()) / both.std() for side in (chosen, rejected)])
    joined = []
    for side in range(2):
        two = np.array([sides[0][side], sides[1][side]], float)
        joined.append(
            {"mean": two.mean(0), "worst": two.min(0), "mean_minus_std": two.mean(0) - two.std(0)}[
                way
            ]
        )
    return [float(won) for won in (joined[0] > joined[1])[known]]


@pytest.mark.parametrize("way", WAYS)
def test_an_ensemble_is_a_model_like_any_other(way: str) -> None:
    name = ensemble_name(["a", "b"], way)  # type: ignore[arg-type]
    found = members_of(name)
    assert found == (way, ("a", "b"))
    joint = with_ensemble(field(), name, *found)
    outcomes = joint.outcomes(name)
    assert outcomes[~np.isnan(outcomes)].tolist() == by_hand(way)
    scene = fail_scene(FailView(name), joint)
    assert scene.counts["losses"] + scene.counts["ties"] == by_hand(way).count(0.0)
    assert scene.counts["missing"] == 1
    assert len(scene.listed) == scene.counts["losses"]


def test_a_member_without_rewards_is_refused() -> None:
    with pytest.raises(KnownError, match="made of rewards"):
        with_ensemble(field(), "x", "mean", ["a", "bare"])
    with pytest.raises(KnownError, match="gone"):
        with_ensemble(field(), "x", "mean", ["a", "gone"])


@pytest.mark.parametrize("name", ["org/a", "mean: a", "median: a + b", "", None, 5, "mean: a + a"])
def test_what_is_no_ensemble_is_none(name: object) -> None:
    assert members_of(name) is None
