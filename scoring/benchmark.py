"""RewardBench itself, the first row of the table, as its leaderboard and its files take it."""

from scoring.benchmarks import bundled_benchmarks

_FIRST, _SECOND = (bundled_benchmarks()[name] for name in ("reward-bench", "reward-bench-2"))
SECTIONS: dict[str, tuple[str, ...]] = {
    section: tuple(subsets) for section, subsets in _FIRST.sections.items()
}
COUNTS = _FIRST.counts
"""Pairs a subset has in the filtered split (2985 in all)."""
V2_COUNTS = _SECOND.counts
"""Rows of RewardBench 2, in the order of its leaderboard; each subset is a section."""
SUBSETS = _FIRST.subsets
WEIGHTS = {subset: _FIRST.weight_of(subset) for subset in SUBSETS}
"""What a subset weighs in its section: its pairs, but math-prm weighs as all six code subsets."""
section_of = _FIRST.section_of
section_scores = _FIRST.section_scores
score_shares = _FIRST.score_shares
overall_score = _FIRST.score_of
