"""How much each pair weighs in a score: pairs in strata, strata in sections, sections in a score.

A *stratum* is a subset of the benchmark: its pairs weigh alike. Strata have weights within their
section and sections within the overall score, so RewardBench's own rule and a plain mean are both
said by the same four arrays. A *cluster* is the pairs of one prompt, which may lie in several
strata: they are not independent. Outcomes run from 0 to 1, a win is 1, NaN is missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.interval import Interval, wilson

Floats = NDArray[np.float64]
Whole = NDArray[np.intp]
DECIMALS = 12
"""Scores that differ by less are equal: what is left is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """The stratum of each pair, and the weight of each stratum.

    of_pair: stratum of each pair, from 0; -1 for a pair that counts nowhere.
    weights: of each stratum in its section; 0 or more, in any unit.
    sections: section of each stratum, from 0.
    section_weights: of each section in the overall score; 0 or more, in any unit.
    clusters: a number for the cluster of each pair; None where each pair is a cluster.

    The score of a model is
        sum_k v_k * (sum_s u_s * mean_s / sum_s u_s) / sum_k v_k
    over sections k with weight v and their strata s with weight u, where mean_s is the mean over
    the stratum's pairs that are known of the model. A stratum without such pairs is left out and
    its section's other strata make up for it; likewise a section without such strata.
    Source: `calculate_scores_per_section` in upstream's rewardbench/utils.py, and the weighted
    mean of sections in its analysis/get_benchmark_results.py.
    """

    of_pair: Whole
    weights: Floats
    sections: Whole
    section_weights: Floats
    clusters: Whole | None = None

    def only(self, section: int) -> "Strata":
        """A copy in which one section alone makes the score."""
        weights = np.zeros_like(self.section_weights)
        weights[section] = 1.0
        return replace(self, section_weights=weights)

    def columns(self) -> list[Whole]:
        """The pairs of each stratum."""
        return [np.flatnonzero(self.of_pair == stratum) for stratum in range(len(self.weights))]

    def counting(self) -> NDArray[np.bool_]:
        """Whether each pair is in a stratum with weight in the overall score."""
        counts = (self.weights > 0) & (self.section_weights[self.sections] > 0)
        return np.append(counts, False)[self.of_pair]

    def counted(self) -> "Strata":
        """A copy of the pairs that count, in their order."""
        at = self.counting()
        clusters = None if self.clusters is None else self.clusters[at]
        return replace(self, of_pair=self.of_pair[at], clusters=clusters)

    def shares(self, counts: ArrayLike) -> Floats:
        """The share of each stratum in the overall score.

        counts: (..., strata) known pairs of each. The shares have this shape; each last axis sums
            to 1, and to 0 where no stratum with weight has a pair.
        """
        known = self.weights * (np.asarray(counts) > 0)
        in_section = self.sections[:, None] == np.arange(len(self.section_weights))
        totals = known @ in_section
        section = self.section_weights * (totals > 0)
        whole = section.sum(axis=-1, keepdims=True)
        factors = _ratio(section, totals * np.where(whole > 0, whole, 1.0))
        shares: Floats = known * factors[..., self.sections]
        return shares


def strata(
    of_pair: ArrayLike,
    weights: ArrayLike,
    sections: ArrayLike,
    section_weights: ArrayLike,
    clusters: ArrayLike | None = None,
) -> Strata:
    """Strata from plain numbers or arrays of any dtype; `Strata` says what they mean."""
    return Strata(
        np.asarray(of_pair, dtype=np.intp),
        np.asarray(weights, dtype=np.float64),
        np.asarray(sections, dtype=np.intp),
        np.asarray(section_weights, dtype=np.float64),
        None if clusters is None else np.asarray(clusters, dtype=np.intp),
    )


