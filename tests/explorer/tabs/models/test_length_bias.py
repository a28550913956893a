"""Length bias: which side is longer of which pair, and accuracies by that."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.data.datacard import LengthCategory
from explorer.data.facets import Coded
from explorer.data.table import PairTable
from explorer.stats.aggregate import accuracies_of, aggregate_counted
from explorer.stats.matrix import order_of
from explorer.stats.rules import V1
from explorer.tabs.models.length_bias import (
    CATEGORIES,
    LengthBias,
    Share,
    difference_interval,
    length_alone,
    length_bias,
    lengths_of,
)
from scoring.benchmark import SUBSETS
from scoring.hub.access import DEFAULT_DATASET
from scoring.pairs.opening import PairSource
from scoring.results.order import PairOrder
from tests.explorer.tables import benchmark_table, row, small_table

NAN = float("nan")


@pytest.fixture
def whole() -> PairTable:
    return benchmark_table()


def expected(table: PairTable) -> list[int]:
    return [place % 50 + 1 - 25 for place in range(len(table))]


def hub_table(table: PairTable, name: str) -> PairTable:
    return PairTable(replace(table.pairs, source=PairSource("hub", name, "filtered", "0" * 40)))


# Whose lengths.


def test_pairs_are_recognised_by_subset_and_id(whole: PairTable) -> None:
    order = order_of(whole)
    assert order.ids is not None
    turned = PairOrder(order.names, order.codes[::-1], list(order.ids)[::-1])
    found = lengths_of([whole], turned)
    assert found is not None
    assert found.difference.tolist() == expected(whole)[::-1]
    assert found.pairs == whole.caption


def test_or_by_position_where_the_subsets_stand_in_the_same_order(whole: PairTable) -> None:
    order = order_of(whole)
    nameless = PairOrder(order.names, order.codes)
    found = lengths_of([whole], nameless)
    assert found is not None and found.difference.tolist() == expected(whole)
    assert lengths_of([whole], PairOrder(order.names, order.codes[::-1])) is None


def test_no_other_pairs_do(whole: PairTable, demo: PairTable) -> None:
    order = order_of(whole)
    assert lengths_of([], order) is None
    assert lengths_of([demo], order) is None
    assert lengths_of([demo], order_of(demo)) is None
    subsets = [order.names[code] for code in order.codes]
    subsets[0] = "hep-go"  # one pair too many of it
    other = small_table(*[row(subset=subset) for subset in subsets], chunk_rows=1000)
    assert lengths_of([other], order_of(other)) is None


def test_the_benchmarks_own_pairs_go_before_others(whole: PairTable) -> None:
    own, copy = hub_table(whole, DEFAULT_DATASET), hub_table(whole, "somebody/copy")
    for tables in ([own, copy], [copy, own]):
        found = lengths_of(tables, order_of(whole))
        assert found is not None and found.pairs == own.caption


def test_length_alone_scores_as_published_for_the_real_pairs(real: PairTable) -> None:
    order = order_of(real)
    found = lengths_of([real], order)
    assert found is not None
    counts = [int((found.difference * sign > 0).sum()) for sign in (1, -1)]
    assert counts == [1116, 1501] and len(real) - sum(counts) == 368
    outcomes = length_alone(found.difference, longer=True)
    subsets = Coded(list(order.names), order.codes)
    scored = aggregate_counted(V1, accuracies_of(outcomes, subsets))
    assert scored.sections == pytest.approx(
        {"Chat": 0.8016760, "Chat Hard": 0.2916667, "Safety": 0.4189189, "Reasoning": 0.2175035},
        abs=5e-8,
    )
    assert scored.score == pytest.approx(0.4324413, abs=5e-8)


# Accuracies.


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.5, 1.0, NAN]),
            st.sampled_from([0.0, 0.5, 1.0, NAN]),
            st.integers(-2, 2),
            st.sampled_from(["alpacaeval-easy", "math-prm", "donotanswer", "mt-bench-easy", "own"]),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_each_model_is_counted_as_one_would_by_hand(
    pairs: list[tuple[float, float, int, str]],
) -> None:
    names = list(dict.fromkeys(subset for *_, subset in pairs))
    subsets = Coded(names, np.array([names.index(subset) for *_, subset in pairs], np.int32))
    difference = np.array([longer for _, _, longer, _ in pairs])
    both = length_bias(np.array([pair[:2] for pair in pairs]).T, difference, subsets)
    for model, found in enumerate(both):
        known = [
            ((first, second)[model], longer, subset)
            for first, second, longer, subset in pairs
            if not np.isnan((first, second)[model])
        ]
        for sign, share in zip(
            (1, -1, 0), (found.chosen_longer, found.rejected_longer, found.equal), strict=True
        ):
            won = [result for result, longer, _ in known if np.sign(longer) == sign]
            assert share.n == len(won)
            assert share.accuracy == (pytest.approx(np.mean(won)) if won else None)
        kinds: dict[LengthCategory, list[str]] = {
            "chosen": ["alpacaeval-easy"],
            "neutral": ["math-prm"],
            "rejected": ["donotanswer", "mt-bench-easy"],
        }
        for category, members in kinds.items():
            by_subset = [[won for won, _, subset in known if subset == each] for each in members]
            means = [np.mean(won) for won in by_subset if won]
            assert found.categories[category] == (pytest.approx(np.mean(means)) if means else None)


def test_every_subset_is_in_one_category() -> None:
    subsets = Coded(list(SUBSETS), np.arange(len(SUBSETS), dtype=np.int32))
    per_category = {
        category: sum(
            length_bias(np.eye(len(SUBSETS))[[place]], np.ones(len(SUBSETS), np.int64), subsets)[
                0
            ].categories[category]
            != 0
            for place in range(len(SUBSETS))
        )
        for category in CATEGORIES
    }
    assert per_category == {"chosen": 3, "neutral": 11, "rejected": 9}


def test_going_by_length_alone_is_the_farthest_from_the_line() -> None:
    difference = np.array([3, 4, -5, -6, 0])
    subsets = Coded(["math-prm"], np.zeros(5, np.int32))
    outcomes = np.stack([length_alone(difference, longer=longer) for longer in (True, False)])
    longer, shorter = length_bias(outcomes, difference, subsets)
    assert (longer.chosen_longer, longer.rejected_longer) == (Share(2, 1.0), Share(2, 0.0))
    assert (longer.difference, shorter.difference) == (1.0, -1.0)
    assert longer.equal == shorter.equal == Share(1, 0.0)


def test_a_side_without_pairs_has_no_difference() -> None:
    subsets = Coded(["math-prm"], np.zeros(1, np.int32))
    (found,) = length_bias(np.array([[1.0]]), np.array([7]), subsets)
    assert found == LengthBias(
        Share(1, 1.0), Share(0, None), Share(0, None), None, None,
        {"chosen": None, "neutral": 1.0, "rejected": None},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "interval"),
    [
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((6, 7, 2, 7), (0.0582, 0.8062)),
        ((5, 56, 0, 29), (-0.0381, 0.1926)),
        ((0, 10, 0, 20), (-0.1611, 0.2775)),
        ((0, 10, 0, 10), (-0.2775, 0.2775)),
        ((10, 10, 0, 20), (0.6791, 1.0000)),
        ((10, 10, 0, 10), (0.6075, 1.0000)),
    ],
)
def test_intervals_are_those_of_newcombes_table(
    counts: tuple[int, int, int, int], interval: tuple[float, float]
) -> None:
    found = difference_interval(*counts)
    assert found is not None
    assert [round(end, 4) for end in found] == list(interval)
    turned = difference_interval(*counts[2:], *counts[:2])
    assert turned == pytest.approx((-found.high, -found.low))


def test_what_was_not_counted_has_no_interval() -> None:
    assert difference_interval(0, 0, 1, 2) is None
    assert difference_interval(1, 2, 0, 0) is None
