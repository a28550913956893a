"""Margins of one model: how they are spread, and whether a wide one can be trusted.

The margin of a pair is its chosen reward minus its rejected reward: above 0 the pair is won, at 0
it is a tie, which does not count as won. Rewards are (pairs,), unbounded; NaN or infinite where
missing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.data.facets import Mask
from scoring.interval import Interval, wilson
from scoring.strata import Floats

_Rewards = NDArray[np.floating]

MARGIN_BINS = 15
"""On each side of zero."""
REWARD_BINS = 30
CALIBRATION_BINS = 10
_REACH = 0.99
"""Histograms reach so far; a very wide margin does not flatten the rest."""
_QUARTERS = (0.25, 0.75)


def margins(chosen: _Rewards, rejected: _Rewards) -> Floats:
    """Chosen minus rejected, (pairs,); NaN where either is missing.

    >>> margins(np.array([1.0, np.inf, np.nan]), np.array([0.5, 0.0, 1.0]))
    array([0.5, nan, nan])
    """
    known = np.isfinite(chosen) & np.isfinite(rejected)
    difference = np.full(chosen.shape, np.nan)
    np.subtract(chosen, rejected, out=difference, where=known, dtype=np.float64)
    return difference


@dataclass(frozen=True, slots=True)
class MarginHistogram:
    """How many pairs have each margin.

    edges: one more than there are bins, of equal width, from -limit to limit; the middle one is 0.
        A bin holds its right edge: those above 0 are wins, those below it losses, and the last of
        these has the ties. The outermost bins hold all that is farther out. Without rewards there
        are no edges and no bins.
    counts: pairs of each bin.
    wins, losses, ties: pairs in all.
    low, high: the least and the greatest margin; 0 without rewards.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    wins: int
    losses: int
    ties: int
    low: float
    high: float


def margin_histogram(
    chosen: _Rewards,
    rejected: _Rewards,
    bins: int = MARGIN_BINS,
    counted: NDArray[np.integer] | None = None,
) -> MarginHistogram:
    """Bin the margins, the same way on both sides of zero, out to 99 % of the pairs.

    bins: on each side; at least 1. counted: the pairs that are counted in the bins of all, such as
    those that pass a filter; None for all.
    """
    found = margins(chosen, rejected)
    known = found[~np.isnan(found)]
    if not len(known):
        return MarginHistogram((), (), 0, 0, 0, 0.0, 0.0)
    limit = _limit(abs(known))
    if counted is not None:
        known = found[counted][~np.isnan(found[counted])]
    half = np.linspace(0, limit, bins + 1)
    edges = np.append(-half[:0:-1], half)
    place = np.clip(np.searchsorted(edges, known, side="left") - 1, 0, 2 * bins - 1)
    return MarginHistogram(
        edges=tuple(edges.tolist()),
        counts=tuple(np.bincount(place, minlength=2 * bins).tolist()),
        wins=int((known > 0).sum()),
        losses=int((known < 0).sum()),
        ties=int((known == 0).sum()),
        low=float(known.min()) if len(known) else 0.0,
        high=float(known.max()) if len(known) else 0.0,
    )


@dataclass(frozen=True, slots=True)
class RewardHistogram:
    """How many responses of each side have each reward.

    edges: one more than there are bins, of equal width, common to both sides; empty without
        rewards. The outermost bins hold all that is farther out.
    chosen, rejected: responses of each bin.
    """

    edges: tuple[float, ...]
    chosen: tuple[int, ...]
    rejected: tuple[int, ...]


