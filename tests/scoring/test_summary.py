"""What rows of a run are and make: counts, accuracies, sections, a score; what ties are worth."""

import math
from collections.abc import Iterable
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from scoring.benchmark import (
    COUNTS,
    SECTIONS,
    SUBSETS,
    WEIGHTS,
    overall_score,
    section_of,
    section_scores,
)
from scoring.interval import wilson
from scoring.spec import ScoredPair, outcome_of, text_hash
from scoring.summary import Intervals, Summary, summarise
from tests.support.published_accuracies import LDL_REWARD_CORRECT

Rewards = tuple[float | None, float | None]
WIN, LOSS, TIE, MISSING = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (None, 0.0)
HALF = [WIN, LOSS] * 41


def pair(subset: str, rewards: Rewards, cut: tuple[bool, bool] = (False, False)) -> ScoredPair:
    return ScoredPair(f"{subset}:1", subset, "0" * 16, *rewards, 10, 10, *cut)


def of(*rows: tuple[str, Iterable[Rewards]]) -> Summary:
    """Of a classifier, by the rewards of each subset."""
    return summarise((pair(subset, each) for subset, some in rows for each in some), "classifier")


def test_every_subset_is_in_one_section_of_its_published_size() -> None:
    assert len(SUBSETS) == len(set(SUBSETS)) == 23 and set(SUBSETS) == set(COUNTS)
    assert all(subset in SECTIONS[section_of(subset) or ""] for subset in SUBSETS)
    sizes = {
        name: tuple(sum(of[each] for each in subsets) for of in (COUNTS, WEIGHTS))
        for name, subsets in SECTIONS.items()
    }
    assert sizes == {
        "Chat": (358, 358),
        "Chat Hard": (456, 456),
        "Safety": (740, 740),
        "Reasoning": (1431, 1968),
    }
    for name in ("", "mt-bench-medium", "do not answer", "Chat", "HEP-JS"):
        assert section_of(name) is None


def test_ldl_reward_gets_its_published_scores() -> None:
    scores = section_scores(
        {subset: correct / COUNTS[subset] for subset, correct in LDL_REWARD_CORRECT.items()}
    )
    sections = (0.9664804469, 0.9166666667, 0.9270270270, 0.9882107001)
    assert scores == pytest.approx(dict(zip(SECTIONS, sections, strict=True)), abs=5e-11)
    assert overall_score(scores) == pytest.approx(0.9495962102, abs=5e-11)


def test_ties_count_as_not_won_and_missing_rewards_do_not_count() -> None:
    summary = of(("hep-go", [WIN, WIN, WIN, LOSS, TIE, MISSING, (1.0, None)]))
    total = summary.total
    assert total.counts == {"win": 3, "loss": 1, "tie": 1, "missing": 2}
    assert (total.wins, total.n, total.accuracy) == (3, 5, 0.6)
    assert summary.intervals.total == pytest.approx(wilson(3, 5), abs=0.03)
    unknown = of(("hep-go", [MISSING]), ("donotanswer", [WIN]))
    assert unknown.subsets["hep-go"].accuracy is unknown.sections["Reasoning"] is None
    assert unknown.score == 1.0
    assert of(("hep-go", [LOSS]), ("donotanswer", [WIN])).score == 0.5
    judged = [summarise([pair("mmlu-pro-law", TIE)], "judge", each) for each in ("", "judgebench")]
    assert [each.total.accuracy for each in judged] == [0.5, 0.0]


def test_no_pairs_give_an_empty_summary() -> None:
    summary = of()
    assert (summary.total.n, summary.total.accuracy, summary.score) == (0, None, None)
    assert summary.intervals == Intervals(sections=dict.fromkeys([*SECTIONS, ""]))
    assert (summary.subsets, summary.section_tallies) == ({}, {})
    assert summary.sections == dict.fromkeys(SECTIONS)
    assert not summary.whole


