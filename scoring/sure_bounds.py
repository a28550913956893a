"""What the pairs scored so far tell of a whole selection: an estimate with its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Literal, get_args

from scoring.benchmark import WEIGHTS, overall_score, section_of, section_scores
from scoring.finite import finite_interval, most_marked

Number = Literal["accuracy", "score"]
NUMBERS: tuple[Number, ...] = get_args(Number)
_BORROWED = 5.0
"""Pairs with the spread of all that a section's own are mixed with: a few may have none."""


@dataclass(slots=True)
class Seen:
    """Pairs of one subset. total: in the selection; the others are counted so far.

    tie: what a tie counts, as a part of a win.
    """

    total: int
    won: int = 0
    counted: int = 0
    missing: int = 0
    tied: int = 0
    tie: float = 0.0

    @property
    def credit(self) -> float:
        """Wins, and what ties count."""
        return self.won + self.tie * self.tied

    @property
    def countable(self) -> int:
        """The most pairs that can turn out to count."""
        return self.total - self.missing


def bounds(
    seen: Mapping[str, Seen], number: Number, alpha: float
) -> tuple[float | None, float, float]:
    """An estimate of a number over a whole selection, and an interval that misses it with alpha.

    The accuracy's is `finite_interval`, which is exact. Where a tie counts t, it is 1 - t of the
    interval of the share that is won and t of that of the share won or tied, each at alpha / 2,
    which holds by Bonferroni's inequality. The score's is the same, of all credit, at the number
    of pairs that would tell as much of a plain share. A pair weighs a_i, the official weight of its
    subset by the pairs of it. Of K sections, the k-th has n_k of N_k pairs scored, with the
    weighted mean p_k and the spread s_k = sum a_i^2 (x_i - p_k)^2 / sum a_i^2, and its n_k tell as
    much as e_k = n_k (sum a_i)^2 / (N_k sum a_i^2), the sums over all N_k. Then
        p = sum p_k / K,  V = sum s_k / e_k / K^2,  effective pairs = p (1 - p) / V,
    s_k mixed with p (1 - p) as if of 5 more pairs. They are a sample of effective pairs / (1 - r),
    where r V is V with each section's part taken times 1 - n_k / N_k. Whole numbers are rounded
    so that it gets wider, and what one pair may be worth that is not scored is added at both ends.
    Source: E. Korn and B. Graubard, Survey Methodology 24 (1998), for an exact interval at an
    effective number; W. G. Cochran, Sampling Techniques (1977), 2.6 and 2.11, for finite
    populations and weighted means.

    Args:
        seen: subset -> its pairs.
        number: which.
        alpha: 0 to 1, both excluded.

    Returns:
        Estimate, low, high. Pairs without a reward do not count; those that are not scored yet are
        taken to count. None, 0 and 1 where nothing counts, or where a section that has pairs has
        none scored yet.

    >>> found = bounds({"hep-go": Seen(164, won=70, counted=80)}, "score", 0.05)
    >>> [round(each, 3) for each in found]
    [0.875, 0.805, 0.927]
    >>> bounds({"hep-go": Seen(164, won=100, counted=160, missing=4)}, "score", 0.05)
    (0.625, 0.625, 0.625)
    """
    if number == "accuracy":
        return _of_accuracy(list(seen.values()), alpha)
    sections: dict[str, list[tuple[float, Seen]]] = {}
    for subset, each in seen.items():
        section = section_of(subset)
        if section and each.countable:
            sections.setdefault(section, []).append((WEIGHTS[subset] / each.countable, each))
    if not sections or not all(any(each.counted for _, each in of) for of in sections.values()):
        return None, 0.0, 1.0
    if all(each.counted == each.countable for of in sections.values() for _, each in of):
        score = _whole_score(seen)
        return score, score, score
    return _of_score([_section(of) for of in sections.values()], alpha)


def _of_accuracy(seen: Sequence[Seen], alpha: float) -> tuple[float | None, float, float]:
    counted, total = sum(each.counted for each in seen), sum(each.countable for each in seen)
    won, tied = sum(each.won for each in seen), sum(each.tied for each in seen)
    tie = max(each.tie for each in seen)
    at = alpha / 2 if tie else alpha
    strict = finite_interval(won, counted, total, at)
    lenient = finite_interval(won + tied, counted, total, at)
    if strict is None or lenient is None:
        return None, 0.0, 1.0
    low, high = ((1 - tie) * s + tie * m for s, m in zip(strict, lenient, strict=True))
    return (won + tie * tied) / counted, low, high


@dataclass(frozen=True, slots=True)
class _Section:
    """A section of a selection, by its pairs scored so far.

    mean, spread: weighted, 0 to 1.
    effective: pairs of equal weight that would tell as much.
    share: of its pairs that are scored, 0 to 1.
    heaviest: what one pair that is not scored is worth at most, of the section.
    """

    mean: float
    spread: float
    effective: float
    share: float
    heaviest: float


def _section(of: Sequence[tuple[float, Seen]]) -> _Section:
    n, total = sum(each.counted for _, each in of), sum(each.countable for _, each in of)
    weight = sum(a * each.counted for a, each in of)
    mean = sum(a * each.credit for a, each in of) / weight
    spread = sum(a * a * _squares(each, mean) for a, each in of) / sum(
        a * a * each.counted for a, each in of
    )
    whole = sum(a * each.countable for a, each in of)
    worth = whole**2 / (total * sum(a * a * each.countable for a, each in of))
    left = [a for a, each in of if each.counted < each.countable]
    return _Section(mean, spread, n * worth, n / total, max(left, default=0.0) / whole)


def _squares(seen: Seen, mean: float) -> float:
    """The sum of the squared distances of outcomes from a mean."""
    lost = seen.counted - seen.won - seen.tied
    return seen.won * (1 - mean) ** 2 + seen.tied * (seen.tie - mean) ** 2 + lost * mean**2


def _whole_score(seen: Mapping[str, Seen]) -> float:
    """The score of pairs that are all scored, as every other view has it."""
    known = {subset: each.credit / each.counted for subset, each in seen.items() if each.counted}
    return overall_score(section_scores(known)) or 0.0


def _of_score(sections: Sequence[_Section], alpha: float) -> tuple[float, float, float]:
    mean = sum(each.mean for each in sections) / len(sections)
    whole = mean * (1 - mean)
    variances = []
    for each in sections:
        own = each.spread / whole if whole else 1.0
        mixed = (each.effective * own + _BORROWED) / (each.effective + _BORROWED)
        variances.append(mixed / each.effective / len(sections) ** 2)
    variance = sum(variances)
    left = sum(each * (1 - of.share) for each, of in zip(variances, sections, strict=True))
    n = max(1, floor(1 / variance))
    total = max(n, ceil(n / (1 - left / variance)))
    high = most_marked(min(n, ceil(mean * n)), n, total, alpha / 2) / total
    low = 1 - most_marked(min(n, ceil((1 - mean) * n)), n, total, alpha / 2) / total
    one = max(each.heaviest for each in sections) / len(sections)
    return mean, max(0.0, low - one), min(1.0, high + one)
