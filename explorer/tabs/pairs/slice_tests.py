"""How many pairs of a slice a model should win, as hard as they are for others, and what if not.

How hard a pair is, is the share p of models that win it. A few of these models are known, its
rivals, and they tell p with an error. Were that left out, a slice of hard pairs would look like a
weakness: it tells what the rivals do not. So

- the model's chance of a pair is a polynomial in p, found from pairs outside the slice. Of a pair
  that w of r rivals win, C(w, k) / C(r, k) is p**k without bias; sums of these stand for those of
  p**k in the normal equations, which are so free of the error;
- a further degree is taken while its coefficient is beyond sqrt(2) standard errors;
- how far the expectation may be off is told by both draws: of pairs, by the sandwich estimate, and
  of rivals, by the jackknife that leaves them out in groups; and one win and one loss more are
  taken to lie outside, as a model that has won all may lose one;
- wins in the slice are binomial, with a chance that is off by as much, in t. Pairs are not all as
  hard, which makes wins spread less than that, never more. Those of one prompt may go together: by
  as much as they do, wins and what is expected spread more.

Sources: normal equations of polynomials with errors, C.-L. Cheng and H. Schneeweiss, J. R. Stat.
Soc. B 60 (1998); degrees, H. Akaike, IEEE Trans. Autom. Control 19 (1974); the sandwich, H. White,
Econometrica 48 (1980); the jackknife by groups, P. Kott, J. Official Statistics 17 (2001); its
degrees of freedom in a sum, F. Satterthwaite, Biometrics Bulletin 2 (1946); the spread of unequal
chances, W. Hoeffding, Ann. Math. Stat. 27 (1956); pairs that go together, L. Kish, Survey Sampling
(1965), chapter 5.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.stats.strata import Floats, Whole

LEAST_RIVALS = 10
"""Other models that have to be known; of fewer, nobody knows what is hard."""
LEAST_OUTSIDE = 50
"""Pairs outside a slice that have to be known."""
MOST_DEGREE = 4
MOST_GROUPS = 20
FLOOR = 1e-12
"""Smaller p-values are given as this: below it they are rounding."""

_POWERS = 2 * MOST_DEGREE + 1
_SINGULAR = 1e-12
_NODES = 100
_FARTHEST = 50.0
"""Standard errors up to which an expectation may be off."""


@dataclass(frozen=True, slots=True, eq=False)
class AmongRivals:
    """A model's pairs, and what its rivals made of them.

    used: (pairs,), pairs known of the model; where there are enough rivals, of enough of these too:
        of `LEAST_RIVALS`, and of half of them.
    won: (used,), whether the model wins.
    rival_wins, rival_knows: (rivals, used), whether a rival wins, and whether its outcome is known.
        Rivals are the models that know half of the pairs that the model knows, or more.
    clusters: (used,), a number for the pairs of each prompt.
    tested: whether there are enough rivals.
    """

    used: NDArray[np.bool_]
    won: NDArray[np.bool_]
    rival_wins: NDArray[np.bool_]
    rival_knows: NDArray[np.bool_]
    clusters: Whole
    tested: bool

    @property
    def rivals(self) -> int:
        """How many there are."""
        return len(self.rival_wins)

    @property
    def others(self) -> Floats:
        """(used,), the share of the rivals that win each pair, 0 to 1; NaN where none is known."""
        known = self.rival_knows.sum(axis=0)
        wins = self.rival_wins.sum(axis=0)
        share: Floats = np.divide(wins, known, out=np.full(len(known), np.nan), where=known > 0)
        return share


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """What is expected of a model in some slices.

    n, won: (slices,), known pairs and the model's wins.
    wins: (slices,), what it should win; NaN where the pairs outside do not tell.
    error: (slices,), the standard error of `wins`. freedom: its degrees of freedom, 1 or more.
    powers: (slices, degree + 1), sums of p**0, p**1 and so on. curve: likewise, the chance of a win
        as coefficients of these, from the pairs outside.
    """

    n: Whole
    won: Whole
    wins: Floats
    error: Floats
    freedom: Floats
    powers: Floats
    curve: Floats

    def at(self, rows: Whole) -> "Expected":
        """The same of some of the slices."""
        return Expected(*(getattr(self, each.name)[rows] for each in fields(self)))

    def within(self, whole: "Expected") -> "Expected":
        """The same, were the model as far off as it is in the rest of the slices that hold these.

        whole: of (slices,), each with the pairs of the one here and others.
        """
        n = whole.n - self.n
        wins = (self.curve * (whole.powers - self.powers)).sum(axis=1)
        chance = np.clip(wins / n, 0, 1)
        each = self.n / n
        error = np.sqrt(self.error**2 + each**2 * n * chance * (1 - chance))
        return replace(self, wins=self.wins + each * (whole.won - self.won - wins), error=error)


def among_rivals(
    outcome: NDArray[np.floating],
    field: NDArray[np.floating] | None,
    clusters: Whole | None = None,
) -> AmongRivals:
    """Put a model beside its rivals; all as of `explorer.tabs.pairs.slices.by_condition`.

    Raises:
        ValueError: the shapes do not fit.

    >>> found = among_rivals(np.array([1.0, 0.5, np.nan]), np.array([[1.0, 0.0, 1.0]]))
    >>> found.used, found.won, found.others, found.tested
    (array([ True,  True, False]), array([ True, False]), array([1., 0.]), False)
    """
    if outcome.ndim != 1 or (field is not None and field.shape[1:] != outcome.shape):
        shape = None if field is None else field.shape
        raise ValueError(f"outcomes of shape {outcome.shape}, of the others {shape}")
    used = ~np.isnan(outcome)
    others = np.zeros((0, used.sum())) if field is None else field[:, used]
    others = others[(~np.isnan(others)).mean(axis=1) >= 0.5] if others.size else others[:0]
    knows = ~np.isnan(others)
    enough = knows.sum(axis=0) >= max(LEAST_RIVALS, len(others) / 2)
    if tested := bool(enough.any()):
        used[used] = enough
        others, knows = others[:, enough], knows[:, enough]
    numbers = np.arange(len(used)) if clusters is None else clusters
    distinct = np.unique(numbers[used], return_inverse=True)[1]
    return AmongRivals(used, outcome[used] == 1, others == 1, knows, distinct, tested)


class Expectation:
    """What is expected in any slice of a model that can be tested. degree: of the polynomial."""

    def __init__(self, model: AmongRivals) -> None:
        from scipy import sparse  # type: ignore[import-untyped]

        groups = np.array_split(np.arange(model.rivals), min(MOST_GROUPS, model.rivals))
        self._shares = np.array([len(group) / model.rivals for group in groups])
        """Of the rivals, which each group is."""
        wins, knows = model.rival_wins.sum(axis=0), model.rival_knows.sum(axis=0)
        left = [(model.rival_wins[each].sum(0), model.rival_knows[each].sum(0)) for each in groups]
        self._counts = [(wins, knows), *((wins - w, knows - k) for w, k in left)]
        """Wins and known outcomes of each pair: of all rivals, and without each group."""
        self._won = model.won
        n = len(model.won)
        of_cluster = (np.ones(n), (np.arange(n), model.clusters))
        self._clusters = sparse.csr_array(of_cluster)
        self._whole = self._sums(np.ones((1, n)))
        self.degree = self._degree()
        apart, together = self._spread(sparse.csr_array(np.ones((1, n))))
        self._kish = together / np.maximum(apart, FLOOR)
        """How much more all wins vary, as pairs of a cluster go together."""

    def of(self, members: Any) -> Expected:
        """What is expected in slices.

        members: (slices, used), a sparse array of scipy: 1 where a pair is in the slice, of which
            each slice has one at least.
        """
        inside = self._sums(members)
        outside = self._whole - inside
        curves, inverse = _curve(outside, self.degree)
        powers = inside[..., : self.degree + 1]
        wins = (curves * powers).sum(axis=-1)
        weights = (inverse[0] @ powers[0, ..., None])[..., 0]
        of_rivals = self._jackknife(wins)
        moments = outside[0][:, _square(self.degree)]
        told = (moments @ weights[..., None])[..., 0]
        n, rest = powers[0, :, 0], outside[0, :, 0]
        is_told = (np.abs(told - powers[0]) <= 1e-6 * n[:, None]).all(axis=1)
        is_told &= rest >= LEAST_OUTSIDE
        share = (np.clip(wins[0] / n, 0, 1) * rest + 1) / (rest + 2)
        apart, together = self._spread(members)
        of_pairs = self._kish * self._of_pairs(members, weights) + together - apart
        variance = of_pairs + of_rivals + (n / (rest + 2)) ** 2
        freedom = (len(self._shares) - 1) * variance**2 / np.maximum(of_rivals, 1e-12) ** 2
        return Expected(
            n=np.round(n).astype(np.intp),
            won=np.round(inside[0, :, _POWERS]).astype(np.intp),
            wins=np.where(is_told, share * n, np.nan),
            error=np.sqrt(variance),
            freedom=np.clip(freedom, 1.0, 1e9),
            powers=powers[0],
            curve=curves[0],
        )

    def _spread(self, members: Any) -> tuple[Floats, Floats]:
        """The variance of wins as if pairs were independent, and, no smaller, as they are."""
        values = self._values(*self._counts[0])
        curve = _curve(self._whole, self.degree)[0][0, 0]
        off = self._won - values[:, : self.degree + 1] @ curve
        n, total = members.sum(axis=1), members @ off
        mean = total / n
        pairs, sums = members @ self._clusters, members.multiply(off) @ self._clusters
        apart = members @ off**2 - mean * total
        crossed = sums.multiply(pairs).sum(axis=1)
        squares = sums.power(2).sum(axis=1), pairs.power(2).sum(axis=1)
        together = squares[0] - 2 * mean * crossed + mean**2 * squares[1]
        return apart, np.maximum(apart, together)

    def _values(self, wins: Whole, known: Whole) -> Floats:
        """(used, values): of each pair, p**k up to twice the degree; if it is won, up to it."""
        powers = np.ones((len(wins), _POWERS))
        for k in range(_POWERS - 1):
            powers[:, k + 1] = powers[:, k] * (wins - k) / (known - k)
        return np.hstack([powers, powers[:, : MOST_DEGREE + 1] * self._won[:, None]])

    def _sums(self, members: Any) -> Floats:
        """(1 + groups, slices, values), over the pairs of each slice."""
        return np.stack([members @ self._values(*counts) for counts in self._counts])

    def _degree(self) -> int:
        nothing = np.zeros((1, len(self._won)))
        for degree in range(2, MOST_DEGREE + 1):
            curves, inverse = _curve(self._whole, degree)
            of_pairs = self._of_pairs(nothing, inverse[0][:, -1], degree)
            variance = of_pairs + self._jackknife(curves[..., -1])
            if curves[0, 0, -1] ** 2 <= 2 * variance[0]:
                return degree - 1
        return MOST_DEGREE

    def _jackknife(self, found: Floats) -> Floats:
        """The variance, over rivals, of what was found with all (first) and without each group."""
        squares: Floats = (1 - self._shares) @ (found[1:] - found[0]) ** 2
        return squares

    def _of_pairs(self, members: Any, weights: Floats, degree: int | None = None) -> Floats:
        """The variance, over pairs outside each slice, of a sum of the curve's coefficients."""
        degree = degree or self.degree
        curve = _curve(self._whole, degree)[0][0, 0]
        values = self._values(*self._counts[0])
        of_pair = values[:, _POWERS : _POWERS + degree + 1] - values[:, _square(degree)] @ curve
        squares = (of_pair[:, :, None] * of_pair[:, None, :]).reshape(len(of_pair), -1)
        outside = (squares.sum(axis=0) - members @ squares).reshape(-1, degree + 1, degree + 1)
        variance: Floats = np.einsum("si,sij,sj->s", weights, outside, weights)
        return variance


