"""When a run is sure enough to be stopped: intervals that stay valid however often one looks.

Pairs are scored in a seeded random order, so the first n of that order are a sample of the whole
selection, drawn without replacement. The interval is looked at after numbers of pairs that are
fixed before the run, and each look has an equal part of the 5 % of error: with a probability of at
least 95 %, all of them hold the true number at once, and so does the one at which somebody stops
(Bonferroni's inequality; of looks at a trial, S. Pocock, Biometrika 64 (1977)). The number is that
of *this selection*, as it will be when every pair of it is scored: then, the interval has no width.

The packs of a plan are not that order: within a pack, pairs are sorted by cost, and the costliest
pack comes first (`scoring.engine.packing`). So a look takes exactly the first n pairs of the order
itself, as soon as the last of them is scored, and leaves out what came before its turn. Neither the
longest pack nor the order in which several processes finish can bias it.

Why looks and no confidence sequence: what is valid at fewer moments is narrower. With ten looks the
interval of an accuracy is 1.4 times as wide as if there were but one; by the prior-posterior ratio
(I. Waudby-Smith and A. Ramdas, NeurIPS 2020; uniform prior) it would be 1.8 times as wide, and of a
score, to which each subset adds a number that is not known, several times.

In 1,500 simulated runs of each of 52 kinds of models and selections, all looks held the true score
in 97.0 % or more, and the true accuracy in 400 runs of each in 96.0 % or more. Pairs needed of the
2,985 of RewardBench, half of the runs needing no more:

    model                                     accuracy to  6    4     score to  6    4 points
    Skywork/Skywork-Reward-Llama-3.1-8B-v0.2             522 1077            730 1507
    sfairXC/FsfairX-LLaMA3-RM-v0.1                      1023 1507           1023 2110
    allenai/tulu-2-dpo-7b                               1432 2110           1432 2110
    openbmb/UltraRM-13b                                 1432 2110           1432 2110
    Qwen/Qwen1.5-1.8B-Chat                              1432 2110           2004 2110
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scoring.benchmark import section_of
from scoring.engine.packing import random_order
from scoring.errors import KnownError, shown
from scoring.finite import finite_interval, most_marked
from scoring.spec import Outcome, ScoredPair
from scoring.sure_bounds import NUMBERS, Number, Seen, bounds

ALPHA = 0.05
"""The probability that any of a run's intervals misses."""
NARROWEST, WIDEST = 0.005, 0.5
_STEP = 1.4
"""Each look has so many times the pairs of the one before."""
_LATEST = 0.8
"""Of all pairs: to stop later saves little, and each look costs width."""
_WORTH = 0.6
"""Of a pair of the score, against one of a plain share, at worst."""


@dataclass(frozen=True, slots=True)
class SureRule:
    """What a run is to be sure of.

    number: "accuracy", of all pairs alike, or "score", RewardBench's mean of sections with its
        weights, over the pairs that belong to it.
    width: of the interval, from end to end, 0.005 to 0.5.

    Raises:
        KnownError: another number, or a width out of range.
    """

    number: Number
    width: float

    def __post_init__(self) -> None:
        if self.number not in NUMBERS:
            raise KnownError(
                f"A run can be sure of {' or '.join(NUMBERS)}, not of {shown(self.number)}."
            )
        is_number = isinstance(self.width, int | float) and not isinstance(self.width, bool)
        if not is_number or not NARROWEST <= self.width <= WIDEST:
            raise KnownError(
                f"An interval can be {100 * NARROWEST} to {100 * WIDEST:.0f} points wide, "
                f"not {shown(100 * self.width if is_number else self.width)}."
            )


@dataclass(frozen=True, slots=True)
class SureInterval:
    """What is sure so far.

    rule: what is asked.
    estimate: of the number, from the pairs of the last look; None before the first, and where
        none of them counts.
    low, high: at least 95 % for all looks together; 0 and 1 where nothing is known.
    look: the last one, from 1; 0 before the first.
    looks: how many there are, the last with all pairs.
    n: pairs of the order that the last look took.
    following: pairs of the order that the next look will take; None after the last.
    """

    rule: SureRule
    estimate: float | None
    low: float
    high: float
    look: int
    looks: int
    n: int
    following: int | None

    @property
    def width(self) -> float:
        """From end to end, 0 to 1."""
        return self.high - self.low

    @property
    def is_enough(self) -> bool:
        """Whether it is as narrow as asked."""
        return self.width <= self.rule.width


