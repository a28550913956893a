"""Which ranks are real: models in groups that no test tells apart from the group's leader."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.stats.paired import ALPHA, holm, paired_p_values
from explorer.stats.strata import DECIMALS, Floats, Strata, checked_outcomes, score_models


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

    >>> from explorer.stats.strata import one_stratum
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
    """Of every two models, corrected for all of these: (models, models), 1 on the diagonal."""
    counted, values = groups.counted(), matrix[:, groups.counting()]
    upper = np.triu_indices(len(values), 1)
    tested = [
        paired_p_values(values[at], values[at + 1 :], counted) for at in range(len(values) - 1)
    ]
    found = np.ones((len(values), len(values)))
    found[upper] = holm(np.concatenate(tested)) if tested else 1.0
    found.T[upper] = found[upper]
    return found
