"""What a model of a field scores by section, and on the whole benchmark where it has all of it."""

from dataclasses import dataclass

import numpy as np

from explorer.field import Field
from explorer.outcome_matrix import is_reward_bench
from explorer.rules import V1
from explorer.statistics import Intervals, bootstrap
from explorer.strata import Whole
from explorer.uncertainty import MOST_PAIRS, strata_by
from scoring.interval import Interval


@dataclass(frozen=True, slots=True)
class SectionScore:
    """score: 0 to 1 by the official weights; n: pairs that it comes from, at least 1."""

    score: float
    interval: Interval
    n: int


@dataclass(frozen=True, slots=True)
class SectionScores:
    """sections: those of which the model has results. overall: None where it lacks a pair."""

    sections: dict[str, SectionScore]
    overall: SectionScore | None


def section_scores(field: Field, model: str) -> SectionScores:
    """Scores of RewardBench's sections with 95 % intervals, by `explorer.statistics.bootstrap`.

    The overall score is official only where the pairs are RewardBench's and its results hold all
    of them; missing outcomes are then left out, as the rule says. Of more than
    `explorer.uncertainty.MOST_PAIRS` pairs nothing is computed.

    Raises:
        KnownError: the field has no such model.
    """
    if len(field.table) > MOST_PAIRS:
        return SectionScores({}, None)
    outcomes, groups = field.outcomes(model), strata_by(V1, field.matrix.pairs)
    known = groups.counting() & ~np.isnan(outcomes)
    section = np.append(groups.sections, -1)[groups.of_pair]
    counts: Whole = np.bincount(section[known], minlength=len(V1.sections))
    found = bootstrap(outcomes[None], groups)
    sections = {
        name: _score(of_section, int(n))
        for name, of_section, n in zip(V1.sections, found.sections, counts, strict=True)
        if n
    }
    held = field.matrix.held[field.place(model)]
    whole = is_reward_bench(field.matrix.pairs) and held.all() and known.any()
    return SectionScores(sections, _score(found.overall, int(known.sum())) if whole else None)


def _score(found: Intervals, n: int) -> SectionScore:
    interval = Interval(float(found.low[0]), float(found.high[0]))
    return SectionScore(float(found.score[0]), interval, n)
