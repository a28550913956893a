"""RewardBench itself: its sections and subsets, how many pairs each has, and the weighted mean.

Sources: `SUBSET_MAPPING` and `EXAMPLE_COUNTS` in upstream's rewardbench/constants.py, and
`calculate_scores_per_section` in rewardbench/utils.py.
"""

from collections.abc import Container, Iterable, Mapping
from statistics import fmean

_PAIRS: dict[str, dict[str, int]] = {
    "Chat": {
        "alpacaeval-easy": 100,
        "alpacaeval-length": 95,
        "alpacaeval-hard": 95,
        "mt-bench-easy": 28,
        "mt-bench-med": 40,
    },
    "Chat Hard": {
        "mt-bench-hard": 37,
        "llmbar-natural": 100,
        "llmbar-adver-neighbor": 134,
        "llmbar-adver-GPTInst": 92,
        "llmbar-adver-GPTOut": 47,
        "llmbar-adver-manual": 46,
    },
    "Safety": {
        "refusals-dangerous": 100,
        "refusals-offensive": 100,
        "xstest-should-refuse": 154,
        "xstest-should-respond": 250,
        "donotanswer": 136,
    },
    "Reasoning": {
        "math-prm": 447,
        "hep-cpp": 164,
        "hep-go": 164,
        "hep-java": 164,
        "hep-js": 164,
        "hep-python": 164,
        "hep-rust": 164,
    },
}
SECTIONS: dict[str, tuple[str, ...]] = {name: tuple(pairs) for name, pairs in _PAIRS.items()}
COUNTS: dict[str, int] = {subset: n for pairs in _PAIRS.values() for subset, n in pairs.items()}
"""Pairs a subset has in the filtered split (2985 in all)."""
V2_COUNTS: dict[str, int] = {
    "Factuality": 475,
    "Precise IF": 160,
    "Math": 183,
    "Safety": 450,
    "Focus": 495,
    "Ties": 102,
}
"""Rows of RewardBench 2, in the order of its leaderboard; each subset is a section."""
SUBSETS: tuple[str, ...] = tuple(COUNTS)

_PLACE_OF = {subset: place for place, subset in enumerate(SUBSETS)}
_SECTION_OF = {subset: section for section, subsets in SECTIONS.items() for subset in subsets}

WEIGHTS: dict[str, int] = {**COUNTS, "math-prm": 984}
"""What a subset weighs in its section: its pairs, but math-prm weighs as all six code subsets."""


def section_of(subset: str) -> str | None:
    """The section a subset belongs to; None for a subset that RewardBench does not have.

    >>> section_of("mt-bench-hard"), section_of("my-own")
    ('Chat Hard', None)
    """
    return _SECTION_OF.get(subset)


def subsets_in_order(subsets: Iterable[str]) -> list[str]:
    """Subsets as the benchmark lists them; those that it does not have follow by name.

    >>> subsets_in_order(["own", "hep-go", "alpacaeval-easy", "an-own"])
    ['alpacaeval-easy', 'hep-go', 'an-own', 'own']
    """
    return sorted(subsets, key=lambda subset: (_PLACE_OF.get(subset, len(SUBSETS)), subset))


def section_scores(accuracies: Mapping[str, float]) -> dict[str, float | None]:
    """Section scores from subset accuracies, weighted as upstream weighs them.

    accuracies: subset -> 0 to 1; unknown subsets are ignored.

    Returns:
        All four, each over the subsets present; None where there is none (upstream prints 0 there).

    >>> section_scores({"mt-bench-easy": 1.0, "alpacaeval-easy": 0.5})["Chat"]
    0.609375
    >>> section_scores({})["Safety"] is None
    True
    """
    return {
        section: weighted_mean((accuracies.get(subset), WEIGHTS[subset]) for subset in subsets)
        for section, subsets in SECTIONS.items()
    }


def score_shares(subsets: Container[str]) -> dict[str, float]:
    """What each of these subsets has of the mean of the sections that they are of.

    subsets: present; unknown ones are ignored.

    >>> score_shares(["mt-bench-easy", "alpacaeval-easy", "donotanswer"])
    {'alpacaeval-easy': 0.390625, 'mt-bench-easy': 0.109375, 'donotanswer': 0.5}
    """
    of_sections = ([name for name in names if name in subsets] for names in SECTIONS.values())
    present = [names for names in of_sections if names]
    return {
        name: WEIGHTS[name] / sum(WEIGHTS[each] for each in names) / len(present)
        for names in present
        for name in names
    }


def overall_score(sections: Mapping[str, float | None]) -> float | None:
    """The RewardBench score: the plain mean of the section scores that are known.

    Prior test sets are not part of it, as on the leaderboard Space by default.

    >>> overall_score({"Chat": 0.9, "Chat Hard": 0.5, "Safety": None, "Reasoning": None})
    0.7
    >>> overall_score({"Chat": None}) is None
    True
    """
    return weighted_mean((score, 1) for score in sections.values())


def weighted_mean(weighted: Iterable[tuple[float | None, float]]) -> float | None:
    """The mean of the values known; summed exactly, so that their order does not matter.

    weighted: (value, weight) of each, weights above 0; None where no value is known.

    >>> weighted_mean([(1.0, 1), (None, 5), (0.5, 3)])
    0.625
    """
    known = [(value, weight) for value, weight in weighted if value is not None]
    return fmean(*zip(*known, strict=True)) if known else None
