"""RewardBench's sections and their weights."""

import pytest

from scoring.benchmark import (
    COUNTS,
    SECTIONS,
    SUBSETS,
    WEIGHTS,
    overall_score,
    section_of,
    section_scores,
)
from tests.support.published_accuracies import LDL_REWARD_CORRECT


def test_every_subset_is_in_one_section_of_its_published_size() -> None:
    assert len(SUBSETS) == len(set(SUBSETS)) == 23 and set(SUBSETS) == set(COUNTS)
    assert all(subset in SECTIONS[section_of(subset) or ""] for subset in SUBSETS)
    sizes = {
        name: tuple(sum(of[each] for each in subsets) for of in (COUNTS, WEIGHTS))
        for name, subsets in SECTIONS.items()
    }
    assert sizes == {
        "Chat": (358, 358),
        "Chat Hard": (456, 456),
        "Safety": (740, 740),
        "Reasoning": (1431, 1968),
    }
    for name in ("", "mt-bench-medium", "do not answer", "Chat", "HEP-JS"):
        assert section_of(name) is None


def test_ldl_reward_gets_its_published_scores() -> None:
    scores = section_scores(
        {subset: correct / COUNTS[subset] for subset, correct in LDL_REWARD_CORRECT.items()}
    )
    sections = (0.9664804469, 0.9166666667, 0.9270270270, 0.9882107001)
    assert scores == pytest.approx(dict(zip(SECTIONS, sections, strict=True)), abs=5e-11)
    assert overall_score(scores) == pytest.approx(0.9495962102, abs=5e-11)


@pytest.mark.parametrize(
    ("accuracies", "known", "overall"),
    [
        pytest.param({}, {}, None, id="nothing"),
        pytest.param(dict.fromkeys(SUBSETS, 0.0), dict.fromkeys(SECTIONS, 0.0), 0.0, id="nulls"),
        pytest.param(
            {"mt-bench-easy": 1, "alpacaeval-easy": 0.5}, {"Chat": 0.609375}, 0.609375,
            id="a section without subsets is unknown and not zero",
        ),
        pytest.param(
            {"my-own": 1.0, "hep-js": 0.9, "donotanswer": 0.5},
            {"Reasoning": 0.9, "Safety": 0.5}, 0.7,
            id="sections weigh alike and others nothing",
        ),
    ],
)  # fmt: skip
def test_scores_are_means_of_what_is_known(
    accuracies: dict[str, float], known: dict[str, float], overall: float | None
) -> None:
    scores = section_scores(accuracies)
    assert scores == pytest.approx({**dict.fromkeys(SECTIONS), **known})
    assert overall_score(scores) == pytest.approx(overall)
