from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm  # type: ignore[import-untyped]

from explorer.data.conditions import Condition, ConditionKind, conditions
from explorer.data.table import PairTable
from explorer.stats.slices import LEAST_RIVALS
from explorer.tabs.pairs.slices import LEAST_PAIRS, SliceComparison, compare_slices
from scoring.interval import wilson
from tests.support.real_outcomes import read_real_outcomes

N = 1200
KINDS: tuple[ConditionKind, ...] = ("subset", "longer", "marker")


def made_up_conditions(seed: int) -> list[Condition]:
    """Four conditions of each of three kinds, of a quarter of the pairs each."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 4, (len(KINDS), N))
    return [
        Condition(kind, f"{kind}:{code}", f"{kind} {code}", of_kind == code)
        for kind, of_kind in zip(KINDS, codes, strict=True)
        for code in range(4)
    ]


def correlated_wins(chance: Any, clusters: Any, correlation: float, generator: Any) -> Any:
    """Wins by the chance of each pair that go together in a cluster, 0 or 1."""
    of_cluster = generator.normal(size=(*chance.shape[:-1], clusters.max() + 1))[..., clusters]
    of_pair = generator.normal(size=chance.shape)
    latent = np.sqrt(correlation) * of_cluster + np.sqrt(1 - correlation) * of_pair
    return (latent < norm.ppf(chance)).astype(float)


CONDITIONS = made_up_conditions(0)
SUBSET_1, LONGER_2 = CONDITIONS[1].mask, CONDITIONS[6].mask
SINGLE = np.arange(N)
"""The clusters of pairs with prompts of their own."""
PROMPTS = np.random.default_rng(1).integers(0, N // 4, N)


def draw_outcomes(seed: int, rivals: int = 29, hard: float = 0.0, correlation: float = 0.0) -> Any:
    """Outcomes of models without a weakness. hard: how much more difficult SUBSET_1 is."""
    generator = np.random.default_rng(seed)
    skill = generator.normal(0.5, 1, (rivals + 1, 1))
    ease = generator.normal(0.5, 1.5, N) - hard * SUBSET_1
    chance = 1 / (1 + np.exp(-skill - ease))
    return correlated_wins(chance, PROMPTS, correlation, generator)


OUTCOMES = draw_outcomes(1)


def compare(model: Any, others: Any = OUTCOMES[1:], **options: Any) -> SliceComparison:
    return compare_slices(model, others, **{"known": CONDITIONS, "clusters": SINGLE, **options})


def test_each_condition_is_counted_over_the_pairs_known() -> None:
    outcomes = OUTCOMES.copy()
    generator = np.random.default_rng(2)
    outcomes[generator.random(outcomes.shape) < 0.3] = np.nan
    outcomes[0, generator.random(N) < 0.2] = 0.5
    model, others = outcomes[0], outcomes[1:]
    found = {each.conditions[0].id: each for each in compare(model, others).by_condition}
    assert len(found) == len(CONDITIONS)
    enough = (~np.isnan(others)).sum(axis=0) >= len(others) / 2
    for condition in CONDITIONS:
        rows = np.flatnonzero(condition.mask & ~np.isnan(model) & enough)
        result = found[condition.id]
        assert (result.test.n, result.test.wins) == (len(rows), int((model[rows] == 1).sum()))
        assert result.interval == wilson(result.test.wins, result.test.n)
        shares = [np.mean(of[~np.isnan(of)] == 1) for of in others[:, rows].T]
        assert result.test.others == pytest.approx(np.mean(shares))
        assert result.difference == pytest.approx(result.won - (result.test.expected or 0))


def test_of_fewer_than_ten_others_nothing_is_expected() -> None:
    found = compare(OUTCOMES[0], OUTCOMES[1:LEAST_RIVALS])
    assert (found.n_rivals, found.can_test, found.worst) == (LEAST_RIVALS - 1, False, ())
    results = found.by_condition
    assert {(each.test.expected, each.p_adjusted) for each in results} == {(None, 1)}
    assert [each.won for each in results] == sorted(each.won for each in results)


def test_the_most_surprising_comes_first_and_is_the_planted_one() -> None:
    model = np.where(SUBSET_1 & (np.arange(N) % 2 == 0), 0.0, OUTCOMES[0])
    found = compare(model).by_condition
    assert found[0].conditions == (CONDITIONS[1],)
    assert (found[0].difference or 0) < -0.1
    assert found[0].p_adjusted < 1e-6
    subsets = [each for each in found if each.conditions[0].kind == "subset"]
    assert [(each.difference or 0) > 0 for each in subsets] == [False, True, True, True]
    assert [each.p for each in found] == sorted(each.p for each in found)


def test_a_weakness_of_two_conditions_together_is_found_and_not_of_one_alone() -> None:
    found = compare(np.where(SUBSET_1 & LONGER_2, 0.0, OUTCOMES[0]))
    [slice_] = found.worst
    assert slice_.conditions == (CONDITIONS[1], CONDITIONS[6])
    assert slice_.name == "subset 1 and longer 2"
    assert (slice_.mask == (SUBSET_1 & LONGER_2)).all()
    assert (slice_.test.wins, slice_.test.n) == (0, (SUBSET_1 & LONGER_2).sum())
    assert slice_.p_adjusted < 1e-6
    found = compare(np.where(SUBSET_1, 0.0, OUTCOMES[0]))
    assert found.n_worse > 0 and found.worst == ()


def expected_slices(model: Any, conditions: list[Condition], least_pairs: int) -> set[bytes]:
    known = ~np.isnan(model)
    found = set()
    for one, other in combinations(conditions, 2):
        mask = one.mask & other.mask & known
        smallest = min((one.mask & known).sum(), (other.mask & known).sum())
        if one.kind != other.kind and least_pairs <= mask.sum() < smallest:
            found.add(mask.tobytes())
    return found


@pytest.mark.parametrize("least_pairs", [LEAST_PAIRS, 80])
def test_each_slice_of_two_conditions_is_tested_once(least_pairs: int) -> None:
    same = [Condition("marker", "marker:x", "x", CONDITIONS[0].mask)]  # has the pairs of another
    everything = [Condition("section", "section:all", "all", np.ones(N, dtype=bool))]
    several = [*CONDITIONS, *same, *everything]
    model = OUTCOMES[0].copy()
    model[::3] = np.nan
    found = compare(model, known=several, least_pairs=least_pairs)
    assert found.n_tested == len(expected_slices(model, several, least_pairs))


def has_significant(model: Any, others: Any, known: Any, clusters: Any) -> tuple[bool, bool]:
    """Whether any slice of one condition is significant, and any of two."""
    found = compare_slices(model, others, known, clusters)
    return any(each.p_adjusted <= 0.05 for each in found.by_condition), found.n_worse > 0


def highest_count(n: int) -> float:
    """Of n families with an error in 5 of 100, how many have one at most, by 3 standard errors."""
    return 0.05 * n + 3 * sqrt(0.05 * 0.95 * n)


def test_models_without_a_weakness_have_a_significant_slice_in_at_most_5_of_100_cases() -> None:
    """With a subset that is harder for all, and prompts whose pairs go together."""
    cases = [draw_outcomes(100 + seed, 12, 1.0, 0.4) for seed in range(12)]
    found = [has_significant(each[0], each[1:], CONDITIONS, PROMPTS) for each in cases]
    assert max(np.sum(found, axis=0)) <= highest_count(len(cases))


def chance_by_difficulty(outcome: Any, share: Any) -> Any:
    """The share of pairs that a model wins of those that are as hard, pair by pair."""
    level = np.argsort(np.argsort(share, kind="stable")) * 20 // len(share)
    return (np.bincount(level, outcome) / np.bincount(level))[level]


@pytest.mark.slow
@pytest.mark.parametrize("rivals", [LEAST_RIVALS, 65])
def test_on_the_real_pairs_a_model_without_a_weakness_has_none_in_95_of_100_cases(
    real: PairTable, shared_data: Path, rivals: int
) -> None:
    """Of such a model a pair's difficulty alone, the share of real models that fail it, tells the
    chance; pairs of one prompt go together.
    """
    outcomes = read_real_outcomes(shared_data)
    known, found = conditions(real), []
    for model in range(0, len(outcomes.matrix), 2):
        generator = np.random.default_rng([model, rivals])
        others = np.delete(outcomes.matrix, model, axis=0)
        chance = chance_by_difficulty(outcomes.matrix[model], others.mean(axis=0))
        wins = correlated_wins(chance, outcomes.clusters, 0.3, generator)
        some = others[generator.choice(len(others), rivals, replace=False)]
        found.append(has_significant(wins, some, known, outcomes.clusters))
    assert max(np.sum(found, axis=0)) <= highest_count(len(found))
