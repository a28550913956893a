"""Ensembles of reward models, from rewards that are there already: each as one more model of a
field, and how they score beside others.

Source: upstream's analysis/run_ensemble_offline.py. There two pairs of one id count as one; here
each counts.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from explorer.data.facets import Mask
from explorer.results.field import Field
from explorer.stats.paired import PairedTest, paired_test
from explorer.stats.uncertainty import strata_by
from scoring.errors import KnownError
from scoring.strata import Floats, Whole, one_stratum, score_models

Way = Literal["mean", "worst", "mean_minus_std"]
"""How members' rewards of a response become one: upstream's Mean, Worst (the least of them) and
Uncertainty (the mean minus the standard deviation, whose divisor is the number of members)."""
WAYS: tuple[Way, ...] = get_args(Way)
LEAST_MEMBERS = 2
MOST_RANKED = 20
"""Combinations that are told."""
_MOST_COMBINATIONS = 1_000
_ROUNDING = 1e-9
"""Standard deviations by which rewards differ that are equal but for rounding."""
_AT_ONCE = 1_000_000
"""Outcomes that are held at once."""
_JOINT = " + "

Score = Callable[[Floats], Floats]
"""Outcomes (ensembles, pairs), NaN for missing -> a score of each, higher is better."""


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """What members say together.

    chosen, rejected: (pairs,), in standard deviations; NaN where it is missing for any member.
    outcomes: (pairs,), 1 where chosen is strictly higher, else 0; NaN where they are.
    """

    chosen: Floats
    rejected: Floats
    outcomes: Floats


@dataclass(frozen=True, slots=True)
class Combination:
    """An ensemble of some models and how it scores. members: rows of the models, ascending."""

    members: tuple[int, ...]
    way: Way
    score: float


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
class Ensembles:
    """An ensemble and what it stands beside.

    n: pairs that all members have rewards of. missing: pairs that only some of them have.
    by_rule: whether scores are by the benchmark's rule, over these pairs; else they are accuracies.
    alone: each member, and the test of the ensemble minus it.
    ranked: the best of all combinations of the members and ways, the best first.
    tried: how many these were.
    """

    n: int
    missing: int
    by_rule: bool
    whole: EnsembleScore
    alone: tuple[tuple[EnsembleScore, PairedTest], ...]
    ranked: tuple[EnsembleScore, ...]
    tried: int


def ensemble_name(members: Sequence[str], way: Way) -> str:
    """What an ensemble is called among models; `members_of` knows it by its name."""
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
        KnownError: a member is not there or has no rewards; also as of `check_rule`.
    """
    check_rule(field)
    matrix, places = field.matrix, [field.place(member) for member in members]
    models = _normalised_together(matrix.chosen[places], matrix.rejected[places], None)
    joined = ensemble(models, range(len(places)), way)
    grown = replace(
        matrix,
        models=(*matrix.models, name),
        model_types=(*matrix.model_types, "Ensemble"),
        files=(*matrix.files, ""),
        outcomes=np.vstack([matrix.outcomes, joined.outcomes.astype(np.float32)]),
        chosen=np.vstack([matrix.chosen, joined.chosen.astype(np.float32)]),
        rejected=np.vstack([matrix.rejected, joined.rejected.astype(np.float32)]),
        held=np.vstack([matrix.held, matrix.held[places].any(axis=0)]),
        known_equal=np.vstack([matrix.known_equal, joined.chosen == joined.rejected]),
    )
    return replace(field, matrix=grown, key=(*field.key, name), own=field.own | {name})


def check_rule(field: Field) -> None:
    """Raise a KnownError where a row is not decided by one reward of each side."""
    if field.rule.benchmark.rule.parts:
        title = field.rule.benchmark.title
        raise KnownError(f"Ensembles do not apply to {title}: a row counts in several comparisons.")


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
        raise KnownError(f"An ensemble has {LEAST_MEMBERS} members or more. Add one.")
    matrix, places = field.matrix, [field.place(model) for model in members]
    own = matrix.outcomes[places].astype(np.float64)
    chosen, rejected = matrix.chosen[places], matrix.rejected[places]
    known = np.isfinite(chosen) & np.isfinite(rejected) & ~np.isnan(own)
    models = _normalised_together(chosen, rejected, known)
    shared = _known(models)[0]
    own = np.where(shared, own, np.nan)
    groups = strata_by(field.rule, matrix.pairs)
    by_rule = bool((groups.counting() & shared).any())
    groups = groups if by_rule else one_stratum(len(shared), groups.clusters)
    score = partial(score_models, groups=groups)

    def joined(at: Sequence[int], way: Way) -> EnsembleScore:
        outcomes = ensemble(models, at, way).outcomes
        names = tuple(members[each] for each in at)
        return _scored(names, way, outcomes, float(score(outcomes[None])[0]))

    outcomes = ensemble(models, range(len(members)), way).outcomes
    alone = tuple(
        (_scored((model,), None, mine, value), paired_test(outcomes, mine, groups))
        for model, mine, value in zip(members, own, score(own).tolist(), strict=True)
    )
    found = all_combinations(models, score)
    ranked = tuple(joined(each.members, each.way) for each in found[:MOST_RANKED])
    n, missing = int(shared.sum()), int((known.any(axis=0) & ~shared).sum())
    whole = joined(range(len(members)), way)
    return Ensembles(n, missing, by_rule, whole, alone, ranked, len(found))


def _scored(
    members: tuple[str, ...], way: Way | None, outcomes: Floats, score: float
) -> EnsembleScore:
    failures = int((outcomes < 1).sum())  # what is missing is no failure
    return EnsembleScore(members, way, None if np.isnan(score) else score, failures)