def benchmark_strata(
    names: Sequence[str],
    codes: NDArray[np.int32],
    sections: Mapping[str, Mapping[str, float]],
    section_weights: Mapping[str, float] | None,
    clusters: ArrayLike | None = None,
) -> Strata:
    """The strata of pairs by a benchmark's rule: a stratum for each subset, section by section.

    names, codes: `names[codes[pair]]` is a pair's subset; one that is in no section counts nowhere.
    sections: section -> subset -> weight in the section. A subset is in one section only.
    section_weights: section -> weight in the overall score, 0 if it has none; None weighs each by
        its pairs.
    clusters: of the pairs, as `Strata` has them.
    """
    in_order = (subset for weights in sections.values() for subset in weights)
    place = {name: at for at, name in enumerate(in_order)}
    lookup = np.array([place.get(name, -1) for name in names], dtype=np.intp)
    of_pair, weights = lookup[codes], [*sections.values()]
    of_section = [at for at, subsets in enumerate(weights) for _ in subsets]
    if section_weights is None:
        counts = np.bincount(of_pair[of_pair >= 0], minlength=len(of_section))
        by_section = np.bincount(of_section, counts, len(sections)).tolist()
    else:
        by_section = [section_weights.get(section, 0) for section in sections]
    each = [weight for subsets in weights for weight in subsets.values()]
    return strata(of_pair, each, of_section, by_section, clusters)


def one_stratum(n_pairs: int, clusters: ArrayLike | None = None) -> Strata:
    """All pairs in one stratum: the score is the plain mean."""
    return strata(np.zeros(n_pairs), [1.0], [0], [1.0], clusters)


def score_weights(groups: Strata, known: ArrayLike) -> Floats:
    """Each pair's weight, so that a model's overall score is sum_i w_i x_i over its known pairs.

    w_i = share of the stratum (`Strata.shares`) / known pairs of the stratum.

    known: (..., pairs) whether the pair's outcome is known. The weights have this shape: 0 for a
        pair that is missing or counts nowhere; each last axis sums to 1, or to 0 where nothing that
        counts is known.
    """
    mask = np.asarray(known, dtype=bool)
    counts = np.stack([mask[..., at].sum(axis=-1) for at in groups.columns()], axis=-1)
    each = _ratio(groups.shares(counts), counts)
    padded = np.concatenate([each, np.zeros((*each.shape[:-1], 1))], axis=-1)
    return np.where(mask, padded[..., groups.of_pair], 0.0)


def score_models(outcomes: ArrayLike, groups: Strata) -> Floats:
    """The scores of models by the rule of `groups`, (models,); NaN where nothing is known.

    outcomes: (models, pairs), NaN for missing.
    """
    matrix = checked_outcomes(outcomes, groups)
    sums, counts = stratum_sums(matrix, groups)
    shares = groups.shares(counts)
    scores = (shares * _ratio(sums, counts)).sum(axis=-1)
    return np.where(shares.any(axis=-1), scores, np.nan)


def score_intervals(outcomes: ArrayLike, groups: Strata) -> list[Interval | None]:
    """A 95 % interval of each model's overall score, None where it has no pair that counts.

    Wilson's interval at the number of pairs that, drawn one by one, would be as sure as these
    (`effective_pairs`, of the variance that `error_parts` makes of strata and clusters). It holds
    the score, and has a width where a model wins every pair. In simulations with RewardBench's
    strata and prompts it holds the true score in 94 % of cases or more, up to scores of .995; at
    .999 in 91 % or more, as Wilson's does.
    Source: C. Franco et al., J. Survey Statistics and Methodology 7 (2019), for Wilson's interval
    at an effective number.

    outcomes: (models, pairs), 0 to 1, NaN for missing.
    groups: the strata and clusters of the pairs; of one section, `Strata.only`.

    >>> [all_won] = score_intervals([[1] * 358], one_stratum(358))
    >>> round(all_won.low, 3), all_won.high
    (0.989, 1.0)
    """
    matrix = checked_outcomes(outcomes, groups)
    scores = score_models(matrix, groups)
    weights = score_weights(groups, ~np.isnan(matrix))
    variance = (error_parts(matrix, groups, 0.5) ** 2).sum(axis=1)
    effective = effective_pairs(weights, groups, variance, scores * (1 - scores))
    return [
        None if np.isnan(score) else wilson(score * n, n)
        for score, n in zip(scores.tolist(), effective.tolist(), strict=True)
    ]


def stratum_sums(matrix: Floats, groups: Strata) -> tuple[Floats, Whole]:
    """Sum of the known values, and their number, both (models, strata).

    Equal rows give equal sums to the last bit.
    """
    missing = np.isnan(matrix)
    filled = np.where(missing, 0.0, matrix) if missing.any() else matrix
    n = (len(matrix), len(groups.weights))
    sums, counts = np.zeros(n), np.zeros(n, dtype=np.intp)
    for stratum, at in enumerate(groups.columns()):
        sums[:, stratum] = filled[:, at].sum(axis=1)
        counts[:, stratum] = len(at) - missing[:, at].sum(axis=1)
    return sums, counts


