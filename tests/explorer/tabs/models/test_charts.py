"""What charts are made of, and names in them: points, models alike, accuracies by length."""

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from explorer.data.facets import Coded
from explorer.data.table import PairTable
from explorer.results.board import build_board
from explorer.stats.aggregate import accuracies_of, aggregate_counted
from explorer.stats.matrix import order_of
from explorer.stats.rules import V1
from explorer.tabs.models.charts import (
    Alike,
    Point,
    Share,
    credits_by_length,
    difference_interval,
    length_baseline,
    length_bias,
    lengths_of,
    scores_by_length,
)
from explorer.tabs.models.figures import Axis, alike_figure, models_figure
from scoring.benchmark import SUBSETS
from scoring.interval import Interval
from tests.support.board_data import NOTHING, coin_flips, matrix_of
from tests.support.hostile import NAMES
from tests.support.tables import benchmark_table, file_table, row, small_table

NAN = float("nan")


def test_pairs_are_recognised_by_subset_and_id_and_no_other_pairs_are(demo: PairTable) -> None:
    whole = benchmark_table()
    order = order_of(whole)
    turned = replace(order, codes=order.codes[::-1], ids=[*(order.ids or ())][::-1])
    found = lengths_of([whole], turned)
    assert found is not None and found.pairs == whole.caption
    assert found.difference.tolist() == whole.lengths("difference", "chars").tolist()[::-1]
    assert lengths_of([], order) is lengths_of([demo], order) is None


def test_length_alone_scores_as_published_for_the_real_pairs(real: PairTable) -> None:
    order = replace(order_of(real), dataset=None)  # as published files have it
    found = lengths_of([real], order)
    sides = {"chosen": "rejected", "rejected": "chosen"}
    swapped = real.arrow.rename_columns([sides.get(name, name) for name in real.arrow.column_names])
    relabelled = file_table("swapped.parquet", swapped.select(real.arrow.column_names))
    assert found is not None and lengths_of([relabelled], order) is None
    outcomes = length_baseline(found.difference, longer=True)
    subsets = Coded(list(order.names), order.codes)
    scored = aggregate_counted(V1, accuracies_of(outcomes, subsets))
    assert scored.sections == pytest.approx(
        {"Chat": 0.8016760, "Chat Hard": 0.2916667, "Safety": 0.4189189, "Reasoning": 0.2175035},
        abs=5e-8,
    )
    assert scored.score == pytest.approx(0.4324413, abs=5e-8)


def test_what_goes_by_length_alone_has_its_share_of_each_subset_and_section() -> None:
    whole = benchmark_table()
    subsets = whole.subset_of_row
    matrix = matrix_of({"m": coin_flips(0.8, len(whole))}, subsets.tolist(), dataset=whole.id)
    board = build_board(NOTHING, "v1", outcomes=matrix)
    found = scores_by_length(board, matrix, [whole])
    chars, weights = whole.lengths("difference", "chars"), V1.sections["Chat"]
    for by_name, wins in zip(found.values(), (chars > 0, chars < 0), strict=True):
        shares = {name: float(wins[subsets == name].mean()) for name in SUBSETS}
        assert {name: by_name[name] for name in SUBSETS} == pytest.approx(shares)
        of_chat = np.average([shares[name] for name in weights], weights=[*weights.values()])
        assert by_name["Chat"] == pytest.approx(of_chat)
    assert scores_by_length(board, matrix, []) == {}


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


def test_a_model_is_counted_by_which_response_is_longer_and_by_category_of_subsets() -> None:
    names = ["alpacaeval-easy", "math-prm", "donotanswer", "mt-bench-easy", "own"]
    difference = np.array([3, 4, 1, -5, -6, -7, 0, 2])
    won = np.array([1.0, 0.5, NAN, 0.0, 1.0, 1.0, 0.0, 1.0])
    subsets = Coded(names, np.array([0, 1, 1, 2, 3, 3, 4, 4], np.int32))
    longer = length_baseline(difference, longer=True)
    model, by_length = length_bias(np.stack([won, longer]), difference, subsets)
    sides = (model.chosen_longer, model.rejected_longer, model.equal)
    assert [each.n for each in sides] == [3, 3, 1]
    assert [each.accuracy for each in sides] == pytest.approx([2.5 / 3, 2 / 3, 0.0])
    assert model.difference == pytest.approx(0.5 / 3)
    assert by_length.equal == Share(1, 0.0)
    assert model.categories == {"chosen": 1.0, "neutral": 0.5, "rejected": 0.5}
    assert by_length.difference == 1.0  # nothing is farther from the line


def test_intervals_are_those_of_newcombes_table() -> None:
    table = {(5, 56, 0, 29): (-0.0381, 0.1926), (10, 10, 0, 20): (0.6791, 1.0000)}
    for counts, interval in table.items():
        found = difference_interval(*counts)
        assert found and tuple(round(end, 4) for end in found) == interval
        turned = difference_interval(*counts[2:], *counts[:2])
        assert turned == pytest.approx((-found.high, -found.low))


def test_names_that_attack_the_page_stay_text_and_are_still_asked_for() -> None:
    points = [Point(name, 5.0, 5.0, "DPO", True, Interval(1.0, 9.0)) for name in NAMES]
    drawn_points = models_figure(points, Axis("Chat, percent"), Axis("Safety, percent"))
    for figure in (drawn_points, alike_figure(Alike(NAMES, np.eye(len(NAMES))))):
        read: dict[str, Any] = json.loads(figure.to_json())
        assert read["data"][0]["customdata"] == list(NAMES)
        for trace in read["data"]:
            trace.pop("customdata", None)  # which is carried, and never drawn
            template = trace.pop("hovertemplate")
            assert not any(name in template for name in NAMES)
        drawn = json.dumps(read)
        assert "&lt;script&gt;" in drawn and "&quot;" not in drawn  # which Plotly would show
        assert {*re.findall(r"<[^>]*>?", drawn)} <= {"<br>"}
