"""How ensembles of a field's models score, beside their members and each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.results.ensembles import (
    LEAST_MEMBERS,
    Way,
    all_combinations,
    ensemble,
    normalised_together,
)
from explorer.results.field import Field, Mask
from explorer.stats.paired import PairedTest, paired_test
from explorer.stats.rules import V1
from explorer.stats.strata import Floats, plain, score_models
from explorer.stats.uncertainty import strata_by
from scoring.errors import KnownError

MOST_RANKED = 20
"""Combinations that are told."""


@dataclass(frozen=True, slots=True)
class EnsembleScore:
    """An ensemble, or one model alone, on the pairs that all members have rewards of.

    way: None of a model alone. score: 0 to 1; None where no pair counts.
    failures: pairs that it does not win.
    """

    members: tuple[str, ...]
    way: Way | None
    score: float | None
    failures: int


@dataclass(frozen=True, slots=True)
class Alone:
    """A member, and the test of the ensemble minus it."""

    own: EnsembleScore
    test: PairedTest


@dataclass(frozen=True, slots=True)
class Ensembles:
    """An ensemble and what it stands beside.

    n: pairs that all members have rewards of. missing: pairs that only some of them have.
    by_rule: whether scores are by RewardBench's rule, over these pairs; else they are accuracies.
    ranked: the best of all combinations of the members and ways, the best first.
    tried: how many these were.
    """

    n: int
    missing: int
    by_rule: bool
    whole: EnsembleScore
    alone: tuple[Alone, ...]
    ranked: tuple[EnsembleScore, ...]
    tried: int


def with_rewards(field: Field) -> tuple[str, ...]:
    """The models of a field that have rewards, the person's own first."""
    matrix = field.matrix
    has = np.isfinite(matrix.chosen) & np.isfinite(matrix.rejected)
    found = [matrix.models[place] for place in np.flatnonzero(has.any(axis=1)).tolist()]
    return tuple(sorted(found, key=lambda model: model not in field.runs))


def ensembles_of(field: Field, members: Sequence[str], way: Way) -> Ensembles:
    """Join the rewards of some models, in the way that is looked at and in all others.

    Rewards are normalised and scored over the pairs that all of them have.

    Raises:
        KnownError: fewer than two members, too many, one without rewards, or no pair of all.
    """
    if len(members) < LEAST_MEMBERS:
        raise KnownError(f"An ensemble has {LEAST_MEMBERS} members or more.")
    places = [field.place(model) for model in members]
    matrix = field.matrix
    own = matrix.outcomes[places].astype(np.float64)
    chosen, rejected = matrix.chosen[places], matrix.rejected[places]
    known = np.isfinite(chosen) & np.isfinite(rejected) & ~np.isnan(own)
    models = normalised_together(chosen, rejected, known)
    shared: Mask = models.known[0]
    own = np.where(shared, own, np.nan)
    groups = strata_by(V1, matrix.pairs)
    by_rule = bool((groups.counting() & shared).any())
    groups = groups if by_rule else plain(len(shared), groups.clusters)

    def score(outcomes: Floats) -> Floats:
        return score_models(outcomes, groups).overall

    def joined(at: Sequence[int], way: Way) -> EnsembleScore:
        outcomes = ensemble(models, at, way).outcomes
        names = tuple(members[each] for each in at)
        return _scored(names, way, outcomes, float(score(outcomes[None])[0]))

    every = range(len(members))
    outcomes = ensemble(models, every, way).outcomes
    alone = tuple(
        Alone(_scored((model,), None, mine, value), paired_test(outcomes, mine, groups))
        for model, mine, value in zip(members, own, score(own).tolist(), strict=True)
    )
    found = all_combinations(models, score)
    ranked = tuple(joined(each.members, each.way) for each in found[:MOST_RANKED])
    missing = int((known.any(axis=0) & ~shared).sum())
    return Ensembles(
        int(shared.sum()), missing, by_rule, joined(every, way), alone, ranked, len(found)
    )


def _scored(
    members: tuple[str, ...], way: Way | None, outcomes: Floats, score: float
) -> EnsembleScore:
    failures = int((outcomes < 1).sum())  # what is missing is no failure
    return EnsembleScore(members, way, None if np.isnan(score) else score, failures)
