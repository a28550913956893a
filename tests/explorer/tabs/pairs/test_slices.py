from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm  # type: ignore[import-untyped]

from explorer.data.conditions import Condition, ConditionKind
from explorer.tabs.pairs.slices import LEAST_PAIRS, SliceComparison, compare_slices
from scoring.interval import wilson

N = 1200
KINDS: tuple[ConditionKind, ...] = ("subset", "longer", "marker")


CODES = np.random.default_rng(0).integers(0, 4, (len(KINDS), N))
CONDITIONS = [
    Condition(kind, f"{kind}:{code}", f"{kind} {code}", of_kind == code)
    for kind, of_kind in zip(KINDS, CODES, strict=True)
    for code in range(4)
]
"""Four of each of three kinds, of a quarter of the pairs each."""
SUBSET_1, LONGER_2 = CONDITIONS[1].mask, CONDITIONS[6].mask
PROMPTS = np.random.default_rng(1).integers(0, N // 4, N)


def draw_outcomes(seed: int, rivals: int = 29, hard: float = 0.0, correlation: float = 0.0) -> Any:
    """Outcomes of models without a weakness.

    hard: how much more difficult SUBSET_1 is. correlation: of the pairs of a prompt.
    """
    generator = np.random.default_rng(seed)
    skill = generator.normal(0.5, 1, (rivals + 1, 1))
    ease = generator.normal(0.5, 1.5, N) - hard * SUBSET_1
    chance = 1 / (1 + np.exp(-skill - ease))
    of_prompt = generator.normal(size=(rivals + 1, PROMPTS.max() + 1))[:, PROMPTS]
    of_pair = generator.normal(size=chance.shape)
    latent = np.sqrt(correlation) * of_prompt + np.sqrt(1 - correlation) * of_pair
    return (latent < norm.ppf(chance)).astype(float)


OUTCOMES = draw_outcomes(1)


def compare(model: Any, others: Any = OUTCOMES[1:], **options: Any) -> SliceComparison:
    return compare_slices(
        model, others, **{"known": CONDITIONS, "clusters": np.arange(N), **options}
    )


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


def test_each_slice_of_two_conditions_is_tested_once() -> None:
    same = [Condition("marker", "marker:x", "x", CONDITIONS[0].mask)]  # has the pairs of another
    everything = [Condition("section", "section:all", "all", np.ones(N, dtype=bool))]
    several = [*CONDITIONS, *same, *everything]
    model = OUTCOMES[0].copy()
    model[::3] = np.nan
    masks = [
        (one.mask & ~np.isnan(model), other.mask & ~np.isnan(model))
        for one, other in combinations(several, 2)
        if one.kind != other.kind
    ]
    expected = {
        (one & other).tobytes()
        for one, other in masks
        if LEAST_PAIRS <= (one & other).sum() < min(one.sum(), other.sum())
    }
    assert compare(model, known=several).n_tested == len(expected)


def test_models_without_a_weakness_have_a_significant_slice_in_at_most_5_of_100_cases() -> None:
    """With a subset that is harder for all, and prompts whose pairs go together."""
    cases = [draw_outcomes(100 + seed, 12, 1.0, 0.4) for seed in range(12)]
    found = [compare(each[0], each[1:], clusters=PROMPTS) for each in cases]
    n_of_one = sum(any(each.p_adjusted <= 0.05 for each in of.by_condition) for of in found)
    n_of_two = sum(of.n_worse > 0 for of in found)
    most = 0.05 * len(cases) + 3 * sqrt(0.05 * 0.95 * len(cases))  # by three standard errors
    assert max(n_of_one, n_of_two) <= most
