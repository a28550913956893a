"""How much reward a mere change of form buys: a mean with its interval, and what it turns round."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np

from explorer.stats.paired import holm, mcnemar_exact
from explorer.stats.strata import Floats
from explorer.tabs.try_it.counterfactuals import Change, Side

ALPHA = 0.05
_NOTHING = 1e-9
"""A spread of changes that is smaller, beside the largest of them, is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class ProbeScores:
    """What a probe knows so far; arrays are (pairs,), NaN where something is not known.

    margin: of each pair as it is.
    change: by which the reward of a response changed, by change and side; `changed`: the margin of
        the pair then, as of `counterfactuals.Effect`.
    applies: by change and side, how many responses the change does anything to.
    """

    margin: Floats
    change: Mapping[tuple[Change, Side], Floats]
    changed: Mapping[tuple[Change, Side], Floats]
    applies: Mapping[tuple[Change, Side], int]


@dataclass(frozen=True, slots=True)
class Bought:
    """What one change of the responses of one side bought.

    applies: responses that it does anything to; n: those whose reward is known before and after.
    mean: by which the reward changed; None where n is 0.
    low, high: the mean's 95 % interval; None where n is below 2.
    deviations: the mean in standard deviations of the margins of the probed pairs; None where
        these have none.
    up, down: rewards that rose, and fell.
    won, lost: pairs that are won only with the change, and only without it. A tie is not won.
    p: two-sided, of the mean being 0; corrected: by Holm's way for all that were tested.
    """

    change: Change
    side: Side
    applies: int
    n: int
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    deviations: float | None = None
    up: int = 0
    down: int = 0
    won: int = 0
    lost: int = 0
    p: float = 1.0
    corrected: float = 1.0

    @property
    def share_up(self) -> float | None:
        """Of the responses, whose reward rose; None where n is 0."""
        return self.up / self.n if self.n else None

    @property
    def share_flipped(self) -> float | None:
        """Of the pairs, whose outcome changed; None where n is 0."""
        return (self.won + self.lost) / self.n if self.n else None

    @property
    def is_sure(self) -> bool:
        """Whether the mean is not 0 by chance."""
        return bool(self.mean) and self.corrected < ALPHA


def bought(scores: ProbeScores) -> list[Bought]:
    """What each change bought on each side, in the order of `scores.applies`.

    All of it speaks of other pairs like these, and takes them to be independent, which those with
    the same prompt are not quite.

    >>> key = ("longer", "chosen")
    >>> change, margin = np.array([1.0, 3.0, np.nan]), np.array([-0.5, 2.0, 1.0])
    >>> [found] = bought(ProbeScores(margin, {key: change}, {key: margin + change}, {key: 3}))
    >>> found.n, found.mean, found.up, found.won, found.lost
    (2, 2.0, 2, 1, 0)
    """
    spread = _spread(scores.margin[~np.isnan(scores.margin)])
    found = [_bought(key, scores, spread) for key in scores.applies]
    tested = [place for place, each in enumerate(found) if each.n >= 2]
    corrected = holm([found[place].p for place in tested])
    for place, p in zip(tested, corrected.tolist(), strict=True):
        found[place] = replace(found[place], corrected=p)
    return found


def _bought(key: tuple[Change, Side], scores: ProbeScores, spread: float) -> Bought:
    change, changed = scores.change[key], scores.changed[key]
    known = ~np.isnan(change)
    values = change[known]
    n = len(values)
    if not n:
        return Bought(*key, scores.applies[key], 0)
    both = known & ~np.isnan(changed) & ~np.isnan(scores.margin)
    was, now = scores.margin[both] > 0, changed[both] > 0
    mean, wide, p = _mean(values)
    return Bought(
        *key,
        scores.applies[key],
        n,
        mean,
        None if wide == inf else mean - wide,
        None if wide == inf else mean + wide,
        mean / spread if spread else None,
        int((values > 0).sum()),
        int((values < 0).sum()),
        int((now & ~was).sum()),
        int((was & ~now).sum()),
        p,
    )


def _mean(values: Floats) -> tuple[float, float, float]:
    """The mean of values, half of the width of its 95 % interval, and p of its being 0.

    By Student's t. Where all values are equal, of which t says nothing, p is the sign test's.
    Source: Student, The probable error of a mean, Biometrika 6 (1908).

    >>> mean, wide, p = _mean(np.array([1.0, 2.0, 3.0]))
    >>> mean, round(wide, 3), round(p, 4)
    (2.0, 2.484, 0.0742)
    >>> _mean(np.array([2.0, 2.0])), _mean(np.array([2.0]))
    ((2.0, 0.0, 0.5), (2.0, inf, 1.0))
    """
    from scipy import special  # type: ignore[import-untyped]

    n, mean = len(values), float(values.mean())
    if n < 2:
        return mean, inf, 1.0
    spread = _spread(values)
    if spread == 0:
        return mean, 0.0, mcnemar_exact(int((values > 0).sum()), int((values < 0).sum()))
    error = spread / sqrt(n)
    wide = float(special.stdtrit(n - 1, 0.975)) * error
    return mean, wide, 2 * float(special.stdtr(n - 1, -abs(mean / error)))


def _spread(values: Floats) -> float:
    """The standard deviation; 0 where there are fewer than two values, or it is rounding."""
    if len(values) < 2:
        return 0.0
    spread = float(values.std(ddof=1))
    return spread if spread > _NOTHING * float(np.abs(values).max()) else 0.0
