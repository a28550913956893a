"""The bias probe: known effects of a model that is known, stopped, limited, and as files."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.runs.orders import ModelOrder
from explorer.runs.progress import Progress
from explorer.runs.running import Rewarded, Runs
from explorer.runs.visitors import Visitor
from explorer.tabs.try_it.probe import (
    AT_ONCE,
    FIRST_PAIRS,
    Bought,
    EditedSide,
    Probe,
    bought,
    write_probe,
)
from explorer.tabs.try_it.trial import CHANGES, SIDES, Effect, Side
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from scoring.probing.edits import EDITS, FILLER
from scoring.spec import Pair, ScoredPair
from tests.support.rewarding import (
    JUDGE,
    by_length,
    first_is_better,
    in_packs,
    steps_of_probe,
)
from tests.support.stepping import stepwise

ME = Visitor(session="me")
FILLED = len(FILLER) + 2


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, hub: Hub) -> Runs:
    return Runs(Settings(home=tmp_path_factory.mktemp("home")), hub)


@pytest.fixture(scope="module")
def pairs(demo: PairTable) -> list[Pair]:
    return as_pairs(demo.arrow, range(0, len(demo), 3))


@pytest.fixture(scope="module")
def longer(runs: Runs, pairs: list[Pair]) -> Probe:
    """A finished probe of the model for which more characters are better."""
    order = ModelOrder("longer")
    return last(
        steps_of_probe(
            pairs, CHANGES, lambda some: stepwise(partial(runs.rewarding, ME, order, some))
        )
    )


def last(steps: Iterator[Probe]) -> Probe:
    probe = None
    for probe in steps:  # noqa: B007 - the last one is wanted
        pass
    assert probe is not None
    return probe


def of(probe: Probe, change: str, side: str) -> Bought:
    found = bought(probe)
    return next(each for each in found if (each.change, each.side) == (change, side))


def test_filler_buys_its_length_and_capitals_nothing(longer: Probe) -> None:
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


def test_a_judge_is_probed_for_its_liking_of_the_first(pairs: list[Pair]) -> None:
    probe = last(steps_of_probe(pairs[:20], ["swap", "upper"], in_packs(first_is_better, JUDGE)))
    swap = of(probe, "swap", "chosen")
    assert swap.n == 20 and swap.mean is not None and swap.mean < -1
    upper = sum(probe.applies["upper", side] for side in SIDES)
    assert probe.n_scored == 40 + upper and probe.is_whole


def test_it_tells_what_is_known_block_by_block(pairs: list[Pair]) -> None:
    known = [
        (probe.share, len(probe.before), bought(probe)[0].n)
        for probe in steps_of_probe(pairs, ["longer"], in_packs(by_length))
    ]
    shares = [share for share, _, _ in known]
    assert shares == sorted(shares) and shares[-1] == 1
    n_before = [n for _, n, n_bought in known if n_bought]
    assert n_before[0] == FIRST_PAIRS
    later = next(n for n in n_before if n > FIRST_PAIRS)
    assert FIRST_PAIRS < later <= FIRST_PAIRS + AT_ONCE


def test_pairs_come_in_a_random_order_that_is_the_same_again(pairs: list[Pair]) -> None:
    def keys(seed: int) -> list[str]:
        probe = next(steps_of_probe(pairs, ["upper"], in_packs(by_length), seed=seed))
        return [pair.key for pair in probe.pairs]

    assert keys(0) == keys(0) != keys(1) != [pair.key for pair in pairs]
    assert sorted(keys(0)) == sorted(pair.key for pair in pairs)


@pytest.mark.parametrize("n_packs", [0, 1, 4])
def test_stopped_it_keeps_what_it_has(n_packs: int, pairs: list[Pair]) -> None:
    left = n_packs

    def rewarding(some: Sequence[Pair]) -> Iterator[Progress | Rewarded]:
        nonlocal left
        for step in in_packs(by_length)(some):
            if isinstance(step, Rewarded):
                if not left:
                    return
                left -= 1
            yield step

    probe = last(steps_of_probe(pairs, ["longer"], rewarding))
    assert not probe.is_whole and probe.share < 1
    each = of(probe, "longer", "chosen")
    assert each.n <= len(probe.before) and (each.mean in (None, FILLED))
    assert (each.n > 0) == (n_packs > 2)


def test_more_pairs_than_allowed_are_refused_before_anything_is_scored(pairs: list[Pair]) -> None:
    n_made = last(steps_of_probe(pairs[:10], EDITS, in_packs(by_length))).n_scored
    assert last(steps_of_probe(pairs[:10], EDITS, in_packs(by_length), most=n_made)).is_whole
    for most in (9, n_made - 1):
        with pytest.raises(KnownError, match=f"may score {most} pairs here"):
            next(steps_of_probe(pairs[:10], EDITS, in_packs(by_length), most=most))


# As files and a figure


def test_each_response_is_a_line(longer: Probe, tmp_path: Path) -> None:
    write_probe(longer, "pairs", tmp_path / "p.csv")
    with (tmp_path / "p.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(map(len, longer.effects.values()))
    filler = [row for row in rows if row["change"] == "longer" and row["side"] == "chosen"]
    for row in filler:
        gained = float(row["margin_after"]) - float(row["margin_before"])
        assert float(row["reward_change"]) == gained == FILLED
        assert (row["outcome_after"] == "win") == (float(row["margin_after"]) > 0)
    assert len({row["key"] for row in filler}) == len(filler)


# What a change bought, against numbers made by hand and by SciPy


def probed(margin: Sequence[float], changes: Mapping[EditedSide, Sequence[float]]) -> Probe:
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


NAN = np.nan
FIELDS = ("n", "mean", "low", "p", "up", "down", "won", "lost", "share_up")
BOUGHT: dict[str, tuple[list[float], list[float], Side, tuple[object, ...]]] = {
    "up, down and unknown": (
        [1.0, -1.0, 2.0, 0.0], [0.5, 1.5, -3.0, NAN], "chosen",
        (3, -1 / 3, ..., ..., 2, 1, 1, 1, 2 / 3),
    ),
    "more reward of the rejected one loses": (
        [1.0, -1.0], [2.0, 2.0], "rejected", (2, 2.0, 2.0, 0.5, 2, 0, 0, 1, 1.0),
    ),
    "a tie is not won": ([0.0], [0.0], "chosen", (1, 0.0, None, 1.0, 0, 0, 0, 0, 0.0)),
    "a tie is lost": ([1.0], [-1.0], "chosen", (1, -1.0, None, 1.0, 0, 1, 0, 1, 0.0)),
    "all alike, by the sign test": (
        [1.0] * 6, [0.3] * 6, "chosen", (6, 0.3, 0.3, 2 * 0.5**6, 6, 0, 0, 0, 1.0),
    ),
    "nothing known": (
        [1.0, 2.0], [NAN, NAN], "chosen", (0, None, None, 1.0, 0, 0, 0, 0, None),
    ),
    "one pair": ([1.0, 1.0], [2.0, NAN], "chosen", (1, 2.0, None, 1.0, 1, 0, 0, 0, 1.0)),
}  # fmt: skip
"""Margins, and by how much a side's reward changed -> what that bought; ... is not looked at."""