def error_parts(values: Floats, groups: Strata, alone: float) -> Floats:
    """The part of each cluster in the error of a weighted mean: its variance is the sum of squares.

    With w_i the weight of pair i (`score_weights`), n_s the known pairs of its stratum and m_s
    their mean, the part of a cluster is the sum over its pairs of
        w_i sqrt(n_s / (n_s - 1)) (x_i - m_s).
    Where each pair is its own cluster that is the variance of a stratified mean.
    Source: W. G. Cochran, Sampling Techniques (1977), 5.3 to 5.6; of clusters, A. C. Cameron and
    D. L. Miller, J. Human Resources 50 (2015), section II, the strata being the regressors.

    values: (models, pairs), NaN for missing; the parts are (models, clusters).
    alone: what a pair that is alone in its stratum is measured from, having no spread.

    >>> parts = error_parts(np.array([[1.0, 0.0, 1.0, 0.0]]), one_stratum(4, [0, 0, 1, 2]), 0.5)
    >>> round(float((parts**2).sum()), 4)
    0.0417
    """
    sums, counts = stratum_sums(values, groups)
    means = np.where(counts > 1, _ratio(sums, counts), alone)
    each = _ratio(groups.shares(counts), np.sqrt(counts * np.maximum(counts - 1.0, 1.0)))
    none = np.zeros((len(values), 1))
    means, each = np.hstack([means, none]), np.hstack([each, none])
    parts = each[:, groups.of_pair] * (values - means[:, groups.of_pair])
    return cluster_sums(np.where(np.isnan(parts), 0.0, parts), groups)


def effective_pairs(
    weights: Floats, groups: Strata, variance: Floats, variance_of_one: Floats
) -> Floats:
    """Effective sample size: how many equally weighted random pairs would be as sure as these.

    That is variance_of_one / variance, but where there is little to see of the spread, in the few
    pairs that are lost near 1, say, the ratio is worth little. So two pairs' worth of spread are
    added, as if the pairs of a cluster were all alike. With n = 1 / sum_i w_i**2 and
    m = 1 / sum_c (sum_i w_i)**2 over the clusters c:
        n (n variance_of_one + 2) / (n**2 variance + 2 n / m).
    Source: L. Kish, Survey Sampling (1965), 8.2 and 11.7; E. Korn and B. Graubard, Survey
    Methodology 24 (1998), for intervals; the two pairs are this project's, by simulation.

    weights: (models, pairs), as of `score_weights`.
    variance, variance_of_one: (models,), of the weighted mean and of one pair. The result has this
        shape, and is 0 where no pair counts.
    """
    n = _ratio(np.ones(len(weights)), (weights**2).sum(axis=1))
    alike = (cluster_sums(weights, groups) ** 2).sum(axis=1)
    found: Floats = n * _ratio(n * variance_of_one + 2, n**2 * variance + 2 * n * alike)
    return found


def cluster_sums(values: Floats, groups: Strata) -> Floats:
    """Sums over the pairs of each cluster, (models, clusters); of values (models, pairs).

    Where every pair is independent, the values themselves.

    >>> cluster_sums(np.array([[1.0, 2.0, 4.0]]), one_stratum(3, [7, 0, 7]))
    array([[2., 5.]])
    """
    if groups.clusters is None or not values.size:
        return values
    order = np.argsort(groups.clusters, kind="stable")
    _, starts = np.unique(groups.clusters[order], return_index=True)
    sums: Floats = np.add.reduceat(values[:, order], starts, axis=1)
    return sums


def checked_outcomes(outcomes: ArrayLike, groups: Strata) -> Floats:
    """The outcome matrix in double precision, or a ValueError.

    Its pairs must be those of `groups`, and its outcomes lie between 0 and 1.
    """
    matrix = np.asarray(outcomes, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != len(groups.of_pair):
        raise ValueError(
            f"outcomes of shape {matrix.shape}, not (models, {len(groups.of_pair)} pairs)"
        )
    if ((matrix < 0) | (matrix > 1)).any():
        raise ValueError("an outcome is not between 0 and 1")
    return matrix


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """Above / below, 0 where below is 0."""
    ratio: Floats = np.divide(above, below, out=np.zeros(np.shape(above)), where=below > 0)
    return ratio