def tails(expected: Expected) -> Floats:
    """How likely so few wins, and so many, are in slices of which others are expected.

    Returns:
        (2, slices): P(so many or fewer), P(so many or more); `FLOOR` to 1, both 1 where nothing is
        expected.
    """
    from scipy import special

    n, won = expected.n[:, None], expected.won[:, None]
    edges = np.sinh(np.linspace(-1, 1, _NODES + 1) * np.arcsinh(_FARTHEST))
    middles = (edges[1:] + edges[:-1]) / 2
    weights = np.diff(special.stdtr(expected.freedom[:, None], edges), axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    wins = np.nan_to_num(expected.wins)[:, None] + expected.error[:, None] * middles
    chance = np.clip(wins / n, 0.0, 1.0)
    few = (special.bdtr(won, n, chance) * weights).sum(axis=1)
    many = (special.bdtr(n - won, n, 1 - chance) * weights).sum(axis=1)
    found: Floats = np.where(np.isnan(expected.wins), 1.0, np.clip([few, many], FLOOR, 1.0))
    return found


def _curve(sums: Floats, degree: int) -> tuple[Floats, Floats]:
    """(..., degree + 1) the coefficients, and the inverse of the matrix that they solve."""
    inverse: Any = np.linalg.pinv(sums[..., _square(degree)], _SINGULAR, hermitian=True)
    won = sums[..., _POWERS : _POWERS + degree + 1]
    return (inverse @ won[..., None])[..., 0], inverse


def _square(degree: int) -> Whole:
    """Where the normal equations have which power: i + j."""
    return np.add.outer(np.arange(degree + 1), np.arange(degree + 1))
