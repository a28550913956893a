"""Ensembles: upstream's, a model of a field like any other, and how they score beside others."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from explorer.results import ensembles
from explorer.results.ensembles import ensemble, ensembles_of, normalised
from explorer.results.field import Field
from scoring.benchmark import SUBSETS, overall_score, section_scores
from scoring.errors import KnownError
from tests.support.board_data import matrix_of
from tests.support.fields import rivals
from tests.support.tables import benchmark_table


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


@pytest.mark.parametrize("way", ensembles.WAYS)
def test_an_ensemble_is_upstreams(way: Any) -> None:
    chosen, rejected = drawn(1)
    for members in ([1, 3], [0, 1, 2, 3, 4]):
        found = ensemble(normalised(chosen, rejected), members, way)
        expected = upstreams(chosen, rejected, members, way)
        assert found.chosen == pytest.approx(expected[0], abs=1e-9)
        assert found.rejected == pytest.approx(expected[1], abs=1e-9)
        assert found.outcomes.tolist() == [a > b for a, b in zip(*expected, strict=True)]


def test_equal_ensemble_rewards_are_no_win() -> None:
    models = normalised(np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert ensemble(models, [0, 1], "mean").outcomes.tolist() == [0, 1]
    assert ensemble(models, [1], "worst").outcomes.tolist() == [0, 0]
    rounded = np.array([[[0.1], [0.3]], [[0.2], [0.2]], [[0.3], [0.1]]])
    assert 0.1 + 0.2 + 0.3 > 0.3 + 0.2 + 0.1
    assert ensemble(rounded, range(3), "mean").outcomes.tolist() == [0]


def test_an_ensemble_is_a_model_like_any_other() -> None:
    field, members = rivals(), ("org/a", "org/b")
    name = ensembles.ensemble_name(members, "worst")
    assert ensembles.members_of(name) == ("worst", members)
    joint = ensembles.with_ensemble(field, name, "worst", members)
    chosen, rejected = field.matrix.chosen[:2, :7], field.matrix.rejected[:2, :7]
    won = [a > b for a, b in zip(*upstreams(chosen, rejected, [0, 1], "worst"), strict=True)]
    outcomes = joint.outcomes(name)
    assert outcomes[:7].tolist() == won and np.isnan(outcomes[7])  # org/b lacks the last pair
    assert joint.lost(name).tolist() == [at for at, is_won in enumerate(won) if not is_won]


def test_too_many_ensembles_are_refused_before_any_is_made() -> None:
    models = normalised(*drawn(8, n_models=9, n_pairs=2))
    with pytest.raises(KnownError, match=r"9 models make 1,506 ensembles; at most 1,000 are"):
        ensembles.all_combinations(models, lambda outcomes: np.nanmean(outcomes, axis=1))


def test_an_ensemble_is_scored_beside_its_members_on_the_pairs_of_all() -> None:
    table, generator = benchmark_table(), np.random.default_rng(3)
    scales = np.array([[1], [9], [2], [3]])
    chosen = (generator.normal(size=(4, len(table))) * scales + 0.5).astype(np.float32)
    rejected = generator.normal(size=chosen.shape).astype(np.float32)
    chosen[2, ::10] = np.nan
    outcomes = np.where(np.isnan(chosen), np.nan, chosen > rejected)
    subsets = table.subset_of_row
    matrix = matrix_of(dict(zip("abcd", outcomes.tolist(), strict=True)), subsets.tolist())
    field = Field(table, replace(matrix, chosen=chosen, rejected=rejected), {}, ("noisy",))

    def score_of(won: Any) -> float:
        means = {name: float(won[subsets[known] == name].mean()) for name in SUBSETS}
        return overall_score(section_scores(means)) or 0.0

    known = ~np.isnan(chosen[2])  # of one member, of all
    sides = upstreams(chosen[:, known], rejected[:, known], [0, 1, 2], "mean_minus_std")
    won = np.array(sides[0]) > np.array(sides[1])
    found = ensembles_of(field, ["a", "b", "c"], "mean_minus_std")
    assert (found.n, found.missing, found.by_rule) == (known.sum(), (~known).sum(), True)
    assert found.whole.failures == (~won).sum()
    assert found.whole.score == pytest.approx(score_of(won))
    for mine, (alone, test) in zip(outcomes[:3, known], found.alone, strict=True):
        assert alone.failures == (mine == 0).sum()
        assert alone.score == pytest.approx(score_of(mine))
        assert test.difference == pytest.approx((found.whole.score or 0) - (alone.score or 0))
