"""A model's wins in slices of pairs, against those expected of it from pairs as difficult.

A pair is as easy as the share of other models, its rivals, that win it. Pairs of equal difficulty,
in hundredths, make a stratum. A model without a weakness wins the pairs of a slice as often as the
others of their strata: of all its wins in a stratum, those in the slice are a draw without
replacement. Their sum over strata has an exact distribution, into which no estimate goes (N. Mantel
and W. Haenszel, J. Natl. Cancer Inst. 22, 1959). It would be too sure in three ways:

- The share of few rivals has an error, so pairs of a difficult slice are more difficult than others
  with their share. Shares are pulled to what a pair's conditions predict, by the part of their
  spread that is such error (R. Fay and R. Herriot, J. Am. Stat. Assoc. 74, 1979).
- Other rivals would find other pairs difficult, as much as these disagree on the slice, which moves
  what is expected as much as the model's wins depend on difficulty.
- Pairs of one prompt go together, as much as the model's wins correlate within prompts.

By the root of how many times more wins vary for the last two, the normal deviate of the exact p is
divided (J. Rao and A. Scott, Annals of Statistics 12, 1984); it is then Student's, with degrees of
freedom by F. Satterthwaite, Biometrics Bulletin 2 (1946).
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from explorer.data.facets import Mask
from explorer.stats.difficulty import difficulty
from scoring.strata import Floats, Whole

LEAST_RIVALS = 10
"""Rivals that have to be known of a pair."""
LEAST_REFERENCE = 50
"""Pairs to compare a slice with."""
LEAST_IN_STRATUM = 10
"""Of these, pairs in each stratum but the easiest one: smaller strata are joined."""
MOST_APART = 0.05
"""Mean difference in difficulty between a slice and the pairs it is compared with."""
_NOTHING = 1e-9


class SliceTest(NamedTuple):
    """Wins of a model in a slice.

    n, wins: pairs, 1 or more, and those won; a half is no win.
    others: mean over the pairs of the share of rivals that win them; None if none is known.
    expected: the share to win, 0 to 1; None with too few rivals, or too few pairs as difficult.
    p_fewer, p_more: one-sided p of so few wins, and of so many; 1 if nothing is expected.
    """

    n: int
    wins: int
    others: float | None
    expected: float | None = None
    p_fewer: float = 1.0
    p_more: float = 1.0


class SliceTester:
    """Tests slices of one model's pairs.

    used: (pairs,), pairs known of the model and, if it can test, of enough rivals: half of them
        and `LEAST_RIVALS`. Masks of slices are of used pairs alone.
    n_rivals: other models that know half of the model's pairs.
    can_test: whether any pair has enough rivals.
    """

    def __init__(
        self,
        outcome: NDArray[np.floating],
        others: NDArray[np.floating],
        conditions: Sequence[Mask],
        clusters: Whole,
    ) -> None:
        """Choose rivals and pairs, and put pairs into strata of difficulty.

        Args:
            outcome: (pairs,) of the model, 0 to 1, a win is exactly 1, NaN is missing.
            others: (models, pairs), likewise, each model once and the model itself left out.
            conditions: (pairs,) each, what slices are made of.
            clusters: (pairs,), a number for the prompt of each, 0 or more.
        """
        known = ~np.isnan(outcome)
        n_common = (~np.isnan(others[:, known])).sum(axis=1)
        rivals = others[n_common >= max(1, known.sum() / 2)]
        n_rivals = difficulty(rivals).known
        enough = known & (n_rivals >= max(LEAST_RIVALS, len(rivals) / 2))
        self.n_rivals, self.can_test = len(rivals), bool(enough.any())
        self.used = enough if self.can_test else known
        self._won, self._clusters = outcome[self.used] == 1, clusters[self.used]
        self._others = 1 - difficulty(rivals[:, self.used]).share
        if self.can_test:
            masks = np.array([mask[self.used] for mask in conditions])
            self._stratify(rivals[:, self.used], n_rivals[self.used], masks)

    def test(self, members: Mask, reference: Mask | None = None) -> SliceTest:
        """Compare a slice of at least one pair with the reference, by default all other pairs."""
        from scipy import special  # type: ignore[import-untyped]

        reference = ~members if reference is None else reference
        others = self._others[members]
        known = others[~np.isnan(others)]
        n, wins = len(others), int(self._won[members].sum())
        untested = SliceTest(n, wins, float(known.mean()) if len(known) else None)
        if not self.can_test or reference.sum() < LEAST_REFERENCE:
            return untested
        stratum = self._merge_levels(reference)
        n_members, n_reference, won_members, won_reference = (
            np.bincount(stratum[mask], minlength=stratum.max() + 1)
            for mask in (members, reference, members & self._won, reference & self._won)
        )
        levels = np.bincount(stratum[reference], self._level[reference]) / n_reference
        if abs((self._level[members] - levels[stratum[members]]).mean()) > 100 * MOST_APART:
            return untested
        pairs, won = n_members + n_reference, won_members + won_reference
        weights = np.where(members | reference, members - (n_members / pairs)[stratum], 0.0)
        effect, freedom = self._design_effect(weights, (won / pairs)[stratum])
        tails = _tails(n_members, pairs, won, wins)
        p_fewer, p_more = special.stdtr(freedom, special.ndtri(tails) / np.sqrt(effect)).tolist()
        expected = float((n_members * won_reference / n_reference).sum() / n)
        return untested._replace(expected=expected, p_fewer=p_fewer, p_more=p_more)

    def _stratify(self, rivals: NDArray[np.floating], n_rivals: Whole, masks: Mask) -> None:
        share = _shrink_shares(self._others, n_rivals, masks)
        self._level = np.rint(100 * share).astype(np.intp)
        wins = np.where(np.isnan(rivals), np.nan, rivals == 1)
        centred = share - share.mean()
        slope = (centred @ self._won) / max(centred @ centred, _NOTHING)
        self._rival_residuals = slope * _residuals(wins, self._level) / n_rivals
        [residuals] = _residuals(self._won[None].astype(np.float64), self._level)
        chance = self._won - residuals
        most = self._sum_over_mates(np.sqrt(chance * (1 - chance)))
        self._correlation = self._sum_over_mates(residuals) / max(most, _NOTHING)

    def _merge_levels(self, reference: Mask) -> Whole:
        """The stratum of each pair: levels with `LEAST_IN_STRATUM` pairs of the reference."""
        levels, counts = np.unique(self._level[reference], return_counts=True)
        edges, n = [], 0
        for count, middle in zip(counts, (levels[:-1] + levels[1:]) / 2, strict=False):
            n += count
            if n >= LEAST_IN_STRATUM:
                edges.append(middle)
                n = 0
        return np.searchsorted(edges, self._level)

    def _design_effect(self, weights: Floats, chance: Floats) -> tuple[float, float]:
        """How many times more the weighted sum of wins varies than exactly, and its freedom."""
        spread = weights * np.sqrt(chance * (1 - chance))
        variance = (spread**2).sum()
        if variance <= 0:
            return 1.0, np.inf
        of_mates = max(0.0, self._correlation * self._sum_over_mates(spread)) / variance
        of_rivals = self.n_rivals * (self._rival_residuals @ weights).var(ddof=1) / variance
        effect = 1 + of_mates + of_rivals
        return effect, (self.n_rivals - 1) * (effect / max(of_rivals, _NOTHING)) ** 2

    def _sum_over_mates(self, values: Floats) -> float:
        """Sum of the products of each pair's value with those of the others of its prompt."""
        return float((np.bincount(self._clusters, values) ** 2).sum() - (values**2).sum())


