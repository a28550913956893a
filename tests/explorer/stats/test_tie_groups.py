from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit  # type: ignore[import-untyped]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from explorer.stats.paired import paired_test
from explorer.stats.tie_groups import group_numbers, tie_groups
from scoring.benchmark import SECTIONS
from scoring.strata import one_stratum, score_models, strata
from tests.support.real_outcomes import RealOutcomes, read_real_outcomes


@pytest.fixture(scope="module")
def real(shared_data: Path) -> RealOutcomes:
    return read_real_outcomes(shared_data)


def test_the_real_models_fall_into_11_groups(real: RealOutcomes) -> None:
    found = tie_groups(real.matrix, real.groups)
    assert len(found) == 11
    assert [real.names[model] for model in found[0]] == [
        "nicolinho/QRM-Gemma-2-27B",
        "Skywork/Skywork-Reward-Llama-3.1-8B-v0.2",
        "LxzGordon/URM-LLaMa-3.1-8B",
        "Skywork/Skywork-Reward-Llama-3.1-8B",
    ]
    assert sorted(model for group in found for model in group) == list(range(66))


def test_groups_are_what_every_pairs_test_says_after_holm(real: RealOutcomes) -> None:
    matrix, groups = real.matrix[:14], real.groups.only(2)
    scores = score_models(matrix, groups)
    pairs = list(combinations(range(14), 2))
    p = [paired_test(matrix[a], matrix[b], groups).p for a, b in pairs]
    apart = dict(zip(pairs, multipletests(p, 0.05, "holm")[0], strict=True))
    unplaced, expected = sorted(range(14), key=lambda model: -scores[model].round(12)), []
    while unplaced:
        leader = unplaced[0]
        group = [x for x in unplaced if x == leader or not apart[min(leader, x), max(leader, x)]]
        expected.append(tuple(group))
        unplaced = [model for model in unplaced if model not in group]
    assert list(tie_groups(matrix, groups)) == expected
    assert 1 < len(expected) < 14


@given(st.integers(0, 1000), st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_equal_models_are_never_apart_and_each_has_one_place(seed: int, kind_of: list[int]) -> None:
    values = [0.0, 0.5, 1 / 3, 1.0, np.nan]
    kinds = np.random.default_rng(seed).choice(values, size=(6, 12))
    outcomes = kinds[kind_of].repeat(3, axis=1)
    groups = strata(np.arange(36) % 3, [1, 2, 3], [0, 0, 1], [1, 1], np.arange(36) // 2)
    found = tie_groups(outcomes, groups)
    scores = score_models(outcomes, groups).round(12)
    placed = [model for group in found for model in group]
    assert sorted(placed) == np.flatnonzero(~np.isnan(scores)).tolist()
    numbers = group_numbers(found, len(outcomes))
    for kind in set(kind_of):
        assert len(set(numbers[np.array(kind_of) == kind].tolist())) == 1
    for group in (*found, [group[0] for group in found]):
        assert (np.diff(scores[list(group)]) <= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("section", "n_models", "n_times"),
    [("all", 20, 200), ("Chat", 10, 400), ("Reasoning", 20, 200)],
)
def test_equal_models_are_split_in_at_most_5_of_100_cases(
    real: RealOutcomes, section: str, n_models: int, n_times: int
) -> None:
    """On the real pairs, as hard as the better half of the real models finds them, of models that
    are alike on a prompt.
    """
    groups = real.groups if section == "all" else real.groups.only(list(SECTIONS).index(section))
    better = real.matrix[real.matrix.mean(axis=1) > np.median(real.matrix.mean(axis=1))]
    easy = logit(better.mean(axis=0).clip(0.02, 0.98))
    generator = np.random.default_rng(n_models)
    times = 0
    for _ in range(n_times):
        prompts = generator.normal(size=(n_models, real.clusters.max() + 1))[:, real.clusters]
        wins = generator.random((n_models, len(easy))) < expit(easy + prompts)
        times += len(tie_groups(wins.astype(float), groups)) > 1
    assert times / n_times <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_times)


def test_a_model_alone_is_a_group_and_no_model_is_none() -> None:
    assert tie_groups([[1, 0]], one_stratum(2)) == ((0,),)
    assert tie_groups(np.zeros((0, 2)), one_stratum(2)) == ()


def test_holm_counts_the_tests_of_every_two_models() -> None:
    # 6 to 0 is p = 0.03125: apart as the only test, not as one of three
    better, worse = [1.0] * 20, [0.0] * 6 + [1.0] * 14
    alone = tie_groups([better, worse], one_stratum(20))
    both = tie_groups([better, worse, worse], one_stratum(20))
    assert alone == ((0,), (1,))
    assert both == ((0, 1, 2),)


def test_who_is_not_like_the_leader_may_be_like_one_of_its_group() -> None:
    steps: Any = [[0.0] * lost + [1.0] * (40 - lost) for lost in (0, 5, 10)]
    found = tie_groups(steps, one_stratum(40))
    assert found == ((0, 1), (2,))
