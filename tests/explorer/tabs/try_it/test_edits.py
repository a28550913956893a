"""What edits do to rewards: of one pair that is tried out, and of many in the bias probe."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from explorer.data.table import PairTable
from explorer.runs.orders import ModelOrder
from explorer.runs.progress import Progress
from explorer.runs.running import Rewarded
from explorer.tabs.try_it.probe import (
    AT_ONCE,
    FIRST_PAIRS,
    Bought,
    EditedSide,
    Probe,
    bought,
    probing,
)
from explorer.tabs.try_it.trial import (
    CHANGES,
    SIDES,
    Change,
    Effect,
    Side,
    Trial,
    effects_of,
    trying,
    variants,
)
from scoring.errors import KnownError
from scoring.pairs.opening import as_pairs
from scoring.probing.edits import EDITS, FILLER
from scoring.spec import Pair, RunFacts, ScoredPair, text_hash
from tests.support.run_facts import MADE_UP
from tests.support.stepping import told_by

FACTS = replace(MADE_UP, family="longer")
FILLED = float(len(FILLER) + 2)
NAN = np.nan
Reward = Callable[[Pair], tuple[float | None, float | None]]
Tell = Callable[[Progress | Rewarded], None]


def by_length(pair: Pair) -> tuple[float, float]:
    """As the family longer."""
    return float(len(pair.chosen)), float(len(pair.rejected))


def first_is_better(pair: Pair) -> tuple[float, float]:
    """A judge that likes what it reads first, and half as much what is longer than the other."""
    longer = 0.5 if len(pair.chosen) > len(pair.rejected) else -0.5
    return 1.0 + longer, -1.0 - longer


def scored(pair: Pair, reward: Reward = by_length) -> ScoredPair:
    digits = text_hash(pair.prompt, pair.chosen, pair.rejected)
    return ScoredPair(pair.key, pair.subset, digits, *reward(pair), 1, 1)


# One pair


PAIR = Pair("typed", "typed", "p", "Take the figs. Wash them.", "No.")


class Counting:
    """Scores, and remembers how many pairs at a time."""

    def __init__(self, reward: Reward = by_length, facts: RunFacts = FACTS) -> None:
        self.asked: list[int] = []
        self._reward, self._facts = reward, facts

    def __call__(self, pairs: Sequence[Pair]) -> Rewarded:
        self.asked.append(len(pairs))
        return Rewarded(tuple(scored(pair, self._reward) for pair in pairs), self._facts)


def tried(pair: Pair, rewards: Counting, **how: Any) -> list[Trial]:
    """What is told of a pair, one edit after the other."""
    work = partial(trying, ModelOrder("longer"), pair, rewards, **how)
    return told_by(lambda tell: work(tell=tell))[1]


def test_the_rewards_come_first_and_then_each_edit_unless_the_model_is_slow() -> None:
    rewards = Counting()
    told = tried(PAIR, rewards)
    assert rewards.asked == [1] * 6  # the pair, and every edit but the two that do not apply
    assert [len({change for change, _ in trial.effects}) for trial in told] == [0, 1, 2, 3, 4, 5]
    assert [trial.is_whole for trial in told] == [False] * 5 + [True]
    trial = told[-1]
    assert trial.effects["longer", "rejected"].change == FILLED
    assert trial.effects["upper", "chosen"].change == 0
    assert ("cut", "rejected") not in trial.applies and ("plain", "chosen") not in trial.applies
    assert (trial.reward("chosen"), trial.swapped_margin) == (25.0, -22.0)
    [only] = tried(PAIR, rewards, seconds=-1)
    assert not only.is_whole and tried(PAIR, rewards, seconds=None)[-1].is_whole


def test_rewards_are_compared_with_those_of_the_start() -> None:
    first = tried(PAIR, Counting())[-1]
    assert [first.moved(side) for side in SIDES] == [0.0, 0.0]
    typed = Pair("typed", "typed", "p", PAIR.chosen + "!!", "No")
    second = tried(typed, Counting(), former=first)[-1]
    third = tried(PAIR, Counting(), former=second)[-1]
    assert [second.moved(side) for side in SIDES] == [2.0, -1.0]
    assert third.moved("chosen") == 0.0 and third.start == first.scored
    rounded = tried(PAIR, Counting(lambda pair: (25.0 + 2e-6, 3.0)), former=first)[-1]
    assert rounded.moved("chosen") == rounded.margin_moved == 0.0
    newer = Counting(facts=replace(FACTS, revision="newer"))
    for rewards, how in ((newer, {"former": first}), (Counting(), {"first": newer})):
        with pytest.raises(KnownError, match="org/model has changed its revision"):
            tried(PAIR, rewards, **how)


SHORT = Pair("s:1", "s", "p", "Take the figs.", "ONE TWO.")


def test_what_reads_one_response_is_asked_once_for_both_sides() -> None:
    made = variants([SHORT, SHORT], CHANGES, pairwise=False)
    assert [(each.place, each.change, each.sides) for each in made if each.place == 1] == [
        (1, "polite", ("chosen", "rejected")),
        (1, "refusal", ("chosen", "rejected")),
        (1, "longer", ("chosen", "rejected")),
        (1, "upper", ("chosen",)),
    ]
    assert len({each.pair.key for each in made}) == len(made)


MARGIN = float(len(SHORT.chosen) - len(SHORT.rejected))
EACH_SIDE = {"chosen": Effect(FILLED, MARGIN + FILLED), "rejected": Effect(FILLED, MARGIN - FILLED)}
# By the judge, the chosen response is worth 1.5 when read first and -0.5 when second.
SWAPPED = {"chosen": Effect(-2.0, -1.0), "rejected": Effect(2.0, -1.0)}
EFFECTS: list[tuple[Change, bool, Reward, dict[str, Effect]]] = [
    ("longer", True, by_length, EACH_SIDE),
    ("longer", False, by_length, EACH_SIDE),
    ("upper", True, by_length, {"chosen": Effect(0.0, MARGIN)}),
    ("upper", False, by_length, {"chosen": Effect(0.0, MARGIN)}),
    ("swap", True, first_is_better, SWAPPED),
]


@pytest.mark.parametrize(("change", "pairwise", "reward", "effects"), EFFECTS)
def test_each_side_is_changed_alone_and_a_swap_shows_what_the_place_is_worth(
    change: Change, pairwise: bool, reward: Reward, effects: dict[str, Effect]
) -> None:
    found: dict[Side, Effect] = {}
    for variant in variants([SHORT], [change], pairwise=pairwise):
        found |= effects_of(variant, scored(SHORT, reward), scored(variant.pair, reward))
    assert found == effects


def test_a_missing_reward_has_no_effect() -> None:
    [variant] = variants([SHORT], ["upper"], pairwise=False)
    none = scored(SHORT, lambda _: (None, 8.0))
    assert effects_of(variant, scored(SHORT), none) == {"chosen": Effect(None, None)}
    assert effects_of(variant, none, scored(SHORT))["chosen"].change is None


# Many pairs


@pytest.fixture(scope="module")
def pairs(demo: PairTable) -> list[Pair]:
    return as_pairs(demo.arrow, range(0, len(demo), 3))


def in_packs(pairs: Sequence[Pair], tell: Tell) -> None:
    """Waits, and then scores five at a time by their lengths, the last first."""
    tell(Progress("waiting", len(pairs), ahead=1))
    for start in reversed(range(0, len(pairs), 5)):
        tell(Rewarded(tuple(map(scored, pairs[start : start + 5])), FACTS))


def probed(
    pairs: Sequence[Pair],
    changes: Sequence[Change],
    rewarding: Callable[[Sequence[Pair], Tell], None] = in_packs,
    **how: Any,
) -> Probe:
    """A probe as it is at last."""
    *_, last = told_by(partial(probing, pairs, changes, rewarding, **how))[1]
    assert isinstance(last, Probe)
    return last


def of(probe: Probe, change: str, side: str) -> Bought:
    return next(each for each in bought(probe) if (each.change, each.side) == (change, side))


def test_filler_buys_its_length_and_capitals_nothing_as_is_told_block_by_block(
    pairs: list[Pair],
) -> None:
    shares, n_before, probes = list[float](), list[int](), list[Probe]()

    def look(probe: Probe) -> None:
        probes.append(probe)
        shares.append(probe.share)
        n_before.extend([len(probe.before)] if of(probe, "longer", "chosen").n else [])

    probing(pairs, CHANGES, in_packs, look)
    longer = probes[-1]
    assert shares == sorted(shares) and shares[-1] == 1
    assert n_before[0] == FIRST_PAIRS
    assert FIRST_PAIRS < min({*n_before} - {FIRST_PAIRS}) <= FIRST_PAIRS + AT_ONCE
    assert longer.is_whole and len(longer.before) == 63
    for side, flipped in zip(SIDES, ("won", "lost"), strict=True):
        filler, upper = of(longer, "longer", side), of(longer, "upper", side)
        assert (filler.mean, filler.low, filler.high) == (FILLED, FILLED, FILLED)
        assert filler.n == filler.applies == filler.up > 40
        assert getattr(filler, flipped) == filler.won + filler.lost > 0
        assert (upper.mean, upper.low, upper.high, upper.p) == (0.0, 0.0, 0.0, 1.0)
        assert upper.up == upper.down == upper.won == upper.lost == 0 < upper.n
        assert filler.corrected < 1e-9
        cut = of(longer, "cut", side)
        assert cut.mean is not None and cut.mean < 0 and cut.down == cut.n


def test_pairs_come_in_a_random_order_that_is_the_same_again(pairs: list[Pair]) -> None:
    orders = [
        [pair.key for pair in probed(pairs, ["upper"], seed=seed).pairs] for seed in (0, 0, 1)
    ]
    assert orders[0] == orders[1] != orders[2] != [pair.key for pair in pairs]


def test_stopped_it_keeps_what_it_has(pairs: list[Pair]) -> None:
    left = iter(range(6))

    def tell_six(tell: Tell, step: Progress | Rewarded) -> None:
        if next(left, None) is not None:
            tell(step)

    probe = probed(pairs, ["longer"], lambda some, tell: in_packs(some, partial(tell_six, tell)))
    assert not probe.is_whole and probe.share < 1
    each = of(probe, "longer", "chosen")
    assert 0 < each.n <= len(probe.before) and each.mean == FILLED


def test_more_pairs_than_allowed_are_refused_before_anything_is_scored(pairs: list[Pair]) -> None:
    n_made = probed(pairs[:10], EDITS).n_scored
    assert probed(pairs[:10], EDITS, most=n_made).is_whole
    for most in (9, n_made - 1):
        with pytest.raises(KnownError, match=f"may score {most} pairs here"):
            probing(pairs[:10], EDITS, in_packs, lambda _: pytest.fail("scored"), most=most)


def made_up(margin: Sequence[float], changes: Mapping[EditedSide, Sequence[float]]) -> Probe:
    """A probe of pairs with these margins, whose rewards changed by so much."""
    before = {at: ScoredPair("", "", "", each, 0.0, 1, 1) for at, each in enumerate(margin)}
    effects = {
        (change, side): {
            at: Effect(by, margin[at] + (by if side == "chosen" else -by))
            for at, by in enumerate(column)
        }
        for (change, side), column in changes.items()
    }
    applies = {key: len(column) for key, column in changes.items()}
    return Probe([], before=before, applies=applies, effects=effects)


FIELDS = ("n", "mean", "low", "p", "up", "down", "won", "lost", "share_up")
BOUGHT: dict[str, tuple[list[float], list[float], Side, tuple[object, ...]]] = {
    "up, down and unknown": (
        [1.0, -1.0, 2.0, 0.0], [0.5, 1.5, -3.0, NAN], "chosen",
        (3, -1 / 3, ..., ..., 2, 1, 1, 1, 2 / 3),
    ),
    "more reward of the rejected one loses": (
        [1.0, -1.0], [2.0, 2.0], "rejected", (2, 2.0, 2.0, 0.5, 2, 0, 0, 1, 1.0),
    ),
    "a tie is lost": ([1.0], [-1.0], "chosen", (1, -1.0, None, 1.0, 0, 1, 0, 1, 0.0)),
    "all alike, by the sign test": (
        [1.0] * 6, [0.3] * 6, "chosen", (6, 0.3, 0.3, 2 * 0.5**6, 6, 0, 0, 0, 1.0),
    ),
    "nothing known": (
        [1.0, 2.0], [NAN, NAN], "chosen", (0, None, None, 1.0, 0, 0, 0, 0, None),
    ),
}  # fmt: skip
"""Margins, and by how much a side's reward changed -> what that bought; ... is not looked at."""


