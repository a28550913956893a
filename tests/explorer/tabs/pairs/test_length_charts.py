import json
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest

from explorer.core.figures import Figure
from explorer.data.lengths import (
    MEASURED,
    Measured,
    histogram,
    histograms_by_subset,
    measures_of,
)
from explorer.data.table import PairTable
from explorer.tabs.pairs.lengths import length_figure, small_multiples


def drawn_of(figure: Figure) -> Any:
    """The figure as the browser gets it."""
    return json.loads(figure.to_json())


def test_differences_are_parted_at_zero(demo: PairTable) -> None:
    found = histogram(demo, np.arange(len(demo)), "difference", "chars")
    figure = drawn_of(length_figure(found, "difference", "chars"))
    drawn = {trace["meta"]: trace for trace in figure["data"]}
    assert all(x < 0 for x in drawn["rejected"]["x"])
    assert all(x > 0 for x in drawn["chosen"]["x"])
    counts = [*drawn["rejected"]["y"], *drawn["chosen"]["y"]]
    counts[len(drawn["rejected"]["y"])] += drawn["same"]["y"][0]
    assert counts == found.counts["difference"] and drawn["same"]["y"] == [found.equal]
    assert drawn["same"]["customdata"] == ["range=difference.chars.0.0"]
    assert drawn["chosen"]["customdata"][0].startswith("range=difference.chars.1.")
    asked = [each for trace in drawn.values() for each in trace["customdata"]]
    assert all(each.startswith("range=difference.chars.") for each in asked)
    assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [0]


@pytest.mark.parametrize("shown", [each for each in MEASURED if measures_of(each)])
def test_small_multiples_count_every_pair_of_every_subset(demo: PairTable, shown: Measured) -> None:
    found = histograms_by_subset(demo, np.arange(len(demo)), shown, "chars")
    drawn = drawn_of(small_multiples(found, shown, "chars"))
    for measure in measures_of(shown):
        counted = dict.fromkeys(found.by_subset, 0)
        for trace in drawn["data"]:
            for count, asked in zip(trace["y"], trace["customdata"], strict=True):
                (_, kept), (_, subset) = parse_qsl(asked)
                counted[subset] += count if kept.startswith(f"{measure}.") else 0
        assert counted == demo.subset_counts
