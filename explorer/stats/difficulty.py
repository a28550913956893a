"""What the outcomes of many models have in common: who fails alike, which pairs are hard.

An outcome matrix is (models, pairs), outcomes 0 to 1, a win is exactly 1, NaN is missing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.strata import Floats, Whole

_NOTHING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Difficulty:
    """How many models fail each pair; all are (pairs,).

    failed: models that do not win it. known: models of which its outcome is known.
    share: failed / known, 0 to 1; NaN where known is 0.
    """

    failed: Whole
    known: Whole
    share: Floats


def difficulty(outcomes: NDArray[np.floating]) -> Difficulty:
    """The share of models that fail each pair. A half, as judges give, is no win.

    >>> found = difficulty(np.array([[1.0, 0.0, np.nan], [1.0, 0.5, np.nan]]))
    >>> found.failed, found.known, found.share
    (array([0, 2, 0]), array([2, 2, 0]), array([ 0.,  1., nan]))
    """
    known = (~np.isnan(outcomes)).sum(axis=0)
    failed = known - (outcomes == 1).sum(axis=0)
    share = np.divide(failed, known, out=np.full(known.shape, np.nan), where=known > 0)
    return Difficulty(failed, known, share)


def item_rest(outcomes: NDArray[np.floating], subsets: NDArray[np.integer] | None = None) -> Floats:
    """How well each pair tells good models from bad: its correlation with the rest of its subset.

    Pearson's r over models, between the outcome of the pair and the model's mean over the other
    known pairs of the subset, each alike; models without the pair, or without another, are left
    out. Pairs of different subsets may ask for different skills, so that models which do well on
    one do badly on another: they say nothing of a pair.
    Source: the corrected item-total correlation of a scale, Nunnally and Bernstein, Psychometric
    Theory (1994), chapter 8.

    subsets: (pairs,), the subset of each; None takes all pairs for one.

    Returns:
        (pairs,), -1 to 1: below 0, better models fail it more often, which a wrong label causes,
        too. NaN with fewer than two models, or where all have the same outcome or the same rest.

    >>> item_rest(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    array([0.70710678, 0.70710678, 0.        ])
    """
    if subsets is None:
        return _item_rest(outcomes)
    found = np.full(outcomes.shape[1], np.nan)
    for subset in np.unique(subsets):
        found[subsets == subset] = _item_rest(outcomes[:, subsets == subset])
    return found


def _item_rest(outcomes: NDArray[np.floating]) -> Floats:
    values = np.asarray(outcomes, dtype=np.float64)
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    others = known.sum(axis=1, keepdims=True) - known
    rest = (filled.sum(axis=1, keepdims=True) - filled) / np.maximum(others, 1)
    used = known & (others > 0)
    n = np.maximum(used.sum(axis=0), 1)

    def centred(each: Floats) -> Floats:
        kept = np.where(used, each, 0.0)
        difference: Floats = np.where(used, kept - kept.sum(axis=0) / n, 0.0)
        return difference

    x, y = centred(filled), centred(rest)
    return _pearson((x * y).sum(axis=0), (x**2).sum(axis=0), (y**2).sum(axis=0))


def correlations(outcomes: NDArray[np.floating]) -> Floats:
    """How alike each two models succeed and fail: Pearson's r of their outcomes.

    Of outcomes 0 and 1 this is phi. Over the pairs known of both; pairs count alike.
    Source: K. Pearson, Phil. Trans. R. Soc. A 195 (1900), of phi.

    Returns:
        (models, models), symmetric, -1 to 1, 1 on the diagonal. NaN where one of the two has the
        same outcome on all common pairs, so too on the diagonal; or where they have none.

    >>> correlations(np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]]))
    array([[ 1.,  0., -1.],
           [ 0.,  1.,  0.],
           [-1.,  0.,  1.]])
    """
    values = np.asarray(outcomes, dtype=np.float64) - 0.5  # smaller sums round less
    mask = ~np.isnan(values)
    filled, known = np.where(mask, values, 0.0), mask.astype(np.float64)
    n = np.maximum(known @ known.T, 1.0)
    sums, squares = filled @ known.T, filled**2 @ known.T
    spread = squares - sums**2 / n
    found = _pearson(filled @ filled.T - sums * sums.T / n, spread, spread.T)
    diagonal = np.diagonal(found).copy()
    found = (found + found.T) / 2
    np.fill_diagonal(found, np.where(np.isnan(diagonal), np.nan, 1.0))
    return found


def leaf_order(correlation: Floats) -> Whole:
    """An order of models in which those that are alike stand together, for a heat map.

    By average linkage on the distance 1 - r, where NaN is taken for r = 0. Of two clusters that
    merge, the one that formed earlier comes first (a model before a cluster, by row).

    correlation: (models, models), symmetric; as `correlations` gives it.

    Returns:
        (models,) rows in order.

    >>> leaf_order(np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]]))
    array([1, 0, 2])
    """
    if len(correlation) < 2:
        return np.arange(len(correlation))
    from scipy.cluster.hierarchy import leaves_list, linkage  # type: ignore[import-untyped]

    distance = 1.0 - np.nan_to_num(correlation, nan=0.0)
    apart = distance[np.triu_indices(len(distance), 1)]
    return np.asarray(leaves_list(linkage(apart, "average")), dtype=np.intp)


def _pearson(products: Floats, squares_x: Floats, squares_y: Floats) -> Floats:
    """R from centred sums, -1 to 1; NaN where one side does not vary."""
    varies = (squares_x > _NOTHING) & (squares_y > _NOTHING)
    scale = np.sqrt(np.where(varies, squares_x * squares_y, 1.0))
    r: Floats = np.where(varies, np.clip(products / scale, -1.0, 1.0), np.nan)
    return r


_SHARE = 0.8
LEAST_MODELS = 5
"""Models that must be known of a pair for it to be called hard."""
_LEAST_IN_SUBSET = 20
"""Pairs of a subset of whose rest a model's skill is read."""
_MOST_TOLD = 100


