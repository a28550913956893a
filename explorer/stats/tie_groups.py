"""Which ranks are real: models in groups that no test tells apart from the group's leader."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.stats.paired import ALPHA, MOST_EXACT, holm, paired_p_values, sign_p_values
from scoring.strata import (
    DECIMALS,
    Floats,
    Strata,
    checked_outcomes,
    cluster_sums,
    score_models,
    score_weights,
)

_ROUNDING = 1e-9
"""What part of a sum may be rounding, after it was taken off another."""
_MARGIN = 1e-3
"""Of z**2 and of a number of clusters: far above rounding."""


def tie_groups(outcomes: ArrayLike, groups: Strata) -> tuple[tuple[int, ...], ...]:
    """Rows of models that no test tells apart from the first of them, the leader, by score.

    Every two models are tested (`paired_test`), and Holm's procedure corrects for all these tests
    at once: a leader is picked by its score, so its own tests alone would not do. Where all models
    are equally good, they are in more than one group in at most `ALPHA` of cases.

    The best model not yet placed leads, and every unplaced model that is not significantly
    different from it joins. Hence members of a group may differ from each other, and a model may be
    as good as one of the group above that is not its leader. Two copies of a model are always in
    one group.

    outcomes: (models, pairs), 0 to 1, NaN for missing: a pair missing for either model is no part
        of their test. Two models without a common pair cannot be told apart.
    groups: the strata and clusters of the pairs; of one section, `Strata.only`.

    Returns:
        The groups from the highest score down; equal scores come in the order of rows. A model
        without a score is in none.

    >>> from scoring.strata import one_stratum
    >>> good, same, bad = [1] * 40, [1] * 39 + [0], [0] * 40
    >>> tie_groups([bad, good, same], one_stratum(40))
    ((1, 2), (0,))
    """
    matrix = checked_outcomes(outcomes, groups)
    scores = score_models(matrix, groups)
    order = np.argsort(-np.round(scores, DECIMALS), kind="stable")
    order = order[~np.isnan(scores[order])]
    p_values = _p_values(matrix[order], groups)
    found, unplaced = [], np.arange(len(order))
    while len(unplaced):
        joins = p_values[unplaced[0], unplaced] > ALPHA
        found.append(tuple(order[unplaced[joins]].tolist()))
        unplaced = unplaced[~joins]
    return tuple(found)


def group_numbers(groups: Sequence[Sequence[int]], n_models: int) -> NDArray[np.intp]:
    """The group of each model, 1 for the first; 0 for a model in none.

    >>> group_numbers([(2, 0), (3,)], 4)
    array([1, 0, 1, 2])
    """
    numbers = np.zeros(n_models, dtype=np.intp)
    for number, group in enumerate(groups, start=1):
        numbers[list(group)] = number
    return numbers


def _p_values(matrix: Floats, groups: Strata) -> Floats:
    """Of every two models, corrected for all of these: (models, models), 1 on the diagonal.

    Only whether they are above `ALPHA` is to be relied on: where that is plain, 0 or 1 stands for p
    before the correction.
    """
    counted, values = groups.counted(), matrix[:, groups.counting()]
    known = ~np.isnan(values)
    complete = np.asarray(known.all(axis=1))
    weights = score_weights(counted, known)
    totals = cluster_sums(weights * np.where(known, values, 0.0), counted)
    found = _plain_p_values(totals)
    for model in range(len(values) - 1):
        later = np.arange(model + 1, len(values))
        same_weights = complete[later] & complete[model]
        others = later[~same_weights]
        unclear = later[same_weights & np.isnan(found[model, later])]
        if len(others):
            found[model, others] = paired_p_values(values[model], values[others], counted)
        if len(unclear):
            found[model, unclear] = sign_p_values(totals[model] - totals[unclear])
    upper = np.triu_indices(len(values), 1)
    corrected = np.ones_like(found)
    corrected[upper] = holm(found[upper])
    corrected.T[upper] = corrected[upper]
    return corrected


def _plain_p_values(totals: Floats) -> Floats:
    """The p of every two models as far as matrix products tell it, else NaN.

    With S the sum of t_c**2 over clusters and z**2 = D**2 / S, p is at most 2 exp(-z**2 / 2) and,
    where z is below 1, at least (1 - z**2)**2 / 3: 0 and 1 stand for what is surely on one side of
    Holm's limits. With Q the sum of t_c**4, at least S**2 / Q clusters differ, and exactly so many
    if all by the same: where that is no whole number, p is the normal distribution's.
    Source: W. Hoeffding, JASA 58 (1963), for the first; R. Paley and A. Zygmund's inequality, with
    a fourth moment of at most 3, for the second; Cauchy and Schwarz's for the third.

    totals: (models, clusters), of models whose pairs are all known.
    """

    def products(power: int) -> Floats:
        """Sums of t_c**power over clusters, (models, models)."""
        terms = (
            (-1) ** at * math.comb(power, at) * (totals ** (power - at) @ (totals**at).T)
            for at in range(power + 1)
        )
        return np.asarray(sum(terms))

    scores, variance, fourth = totals.sum(axis=1), products(2), products(4)
    is_exact = np.ones(variance.shape, np.bool_)
    for power, sums in ((2, variance), (4, fourth)):
        is_exact &= sums > _ROUNDING * (totals**power).sum(axis=1).max(initial=0.0)
        sums[~is_exact] = 1.0
    ratio = (scores[:, None] - scores) ** 2 / variance
    n_tests = max(1, len(totals) * (len(totals) - 1) // 2)
    n_least = variance**2 / fourth
    is_fraction = np.abs(n_least - np.rint(n_least)) > _MARGIN
    is_normal = is_exact & is_fraction & (n_least > MOST_EXACT + 1)
    found = np.full(ratio.shape, np.nan)
    found[is_normal] = _erfc(np.sqrt(ratio[is_normal] / 2))
    found[is_exact & (ratio > 2 * np.log(2 * n_tests / ALPHA) + _MARGIN)] = 0.0
    found[is_exact & (ratio < 1 - np.sqrt(3 * ALPHA) - _MARGIN)] = 1.0
    return found


_erfc = np.vectorize(math.erfc, otypes=[np.float64])
