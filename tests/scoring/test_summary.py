"""What rows of a run make: counts, accuracies, sections, a score."""

from statistics import fmean

import pytest

from scoring.benchmark import COUNTS, SECTIONS
from scoring.interval import wilson
from scoring.spec import ScoredPair
from scoring.summary import Intervals, summarise


def pair(
    subset: str, chosen: float | None, rejected: float | None, cut: tuple[bool, bool] = (False,) * 2
) -> ScoredPair:
    return ScoredPair(f"{subset}:1", subset, "0" * 16, chosen, rejected, 10, 10, *cut)


WIN, LOSS, TIE, MISSING = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (None, 0.0)


def test_ties_count_as_not_won_and_missing_rewards_do_not_count() -> None:
    outcomes = [WIN, WIN, WIN, LOSS, TIE, MISSING, (1.0, None)]
    summary = summarise((pair("hep-go", *rewards) for rewards in outcomes), "classifier")
    total = summary.total
    assert total.counts == {"win": 3, "loss": 1, "tie": 1, "missing": 2}
    assert (total.wins, total.n, total.accuracy) == (3, 5, 0.6)
    assert summary.intervals.total == pytest.approx(wilson(3, 5), abs=0.03)


def test_a_tie_counts_as_in_the_files_though_subsets_are_of_another_benchmark() -> None:
    tied = pair("mmlu-pro-law", *TIE)
    for benchmark, worth in (("", 0.5), ("judgebench", 0.0)):
        assert summarise([tied], "judge", benchmark).total.accuracy == worth


def test_no_pairs_give_an_empty_summary() -> None:
    summary = summarise([], "classifier")
    assert (summary.total.n, summary.total.accuracy) == (0, None)
    assert summary.intervals == Intervals(sections=dict.fromkeys([*SECTIONS, ""]))
    assert (summary.subsets, summary.section_tallies) == ({}, {})
    assert summary.sections == dict.fromkeys(SECTIONS)
    assert summary.score is None
    assert summary.truncated == 0


def test_subsets_weigh_as_officially_and_sections_equally() -> None:
    summary = summarise(
        [
            pair("math-prm", *WIN),  # weighs 984 of 984 + 164
            pair("hep-cpp", *LOSS),
            pair("refusals-dangerous", *WIN),  # 100 of 100 + 250
            pair("refusals-dangerous", *TIE),
            pair("xstest-should-respond", *WIN),
        ],
        "classifier",
    )
    assert summary.sections == {
        "Chat": None,
        "Chat Hard": None,
        "Safety": pytest.approx((0.5 * 100 + 250) / 350),
        "Reasoning": pytest.approx(984 / 1148),
    }
    assert summary.score == pytest.approx(fmean([300 / 350, 984 / 1148]))
    assert summary.total.accuracy == 3 / 5
    assert summary.section_tallies["Safety"].counts == {"win": 2, "loss": 0, "tie": 1, "missing": 0}


def test_a_weighted_mean_is_as_sure_as_that_many_pairs_that_weigh_alike() -> None:
    half = [WIN, LOSS] * 41
    alike = summarise(
        (pair(subset, *each) for subset in ("hep-go", "hep-js") for each in half), "classifier"
    )
    reasoning = alike.intervals.sections["Reasoning"]
    assert reasoning == alike.intervals.score == pytest.approx(wilson(82, 164), abs=0.001)
    assert alike.intervals.sections["Chat"] is None
    firsts = [next(iter(subsets)) for subsets in SECTIONS.values()]
    four = summarise((pair(subset, *each) for subset in firsts for each in half), "classifier")
    assert four.intervals.score == pytest.approx(wilson(164, 328), abs=0.001)
    heavy = summarise(
        (pair(subset, *each) for subset in ("hep-go", "math-prm") for each in half), "classifier"
    )
    n = int(1148**2 / ((164**2 + 984**2) / 82))
    assert heavy.intervals.sections["Reasoning"] == pytest.approx(wilson(n / 2, n), abs=0.001)


def test_subsets_stand_in_the_benchmarks_order_and_unknown_ones_after_them() -> None:
    seen = ["zebra", "hep-rust", "own", "alpacaeval-easy", "hep-rust"]
    summary = summarise((pair(subset, *WIN) for subset in seen), "classifier")
    assert list(summary.subsets) == ["alpacaeval-easy", "hep-rust", "own", "zebra"]
    assert summary.subsets["hep-rust"].n == 2


def test_unknown_subsets_count_in_the_total_and_in_no_section() -> None:
    own = pair("own", *LOSS)
    summary = summarise([own, pair("zebra", *WIN), pair("hep-go", *WIN)], "classifier")
    assert summary.total.accuracy == 2 / 3
    assert summary.sections["Reasoning"] == summary.score == 1.0
    assert (summary.section_tallies[""].n, summary.section_tallies["Reasoning"].n) == (2, 1)
    alone = summarise([own], "classifier")
    assert (alone.score, alone.total.accuracy) == (None, 0.0)


def test_a_subset_whose_rewards_are_all_missing_leaves_its_section_unknown() -> None:
    summary = summarise([pair("hep-go", *MISSING), pair("donotanswer", *WIN)], "classifier")
    assert summary.subsets["hep-go"].accuracy is None
    assert summary.sections["Reasoning"] is None
    assert summary.score == 1.0


def test_a_pair_cut_on_either_side_is_truncated_once() -> None:
    cuts = [(True, True), (True, False), (False, True), (False, False)]
    assert summarise((pair("hep-go", *WIN, cut) for cut in cuts), "classifier").truncated == 3


def test_only_the_benchmarks_own_counts_are_the_whole_of_it() -> None:
    pairs = [pair(subset, *LOSS) for subset, n in COUNTS.items() for _ in range(n)]
    assert len(pairs) == 2985
    assert summarise(pairs, "classifier").whole
    assert summarise([*pairs[1:], pair(pairs[0].subset, *MISSING)], "classifier").whole
    assert not summarise(pairs[1:], "classifier").whole
    assert not summarise([*pairs, pair("own", *WIN)], "classifier").whole
    assert not summarise([*pairs, pairs[0]], "classifier").whole
    assert not summarise([], "classifier").whole
    chat = [pair("chat", *LOSS)] * 1327  # RM-Bench's number of rows; its domains have no fixed one
    assert summarise(chat, "classifier", "rm-bench").whole
    assert not summarise(chat[1:], "classifier", "rm-bench").whole
