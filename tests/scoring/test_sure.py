"""Intervals that stay valid under repeated looking: simulated, and as the engine's packs come."""

from collections.abc import Callable, Mapping
from math import sqrt

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import hypergeom  # type: ignore[import-untyped]

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
    most_marked,
)

FOUR = dict.fromkeys(SUBSETS, 4)
UNEQUAL = {"Chat": 0.97, "Chat Hard": 0.5, "Safety": 0.9, "Reasoning": 0.92}
Rate = Callable[[str], float]
RATES: dict[str, Rate] = {
    "half": lambda subset: 0.5,
    "nearly all": lambda subset: 0.995,
    "hard section": lambda subset: UNEQUAL[section_of(subset) or ""],
    "bad at math": lambda subset: 0.5 if subset == "math-prm" else 0.98,
}


def tally_of(total: int, won: int = 0, counted: int = 0, missing: int = 0) -> SubsetTally:
    counts: dict[Outcome, int] = {"win": won, "loss": counted - won, "tie": 0, "missing": missing}
    return SubsetTally(counts, total=total)


def simulated(
    counts: Mapping[str, int], rate: Rate, number: Target, width: float, runs: int
) -> tuple[float, list[int], NDArray[np.float64]]:
    """The truth, the sizes of all looks but the last, and their (low and high, runs, looks)."""
    codes = np.repeat(np.arange(len(counts)), [*counts.values()])
    won = np.concatenate([np.arange(n) < round(rate(each) * n) for each, n in counts.items()])
    shares = {name: float(won[codes == at].mean()) for at, name in enumerate(counts)}
    truth = float(won.mean()) if number == "accuracy" else overall_score(section_scores(shares))
    assert truth is not None
    sizes = look_sizes(len(codes), width)[:-1]
    generator, ends = np.random.default_rng(7), np.zeros((2, runs, len(sizes)))
    for run in range(runs):
        order = generator.permutation(len(codes))
        for look, n in enumerate(sizes):
            first = order[:n]
            n_seen = np.bincount(codes[first], minlength=len(counts))
            n_won = np.bincount(codes[first[won[first]]], minlength=len(counts))
            seen = {
                name: tally_of(total, int(n_won[at]), int(n_seen[at]))
                for at, (name, total) in enumerate(counts.items())
            }
            ends[:, run, look] = bounds(seen, number, ALPHA / len(sizes))[1:]
    return truth, sizes, ends


@pytest.mark.parametrize("rate", RATES.values(), ids=list(RATES))
@pytest.mark.parametrize("number", TARGETS)
@pytest.mark.parametrize(
    ("counts", "width"),
    [
        pytest.param(COUNTS, 0.06, id="whole", marks=pytest.mark.slow),
        pytest.param(FOUR, 0.15, id="92"),
    ],
)
def test_all_looks_together_hold_the_truth(
    counts: Mapping[str, int], width: float, number: Target, rate: Rate
) -> None:
    truth, _, (low, high) = simulated(counts, rate, number, width, 250)
    holds = (low <= truth + 1e-12) & (high >= truth - 1e-12)
    assert holds.all(axis=1).mean() >= 0.95


@pytest.mark.parametrize(("number", "factor"), [("accuracy", 1.6), ("score", 2.3)])
def test_they_are_not_absurdly_wide(number: Target, factor: float) -> None:
    truth, sizes, (low, high) = simulated(COUNTS, RATES["hard section"], number, 0.06, 8)
    for n, wide in zip(sizes, (high - low).mean(axis=0), strict=True):
        single = wilson(truth * n, n)
        assert single
        once = (single.high - single.low) * sqrt(1 - n / 2985)
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
    n, runs, rule = 400, 60, SureRule("accuracy", 0.1)
    costs = [1000 if at % 4 == 0 else 50 for at in range(n)]
    keys = {f"own:{at}": "own" for at in range(n)}
    first_pack, first_look, missed = [], [], 0
    for seed in range(runs):
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
    assert missed <= 0.05 * runs
    assert np.mean(first_pack) < 0.65, "the longest pack is no sample; else this shows nothing"
    assert abs(np.mean(first_look) - 0.75) < 3 * np.std(first_look) / sqrt(runs)


