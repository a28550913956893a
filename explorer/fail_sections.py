"""What a model of a field scores by section, and on the whole benchmark where it has all of it."""

from dataclasses import dataclass

import numpy as np

from explorer.results.field import Doubles, Field
from explorer.stats.intervals import score_intervals
from explorer.stats.matrix import is_reward_bench
from explorer.stats.rules import V1
from explorer.stats.strata import Strata, score_models
from explorer.stats.uncertainty import strata_by
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
    """Scores of RewardBench's sections with 95 % intervals, by `score_intervals`.

    The overall score is official only where the pairs are RewardBench's and its results hold all
    of them; missing outcomes are then left out, as the rule says.

    Raises:
        KnownError: the field has no such model.
    """
    outcomes, groups = field.outcomes(model), strata_by(V1, field.matrix.pairs)
    sections = {
        section: found
        for at, section in enumerate(V1.sections)
        if (found := _score(outcomes, groups.only(at)))
    }
    held = field.matrix.held[field.place(model)]
    whole = is_reward_bench(field.matrix.pairs) and held.all()
    return SectionScores(sections, _score(outcomes, groups) if whole else None)


def _score(outcomes: Doubles, groups: Strata) -> SectionScore | None:
    """By all that counts; None where none of it is known."""
    [interval] = score_intervals(outcomes[None], groups)
    if interval is None:
        return None
    [score] = score_models(outcomes[None], groups).overall.tolist()
    return SectionScore(score, interval, int((groups.counting() & ~np.isnan(outcomes)).sum()))
