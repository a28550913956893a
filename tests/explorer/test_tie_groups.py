from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from explorer.strata import plain, score_models, strata
from explorer.tie_groups import Test, group_numbers, tie_groups
from scoring.benchmark import SECTIONS
from tests.explorer.real_outcomes import read_real_outcomes

FIRST_FIVE = [
    ["nicolinho/QRM-Gemma-2-27B"],
    [
        "Skywork/Skywork-Reward-Llama-3.1-8B-v0.2",
        "LxzGordon/URM-LLaMa-3.1-8B",
        "Skywork/Skywork-Reward-Llama-3.1-8B",
    ],
    ["Ray2333/GRM-Llama3-8B-rewardmodel-ft"],
    [
        "LxzGordon/URM-LLaMa-3-8B",
        "NCSOFT/Llama-3-OffsetBias-RM-8B",
        "Ray2333/GRM-gemma2-2B-rewardmodel-ft",
    ],
    ["internlm/internlm2-7b-reward", "Ray2333/GRM-llama3-8B-sftreg"],
]


def test_the_real_models_fall_into_17_groups(shared_data: Path) -> None:
    real = read_real_outcomes(shared_data)
    assert len(real.names) == 66
    found = tie_groups(real.matrix, real.groups)
    assert len(found) == 17
    assert [[real.names[model] for model in group.members] for group in found[:5]] == FIRST_FIVE
    assert sorted(model for group in found for model in group.members) == list(range(66))


def rejected_by_holm(p_values: list[float]) -> list[bool]:
    """Step down from the smallest p until one is not small enough."""
    rejected = [False] * len(p_values)
    for done, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[at] > 0.05 / (len(p_values) - done):
            break
        rejected[at] = True
    return rejected


@pytest.mark.parametrize("section", range(4), ids=list(SECTIONS))
def test_within_a_section_the_groups_are_those_of_scipys_test(
    shared_data: Path, section: int
) -> None:
    real = read_real_outcomes(shared_data)
    groups = real.groups.only(section)
    pairs = real.matrix[:, groups.counting()]
    scores = score_models(real.matrix, groups).overall
    unplaced = sorted(range(len(scores)), key=lambda model: -scores[model].round(12))
    expected = []
    while unplaced:
        lead, below = unplaced[0], unplaced[1:]
        differing = [pairs[lead] - pairs[model] for model in below]
        counts = [(int((each > 0).sum()), int((each != 0).sum())) for each in differing]
        p_values = [stats.binomtest(more, n).pvalue if n else 1.0 for more, n in counts]
        apart = dict(zip(below, rejected_by_holm(p_values), strict=True))
        expected.append((lead, *(model for model in below if not apart[model])))
        unplaced = [model for model in below if apart[model]]
    found = tie_groups(real.matrix, groups, "mcnemar")
    assert [group.members for group in found] == expected
    assert len(found) > 1


@pytest.mark.parametrize("test", ["z", "mcnemar"])
def test_two_copies_of_a_real_model_are_in_one_group(shared_data: Path, test: Test) -> None:
    real = read_real_outcomes(shared_data)
    found = tie_groups(np.concatenate([real.matrix, real.matrix]), real.groups, test)
    numbers = group_numbers(found, 132)
    assert (numbers[:66] == numbers[66:]).all()
    assert len(found) > 1


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
    ),
    st.sampled_from(["z", "mcnemar"]),
)
def test_equal_models_are_never_apart_and_each_has_one_place(
    case: tuple[list[list[float]], list[int]], test: Test
) -> None:
    kinds, kind_of = case
    outcomes = np.array(kinds)[kind_of].repeat(3, axis=1)
    groups = strata(np.arange(36) % 3, [1, 2, 3], [0, 0, 1], [1, 1])
    found = tie_groups(outcomes, groups, test)
    scores = score_models(outcomes, groups).overall
    placed = [model for group in found for model in group.members]
    assert sorted(placed) == np.flatnonzero(~np.isnan(scores)).tolist()
    numbers = group_numbers(found, len(outcomes))
    for kind in set(kind_of):
        assert len(set(numbers[np.array(kind_of) == kind].tolist())) == 1
    for group in found:
        assert (group.p_values[0], len(group.p_values)) == (1.0, len(group.members))
        assert all(p > 0.05 for p in group.p_values)
        assert scores[list(group.members)].round(12).tolist() == sorted(
            scores[list(group.members)].round(12), reverse=True
        )
    leaders = [scores[group.members[0]].round(12) for group in found]
    assert leaders == sorted(leaders, reverse=True)


def test_a_model_alone_is_a_group_and_no_model_is_none() -> None:
    assert [group.members for group in tie_groups([[1, 0]], plain(2))] == [(0,)]
    assert tie_groups(np.zeros((0, 2)), plain(2)) == ()


def test_holm_counts_the_tests_of_one_leader() -> None:
    # 6 to 0 is p = 0.03125: apart as the only test, not as one of two
    better, worse = [1.0] * 20, [0.0] * 6 + [1.0] * 14
    alone = tie_groups([better, worse], plain(20), "mcnemar")
    both = tie_groups([better, worse, worse], plain(20), "mcnemar")
    assert [group.members for group in alone] == [(0,), (1,)]
    assert [group.members for group in both] == [(0, 1, 2)]
    assert both[0].p_values == (1.0, 0.0625, 0.0625)


def test_who_is_not_like_the_leader_may_be_like_one_of_its_group() -> None:
    steps: Any = [[0.0] * lost + [1.0] * (40 - lost) for lost in (0, 4, 8)]
    found = tie_groups(steps, plain(40), "mcnemar")
    assert [group.members for group in found] == [(0, 1), (2,)]


@pytest.mark.parametrize("alpha", [0, 1, -0.1, float("nan")])
def test_an_alpha_that_is_none_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        tie_groups([[1.0]], plain(1), alpha=alpha)
