"""The bias probe: known effects of a model that is known, stopped, limited, and as files."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from explorer.data.table import PairTable
from explorer.runs.progress import Progress
from explorer.runs.running import Rewarded
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
from scoring.pairs.opening import as_pairs
from scoring.probing.edits import EDITS, FILLER
from scoring.spec import Pair, ScoredPair
from tests.support.rewarding import by_length, in_packs, steps_of_probe

FILLED = len(FILLER) + 2


@pytest.fixture(scope="module")
def pairs(demo: PairTable) -> list[Pair]:
    return as_pairs(demo.arrow, range(0, len(demo), 3))


@pytest.fixture(scope="module")
def longer(pairs: list[Pair]) -> Probe:
    """A finished probe of the model for which more characters are better."""
    return last(steps_of_probe(pairs, CHANGES, in_packs(by_length)))


def last(steps: Iterator[Probe]) -> Probe:
    return [*steps][-1]


def of(probe: Probe, change: str, side: str) -> Bought:
    return next(each for each in bought(probe) if (each.change, each.side) == (change, side))


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


def test_it_tells_what_is_known_block_by_block(pairs: list[Pair]) -> None:
    known = [
        (probe.share, len(probe.before), bought(probe)[0].n)
        for probe in steps_of_probe(pairs, ["longer"], in_packs(by_length))
    ]
    shares = [share for share, _, _ in known]
    assert shares == sorted(shares) and shares[-1] == 1
    n_before = [n for _, n, n_bought in known if n_bought]
    assert n_before[0] == FIRST_PAIRS
    assert FIRST_PAIRS < min({*n_before} - {FIRST_PAIRS}) <= FIRST_PAIRS + AT_ONCE


def test_pairs_come_in_a_random_order_that_is_the_same_again(pairs: list[Pair]) -> None:
    def keys(seed: int) -> list[str]:
        probe = next(steps_of_probe(pairs, ["upper"], in_packs(by_length), seed=seed))
        return [pair.key for pair in probe.pairs]

    assert keys(0) == keys(0) != keys(1) != [pair.key for pair in pairs]


@pytest.mark.parametrize("n_packs", [0, 4])
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


def test_each_response_is_a_line_of_a_file(longer: Probe, tmp_path: Path) -> None:
    write_probe(longer, "pairs", tmp_path / "p.csv")
    with (tmp_path / "p.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(map(len, longer.effects.values()))
    for row in rows:
        gained = float(row["margin_after"]) - float(row["margin_before"])
        if (row["change"], row["side"]) == ("longer", "chosen"):
            assert float(row["reward_change"]) == gained == FILLED
            assert (row["outcome_after"] == "win") == (float(row["margin_after"]) > 0)


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
    columns: dict[EditedSide, list[float]] = {
        ("upper", side): generator.normal(mean, 1.0, 30).tolist()
        for side, mean in zip(SIDES, (0.7, 0.1), strict=True)
    }
    columns["cut", "chosen"] = [NAN] * 30
    first, second, third = bought(probed([1.0] * 30, columns))
    assert first.corrected == pytest.approx(2 * first.p)
    assert second.corrected == pytest.approx(max(second.p, 2 * first.p))
    assert third.corrected == 1.0
    sure, unsure = (replace(first, corrected=p) for p in (0.04, 0.06))
    assert first.p < 0.04 and sure.is_sure and not unsure.is_sure
