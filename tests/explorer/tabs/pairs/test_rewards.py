import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.figures import Figure
from explorer.stats.margins import calibration, margin_histogram
from explorer.tabs.pairs.rewards import calibration_figure, margins_figure

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)


def traces(figure: Figure) -> dict[str, dict[str, Any]]:
    """By side, as a browser gets them."""
    drawn = json.loads(figure.to_json())
    return {trace.get("meta", ""): trace for trace in drawn["data"]}


def margins_of(values: list[float]) -> Figure:
    margins = np.array(values)
    return margins_figure(margin_histogram(margins, np.zeros_like(margins)))


@given(numbers)
@example([0.0, 0.0])
@example([15625.0, 1e-13])
@example([1e30, -1e-30])
@example([5e-324, -5e-324])
def test_each_margin_is_counted_once_wins_right_of_the_zero_line_and_all_else_left(
    values: list[float],
) -> None:
    drawn = traces(margins_of(values))
    for side, sign in (("chosen", 1), ("rejected", -1)):
        trace = drawn[side]
        assert sum(trace["y"]) == sum((value > 0) is (sign > 0) for value in values)
        assert all(sign * x > 0 for x, y in zip(trace["x"], trace["y"], strict=True) if y)


def test_a_bin_of_calibration_stands_where_its_numbers_say() -> None:
    found = calibration(np.array([3.0, 3.0, 0.1, 0.0]), np.array([0.0, 0.0, 0.0, 0.1]), 2)
    points = traces(calibration_figure(found))["prompt"]
    assert points["y"] == [0.5, 1.0]
    assert points["x"] == pytest.approx([0.525, 0.953], abs=0.001)
