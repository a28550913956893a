from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from explorer.results.ensembles import WAYS, all_combinations, ensemble, normalised
from scoring.errors import KnownError


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
    assert found.missing == 0


def test_a_pair_that_a_member_lacks_is_missing() -> None:
    chosen, rejected = drawn(2, n_models=3)
    chosen[0, 0], rejected[1, 1], chosen[:, 2], rejected[2, 3] = np.nan, np.inf, np.nan, np.nan
    models = normalised(chosen, rejected)
    for way in WAYS:
        found = ensemble(models, [0, 1], way)
        assert np.flatnonzero(np.isnan(found.outcomes)).tolist() == [0, 1, 2]
        assert np.isnan([found.chosen[:3], found.rejected[:3]]).all()
        assert found.missing == 2  # of pair 2, no member has rewards


def test_a_reward_without_its_other_does_not_enter_the_scale() -> None:
    chosen, rejected = drawn(3, n_models=1)
    whole = normalised(chosen[:, 1:], rejected[:, 1:]).rewards
    chosen[0, 0] = np.nan
    assert normalised(chosen, rejected).rewards[:, :, 1:] == pytest.approx(whole)


def test_scales_do_not_matter() -> None:
    chosen, rejected = drawn(4)
    models = normalised(chosen, rejected)
    assert models.rewards.mean(axis=(1, 2)) == pytest.approx(np.zeros(5), abs=1e-12)
    assert models.rewards.std(axis=(1, 2)) == pytest.approx(np.ones(5))
    again = normalised(chosen.astype(float) * 7 + 3, rejected.astype(float) * 7 + 3)
    assert again.rewards == pytest.approx(models.rewards, abs=1e-9)


def test_equal_ensemble_rewards_are_no_win() -> None:
    models = normalised(np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert ensemble(models, [0, 1], "mean").outcomes.tolist() == [0, 1]
    assert ensemble(models, [1], "worst").outcomes.tolist() == [0, 0]


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


def test_they_are_made_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    models = normalised(*drawn(6))
    at_once = all_combinations(models, accuracy)
    monkeypatch.setattr("explorer.results.ensembles._AT_ONCE", 3 * 40)
    sizes = []

    def counting(outcomes: Any) -> Any:
        sizes.append(len(outcomes))
        return accuracy(outcomes)

    assert all_combinations(models, counting) == at_once
    assert max(sizes) == 3


def test_what_has_no_score_comes_last() -> None:
    models = normalised(*drawn(7, n_models=3))
    found = all_combinations(models, lambda outcomes: np.array([np.nan, *range(1, len(outcomes))]))
    assert [np.isnan(each.score) for each in found] == [False] * 6 + [True] * 6


def test_too_many_are_refused_before_any_is_made() -> None:
    models = normalised(*drawn(8, n_models=9, n_pairs=2))
    with pytest.raises(KnownError, match=r"9 models make 1,506 ensembles; at most 1,000 are"):
        all_combinations(models, accuracy)


def test_one_model_makes_no_ensemble() -> None:
    assert all_combinations(normalised(*drawn(9, n_models=1)), accuracy) == []


def test_a_model_without_rewards_is_told() -> None:
    chosen, rejected = drawn(10)
    chosen[3] = np.nan
    with pytest.raises(KnownError, match="1 of 5 models have none"):
        normalised(chosen, rejected)


@pytest.mark.parametrize("members", [[], [5], [-1]])
def test_members_must_be_there(members: list[int]) -> None:
    with pytest.raises(KnownError, match="rows 0 to 4"):
        ensemble(normalised(*drawn(11)), members, "mean")


def test_a_way_must_be_known() -> None:
    models = normalised(*drawn(12))
    with pytest.raises(KnownError, match="mean, worst"):
        ensemble(models, [0], "best")  # type: ignore[arg-type]