def _shrink_shares(share: Floats, n_rivals: Whole, masks: Mask) -> Floats:
    """Shares nearer to those that conditions predict, by as much as they are error."""
    design = np.vstack([np.ones(len(share)), *masks]).T
    coefficients, _, rank, _ = np.linalg.lstsq(design, share)
    predicted = design @ coefficients
    error = (share * (1 - share) / (n_rivals - 1)).mean() * (len(share) - rank)
    spread = ((share - predicted) ** 2).sum()
    reliability = max(0.0, 1 - error / max(spread, _NOTHING))
    shrunk: Floats = (predicted + reliability * (share - predicted)).clip(0, 1)
    return shrunk


def _residuals(wins: Floats, level: Whole) -> Floats:
    """(models, pairs), each model's wins minus its mean win of the same level; 0 if unknown."""
    of_level = np.eye(101)[level]
    known = ~np.isnan(wins)
    means = np.nan_to_num(wins) @ of_level / np.maximum(known.astype(np.float64) @ of_level, 1)
    found: Floats = np.nan_to_num(wins - means[:, level])
    return found


def _tails(members: Whole, pairs: Whole, won: Whole, wins: int) -> Floats:
    """P(so few wins of members), P(so many), given all wins of each stratum; above 0."""
    from scipy import stats

    n_won = np.arange(members.max() + 1)
    strata = stats.hypergeom.pmf(n_won, pairs[:, None], won[:, None], members[:, None])
    law = reduce(np.convolve, [pmf[: n + 1] for pmf, n in zip(strata, members, strict=True)])
    tails = np.array([law[: wins + 1].sum(), law[wins:].sum()])
    return tails.clip(np.finfo(np.float64).tiny, 1.0)