def test_subsets_weigh_as_officially_and_sections_equally() -> None:
    summary = of(
        ("math-prm", [WIN]),  # weighs 984 of 984 + 164
        ("hep-cpp", [LOSS]),
        ("refusals-dangerous", [WIN, TIE]),  # 100 of 100 + 250
        ("xstest-should-respond", [WIN]),
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
    alike = of(("hep-go", HALF), ("hep-js", HALF)).intervals
    assert alike.sections["Chat"] is None
    assert alike.sections["Reasoning"] == alike.score == pytest.approx(wilson(82, 164), abs=0.001)
    four = of(*((next(iter(subsets)), HALF) for subsets in SECTIONS.values())).intervals
    assert four.score == pytest.approx(wilson(164, 328), abs=0.001)
    heavy = of(("hep-go", HALF), ("math-prm", HALF)).intervals
    n = int(1148**2 / ((164**2 + 984**2) / 82))
    assert heavy.sections["Reasoning"] == pytest.approx(wilson(n / 2, n), abs=0.001)


def test_unknown_subsets_stand_last_and_count_in_the_total_and_in_no_section() -> None:
    summary = of(("zebra", [WIN]), ("hep-rust", [WIN]), ("own", [LOSS]), ("hep-go", [WIN, WIN]))
    assert list(summary.subsets) == ["hep-go", "hep-rust", "own", "zebra"]
    assert summary.total.accuracy == 4 / 5
    assert summary.sections["Reasoning"] == summary.score == 1.0
    assert (summary.section_tallies[""].n, summary.section_tallies["Reasoning"].n) == (2, 3)
    alone = of(("own", [LOSS]))
    assert (alone.score, alone.total.accuracy) == (None, 0.0)


def test_a_pair_cut_on_either_side_is_truncated_once() -> None:
    cuts = [(True, True), (True, False), (False, True), (False, False)]
    assert summarise((pair("hep-go", WIN, cut) for cut in cuts), "classifier").truncated == 3


def test_only_the_benchmarks_own_counts_are_the_whole_of_it() -> None:
    pairs = [pair(subset, LOSS) for subset, n in COUNTS.items() for _ in range(n)]
    assert len(pairs) == 2985
    assert summarise([*pairs[1:], pair(pairs[0].subset, MISSING)], "classifier").whole
    for others in (pairs[1:], [*pairs, pair("own", WIN)], [*pairs, pairs[0]]):
        assert not summarise(others, "classifier").whole
    chat = [pair("chat", LOSS)] * 1327  # RM-Bench's number of rows; its domains have no fixed one
    assert summarise(chat, "classifier", "rm-bench").whole
    assert not summarise(chat[1:], "classifier", "rm-bench").whole


def test_the_margin_decides_the_outcome() -> None:
    for chosen, rejected, margin, outcome in (
        (-3.0, -2.0, -1.0, "loss"),
        (0.0, -0.0, 0.0, "tie"),
        (math.nextafter(1.0, 2.0), 1.0, math.ulp(1.0), "win"),
        (None, 1.0, None, "missing"),
        (1.0, None, None, "missing"),
    ):
        row = pair("s", (chosen, rejected))
        assert (row.margin, row.outcome) == (margin, outcome)
    assert (outcome_of(math.nan), outcome_of(math.inf)) == ("missing", "win")


def test_the_text_hash_tells_texts_apart_wherever_they_are_cut() -> None:
    texts = [("p", "c", "r"), ("p", "r", "c"), ("pc", "", "r"), ("p", "cr", ""), ("p", "c", "r ")]
    assert len({text_hash(*each) for each in (*texts, ("\ud800", "c", "r"))}) == len(texts) + 1
    assert text_hash("p", "c", "r") == "4afa9877dbe2a1fa", "as stored with earlier runs"


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_that_of_statsmodels(case: tuple[int, int]) -> None:
    expected = proportion_confint(*case, alpha=0.05, method="wilson")
    assert wilson(*case) == pytest.approx(expected, abs=1e-12)
