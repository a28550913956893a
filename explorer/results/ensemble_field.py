"""Ensembles of a field's models: as one more model of it, and how they score beside others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from explorer.results.ensembles import (
    LEAST_MEMBERS,
    WAYS,
    Way,
    all_combinations,
    ensemble,
    normalised_together,
)
from explorer.results.field import Field, Mask
from explorer.stats.paired import PairedTest, paired_test
from explorer.stats.rules import V1
from explorer.stats.strata import Floats, one_stratum, score_models
from explorer.stats.uncertainty import strata_by
from scoring.errors import KnownError

MOST_RANKED = 20
"""Combinations that are told."""
_JOINT = " + "


def ensemble_name(members: Sequence[str], way: Way) -> str:
    """What an ensemble is called among models; `with_ensemble` knows it by its name.

    >>> ensemble_name(["org/a", "b"], "worst")
    'worst: org/a + b'
    """
    return f"{way}: {_JOINT.join(members)}"


def members_of(name: object) -> tuple[Way, tuple[str, ...]] | None:
    """How an ensemble joins which models, by its name; None where the name is of none.

    >>> members_of("worst: org/a + b"), members_of("org/a")
    (('worst', ('org/a', 'b')), None)
    """
    if not isinstance(name, str):
        return None
    written, _, rest = name.partition(": ")
    way = next((each for each in WAYS if each == written), None)
    members = tuple(dict.fromkeys(rest.split(_JOINT)))
    return (way, members) if way is not None and len(members) >= LEAST_MEMBERS else None


def with_ensemble(field: Field, name: str, way: Way, members: Sequence[str]) -> Field:
    """The field with an ensemble of its models, under that name.

    Raises:
        KnownError: a member is not there or has no rewards.
    """
    matrix, places = field.matrix, [field.place(member) for member in members]
    models = normalised_together(matrix.chosen[places], matrix.rejected[places], None)
    joined = ensemble(models, range(len(places)), way)
    held = matrix.held[places].any(axis=0)
    grown = replace(
        matrix,
        models=(*matrix.models, name),
        model_types=(*matrix.model_types, "Ensemble"),
        files=(*matrix.files, ""),
        how=(*matrix.how, "position"),
        outcomes=_stacked(matrix.outcomes, joined.outcomes),
        chosen=_stacked(matrix.chosen, joined.chosen),
        rejected=_stacked(matrix.rejected, joined.rejected),
        held=np.vstack([matrix.held, held]),
        known_equal=np.vstack([matrix.known_equal, joined.chosen == joined.rejected]),
    )
    return replace(field, matrix=grown, key=(*field.key, name), own=field.own | {name})


def _stacked(of_all: NDArray[np.float32], added: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.vstack([of_all, added.astype(np.float32)])


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
    groups = groups if by_rule else one_stratum(len(shared), groups.clusters)

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
