"""Pairs that most models fail, and pairs that the good models of a subset fail more often.

Both are where to look for wrong labels. Outcomes are (models, pairs), 0 to 1, a win is exactly 1,
NaN is missing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.patterns import difficulty, item_rest
from explorer.strata import Floats, Whole
from scoring.errors import KnownError, shown

SHARE = 0.8
LEAST_MODELS = 5
"""Models that must be known of a pair for it to be called hard."""
LEAST_PAIRS = 20
"""Pairs of a subset of whose rest a model's skill is read."""
MOST_PAIRS = 100


@dataclass(frozen=True, slots=True, eq=False)
class HardPairs:
    """Pairs that most models fail, the hardest first; all are (found,).

    rows: of the pairs. failed: models that do not win them. known: models of which the outcome is
    known. share: failed / known, 0 to 1.
    """

    rows: Whole
    failed: Whole
    known: Whole
    share: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Telling:
    """How well pairs tell models that are good at their subset from those that are bad at it.

    correlation: (pairs,), `item_rest`; NaN where it is not known, or too few models are.
    best: rows of the highest correlations, the highest first.
    negative: rows of those below 0, the lowest first, which may be mislabelled: models that are
        better at the subset fail them more often.
    """

    correlation: Floats
    best: Whole
    negative: Whole


def failed_by_most(
    outcomes: NDArray[np.floating], share: float = SHARE, least_models: int = LEAST_MODELS
) -> HardPairs:
    """Pairs that more than a share of the models fail; of equal shares, more models go first.

    Args:
        outcomes: (models, pairs).
        share: 0 or more, below 1; what of the known models has to fail, and more.
        least_models: that must be known of a pair.

    Raises:
        KnownError: the share is not a number from 0 to below 1.

    >>> found = failed_by_most(np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]), 0.4, 2)
    >>> found.rows, found.failed, found.share
    (array([2, 1]), array([2, 1]), array([1. , 0.5]))
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise KnownError(f"A share of models is from 0 to below 1, not {shown(share)}.")
    found = difficulty(outcomes)
    hard = (found.known >= least_models) & (found.failed > share * found.known)
    rows = np.flatnonzero(hard)
    rows = rows[np.lexsort((rows, -found.failed[rows], -found.share[rows]))]
    return HardPairs(rows, found.failed[rows], found.known[rows], found.share[rows])


def telling(
    outcomes: NDArray[np.floating],
    subsets: NDArray[np.integer] | None = None,
    most: int = MOST_PAIRS,
    least_models: int = LEAST_MODELS,
) -> Telling:
    """The pairs that tell good models from bad best, and those that may be mislabelled.

    With few models a correlation below 0 is often chance.

    Args:
        outcomes: (models, pairs).
        subsets: (pairs,), the subset of each, from 0; those of fewer than `LEAST_PAIRS` pairs are
            taken together. None takes all pairs for one subset.
        most: rows of each kind; equal correlations stay in table order.
        least_models: that must be known of a pair.

    >>> right = np.tile([[0.0], [0.0], [1.0], [1.0], [1.0]], 3)
    >>> found = telling(np.hstack([right, 1 - right[:, :1]]))
    >>> found.best, found.negative
    (array([0, 1, 2]), array([3]))
    """
    known = (~np.isnan(outcomes)).sum(axis=0)
    if subsets is not None:
        subsets = np.where(np.bincount(subsets)[subsets] < LEAST_PAIRS, -1, subsets)
    correlation = np.where(known >= least_models, item_rest(outcomes, subsets), np.nan)
    order = np.argsort(correlation, kind="stable")  # what is not known comes last
    backwards = np.argsort(-correlation, kind="stable")
    negative, best = order[correlation[order] < 0], backwards[correlation[backwards] > 0]
    return Telling(correlation, best[:most], negative[:most])
