"""How far a board's scores and ranks can be trusted: measured once, then kept on disk.

Joins outcomes and a rule to `explorer.stats.intervals` and `explorer.stats.tie_groups`, which say
how. Pairs of one prompt are taken together (`explorer.stats.matrix.clusters_of`).
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.core.caches import LruCache, read_arrays, write_arrays
from explorer.data.facets import Coded
from explorer.stats.aggregate import Missing, Ties, settled
from explorer.stats.intervals import REPLICATES, rank_intervals
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import COMPOSITES, Rule
from explorer.stats.tie_groups import group_numbers, tie_groups
from scoring.clusters import clusters_of
from scoring.errors import KnownError
from scoring.interval import Interval
from scoring.limits import OnProgress, Step, ignore_progress
from scoring.results.order import PairOrder
from scoring.strata import Floats, Strata, Whole, benchmark_strata, score_intervals, score_models

_SEED = 0
MOST_PAIRS = 20_000
"""Of which intervals and ties are measured; the work grows with them, and RewardBench has 2,985."""
_DRAWING = 100
"""Steps that the draws are told in; each of the tests is one more."""
_FORMAT = "3"
"""Changes when the same outcomes and rule give other numbers."""
_KEPT_ON_DISK = 40
_KEPT_IN_MEMORY = 8


@dataclass(frozen=True, slots=True, eq=False)
class Uncertainty:
    """Of all models of an outcome matrix, in its order; NaN and 0 where it cannot be said.

    ranked: models that have ranks and groups, the others have intervals alone.
    score, low, high: (models,), 0 to 1; all NaN where the rule needs more than outcomes.
    best, worst, group: (models,), from 1.
    section_score, section_low, section_high, section_group: (sections, models).
    """

    models: tuple[str, ...]
    sections: tuple[str, ...]
    ranked: NDArray[np.bool_]
    score: Floats
    low: Floats
    high: Floats
    best: Whole
    worst: Whole
    group: Whole
    section_score: Floats
    section_low: Floats
    section_high: Floats
    section_group: Whole


def subsets_by(rule: Rule, pairs: PairOrder) -> Coded:
    """The subset of each pair under the name that the rule has for it.

    >>> from explorer.stats.rules import V2
    >>> subsets_by(V2, PairOrder(("precise_if", "own"), np.zeros(1, np.int32))).names
    ['Precise IF', 'own']
    """
    names = {name: rule.name_of(name) for name in pairs.names}
    if rule.benchmark.weighs_subsets and len(set(names.values())) < len(names):
        names = {name: name for name in pairs.names}
    return Coded(list(pairs.names), pairs.codes).renamed([*dict.fromkeys(names.values())], names)


def strata_by(rule: Rule, pairs: PairOrder) -> Strata:
    """The strata of these pairs; those of composites count nowhere.

    The rule has weight: a section of which there are no pairs is left out.
    """
    sections: dict[str, dict[str, float]] = {
        section: {subset: 0.0 if subset in COMPOSITES else weight for subset, weight in of.items()}
        for section, of in rule.sections.items()
    }
    subsets, weights = subsets_by(rule, pairs), None if rule.is_of_rows else rule.weights
    return benchmark_strata(subsets.names, subsets.codes, sections, weights, clusters_of(pairs))


def measure(
    outcomes: OutcomeMatrix,
    rule: Rule,
    *,
    ties: Ties = "official",
    missing: Missing = "left out",
    ranked: Collection[str] | None = None,
    replicates: int = REPLICATES,
    tell: OnProgress = ignore_progress,
) -> Uncertainty:
    """Intervals, rank intervals and tie groups of every model.

    rule: how outcomes become a score. Where a subset of it is a composite, sections alone are
        measured.
    ties, missing: as of `explorer.stats.aggregate.settled`.
    ranked: models that can be compared; the others have intervals alone. None for all.
    replicates: of the draws that ranks' intervals come from.
    tell: is told each step; where it raises, this ends.

    Raises:
        KnownError: there are more than `MOST_PAIRS` pairs.
    """
    if len(outcomes.pairs) > MOST_PAIRS:
        n = f"{len(outcomes.pairs):,}"
        raise KnownError(
            f"Intervals and ties are measured on {MOST_PAIRS:,} pairs at most; the results here "
            f"are of {n}. Scores stand without them; take away files of your own that are so long."
        )
    groups = strata_by(rule, outcomes.pairs)
    values = settled(outcomes.outcomes, outcomes.known_equal, ties, missing).astype(np.float64)
    names = tuple(rule.sections)
    total = _DRAWING + 1 + len(names)
    tell(Step("measuring", 0, total))
    found = _with_intervals(outcomes.models, values, rule, groups)
    found.ranked[:] = [ranked is None or model in ranked for model in outcomes.models]
    rows = np.flatnonzero(found.ranked)
    if not rule.has_composites:
        drawn = rank_intervals(
            *(values[rows], groups, replicates, _SEED),
            tell=lambda share: tell(Step("measuring", int(_DRAWING * share), total)),
        )
        found.best[rows], found.worst[rows] = drawn.best, drawn.worst
        found.group[rows] = group_numbers(tie_groups(values[rows], groups), len(rows))
    for place in range(len(names)):
        tell(Step("measuring", _DRAWING + 1 + place, total))
        alike = tie_groups(values[rows], groups.only(place))
        found.section_group[place, rows] = group_numbers(alike, len(rows))
    tell(Step("measuring", total, total))
    return found


def intervals(
    outcomes: OutcomeMatrix, rule: Rule, *, ties: Ties = "official", missing: Missing = "left out"
) -> Uncertainty:
    """The intervals that `measure` gives, without ranks and groups: some 10 ms of one model."""
    values = settled(outcomes.outcomes, outcomes.known_equal, ties, missing).astype(np.float64)
    return _with_intervals(outcomes.models, values, rule, strata_by(rule, outcomes.pairs))


def _with_intervals(
    models: tuple[str, ...], values: Floats, rule: Rule, groups: Strata
) -> Uncertainty:
    found = _blank(models, tuple(rule.sections))
    if not rule.has_composites:
        found.score[:], found.low[:], found.high[:] = _scored(values, groups)
    for place in range(len(rule.sections)):
        of_section = _scored(values, groups.only(place))
        found.section_score[place], found.section_low[place], found.section_high[place] = of_section
    return found


def _scored(values: Floats, groups: Strata) -> tuple[Floats, Floats, Floats]:
    none = Interval(np.nan, np.nan)
    ends = np.array([each or none for each in score_intervals(values, groups)]).reshape(-1, 2)
    return score_models(values, groups), ends[:, 0], ends[:, 1]


def _blank(models: tuple[str, ...], sections: tuple[str, ...]) -> Uncertainty:
    """Of models of which nothing is known yet; none is ranked."""
    n, wide = (len(models),), (len(sections), len(models))
    arrays: dict[str, Any] = {
        **{name: np.full(n, np.nan) for name in ("score", "low", "high")},
        **{name: np.zeros(n, np.intp) for name in ("best", "worst", "group")},
        **{f"section_{name}": np.full(wide, np.nan) for name in ("score", "low", "high")},
        "section_group": np.zeros(wide, np.intp),
    }
    return Uncertainty(models, sections, np.zeros(n, np.bool_), **arrays)


class Uncertainties:
    """Computes `Uncertainty` and keeps it: in memory, and on disk."""

    def __init__(self, home: Path) -> None:
        """home: what the settings call so."""
        self._folder = home / "uncertainty"
        self._known = LruCache[Uncertainty](_KEPT_IN_MEMORY)

    def known(self, outcomes: OutcomeMatrix, rule: Rule, **options: Any) -> Uncertainty | None:
        """What was measured of the same outcomes by the same rule; None where nothing was.

        options: as of `measure`.
        """
        key = key_of(outcomes, rule, **options)
        found = self._known.get(key)
        if found is None:
            arrays = read_arrays(self._folder / f"{key}.npz", _ARRAYS)
            if arrays is not None:
                found = Uncertainty(outcomes.models, tuple(rule.sections), **arrays)
                self._known[key] = found
        return found

    def measured(
        self,
        outcomes: OutcomeMatrix,
        rule: Rule,
        tell: OnProgress = ignore_progress,
        **options: Any,
    ) -> Uncertainty:
        """As `measure`, but what is known is not computed again."""
        found = self.known(outcomes, rule, **options)
        if found is None:
            found = measure(outcomes, rule, tell=tell, **options)
            key = key_of(outcomes, rule, **options)
            self._known[key] = found
            arrays = {name: getattr(found, name) for name in _ARRAYS}
            write_arrays(self._folder / f"{key}.npz", arrays, _KEPT_ON_DISK)
        return found


def key_of(
    outcomes: OutcomeMatrix,
    rule: Rule,
    *,
    ties: Ties = "official",
    missing: Missing = "left out",
    ranked: Collection[str] | None = None,
) -> str:
    """A digest of all that the numbers depend on, the outcomes themselves among it."""
    digest = hashlib.blake2b(digest_size=16)
    whom = None if ranked is None else sorted(ranked)
    options = (_FORMAT, rule.name, ties, missing, whom, REPLICATES, _SEED)
    written = repr((options, outcomes.models, outcomes.pairs.names))
    digest.update(written.encode("utf-8", "replace"))
    clusters = clusters_of(outcomes.pairs)
    arrays: list[NDArray[Any]] = [outcomes.pairs.codes, clusters, outcomes.outcomes]
    if ties == "half":
        arrays.append(outcomes.known_equal)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


_ARRAYS = [field.name for field in fields(Uncertainty)[2:]]
"""All but the names, which the key of a file is made of."""
