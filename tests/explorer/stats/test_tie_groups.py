from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit  # type: ignore[import-untyped]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from explorer.stats.paired import paired_test
from explorer.stats.tie_groups import group_numbers, tie_groups
from scoring.benchmark import SECTIONS
from scoring.strata import Strata, one_stratum, score_models, strata
from tests.support.real_outcomes import RealOutcomes, read_real_outcomes

FIRST_THREE = [
    [
        "nicolinho/QRM-Gemma-2-27B",
        "Skywork/Skywork-Reward-Llama-3.1-8B-v0.2",
        "LxzGordon/URM-LLaMa-3.1-8B",
        "Skywork/Skywork-Reward-Llama-3.1-8B",
    ],
    [
        "Ray2333/GRM-Llama3-8B-rewardmodel-ft",
        "LxzGordon/URM-LLaMa-3-8B",
        "NCSOFT/Llama-3-OffsetBias-RM-8B",
    ],
    [
        "Ray2333/GRM-gemma2-2B-rewardmodel-ft",
        "internlm/internlm2-7b-reward",
        "Ray2333/GRM-llama3-8B-sftreg",
    ],
]


@pytest.fixture(scope="module")
def real(shared_data: Path) -> RealOutcomes:
    return read_real_outcomes(shared_data)


def test_the_real_models_fall_into_11_groups(real: RealOutcomes) -> None:
    assert len(real.names) == 66
    found = tie_groups(real.matrix, real.groups)
    assert len(found) == 11
    assert [[real.names[model] for model in group] for group in found[:3]] == FIRST_THREE
    assert sorted(model for group in found for model in group) == list(range(66))


def test_groups_are_what_every_pairs_test_says_after_holm(real: RealOutcomes) -> None:
    matrix, groups = real.matrix[:20], real.groups.only(2)
    scores = score_models(matrix, groups)
    pairs = list(combinations(range(20), 2))
    p = [paired_test(matrix[a], matrix[b], groups).p for a, b in pairs]
    apart = dict(zip(pairs, multipletests(p, 0.05, "holm")[0], strict=True))
    unplaced, expected = sorted(range(20), key=lambda model: -scores[model].round(12)), []
    while unplaced:
        leader = unplaced[0]
        group = [x for x in unplaced if x == leader or not apart[min(leader, x), max(leader, x)]]
        expected.append(tuple(group))
        unplaced = [model for model in unplaced if model not in group]
    assert list(tie_groups(matrix, groups)) == expected
    assert 1 < len(expected) < 20


@given(
    st.integers(1, 6).flatmap(
        lambda kinds: st.tuples(
            st.lists(
                st.lists(st.sampled_from([0.0, 0.5, 1 / 3, 1.0, np.nan]), min_size=12, max_size=12),
                min_size=kinds,
                max_size=kinds,
            ),
            st.lists(st.integers(0, kinds - 1), min_size=1, max_size=12),
        )
    )
)
def test_equal_models_are_never_apart_and_each_has_one_place(
    case: tuple[list[list[float]], list[int]],
) -> None:
    kinds, kind_of = case
    outcomes = np.array(kinds)[kind_of].repeat(3, axis=1)
    groups = strata(np.arange(36) % 3, [1, 2, 3], [0, 0, 1], [1, 1], np.arange(36) // 2)
    found = tie_groups(outcomes, groups)
    scores = score_models(outcomes, groups)
    placed = [model for group in found for model in group]
    assert sorted(placed) == np.flatnonzero(~np.isnan(scores)).tolist()
    numbers = group_numbers(found, len(outcomes))
    for kind in set(kind_of):
        assert len(set(numbers[np.array(kind_of) == kind].tolist())) == 1
    for group in found:
        assert scores[list(group)].round(12).tolist() == sorted(
            scores[list(group)].round(12), reverse=True
        )
    leaders = [scores[group[0]].round(12) for group in found]
    assert leaders == sorted(leaders, reverse=True)


def split(n_models: int, groups: Strata, easy: Any, seed: int, n_times: int) -> float:
    """How often models that are equally good, and alike on a prompt, are in more than one group."""
    generator = np.random.default_rng(seed)
    numbers = np.arange(len(easy)) if groups.clusters is None else groups.clusters
    times = 0
    for _ in range(n_times):
        prompts = generator.normal(size=(n_models, numbers.max() + 1))[:, numbers]
        wins = generator.random((n_models, len(easy))) < expit(easy + prompts)
        times += len(tie_groups(wins.astype(float), groups)) > 1
    return times / n_times


@pytest.mark.slow
@pytest.mark.parametrize(("n_models", "n_times"), [(10, 400), (20, 200)])
@pytest.mark.parametrize("section", ["all", "Chat", "Reasoning"])
def test_equal_models_are_split_in_at_most_5_of_100_cases(
    real: RealOutcomes, n_models: int, n_times: int, section: str
) -> None:
    """On the real pairs, as hard as the better half of the real models finds them."""
    groups = real.groups if section == "all" else real.groups.only(list(SECTIONS).index(section))
    better = real.matrix[real.matrix.mean(axis=1) > np.median(real.matrix.mean(axis=1))]
    share = better.mean(axis=0).clip(0.02, 0.98)
    found = split(n_models, groups, np.log(share / (1 - share)), seed=n_models, n_times=n_times)
    assert found <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_times)


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