@dataclass(frozen=True, slots=True, eq=False)
class PairDiscrimination:
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
    outcomes: NDArray[np.floating], share: float = _SHARE, least_models: int = LEAST_MODELS
) -> Whole:
    """Rows that more than a share of the models fail, the hardest first.

    Of equal shares, those that more models fail go first.

    share: 0 or more, below 1; what of the known models has to fail, and more.
    least_models: that must be known of a pair.
    """
    found = difficulty(outcomes)
    rows = np.flatnonzero((found.known >= least_models) & (found.failed > share * found.known))
    return rows[np.lexsort((rows, -found.failed[rows], -found.share[rows]))]


def discriminating_pairs(
    outcomes: NDArray[np.floating],
    subsets: NDArray[np.integer] | None = None,
    most: int = _MOST_TOLD,
    least_models: int = LEAST_MODELS,
) -> PairDiscrimination:
    """The pairs that tell good models from bad best, and those that may be mislabelled.

    With few models a correlation below 0 is often chance.

    subsets: (pairs,), the subset of each, from 0; those of fewer than 20 pairs are taken
        together. None takes all pairs for one subset.
    most: rows of each kind; equal correlations stay in table order.
    least_models: that must be known of a pair.
    """
    known = (~np.isnan(outcomes)).sum(axis=0)
    if subsets is not None:
        subsets = np.where(np.bincount(subsets)[subsets] < _LEAST_IN_SUBSET, -1, subsets)
    correlation = np.where(known >= least_models, item_rest(outcomes, subsets), np.nan)
    order = np.argsort(correlation, kind="stable")  # what is not known comes last
    backwards = np.argsort(-correlation, kind="stable")
    negative, best = order[correlation[order] < 0], backwards[correlation[backwards] > 0]
    return PairDiscrimination(correlation, best[:most], negative[:most])