@pytest.mark.parametrize("number", TARGETS)
def test_where_ties_count_half_it_misses_as_seldom(number: Target) -> None:
    outcomes, runs = ["win"] * 11 + ["tie"] * 5 + ["loss"] * 4, 100
    rows = [scored(f"hep-go:{at}", outcomes[at % 20]) for at in range(400)]
    keys, missed, looks = {row.key: row.subset for row in rows}, 0, 0
    for seed in range(runs):
        watch, holds = SequentialMonitor(keys, seed, SureRule(number, 0.1), 0.5), True
        for at in random_order(len(rows), seed):
            now = watch.add([rows[at]])
            holds &= now.low <= 0.675 <= now.high
        missed += not holds
        looks += watch.now.looks
        assert watch.now.estimate == pytest.approx(0.675)
    assert missed <= 0.05 * runs
    assert looks > 3 * runs, "with one look there is nothing to miss"


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
    for number, expected in zip(TARGETS, (total.total.accuracy, total.score), strict=True):
        watch = SequentialMonitor(subsets, 3, SureRule(number, 0.05), total.total.tie)
        for row in reversed(rows):
            assert not watch.now.is_enough or watch.now.n
            watch.add([row])
        assert watch.now.low == watch.now.estimate == watch.now.high == expected
        assert watch.now.is_enough and watch.now.following is None
        assert watch.now.look == watch.now.looks


def test_a_pair_counts_in_its_turn_and_what_is_said_changes_at_looks_alone() -> None:
    keys = {f"hep-go:{at}": "hep-go" for at in range(164)}
    rows = [scored(f"hep-go:{at}", "win") for at in random_order(164, 0)]
    watch = SequentialMonitor(keys, 0, SureRule("score", 0.2))
    sizes, seen = look_sizes(164, 0.2), [watch.now]
    for done, row in enumerate(rows, 1):
        now = watch.add([row])
        if now is not seen[-1]:
            assert done == now.n == sizes[now.look - 1]
            seen.append(now)
    assert [each.n for each in seen] == [0, *sizes]
    assert seen[0].estimate is None and (seen[0].low, seen[0].high) == (0.0, 1.0)
    assert seen[1].width <= 0.25 and seen[1].high == 1.0
    early = SequentialMonitor(keys, 0, SureRule("score", 0.2))
    assert (early.add(rows[1:]).n, early.now.look) == (0, 0)
    assert early.add(rows[:1]) == watch.now


def test_pairs_without_a_reward_make_it_speak_of_the_others() -> None:
    half = {"hep-go": tally_of(164, won=40, counted=80)}
    fewer = {"hep-go": tally_of(164, won=40, counted=80, missing=84)}
    for number in TARGETS:
        _, low, high = bounds(half, number, 0.05)
        assert low < 0.43 and high > 0.57
        assert bounds(fewer, number, 0.05) == (0.5, 0.5, 0.5)
    nothing = {"hep-go": tally_of(164, missing=164)}
    assert bounds(nothing, "score", 0.05) == bounds(nothing, "accuracy", 0.05) == (None, 0.0, 1.0)
    tallies = {"hep-go": tally_of(100, 50, 90), "mt-bench-easy": tally_of(5)}
    assert bounds(tallies, "score", 0.05) == (None, 0.0, 1.0), "a section is still open"
    assert bounds(tallies, "accuracy", 0.05)[0] == pytest.approx(50 / 90)


# Exact intervals of a share in a finite population, against scipy's distributions.


@st.composite
def draws(draw: st.DrawFn) -> tuple[int, int, int]:
    """(seen, n, total)"""
    total = draw(st.integers(1, 400))
    n = draw(st.integers(1, total))
    return draw(st.integers(0, n)), n, total


@given(draws(), st.sampled_from([0.1, 0.025, 0.002]))
@example((39_880, 40_000, 10**5), 0.025)  # no probability vanishes
def test_it_is_the_last_number_that_is_not_rejected(
    drawn: tuple[int, int, int], alpha: float
) -> None:
    seen, n, total = drawn
    found = most_marked(seen, n, total, alpha)
    assert seen <= found <= total - (n - seen)
    assert found == seen or hypergeom.cdf(seen, total, found, n) > alpha * (1 - 1e-9)
    if found < total - (n - seen):
        assert hypergeom.cdf(seen, total, found + 1, n) <= alpha * (1 + 1e-9)


def test_a_width_out_of_range_is_refused_and_a_score_of_pairs_that_have_none() -> None:
    for width in (0.001, float("nan"), 0.6):
        with pytest.raises(KnownError, match=r"0\.5 to 50 points wide, not "):
            SureRule("accuracy", width)
    with pytest.raises(KnownError, match="sure of the accuracy instead"):
        SequentialMonitor({"own:1": "own"}, 0, SureRule("score", 0.05))
    assert SequentialMonitor({"own:1": "own"}, 0, SureRule("accuracy", 0.05)).now.looks == 1