def normalised(chosen: NDArray[np.floating], rejected: NDArray[np.floating]) -> Floats:
    """Rewards minus their mean, over their standard deviation, model by model.

    Both are over all chosen and rejected rewards of the model's pairs, the divisor being their
    number. A model whose rewards are all equal has 0 everywhere: it says nothing.

    chosen, rejected: (models, pairs), unbounded; NaN or infinite where missing.

    Returns:
        (models, 2, pairs), chosen first; NaN where either is missing.

    Raises:
        KnownError: a model has no rewards.

    >>> normalised(np.array([[3.0, 1.0, np.nan]]), np.array([[1.0, 3.0, 9.0]]))
    array([[[ 1., -1., nan],
            [-1.,  1., nan]]])
    """
    both = np.stack([chosen, rejected], axis=1).astype(np.float64)
    known = np.isfinite(both).all(axis=1, keepdims=True)
    without = int((known.sum(axis=(1, 2)) == 0).sum())
    if without:
        raise KnownError(
            f"An ensemble is made of rewards, and {without:,} of {len(both)} models "
            f"{'has' if without == 1 else 'have'} none here. Choose models with a chosen and a "
            "rejected reward of each pair."
        )
    both = np.where(known, both, np.nan)
    mean = np.nanmean(both, axis=(1, 2), keepdims=True)
    spread = np.nanstd(both, axis=(1, 2), keepdims=True)
    rewards: Floats = (both - mean) / np.where(spread > 0, spread, 1.0)
    return rewards


def _normalised_together(
    chosen: NDArray[np.floating], rejected: NDArray[np.floating], usable: Mask | None
) -> Floats:
    """As `normalised`, over the pairs that all models have: else members' scales would differ.

    usable: (models, pairs), what to take; None takes all.

    >>> rewards = np.array([[3.0, 1.0, 9.0], [3.0, 1.0, np.nan]])
    >>> _normalised_together(rewards, np.ones((2, 3)), None)[:, 0].round(2)
    array([[ 1.73, -0.58,   nan],
           [ 1.73, -0.58,   nan]])
    """
    known = _known(normalised(chosen, rejected))
    shared = np.logical_and.reduce(known if usable is None else known & usable)
    if not shared.any():
        raise KnownError("There is no pair that all of these models have rewards of.")
    return normalised(np.where(shared, chosen, np.nan), np.where(shared, rejected, np.nan))


def _known(models: Floats) -> Mask:
    """(models, pairs), which pairs each has rewards of. models: of `normalised`."""
    return ~np.isnan(models[:, 0])


def ensemble(models: Floats, members: Sequence[int], way: Way) -> Ensemble:
    """Join some models.

    models: of `normalised`. members: their rows; at least one.
    """
    chosen, rejected = _joined(models, np.array([[*members]], np.intp), way)[0]
    return Ensemble(chosen, rejected, _won(chosen, rejected))


def all_combinations(models: Floats, score: Score) -> list[Combination]:
    """Every ensemble of at least two of the models in every way, the best first.

    The best of many is better by chance than it will be on other pairs. Where models have rewards
    of different pairs, ensembles are scored on different pairs, too.

    models: of `normalised`. score: of a few ensembles of a size at once; equal scores keep the
    order of size, members and ways, and NaN comes last.

    Raises:
        KnownError: there would be more than a thousand.
    """
    n = len(models)
    wanted = len(WAYS) * sum(math.comb(n, size) for size in range(LEAST_MEMBERS, n + 1))
    if wanted > _MOST_COMBINATIONS:
        raise KnownError(
            f"{n} models make {wanted:,} ensembles; at most {_MOST_COMBINATIONS:,} are tried. "
            "Choose fewer models."
        )
    found = []
    for size in range(LEAST_MEMBERS, n + 1):
        for batch in _batches(n, size, models.shape[2]):
            for way in WAYS:
                joined = _joined(models, batch, way)
                values = score(_won(joined[:, 0], joined[:, 1])).tolist()
                found += [
                    Combination(tuple(members), way, value)
                    for members, value in zip(batch.tolist(), values, strict=True)
                ]
    return sorted(found, key=_rank)


def _rank(each: Combination) -> tuple[float, int, tuple[int, ...], int]:
    value = math.inf if math.isnan(each.score) else -each.score
    return value, len(each.members), each.members, WAYS.index(each.way)


def _batches(n: int, size: int, n_pairs: int) -> Iterator[Whole]:
    """All sets of so many members, (sets, members), a few at a time."""
    sets = np.array([*combinations(range(n), size)], dtype=np.intp)
    step = max(1, _AT_ONCE // max(1, n_pairs))
    for start in range(0, len(sets), step):
        yield sets[start : start + step]


def _joined(rewards: Floats, sets: Whole, way: Way) -> Floats:
    """(sets, 2, pairs): the rewards of each set of members; NaN where any of them has none.

    Member by member, as all members of all sets at once would take much memory.
    """
    total = rewards[sets[:, 0]]
    if way == "worst":
        for member in sets.T[1:]:
            np.minimum(total, rewards[member], out=total)
        return total
    for member in sets.T[1:]:
        total += rewards[member]
    total /= sets.shape[1]
    if way == "mean_minus_std":
        squares = np.zeros_like(total)
        for member in sets.T:
            squares += (rewards[member] - total) ** 2
        total -= np.sqrt(squares / sets.shape[1])
    return total


def _won(chosen: Floats, rejected: Floats) -> Floats:
    won = chosen - rejected > _ROUNDING
    return np.where(np.isnan(chosen) | np.isnan(rejected), np.nan, won)