@pytest.mark.parametrize("name", BOUGHT)
def test_what_a_change_bought_is_counted_by_hand(name: str) -> None:
    margin, change, side, expected = BOUGHT[name]
    [found] = bought(probed(margin, {("upper", side): change}))
    for field, value in zip(FIELDS, expected, strict=True):
        if value is not ...:
            assert getattr(found, field) == pytest.approx(value), field


def test_the_interval_and_p_are_those_of_a_paired_t_test() -> None:
    change = np.random.default_rng(0).normal(0.3, 1.0, 40)
    [each] = bought(probed([0.0] * 40, {("upper", "chosen"): change.tolist()}))
    test = stats.ttest_1samp(change, 0.0)
    ends = test.confidence_interval()
    assert (each.low, each.high) == pytest.approx((ends.low, ends.high))
    assert each.p == pytest.approx(test.pvalue)


def test_p_is_corrected_for_all_that_was_tested() -> None:
    generator = np.random.default_rng(1)
    keys: list[EditedSide] = [("upper", "chosen"), ("upper", "rejected")]
    columns: dict[EditedSide, list[float]] = {
        key: generator.normal(mean, 1.0, 30).tolist()
        for key, mean in zip(keys, (0.7, 0.1), strict=True)
    }
    columns["cut", "chosen"] = [NAN] * 30
    first, second, third = bought(probed([1.0] * 30, columns))
    assert first.corrected == pytest.approx(2 * first.p)
    assert second.corrected == pytest.approx(max(second.p, 2 * first.p))
    assert third.corrected == 1.0
    sure, unsure = (replace(first, corrected=p) for p in (0.04, 0.06))
    assert first.p < 0.04 and sure.is_sure and not unsure.is_sure
