import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from explorer.figures import Figure, length_figure, margin_figure
from explorer.lengths import LengthHistogram, length_histogram
from explorer.table import PairTable

EMPTY = LengthHistogram([], [], [], 0)


def parsed(figure: Figure) -> dict[str, Any]:
    """The figure as the browser gets it."""
    figure_json: dict[str, Any] = json.loads(figure.to_json())
    return figure_json


def traces(figure: Figure) -> dict[str, dict[str, Any]]:
    return {trace["meta"]: trace for trace in parsed(figure)["data"]}


def test_lengths_hold_the_counts_of_the_histogram(demo: PairTable) -> None:
    histogram = length_histogram(demo, np.arange(len(demo)))
    drawn = traces(length_figure(histogram))
    width = histogram.edges[1]
    for side, counts in (("chosen", histogram.chosen), ("rejected", histogram.rejected)):
        assert drawn[side]["y"] == counts
        assert drawn[side]["x"] == [edge + width / 2 for edge in histogram.edges[:-1]]
    assert (drawn["chosen"]["type"], drawn["rejected"]["type"]) == ("bar", "scatter")
    assert (drawn["chosen"]["name"], drawn["rejected"]["name"]) == ("Chosen", "Rejected")


def test_the_last_range_says_how_far_it_goes() -> None:
    counts = [1, 2]
    drawn = traces(length_figure(LengthHistogram([0, 500, 1000], counts, counts, 12_345)))
    assert drawn["chosen"]["customdata"] == ["0 to 499", "500 to 12,345"]
    drawn = traces(length_figure(LengthHistogram([0, 500, 1000], counts, counts, 999)))
    assert drawn["rejected"]["customdata"] == ["0 to 499", "500 to 999"]


margins = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)


@settings(max_examples=100, deadline=None)
@given(margins)
@example([0.0])
@example([0.0, 0.0])
@example([5e-324])
@example([1e30, -1e-30])
def test_each_margin_is_counted_once_by_its_outcome(values: list[float]) -> None:
    drawn = traces(margin_figure(values))
    assert sum(drawn["chosen"]["y"]) == sum(value > 0 for value in values)
    assert sum(drawn["rejected"]["y"]) == sum(value <= 0 for value in values)


def test_margins_lie_where_they_belong() -> None:
    drawn = traces(margin_figure([-3.0, -2.9, -0.1, 0.1, 1.5]))
    counted = {
        side: [round(x, 9) for x, y in zip(trace["x"], trace["y"], strict=True) for _ in range(y)]
        for side, trace in drawn.items()
    }
    assert counted == {"rejected": [-2.9, -2.9, -0.1], "chosen": [0.1, 1.5]}


@pytest.mark.parametrize("values", [[0.0], [0.0, -1.0, 1.0]])
def test_ties_stand_left_of_the_zero_line(values: list[float]) -> None:
    lost = traces(margin_figure(values))["rejected"]
    assert all(x < 0 for x, y in zip(lost["x"], lost["y"], strict=True) if y)


@settings(max_examples=100, deadline=None)
@given(margins)
@example([15625.0, 1e-13])
def test_wins_stand_right_of_the_zero_line(values: list[float]) -> None:
    won = traces(margin_figure(values))["chosen"]
    assert all(x > 0 for x, y in zip(won["x"], won["y"], strict=True) if y)


@pytest.mark.parametrize(
    "figure", [length_figure(EMPTY), margin_figure([])], ids=["lengths", "margins"]
)
def test_nothing_gives_a_titled_figure_without_counts(figure: Figure) -> None:
    drawn = parsed(figure)
    assert all(trace.get("y", []) == [] for trace in drawn["data"])
    assert drawn["layout"]["title"]["text"]


def test_traces_have_no_colour_of_their_own() -> None:
    histogram = LengthHistogram([0, 1], [1], [1], 0)
    for figure in (length_figure(histogram), margin_figure([1.0, -1.0])):
        assert "color" not in json.dumps(parsed(figure)["data"])