def reward_histogram(
    chosen: _Rewards, rejected: _Rewards, bins: int = REWARD_BINS
) -> RewardHistogram:
    """Bin the rewards of the pairs that have both, from the 0.5 % to the 99.5 % quantile of all."""
    known = ~np.isnan(margins(chosen, rejected))
    sides = [side[known].astype(np.float64) for side in (chosen, rejected)]
    if not known.any():
        return RewardHistogram((), (), ())
    ends = (1 - _REACH) / 2, (1 + _REACH) / 2
    low = np.quantile(np.concatenate(sides), ends[0], method="lower")
    high = np.quantile(np.concatenate(sides), ends[1], method="higher")
    edges = np.linspace(low, high if high > low else low + max(1.0, 1e-6 * abs(low)), bins + 1)
    counts = [np.histogram(np.clip(side, edges[0], edges[-1]), edges)[0] for side in sides]
    return RewardHistogram(
        tuple(edges.tolist()), tuple(counts[0].tolist()), tuple(counts[1].tolist())
    )


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Pairs whose margins are about as wide.

    low, high: the least and the greatest |margin|.
    confidence: the mean over them of sigmoid(|margin|), 0.5 to 1: how often the model says that it
        is right.
    n: pairs. wins: of them; a tie is none.
    interval: Wilson's 95 %, of the share won.
    """

    low: float
    high: float
    confidence: float
    n: int
    wins: int
    interval: Interval

    @property
    def accuracy(self) -> float:
        """The share of the pairs that it wins: how often it is right."""
        return self.wins / self.n


@dataclass(frozen=True, slots=True)
class Calibration:
    """Whether a model is right as often as its margins say.

    bins: from the narrowest margins to the widest; none without rewards.
    n: pairs in all.
    error: the expected calibration error, sum_b n_b |accuracy_b - confidence_b| / n, 0 to 1; None
        without rewards.
    """

    bins: tuple[CalibrationBin, ...]
    n: int
    error: float | None


def calibration(chosen: _Rewards, rejected: _Rewards, bins: int = CALIBRATION_BINS) -> Calibration:
    """How often wide margins are right, in bins of about as many pairs.

    A reward model of the Bradley-Terry kind says that the response it prefers is the better one
    with probability sigmoid(|margin|). That is put to the test; for a model whose rewards have
    another unit (log-probabilities, a judge's marks) only the order of the bins means something.
    Equal margins are never in different bins, so there may be fewer.
    Source: C. Guo and others, On calibration of modern neural networks, ICML (2017), 2 and 3; with
    bins of equal counts.

    bins: at most so many; at least 1.
    """
    found = margins(chosen, rejected)
    known = found[~np.isnan(found)]
    if not len(known):
        return Calibration((), 0, None)
    width = abs(known)
    inner = np.quantile(width, np.arange(1, bins) / bins, method="higher")
    places = np.searchsorted(np.unique(inner), width, side="right")
    each = tuple(
        _bin(known[places == place], width[places == place]) for place in np.unique(places)
    )
    error = sum(one.n * abs(one.accuracy - one.confidence) for one in each) / len(known)
    return Calibration(each, len(known), error)


def near_misses(chosen: _Rewards, rejected: _Rewards) -> Mask:
    """Losses and ties that were close: |margin| is in the smallest quarter of the model's pairs.

    The quarter's end, the 25 % quantile of |margin|, is in it.

    >>> near_misses(np.array([0.9, 0.0, 5.0, 9.0]), np.array([1.0, 4.0, 0.0, 0.0]))
    array([ True, False, False, False])
    """
    found, ends = _with_quarters(chosen, rejected)
    missed: Mask = (found <= 0) & (abs(found) <= ends[0])
    return missed


def confident_losses(chosen: _Rewards, rejected: _Rewards) -> Mask:
    """Losses that were clear: |margin| is in the largest quarter of the model's pairs.

    The quarter's end, the 75 % quantile of |margin|, is in it; a tie is no loss here.

    >>> confident_losses(np.array([0.9, 0.0, 3.0, 2.0]), np.array([1.0, 4.0, 0.0, 0.0]))
    array([False,  True, False, False])
    """
    found, ends = _with_quarters(chosen, rejected)
    lost: Mask = (found < 0) & (abs(found) >= ends[1])
    return lost


def _with_quarters(chosen: _Rewards, rejected: _Rewards) -> tuple[Floats, Floats]:
    found = margins(chosen, rejected)
    known = found[~np.isnan(found)]
    ends = np.quantile(abs(known), _QUARTERS) if len(known) else np.full(2, np.nan)
    return found, ends


def _bin(known: Floats, width: Floats) -> CalibrationBin:
    wins, n = int((known > 0).sum()), len(known)
    return CalibrationBin(
        low=float(width.min()),
        high=float(width.max()),
        confidence=float((1 / (1 + np.exp(-width))).mean()),
        n=n,
        wins=wins,
        interval=wilson(wins, n) or Interval(0.0, 1.0),
    )


def _limit(widths: Floats) -> float:
    """How far a histogram reaches; above 0, and far enough for its bins to have different edges."""
    reach = float(np.quantile(widths, _REACH, method="higher")) or float(widths.max()) or 1.0
    return max(reach, float(np.finfo(np.float64).tiny))
