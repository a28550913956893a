"""What charts are made of: points, spreads, models that are alike, and accuracies by length."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.datacard import LengthCategory
from explorer.data.facets import Coded
from explorer.data.table import PairTable
from explorer.stats.aggregate import accuracies_of, aggregate_counted
from explorer.stats.matrix import order_of
from explorer.stats.rules import V1
from explorer.tabs.models.charts import (
    Share,
    alike,
    credits_by_length,
    difference_interval,
    length_baseline,
    length_bias,
    lengths_of,
)
from tests.support.board_data import FOUR, matrix_of
from tests.support.tables import benchmark_table, row, small_table, swap_sides

NAN = float("nan")


def test_models_that_are_alike_stand_together() -> None:
    rng = np.random.default_rng(0)
    one, other = (rng.integers(0, 2, 40).astype(float) for _ in range(2))
    matrix = matrix_of({"a": one, "b": other, "a2": one, "b2": other, "c": 1 - one}, FOUR * 10)  # type: ignore[dict-item]
    found = alike(matrix, ["c", "a", "b", "a2", "b2", "gone"], V1)
    order = "".join(model[0] for model in found.models)
    assert sorted(found.models) == ["a", "a2", "b", "b2", "c"]
    assert "aa" in order and "bb" in order
    place = {model: at for at, model in enumerate(found.models)}
    assert found.correlation[place["a"], place["a2"]] == pytest.approx(1)
    assert found.correlation[place["a"], place["c"]] == pytest.approx(-1)
    expected = np.corrcoef(one, other)[0, 1]
    assert found.correlation[place["a"], place["b"]] == pytest.approx(expected)


def test_pairs_are_recognised_by_subset_and_id_and_no_other_pairs_are(demo: PairTable) -> None:
    whole = benchmark_table()
    order = order_of(whole)
    assert order.ids is not None
    turned = replace(order, codes=order.codes[::-1], ids=list(order.ids)[::-1])
    found = lengths_of([whole], turned)
    assert found is not None and found.pairs == whole.caption
    expected = [place % 50 + 1 - 25 for place in range(len(whole))]
    assert found.difference.tolist() == expected[::-1]
    assert lengths_of([], order) is lengths_of([demo], order) is None
    subsets = [order.names[code] for code in order.codes]
    subsets[0] = "hep-go"  # one pair too many of it
    other = small_table(*[row(subset=subset) for subset in subsets], chunk_rows=1000)
    assert lengths_of([other], order_of(other)) is None


def test_length_alone_scores_as_published_for_the_real_pairs(real: PairTable) -> None:
    order = replace(order_of(real), dataset=None)  # as published files have it
    found = lengths_of([real], order)
    assert found is not None
    assert lengths_of([swap_sides(real)], order) is None
    counts = [int((found.difference * sign > 0).sum()) for sign in (1, -1)]
    assert counts == [1116, 1501] and len(real) - sum(counts) == 368
    outcomes = length_baseline(found.difference, longer=True)
    subsets = Coded(list(order.names), order.codes)
    scored = aggregate_counted(V1, accuracies_of(outcomes, subsets))
    assert scored.sections == pytest.approx(
        {"Chat": 0.8016760, "Chat Hard": 0.2916667, "Safety": 0.4189189, "Reasoning": 0.2175035},
        abs=5e-8,
    )
    assert scored.score == pytest.approx(0.4324413, abs=5e-8)


def test_of_several_responses_the_longest_or_the_shortest_wins_and_ties_share_the_row() -> None:
    rows = [
        row(chosen=["cc"], rejected=["r", "rr", "rrr"], subset="Focus"),
        row(chosen=["ccc"], rejected=["rrr", "r"], subset="Focus"),
        row(chosen="cc", rejected="r", subset="Focus"),
    ]
    table = small_table(*rows)
    longest, shortest = (credits_by_length(table, longer=each)[0] for each in (True, False))
    assert longest.tolist() == [0, 1 / 2, 1]
    assert shortest.tolist() == [0, 0, 0]


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


def test_going_by_length_alone_is_the_farthest_from_the_line() -> None:
    difference, subsets = np.array([3, 4, -5, -6, 0]), Coded(["math-prm"], np.zeros(5, np.int32))
    outcomes = np.stack([length_baseline(difference, longer=longer) for longer in (True, False)])
    longer, shorter = length_bias(outcomes, difference, subsets)
    assert (longer.difference, shorter.difference) == (1.0, -1.0)
    assert longer.equal == shorter.equal == Share(1, 0.0)


def test_intervals_are_those_of_newcombes_table() -> None:
    table = {
        (56, 70, 48, 80): (0.0524, 0.3339),
        (9, 10, 3, 10): (0.1705, 0.8090),
        (5, 56, 0, 29): (-0.0381, 0.1926),
        (0, 10, 0, 10): (-0.2775, 0.2775),
        (10, 10, 0, 20): (0.6791, 1.0000),
    }
    for counts, interval in table.items():
        found = difference_interval(*counts)
        assert found and tuple(round(end, 4) for end in found) == interval
        turned = difference_interval(*counts[2:], *counts[:2])
        assert turned == pytest.approx((-found.high, -found.low))
