"""Intervals that stay valid under repeated looking: simulated, and as the engine's packs come."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from scoring.benchmark import COUNTS, SUBSETS, overall_score, section_of, section_scores
from scoring.engine.packing import plan_packs, random_order
from scoring.errors import KnownError
from scoring.interval import wilson
from scoring.rules import Outcome
from scoring.spec import ScoredPair
from scoring.summary import summarise
from scoring.sure import (
    ALPHA,
    TARGETS,
    SequentialMonitor,
    SubsetTally,
    SureRule,
    Target,
    bounds,
    look_sizes,
)

RUNS = 250
WHOLE: Mapping[str, int] = COUNTS
SMALL = {subset: max(1, round(200 * n / 2985)) for subset, n in COUNTS.items()}
FOUR = dict.fromkeys(SUBSETS, 4)
UNEQUAL = {"Chat": 0.97, "Chat Hard": 0.5, "Safety": 0.9, "Reasoning": 0.92}
WEAK = {"Chat": 0.9, "Chat Hard": 0.3, "Safety": 0.4, "Reasoning": 0.6}
Rate = Callable[[str], float]
RATES: dict[str, Rate] = {
    "half": lambda subset: 0.5,
    "good": lambda subset: 0.9,
    "nearly all": lambda subset: 0.995,
    "hard section": lambda subset: UNEQUAL[section_of(subset) or ""],
    "weak": lambda subset: WEAK[section_of(subset) or ""],
    "bad at math": lambda subset: 0.5 if subset == "math-prm" else 0.98,
}


def tally_of(total: int, won: int = 0, counted: int = 0, missing: int = 0) -> SubsetTally:
    counts: dict[Outcome, int] = {"win": won, "loss": counted - won, "tie": 0, "missing": missing}
    return SubsetTally(counts, total=total)


@dataclass(frozen=True)
class World:
    """What a model makes of a selection: subset of each pair and whether it is won."""

    subsets: tuple[str, ...]
    codes: NDArray[np.intp]
    won: NDArray[np.bool_]

    @classmethod
    def of(cls, counts: Mapping[str, int], rate: Rate) -> "World":
        subsets = tuple(counts)
        codes = np.repeat(np.arange(len(subsets)), list(counts.values()))
        won = np.concatenate([np.arange(n) < round(rate(each) * n) for each, n in counts.items()])
        return cls(subsets, codes, won)

    def truth(self, number: Target) -> float:
        if number == "accuracy":
            return float(self.won.mean())
        shares = {name: self.won[self.codes == at].mean() for at, name in enumerate(self.subsets)}
        score = overall_score(section_scores(shares))
        assert score is not None
        return score


@dataclass(frozen=True)
class Looked:
    """Intervals of some runs at each look but the last: all are (runs, looks)."""

    sizes: list[int]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def covers(self, truth: float) -> float:
        """The share of runs in which no look misses."""
        holds = (self.low <= truth + 1e-12) & (self.high >= truth - 1e-12)
        return float(holds.all(axis=1).mean())


def looked(world: World, number: Target, width: float, runs: int = RUNS) -> Looked:
    n_pairs, n_subsets = len(world.codes), len(world.subsets)
    sizes = look_sizes(n_pairs, width)[:-1]
    generator = np.random.default_rng(7)
    orders = generator.permuted(np.tile(np.arange(n_pairs), (runs, 1)), axis=1)
    one_hot = np.eye(n_subsets, dtype=np.int32)
    ends = np.zeros((2, runs, len(sizes)))
    totals = np.bincount(world.codes)
    for run, order in enumerate(orders):
        came = one_hot[world.codes[order]]
        counted = came.cumsum(axis=0)[np.array(sizes) - 1]
        won = (came * world.won[order][:, None]).cumsum(axis=0)[np.array(sizes) - 1]
        for look in range(len(sizes)):
            seen = {
                name: tally_of(int(totals[at]), int(won[look, at]), int(counted[look, at]))
                for at, name in enumerate(world.subsets)
            }
            ends[:, run, look] = bounds(seen, number, ALPHA / len(sizes))[1:]
    return Looked(sizes, ends[0], ends[1])


@pytest.mark.parametrize("rate", RATES.values(), ids=list(RATES))
@pytest.mark.parametrize("number", ["accuracy", "score"])
@pytest.mark.parametrize(
    ("counts", "width"),
    [
        pytest.param(WHOLE, 0.06, id="whole", marks=pytest.mark.slow),
        pytest.param(SMALL, 0.1, id="200"),
        pytest.param(FOUR, 0.15, id="92"),
    ],
)
def test_all_looks_together_hold_the_truth(
    counts: Mapping[str, int], width: float, number: Target, rate: Rate
) -> None:
    world = World.of(counts, rate)
    assert looked(world, number, width).covers(world.truth(number)) >= 0.95


@pytest.mark.parametrize(("number", "factor"), [("accuracy", 1.6), ("score", 2.3)])
@pytest.mark.parametrize("rate", ["half", "good", "hard section"])
def test_they_are_not_absurdly_wide(rate: str, number: Target, factor: float) -> None:
    world = World.of(WHOLE, RATES[rate])
    found = looked(world, number, 0.06, runs=20)
    truth = world.truth(number)
    for at, n in enumerate(found.sizes):
        single = wilson(truth * n, n)
        assert single
        once = (single.high - single.low) * sqrt(1 - n / 2985)
        wide = float((found.high[:, at] - found.low[:, at]).mean())
        assert once < wide < factor * once or n < 150


def scored(key: str, outcome: str) -> ScoredPair:
    rewards: dict[str, tuple[float | None, float | None]] = {
        "win": (1.0, 0.0), "loss": (0.0, 1.0), "tie": (1.0, 1.0), "missing": (None, 1.0),
    }  # fmt: skip
    return ScoredPair(key, key.partition(":")[0], "", *rewards[outcome], 1, 1)


def test_the_order_is_that_in_which_pairs_fill_packs() -> None:
    costs = [int(each) for each in np.random.default_rng(0).integers(5, 400, 300)]
    rank = {place: at for at, place in enumerate(random_order(300, 11))}
    packs = plan_packs(costs, 1000, 11)
    blocks = [sorted(rank[place] for place in pack) for pack in packs]
    assert all(block == list(range(block[0], block[0] + len(block))) for block in blocks)
    assert sorted(blocks[1:]) == blocks[1:]


def test_long_pairs_that_are_lost_do_not_bias_it() -> None:
    n, rule = 400, SureRule("accuracy", 0.1)
    costs = [1000 if at % 4 == 0 else 50 for at in range(n)]
    keys = {f"own:{at}": "own" for at in range(n)}
    first_pack, first_look, missed = [], [], 0
    for seed in range(150):
        watch, holds = SequentialMonitor(keys, seed, rule), True
        packs = plan_packs(costs, 2150, seed)
        first_pack.append(np.mean([at % 4 > 0 for at in packs[0]]))
        for pack in packs:
            before = watch.now.look
            now = watch.add([scored(f"own:{at}", "win" if at % 4 else "loss") for at in pack])
            if before == 0 < now.look:
                first_look.append(now.estimate or 0.0)
            holds &= now.low <= 0.75 <= now.high
        missed += not holds
    assert missed <= 0.05 * 150
    assert np.mean(first_pack) < 0.65, "the longest pack is no sample; else this shows nothing"
    assert abs(np.mean(first_look) - 0.75) < 3 * np.std(first_look) / sqrt(150)


@pytest.mark.parametrize("number", ["accuracy", "score"])
def test_where_ties_count_half_it_misses_as_seldom(number: Target) -> None:
    outcomes = ["win"] * 11 + ["tie"] * 5 + ["loss"] * 4
    rows = [scored(f"hep-go:{at}", outcomes[at % 20]) for at in range(400)]
    keys, missed, looks = {row.key: row.subset for row in rows}, 0, 0
    for seed in range(100):
        watch, holds = SequentialMonitor(keys, seed, SureRule(number, 0.1), 0.5), True
        for at in random_order(len(rows), seed):
            now = watch.add([rows[at]])
            holds &= now.low <= 0.675 <= now.high
        missed += not holds
        looks += watch.now.looks
        assert watch.now.estimate == pytest.approx(0.675)
    assert missed <= 0.05 * 100
    assert looks > 3 * 100, "with one look there is nothing to miss"


@pytest.mark.parametrize("family", ["classifier", "judge"])
def test_it_ends_without_width_at_what_the_report_says(family: str) -> None:
    outcomes = ("win", "win", "loss", "tie", "missing", "win")
    rows = [
        scored(f"{subset}:{at}", outcomes[(at + place) % 6])
        for place, subset in enumerate(("hep-go", "math-prm", "mt-bench-easy", "own"))
        for at in range(10 + place)
    ]
    subsets = {row.key: row.subset for row in rows}
    total = summarise(rows, family)
    for number, expected in (("accuracy", total.total.accuracy), ("score", total.score)):
        rule = SureRule(number, 0.05)  # type: ignore[arg-type]
        watch = SequentialMonitor(subsets, 3, rule, total.total.tie)
        for row in reversed(rows):
            assert not watch.now.is_enough or watch.now.n
            watch.add([row])
        assert watch.now.low == watch.now.estimate == watch.now.high == expected
        assert watch.now.is_enough and watch.now.following is None
        assert watch.now.look == watch.now.looks


def test_between_looks_nothing_changes_and_before_the_first_nothing_is_said() -> None:
    keys = {f"hep-go:{at}": "hep-go" for at in range(164)}
    watch = SequentialMonitor(keys, 0, SureRule("score", 0.2))
    sizes = look_sizes(164, 0.2)
    seen = [watch.now]
    for done, place in enumerate(random_order(164, 0), 1):
        now = watch.add([scored(f"hep-go:{place}", "win")])
        if now is not seen[-1]:
            assert done == now.n == sizes[now.look - 1]
            seen.append(now)
    assert [each.n for each in seen] == [0, *sizes]
    assert seen[0].estimate is None and (seen[0].low, seen[0].high) == (0.0, 1.0)
    assert seen[1].width <= 0.25 and seen[1].high == 1.0


def test_a_pair_counts_in_its_turn_however_early_it_was_scored() -> None:
    keys = {f"hep-go:{at}": "hep-go" for at in range(164)}
    watch = SequentialMonitor(keys, 0, SureRule("score", 0.2))
    first, *others = (scored(f"hep-go:{at}", "win") for at in random_order(164, 0))
    assert (watch.add(others).n, watch.now.look) == (0, 0)
    assert (watch.add([first]).n, watch.now.look) == (164, watch.now.looks)


def test_pairs_without_a_reward_make_it_speak_of_the_others() -> None:
    half = {"hep-go": tally_of(164, won=40, counted=80)}
    fewer = {"hep-go": tally_of(164, won=40, counted=80, missing=84)}
    for number in TARGETS:
        _, low, high = bounds(half, number, 0.05)
        assert low < 0.43 and high > 0.57
        assert bounds(fewer, number, 0.05) == (0.5, 0.5, 0.5)
    nothing = {"hep-go": tally_of(164, missing=164)}
    assert bounds(nothing, "score", 0.05) == bounds(nothing, "accuracy", 0.05) == (None, 0.0, 1.0)


def test_a_section_of_which_nothing_is_scored_leaves_the_score_open() -> None:
    tallies = {"hep-go": tally_of(100, 50, 90), "mt-bench-easy": tally_of(5)}
    assert bounds(tallies, "score", 0.05) == (None, 0.0, 1.0)
    assert bounds(tallies, "accuracy", 0.05)[0] == pytest.approx(50 / 90)


def test_looks_are_few_and_end_with_all() -> None:
    for total in (1, 2, 46, 200, 2985, 100_000):
        for width in (0.005, 0.06, 0.5):
            sizes = look_sizes(total, width)
            assert sizes[-1] == total and sizes == sorted(set(sizes)) and len(sizes) < 25
    assert look_sizes(2985, 0.02)[0] > look_sizes(2985, 0.06)[0] > 50


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (0.001, "0.5 to 50 points wide, not 0.1"),
        (float("nan"), "not nan"),
        (0.6, "not 60.0"),
    ],
)
def test_a_width_out_of_range_is_refused(width: float, words: str) -> None:
    with pytest.raises(KnownError) as refused:
        SureRule("accuracy", width)
    assert words in str(refused.value)


def test_pairs_of_ones_own_have_no_score() -> None:
    with pytest.raises(KnownError, match="sure of the accuracy instead"):
        SequentialMonitor({"own:1": "own"}, 0, SureRule("score", 0.05))
    assert SequentialMonitor({"own:1": "own"}, 0, SureRule("accuracy", 0.05)).now.looks == 1
