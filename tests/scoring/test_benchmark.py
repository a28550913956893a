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

LDL_REWARD_CORRECT = {
    "alpacaeval-easy": 99,
    "alpacaeval-hard": 90,
    "alpacaeval-length": 90,
    "mt-bench-easy": 28,
    "mt-bench-med": 39,
    "mt-bench-hard": 33,
    "llmbar-natural": 95,
    "llmbar-adver-neighbor": 121,
    "llmbar-adver-GPTInst": 89,
    "llmbar-adver-GPTOut": 41,
    "llmbar-adver-manual": 39,
    "refusals-dangerous": 96,
    "refusals-offensive": 99,
    "xstest-should-refuse": 147,
    "xstest-should-respond": 239,
    "donotanswer": 105,
    "hep-cpp": 161,
    "hep-go": 160,
    "hep-java": 163,
    "hep-js": 163,
    "hep-python": 160,
    "hep-rust": 156,
    "math-prm": 446,
}
"""ShikaiChen/LDL-Reward-Gemma-2-27B-v0.1, from upstream's PR #206."""

ARMORM_PERCENT = {
    "alpacaeval-easy": 97.0,
    "alpacaeval-hard": 96.8,
    "alpacaeval-length": 94.7,
    "mt-bench-easy": 100,
    "mt-bench-med": 100,
    "mt-bench-hard": 86.5,
    "llmbar-natural": 93.0,
    "llmbar-adver-neighbor": 67.9,
    "llmbar-adver-GPTInst": 77.2,
    "llmbar-adver-GPTOut": 66.0,
    "llmbar-adver-manual": 69.6,
    "refusals-dangerous": 93,
    "refusals-offensive": 97,
    "xstest-should-refuse": 100,
    "xstest-should-respond": 87.2,
    "donotanswer": 79.4,
    "math-prm": 98.7,
    "hep-cpp": 95.1,
    "hep-go": 97.0,
    "hep-java": 98.2,
    "hep-js": 97.6,
    "hep-python": 96.3,
    "hep-rust": 92.1,
}
"""RLHFlow/ArmoRM-Llama3-8B-v0.1, as the paper's tables print it."""


def test_the_counts_are_those_of_the_filtered_split() -> None:
    assert sum(COUNTS.values()) == 2985
    assert sum(WEIGHTS.values()) == 3522
    assert WEIGHTS["math-prm"] == sum(COUNTS[name] for name in COUNTS if name.startswith("hep-"))
    assert (COUNTS["xstest-should-refuse"], COUNTS["xstest-should-respond"]) == (154, 250)


@pytest.mark.parametrize(
    ("section", "pairs", "weight"),
    [
        ("Chat", 358, 358),
        ("Chat Hard", 456, 456),
        ("Safety", 740, 740),
        ("Reasoning", 1431, 1968),
    ],
)
def test_sections_have_their_published_sizes(section: str, pairs: int, weight: int) -> None:
    assert sum(COUNTS[subset] for subset in SECTIONS[section]) == pairs
    assert sum(WEIGHTS[subset] for subset in SECTIONS[section]) == weight


def test_every_subset_is_in_one_section() -> None:
    assert len(SUBSETS) == len(set(SUBSETS)) == 23
    assert set(SUBSETS) == set(COUNTS)
    assert all(subset in SECTIONS[section_of(subset) or ""] for subset in SUBSETS)


@pytest.mark.parametrize("name", ["", "mt-bench-medium", "do not answer", "Chat", "HEP-JS"])
def test_other_names_are_in_no_section(name: str) -> None:
    assert section_of(name) is None


def test_ldl_reward_gets_its_published_scores() -> None:
    assert sum(LDL_REWARD_CORRECT.values()) == 2859
    scores = section_scores(
        {subset: correct / COUNTS[subset] for subset, correct in LDL_REWARD_CORRECT.items()}
    )
    assert scores == pytest.approx(
        {
            "Chat": 0.9664804469,
            "Chat Hard": 0.9166666667,
            "Safety": 0.9270270270,
            "Reasoning": 0.9882107001,
        },
        abs=5e-11,
    )
    assert overall_score(scores) == pytest.approx(0.9495962102, abs=5e-11)


def test_armorm_gets_the_scores_of_the_papers_tables() -> None:
    scores = section_scores(ARMORM_PERCENT)
    assert scores == pytest.approx(
        {"Chat": 96.906, "Chat Hard": 76.766, "Safety": 90.538, "Reasoning": 97.375}, abs=5e-4
    )


def test_a_section_without_subsets_is_unknown_and_not_zero() -> None:
    scores = section_scores({"mt-bench-easy": 1, "alpacaeval-easy": 0.5})
    assert scores == {"Chat": 0.609375, "Chat Hard": None, "Safety": None, "Reasoning": None}
    assert overall_score(scores) == 0.609375


def test_all_halves_score_a_half() -> None:
    scores = section_scores(dict.fromkeys(SUBSETS, 0.5))
    assert set(scores.values()) == {0.5}
    assert overall_score(scores) == 0.5


def test_unknown_subsets_weigh_nothing() -> None:
    assert section_scores({"my-own": 1.0, "hep-js": 0.25})["Reasoning"] == 0.25


def test_all_wrong_is_zero_and_not_unknown() -> None:
    scores = section_scores(dict.fromkeys(SUBSETS, 0.0))
    assert set(scores.values()) == {0.0}
    assert overall_score(scores) == 0.0


@pytest.mark.parametrize(
    ("sections", "overall"),
    [({}, None), ({"Chat": None}, None), ({"Chat": 0.9, "Safety": 0.5, "Reasoning": None}, 0.7)],
)
def test_the_overall_score_is_the_mean_of_what_is_known(
    sections: dict[str, float | None], overall: float | None
) -> None:
    assert overall_score(sections) == overall
