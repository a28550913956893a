"""The rules by which leaderboards are made, as data: subset -> section -> score.

Weights and sections of RewardBench stand in `scoring.benchmark`; the arithmetic in
`explorer.stats.aggregate`. Lines of upstream's code are those of allenai/reward-bench at 05a9005.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from explorer.core.text import text
from scoring.benchmark import COUNTS, SECTIONS, SUBSETS, V2_COUNTS, WEIGHTS

RuleName = Literal[
    "v1", "v1_prior", "v1_prior_full", "v1_upstream", "paper", "prior", "prior_all", "v2"
]  # fmt: skip

PRIOR = "Prior Sets"
"""The section of the test sets that were there before RewardBench."""

PRIOR_PAIRS: dict[str, int] = {
    "anthropic_helpful": 6192,
    "anthropic_hhh": 221,
    "shp": 1741,
    "summarize": 9000,
    "anthropic_harmless": 2266,
    "mtbench_human": 3355,
    "mtbench_gpt4": 2400,
}
"""Pairs of the prior sets that are published; only the first four enter a RewardBench score."""

PRIOR_SCORED: tuple[str, ...] = tuple(PRIOR_PAIRS)[:4]

V2_PAIRS: dict[str, int] = V2_COUNTS
"""Rows of RewardBench 2, in the order of its leaderboard; each subset is a section."""

_SWAPPED_WEIGHTS: dict[str, int] = {
    **WEIGHTS,
    "xstest-should-refuse": COUNTS["xstest-should-respond"],
    "xstest-should-respond": COUNTS["xstest-should-refuse"],
}
"""The weights with XSTest's two counts the wrong way round, as upstream had them until #175."""


@dataclass(frozen=True, slots=True, eq=False)  # a rule is itself: it may be a key of a cache
class Rule:
    """How subset accuracies become sections, and those a score.

    sections: section -> subset -> weight in the section's mean.
    weights: section -> weight in the mean that is the score.
    pairs: subset -> pairs (of RewardBench 2, rows) that the benchmark has of it.
    missing: what a section is of which no subset is known: left out of the score, or 0.
        A subset that is not known is left out of its section in either case.
    zero_is_missing: sections that were not measured where they are exactly 0.
    """

    name: RuleName
    sections: Mapping[str, Mapping[str, int]]
    weights: Mapping[str, int]
    pairs: Mapping[str, int]
    missing: Literal["left out", "zero"] = "left out"
    zero_is_missing: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """Its name on screen."""
        return text(f"rule.{self.name}_title")

    @property
    def formula(self) -> str:
        """How a score is made, in words."""
        return text(f"rule.{self.name}")

    @property
    def subsets(self) -> tuple[str, ...]:
        """Every subset that counts, section by section."""
        return tuple(subset for weights in self.sections.values() for subset in weights)

    def section_of(self, subset: str) -> str | None:
        """The section a subset counts in; None where the rule leaves it out."""
        return next((name for name, weights in self.sections.items() if subset in weights), None)


def _four_sections(weights: Mapping[str, int]) -> dict[str, dict[str, int]]:
    return {
        section: {subset: weights[subset] for subset in subsets}
        for section, subsets in SECTIONS.items()
    }


def _plain(subsets: Iterable[str]) -> dict[str, int]:
    return dict.fromkeys(subsets, 1)


# rewardbench/utils.py:75-91, rewardbench/constants.py:42-66
V1 = Rule(
    name="v1",
    sections=_four_sections(WEIGHTS),
    weights=_plain(SECTIONS),
    pairs={subset: COUNTS[subset] for subset in SUBSETS},
)
# analysis/get_benchmark_results.py:95-133, as of the other rules with prior sets
V1_PRIOR = Rule(
    name="v1_prior",
    sections={**V1.sections, PRIOR: _plain(PRIOR_SCORED)},
    weights={**dict.fromkeys(SECTIONS, 2), PRIOR: 1},
    pairs={**V1.pairs, **{subset: PRIOR_PAIRS[subset] for subset in PRIOR_SCORED}},
    # Seven allenai/*-RM-RB2 rows of the board state 0.0, and are scored as if they had none.
    zero_is_missing=frozenset({PRIOR}),
)
# Threads #87 and #105 of upstream
V1_PRIOR_FULL = replace(
    V1_PRIOR,
    name="v1_prior_full",
    weights=_plain(V1_PRIOR.sections),
)
V1_UPSTREAM = replace(V1, name="v1_upstream", missing="zero")
PAPER = replace(  # until #175
    V1_PRIOR,
    name="paper",
    sections={**V1_PRIOR.sections, **_four_sections(_SWAPPED_WEIGHTS)},
)
PRIOR_ALONE = Rule(
    name="prior",
    sections={PRIOR: _plain(PRIOR_SCORED)},
    weights={PRIOR: 1},
    pairs={subset: PRIOR_PAIRS[subset] for subset in PRIOR_SCORED},
    zero_is_missing=frozenset({PRIOR}),
)
# analysis/utils.py:44-156
PRIOR_ALL = replace(
    PRIOR_ALONE,
    name="prior_all",
    sections={PRIOR: _plain(PRIOR_PAIRS)},
    pairs=PRIOR_PAIRS,
)
# rewardbench/utils.py:569-572 and 1010-1108
V2 = Rule(
    name="v2",
    sections={subset: {subset: 1} for subset in V2_PAIRS},
    weights=_plain(V2_PAIRS),
    pairs=V2_PAIRS,
)

RULES: dict[RuleName, Rule] = {
    rule.name: rule
    for rule in (V1, V1_PRIOR, V1_PRIOR_FULL, V1_UPSTREAM, PAPER, PRIOR_ALONE, PRIOR_ALL, V2)
}