class Watch:
    """Follows a run, and says at each look what is sure."""

    def __init__(
        self, subsets: Mapping[str, str], seed: int, rule: SureRule, tie: float = 0.0
    ) -> None:
        """subsets: key -> subset of every pair of the run, as its plan counts them.

        seed: of the run's order. tie: what a tie counts, as a part of a win.

        Raises:
            KnownError: the score is asked for, and no pair belongs to RewardBench.
        """
        self.rule = rule
        keys = list(subsets)
        self._order = [keys[place] for place in random_order(len(keys), seed)]
        self._subsets = subsets
        self._waiting: dict[str, Outcome] = {}
        self._seen: dict[str, Seen] = {}
        for subset in subsets.values():
            self._seen.setdefault(subset, Seen(0, tie=tie)).total += 1
        if rule.number == "score" and not any(map(section_of, self._seen)):
            raise KnownError(
                "None of these pairs belongs to RewardBench, so they have no score. "
                "Be sure of the accuracy instead."
            )
        # Of an accuracy in which ties count, the interval is made of two at half the error each.
        halves = 2 if tie and rule.number == "accuracy" else 1
        self._looks = look_sizes(len(keys), rule.width, ALPHA / halves)
        self._n = 0
        self.now = SureInterval(rule, None, 0.0, 1.0, 0, len(self._looks), 0, self._looks[0])

    def add(self, scored: Iterable[ScoredPair]) -> SureInterval:
        """Count further pairs, in whatever order they come; what is sure then."""
        self._waiting.update((pair.key, pair.outcome) for pair in scored)
        while self._n < len(self._order) and self._order[self._n] in self._waiting:
            key = self._order[self._n]
            _count(self._seen[self._subsets[key]], self._waiting.pop(key))
            self._n += 1
            if self._n == self.now.following:
                self._look()
        return self.now

    @property
    def is_sure(self) -> bool:
        """Whether the interval is as narrow as asked."""
        return self.now.is_enough

    def _look(self) -> None:
        look = self.now.look + 1
        alpha = ALPHA / max(1, len(self._looks) - 1)
        found = bounds(self._seen, self.rule.number, alpha)
        following = self._looks[look] if look < len(self._looks) else None
        self.now = SureInterval(self.rule, *found, look, len(self._looks), self._n, following)


def look_sizes(total: int, width: float, error: float = ALPHA) -> list[int]:
    """After how many pairs of the order to look: fixed before anything is scored.

    From the fewest pairs at which an interval can be so narrow at all (all of them won), each time
    1.4 times as many up to four fifths or to where it is so narrow in any case, and at last all.

    total: pairs of the run, at least 1. error: of all intervals together.

    >>> look_sizes(2985, 0.06), look_sizes(46, 0.06)
    ([97, 136, 190, 266, 373, 522, 730, 1023, 1432, 2004, 2985], [32, 46])
    """
    sizes: list[int] = []
    for _ in range(2):  # the more looks, the later the first can be of use
        alpha = error / max(1, len(sizes) - 1)
        size = float(_fewest(total, width, alpha))
        sizes = []
        while round(size) <= _LATEST * total:
            sizes.append(round(size))
            if _is_enough(round(size), total, width, alpha):
                break
            size = max(size * _STEP, size + 1)
        sizes.append(total)
    return sizes


def _fewest(total: int, width: float, alpha: float) -> int:
    """Pairs drawn and all won, after which the interval is so narrow."""
    low, high = 1, total
    while low < high:
        middle = (low + high) // 2
        if most_marked(0, middle, total, alpha / 2) <= width * total:
            high = middle
        else:
            low = middle + 1
    return low


def _is_enough(n: int, total: int, width: float, alpha: float) -> bool:
    """Whether the interval is so narrow after n pairs, whatever comes and however they weigh."""
    plain = max(1, round(_WORTH * n))
    found = finite_interval(plain // 2, plain, total, alpha)
    return found is not None and found.high - found.low <= width


def _count(seen: Seen, outcome: Outcome) -> None:
    if outcome == "missing":
        seen.missing += 1
    else:
        seen.counted += 1
        seen.won += outcome == "win"
        seen.tied += outcome == "tie"