@pytest.mark.parametrize("name", BOUGHT)
def test_what_a_change_bought_is_counted_by_hand(name: str) -> None:
    margin, change, side, expected = BOUGHT[name]
    [found] = bought(made_up(margin, {("upper", side): change}))
    for field, value in zip(FIELDS, expected, strict=True):
        if value is not ...:
            assert getattr(found, field) == pytest.approx(value), field


def test_the_interval_and_p_are_those_of_a_paired_t_test() -> None:
    change = np.random.default_rng(0).normal(0.3, 1.0, 40)
    [each] = bought(made_up([0.0] * 40, {("upper", "chosen"): change.tolist()}))
    test = stats.ttest_1samp(change, 0.0)
    ends = test.confidence_interval()
    assert (each.low, each.high) == pytest.approx((ends.low, ends.high))
    assert each.p == pytest.approx(test.pvalue)


def test_p_is_corrected_for_all_that_was_tested() -> None:
    generator = np.random.default_rng(1)
    columns: dict[EditedSide, list[float]] = {
        ("upper", side): generator.normal(mean, 1.0, 30).tolist()
        for side, mean in zip(SIDES, (0.7, 0.1), strict=True)
    }
    columns["cut", "chosen"] = [NAN] * 30
    first, second, third = bought(made_up([1.0] * 30, columns))
    assert first.corrected == pytest.approx(2 * first.p)
    assert second.corrected == pytest.approx(max(second.p, 2 * first.p))
    assert third.corrected == 1.0
    sure, unsure = (replace(first, corrected=p) for p in (0.04, 0.06))
    assert first.p < 0.04 and sure.is_sure and not unsure.is_sure
