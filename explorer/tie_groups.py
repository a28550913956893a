"""Which ranks are real: models in groups that no test tells apart from the group's leader."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.paired_tests import discordant, holm, mcnemar_exact, paired_z_tests
from explorer.strata import Floats, Strata, Whole, checked_outcomes, score_models

Test = Literal["z", "mcnemar"]
_DECIMALS = 12


@dataclass(frozen=True, slots=True)
class TieGroup:
    """Models that no test tells apart from the first of them, the leader, which scores highest.

    members: rows of the outcome matrix, by score.
    p_values: of each against the leader, after Holm; the leader's own is 1.
    """

    members: tuple[int, ...]
    p_values: tuple[float, ...]


def tie_groups(
    outcomes: ArrayLike, groups: Strata, test: Test = "z", alpha: float = 0.05
) -> tuple[TieGroup, ...]:
    """Models in groups, by score.

    The best model not yet placed leads. It is tested against every unplaced model below, and what
    Holm's procedure at `alpha` over those tests does not reject joins it; the rest go on. Hence
    members of a group may differ from each other, and a model may be as good as one of the group
    above that is not its leader. Two copies of a model are always in one group.

    Args:
        outcomes: (models, pairs), 0 to 1, NaN for missing: a pair missing for either model is no
            part of their test. Two models without a common pair cannot be told apart.
        groups: the strata of the pairs.
        test: of two models. "z", `paired_z`, is for the overall score. "mcnemar", the exact test,
            is for one section (`Strata.only`): it counts wins, each pair alike.
        alpha: what the error of each leader's tests is kept to, between 0 and 1.

    Returns:
        The groups from the highest score down; equal scores come in the order of rows. A model
        without a score is in none.

    Raises:
        ValueError: of `checked_outcomes`, or alpha is not between 0 and 1.

    >>> from explorer.strata import plain
    >>> good, same, bad = [1] * 40, [1] * 39 + [0], [0] * 40
    >>> [group.members for group in tie_groups([bad, good, same], plain(40))]
    [(1, 2), (0,)]
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}, not between 0 and 1")
    matrix = checked_outcomes(outcomes, groups)
    found = []
    unplaced = _by_score(score_models(matrix, groups).overall)
    while len(unplaced):
        leader, below = unplaced[0], unplaced[1:]
        p_values = holm(_p_values(matrix[leader], matrix[below], groups, test))
        joins = p_values > alpha
        members = (int(leader), *below[joins].tolist())
        found.append(TieGroup(members, (1.0, *p_values[joins].tolist())))
        unplaced = below[~joins]
    return tuple(found)


def group_numbers(groups: Sequence[TieGroup], n_models: int) -> NDArray[np.intp]:
    """The group of each model, 1 for the first; 0 for a model in none.

    >>> group_numbers([TieGroup((2, 0), (1.0, 0.4)), TieGroup((3,), (1.0,))], 4)
    array([1, 0, 1, 2])
    """
    numbers = np.zeros(n_models, dtype=np.intp)
    for number, group in enumerate(groups, start=1):
        numbers[list(group.members)] = number
    return numbers


def _by_score(scores: Floats) -> Whole:
    order = np.argsort(-np.round(scores, _DECIMALS), kind="stable")
    return order[~np.isnan(scores[order])]


def _p_values(leader: Floats, others: Floats, groups: Strata, test: Test) -> Floats:
    if test == "z":
        return paired_z_tests(leader, others, groups).p
    counts = zip(*(each.tolist() for each in discordant(leader, others, groups)), strict=True)
    return np.array([mcnemar_exact(only_leader, only_other) for only_leader, only_other in counts])
