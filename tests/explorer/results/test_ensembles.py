"""Ensembles: upstream's, a model of a field like any other, and how they score beside others."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from explorer.reader.scene import ScenePairs, scene
from explorer.reader.state import PairsState
from explorer.results.ensembles import (
    WAYS,
    Way,
    all_combinations,
    ensemble,
    ensemble_name,
    ensembles_of,
    members_of,
    normalised,
    with_ensemble,
)
from explorer.results.field import Field
from explorer.stats.matrix import OutcomeMatrix, order_of
from scoring.benchmark import SUBSETS, overall_score, section_scores
from scoring.errors import KnownError
from tests.support.board_data import matrix_of
from tests.support.fields import rivals
from tests.support.tables import benchmark_table, row, small_table


def drawn(seed: int, n_models: int = 5, n_pairs: int = 40) -> tuple[Any, Any]:
    """Rewards on scales of their own, the chosen ones higher as a rule."""
    generator = np.random.default_rng(seed)
    scale = generator.uniform(0.1, 30, (n_models, 1))
    shape = (n_models, n_pairs)
    chosen, rejected = generator.normal(0.7, 1, shape), generator.normal(0, 1, shape)
    return (scale * chosen - 5).astype(np.float32), (scale * rejected - 5).astype(np.float32)


JOINED: dict[str, Callable[[Any], Any]] = {
    "mean": np.mean,
    "worst": min,
    "mean_minus_std": lambda rewards: np.mean(rewards) - np.std(rewards),
}
"""Way -> the reward of an ensemble of the normalised ones of its members."""


def upstreams(chosen: Any, rejected: Any, members: Any, way: str) -> Any:
    """As run_ensemble_offline.py goes about it: model by model, pair by pair."""
    sides = []
    for side in (chosen, rejected):
        of_members = []
        for model in members:
            everything = np.concatenate([chosen[model], rejected[model]]).astype(float)
            of_members.append((side[model].astype(float) - everything.mean()) / everything.std())
        sides.append([JOINED[way](of_pair) for of_pair in zip(*of_members, strict=True)])
    return sides


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("members", [[0], [1, 3], [0, 1, 2, 3, 4]])
def test_an_ensemble_is_upstreams(way: Any, members: list[int]) -> None:
    chosen, rejected = drawn(1)
    found = ensemble(normalised(chosen, rejected), members, way)
    expected = upstreams(chosen, rejected, members, way)
    assert found.chosen == pytest.approx(expected[0], abs=1e-9)
    assert found.rejected == pytest.approx(expected[1], abs=1e-9)
    wins = [float(a > b) for a, b in zip(*expected, strict=True)]
    assert found.outcomes.tolist() == wins


def test_a_pair_that_a_member_lacks_is_missing() -> None:
    chosen, rejected = drawn(2, n_models=3)
    chosen[0, 0], rejected[1, 1], chosen[:, 2], rejected[2, 3] = np.nan, np.inf, np.nan, np.nan
    models = normalised(chosen, rejected)
    for way in WAYS:
        found = ensemble(models, [0, 1], way)
        assert np.flatnonzero(np.isnan(found.outcomes)).tolist() == [0, 1, 2]
        assert np.isnan([found.chosen[:3], found.rejected[:3]]).all()


def test_equal_ensemble_rewards_are_no_win() -> None:
    models = normalised(np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert ensemble(models, [0, 1], "mean").outcomes.tolist() == [0, 1]
    assert ensemble(models, [1], "worst").outcomes.tolist() == [0, 0]
    rounded = np.array([[[0.1], [0.3]], [[0.2], [0.2]], [[0.3], [0.1]]])
    assert 0.1 + 0.2 + 0.3 > 0.3 + 0.2 + 0.1
    assert ensemble(rounded, range(3), "mean").outcomes.tolist() == [0]


def accuracy(outcomes: Any) -> Any:
    return np.nanmean(outcomes, axis=1)


def test_all_combinations_are_tried_and_the_best_comes_first() -> None:
    models = normalised(*drawn(5))
    found = all_combinations(models, accuracy)
    expected = {
        (members, way): float(np.mean(ensemble(models, members, way).outcomes))
        for size in range(2, 6)
        for members in combinations(range(5), size)
        for way in WAYS
    }
    assert {(each.members, each.way): each.score for each in found} == pytest.approx(expected)
    assert len(found) == len(expected)
    order = [(-each.score, len(each.members), each.members, WAYS.index(each.way)) for each in found]
    assert order == sorted(order)


def test_too_many_are_refused_before_any_is_made() -> None:
    models = normalised(*drawn(8, n_models=9, n_pairs=2))
    with pytest.raises(KnownError, match=r"9 models make 1,506 ensembles; at most 1,000 are"):
        all_combinations(models, accuracy)


TABLE = small_table(*(row(id=str(at), subset="hep-go") for at in range(4)))
CHOSEN = np.array([[4.0, 0.0, 1.0, 2.0], [1.0, 1.0, 0.0, np.nan], [np.nan] * 4], np.float32)
REJECTED = np.array([[0.0, 3.0, 1.0, 0.0], [0.0, 0.0, 2.0, 0.0], [np.nan] * 4], np.float32)


def field() -> Field:
    outcomes = np.where(np.isnan(CHOSEN), np.nan, CHOSEN > REJECTED).astype(np.float32)
    outcomes[2] = [1, 0, 1, 0]
    matrix = OutcomeMatrix(
        ("a", "b", "bare"), ("DPO", None, None), ("1", "2", "3"), order_of(TABLE), outcomes,
        np.ones((3, 4), np.bool_), np.zeros((3, 4), np.bool_), CHOSEN, REJECTED,
    )  # fmt: skip
    return Field(TABLE, matrix, {}, ("key",))


@pytest.mark.parametrize("way", WAYS)
def test_an_ensemble_is_a_model_like_any_other(way: str) -> None:
    name = ensemble_name(["a", "b"], way)  # type: ignore[arg-type]
    found = members_of(name)
    assert found == (way, ("a", "b"))
    joint = with_ensemble(field(), name, *found)
    outcomes = joint.outcomes(name)
    known = ~np.isnan(CHOSEN[:2]).any(axis=0)
    sides = upstreams(CHOSEN[:, known], REJECTED[:, known], [0, 1], way)
    won = [float(a > b) for a, b in zip(*sides, strict=True)]
    assert outcomes[~np.isnan(outcomes)].tolist() == won
    now = scene(PairsState().of(name), ScenePairs(joint.table, joint))
    assert now.counts["losses"] + now.counts["ties"] == won.count(0.0)
    assert now.counts["missing"] == 1
    assert len(now.listed) == now.counts["losses"]


def test_a_member_without_rewards_is_refused() -> None:
    with pytest.raises(KnownError, match="made of rewards"):
        with_ensemble(field(), "x", "mean", ["a", "bare"])
    with pytest.raises(KnownError, match="gone"):
        with_ensemble(field(), "x", "mean", ["a", "gone"])


@pytest.mark.parametrize("name", ["org/a", "mean: a", "median: a + b", "", None, 5, "mean: a + a"])
def test_what_is_no_ensemble_is_none(name: object) -> None:
    assert members_of(name) is None


@pytest.mark.parametrize("way", WAYS)
def test_an_ensemble_is_scored_beside_its_members_on_the_pairs_of_all(way: Way) -> None:
    field, join = noisy_field(), JOINED[way]
    found = ensembles_of(field, ["m0", "m1", "m2"], way)
    matrix, subsets = field.matrix, field.table.subset_of_row
    sides = np.stack([matrix.chosen[:3], matrix.rejected[:3]], axis=1).astype(float)
    sides[:, :, np.isnan(sides).any(axis=(0, 1))] = np.nan  # of one member, of all
    scaled = (sides - np.nanmean(sides, axis=(1, 2), keepdims=True)) / np.nanstd(
        sides, axis=(1, 2), keepdims=True
    )
    known = [row for row in range(len(subsets)) if not np.isnan(sides[:, :, row]).any()]
    won = {row: join(scaled[:, 0, row]) > join(scaled[:, 1, row]) for row in known}
    assert (found.n, found.missing, found.by_rule) == (len(known), len(subsets) - len(known), True)
    assert found.whole.failures == len(known) - sum(won.values())
    assert found.whole.score == pytest.approx(score_of(won, subsets))
    for place, (alone, test) in enumerate(found.alone):
        mine = {row: bool(matrix.outcomes[place, row]) for row in known}
        assert alone.failures == len(known) - sum(mine.values())
        assert alone.score == pytest.approx(score_of(mine, subsets))
        difference = (found.whole.score or 0) - (alone.score or 0)
        assert test.difference == pytest.approx(difference)


@pytest.mark.parametrize(
    ("members", "told"),
    [((), "2 members"), (("org/a",), "2 members"), (("org/a", "half"), "has none"),
     (("org/a", "gone"), "no per-pair results")],
)  # fmt: skip
def test_what_is_no_ensemble_is_refused(members: tuple[str, ...], told: str) -> None:
    with pytest.raises(KnownError, match=told):
        ensembles_of(rivals(), members, "mean")


def noisy_field() -> Field:
    """Four models with rewards of RewardBench's pairs, the third not of all."""
    table = benchmark_table()
    drawn = np.random.default_rng(3)
    n = len(table)
    chosen = (drawn.normal(size=(4, n)) * [[1], [9], [2], [3]] + 0.5).astype(np.float32)
    rejected = drawn.normal(size=(4, n)).astype(np.float32)
    chosen[2, ::10] = np.nan
    outcomes = np.where(np.isnan(chosen), np.nan, chosen > rejected)
    rows = {f"m{at}": row.tolist() for at, row in enumerate(outcomes)}
    matrix = matrix_of(rows, table.subset_of_row.tolist())
    return Field(table, replace(matrix, chosen=chosen, rejected=rejected), {}, ("noisy",))


def score_of(won: dict[int, bool], subsets: np.ndarray) -> float:
    means = {
        name: float(np.mean([won[row] for row in won if subsets[row] == name])) for name in SUBSETS
    }
    return overall_score(section_scores(means)) or 0.0
