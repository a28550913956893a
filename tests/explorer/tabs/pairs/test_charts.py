"""What the chart of margins counts; those of lengths are in golden texts of addresses."""

import json
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.figures import Figure
from explorer.stats.margins import margin_histogram
from explorer.tabs.pairs.rewards import margins_figure


def traces(figure: Figure) -> dict[str, dict[str, Any]]:
    """By side, as a browser gets them."""
    return {each.get("meta", ""): each for each in json.loads(figure.to_json())["data"]}


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
@example([0.0, 0.0])
@example([15625.0, 1e-13])
@example([1e30, -1e-30])
@example([5e-324, -5e-324])
def test_each_margin_is_counted_once_wins_right_of_the_zero_line_and_all_else_left(
    values: list[float],
) -> None:
    margins = np.array(values)
    drawn = traces(margins_figure(margin_histogram(margins, np.zeros_like(margins))))
    for side, sign in (("chosen", 1), ("rejected", -1)):
        trace = drawn[side]
        assert sum(trace["y"]) == sum((value > 0) is (sign > 0) for value in values)
        assert all(sign * x > 0 for x, y in zip(trace["x"], trace["y"], strict=True) if y)
