"""Sections of a run with intervals, against the board's way to make them."""

import numpy as np
import pytest

from explorer.facets import Coded
from explorer.run_sections import score_interval, section_interval, sections_now
from explorer.statistics import unpaired_interval
from explorer.strata import benchmark_strata
from scoring.benchmark import COUNTS, SECTIONS, WEIGHTS
from scoring.interval import wilson
from scoring.spec import ScoredPair
from scoring.summary import Tally, summarise


def scored(subset: str, wins: int, losses: int, missing: int = 0) -> list[ScoredPair]:
    rewards: list[float | None] = [*[1.0] * wins, *[-1.0] * losses, *[None] * missing]
    return [
        ScoredPair(f"{subset}:{at}", subset, "", each, 0.0, 1, 1) for at, each in enumerate(rewards)
    ]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_is_as_sure_as_on_the_board(section: str) -> None:
    rows = [row for each in SECTIONS[section] for row in scored(each, COUNTS[each] // 2, 9, 3)]
    found = {now.name: now for now in sections_now(summarise(rows, "classifier"))}[section]
    weights = {section: {each: float(WEIGHTS[each]) for each in SECTIONS[section]}}
    names = list(SECTIONS[section])
    groups = benchmark_strata(Coded(names, np.zeros(0, np.int32)), weights, {section: 1})
    counts = [COUNTS[each] // 2 + 9 for each in names]
    assert found.accuracy is not None
    assert found.interval == unpaired_interval(found.accuracy, groups, counts)
    assert found.n == sum(counts) and found.wins == sum(COUNTS[each] // 2 for each in names)


@pytest.mark.parametrize("left_out", [(), ("math-prm", "mt-bench-easy", "xstest-should-refuse")])
def test_the_score_is_as_sure_as_on_the_board(left_out: tuple[str, ...]) -> None:
    counts = {subset: 0 if subset in left_out else n for subset, n in COUNTS.items()}
    summary = summarise(
        (row for each, n in counts.items() for row in scored(each, n // 2, n - n // 2)),
        "classifier",
    )
    weights = {
        section: {each: float(WEIGHTS[each]) for each in subsets}
        for section, subsets in SECTIONS.items()
    }
    groups = benchmark_strata(Coded([], np.zeros(0, np.int32)), weights, dict.fromkeys(SECTIONS, 1))
    assert summary.score is not None
    by_the_board = unpaired_interval(
        summary.score, groups, [counts[each] for of in SECTIONS.values() for each in of]
    )
    assert score_interval(summary.subsets) == pytest.approx(by_the_board)


def test_without_a_section_there_is_no_score_to_be_sure_of() -> None:
    rows = [row for of in list(SECTIONS.values())[1:] for row in scored(of[0], 3, 1)]
    assert score_interval(summarise(rows, "classifier").subsets) is None


def test_only_sections_with_pairs_are_told_after_all_pairs() -> None:
    rows = [*scored("hep-go", 3, 1), *scored("own", 0, 4)]
    found = sections_now(summarise(rows, "classifier"))
    assert [(now.name, now.n, now.accuracy) for now in found] == [
        ("", 8, 3 / 8), ("Reasoning", 4, 0.75),
    ]  # fmt: skip
    assert [now.interval for now in found] == [wilson(3, 8), wilson(3, 4)]


def test_without_rewards_nothing_is_known() -> None:
    [total, chat] = sections_now(summarise(scored("mt-bench-easy", 0, 0, 3), "classifier"))
    assert (total.accuracy, total.interval, chat.accuracy, chat.interval) == (None,) * 4


def test_intervals_shrink_as_pairs_come() -> None:
    widths = []
    for n in (5, 20, 80):
        tallies = {
            each: Tally({"win": 2 * n, "loss": n, "tie": 0, "missing": 0})
            for each in ("hep-go", "math-prm")
        }
        interval = section_interval("Reasoning", tallies)
        assert interval
        widths.append(interval.high - interval.low)
    assert widths == sorted(widths, reverse=True)
