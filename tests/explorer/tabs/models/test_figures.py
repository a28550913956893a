"""Figures of models: what is drawn where, what a click asks for, names that attack the page."""

import json
import re
from base64 import b64decode
from typing import Any

import numpy as np
import pytest

from explorer.core.figures import CORRELATION, MARK, Figure
from explorer.tabs.models.charts import OWN, Alike, Point, SubsetSpread
from explorer.tabs.models.compared import compared, margin_points
from explorer.tabs.models.figures import (
    Axis,
    alike_figure,
    margin_points_figure,
    models_figure,
    spread_figure,
)
from explorer.tabs.models.state import MODEL_TYPES
from scoring.interval import Interval
from tests.support.boards import HOSTILE, comparing
from tests.support.rival_fields import rivals

X, Y, SIZE = Axis("Chat, percent"), Axis("Safety, percent"), Axis("Size", log=True)
TWO = [Point("org/a", 10.0, 30.0, "DPO"), Point("org/b", 90.0, 70.0, "Generative", pinned=True)]


def parsed(figure: Figure) -> dict[str, Any]:
    """The figure as the browser gets it."""
    read: dict[str, Any] = json.loads(figure.to_json())
    return read


def traces(figure: Figure) -> dict[str, dict[str, Any]]:
    return {trace["name"]: trace for trace in parsed(figure)["data"]}


def words_of(value: object) -> list[str]:
    """Every text that Plotly may draw: all but what is only carried."""
    if isinstance(value, dict):
        return [
            words
            for name, each in value.items()
            if name not in ("customdata", "hovertemplate")
            for words in words_of(each)
        ]
    if isinstance(value, list):
        return [words for each in value for words in words_of(each)]
    return [value] if isinstance(value, str) else []


# Scatters.


def test_each_kind_of_model_is_a_trace_and_each_point_carries_its_name() -> None:
    drawn = traces(models_figure(TWO, X, Y))
    assert set(drawn) == {"DPO", "Generative"}
    assert (drawn["DPO"]["x"], drawn["DPO"]["y"], drawn["DPO"]["customdata"]) == (
        [10], [30], ["org/a"],
    )  # fmt: skip
    assert drawn["DPO"]["hovertext"] == ["org/a"]


def test_kinds_differ_in_colour_and_in_shape_whoever_else_is_shown() -> None:
    points = [Point(kind, 1.0, 1.0, kind) for kind in (*MODEL_TYPES, OWN)]
    drawn = parsed(models_figure(points, X, Y))["data"]
    assert len({trace["meta"] for trace in drawn}) == len(points) == 7
    assert len({trace["marker"]["symbol"] for trace in drawn}) == len(points)
    alone = parsed(models_figure(points[2:3], X, Y))["data"][0]
    assert (alone["meta"], alone["marker"]["symbol"]) == (
        drawn[2]["meta"], drawn[2]["marker"]["symbol"],
    )  # fmt: skip


def test_pinned_models_are_larger_and_named_where_there_is_room() -> None:
    drawn = traces(models_figure(TWO, X, Y))
    assert drawn["Generative"]["text"] == ["b"]
    assert drawn["Generative"]["textposition"] == ["top left"]  # it stands at the right
    assert "text" not in drawn["DPO"]
    assert drawn["Generative"]["marker"]["size"][0] > drawn["DPO"]["marker"]["size"][0]


def test_the_middle_of_a_logarithmic_axis_is_that_of_its_powers() -> None:
    points = [Point(f"m{x}", x, 50.0, "DPO", pinned=True) for x in (1.0, 11.0, 100.0)]
    for axis, sides in ((SIZE, "right left left"), (X, "right right left")):
        (trace,) = parsed(models_figure(points, axis, Y))["data"]
        assert trace["textposition"] == [f"top {side}" for side in sides.split()]
    layout = parsed(models_figure(points, SIZE, Y))["layout"]
    assert layout["xaxis"]["type"] == "log" and {1, 2, 5, 500} <= {*layout["xaxis"]["tickvals"]}
    assert layout["yaxis"]["type"] == "linear"


def test_intervals_are_bars_where_they_are_known() -> None:
    points = [
        Point("a", 1.0, 50.0, "DPO", interval=Interval(45.0, 56.0)),
        Point("b", 2.0, 60.0, "DPO"),
    ]
    (trace,) = parsed(models_figure(points, SIZE, Y))["data"]
    assert (trace["error_y"]["array"], trace["error_y"]["arrayminus"]) == ([6, 0], [5, 0])
    assert trace["hovertext"] == ["a<br>95 % interval 45.0 to 56.0", "b"]
    assert "error_y" not in parsed(models_figure(TWO, X, Y))["data"][0]


@pytest.mark.parametrize(
    ("places", "ends"),
    [([(10, 30), (90, 70)], (30, 70)), ([(0, 20), (10, 80)], None), ([(50, 50)], None), ([], None)],
)
def test_the_diagonal_goes_as_far_as_both_axes_have_points(
    places: list[tuple[float, float]], ends: tuple[float, float] | None
) -> None:
    points = [Point("a", x, y, "DPO") for x, y in places]
    shapes = parsed(models_figure(points, X, Y, diagonal=True))["layout"].get("shapes", [])
    found = [(each["x0"], each["y0"], each["x1"], each["y1"]) for each in shapes]
    assert found == ([] if ends is None else [(ends[0], ends[0], ends[1], ends[1])])
    assert all(each["line"]["dash"] == "dash" for each in shapes)
    assert not parsed(models_figure(points, X, Y))["layout"].get("shapes")


def test_marks_are_named_and_ask_for_no_model() -> None:
    figure = parsed(models_figure(TWO, X, Y, diagonal=True, marks=[("longer", 0, 100)]))
    mark = figure["data"][-1]
    assert (mark["meta"], mark["text"], mark["x"], mark["y"]) == (MARK, ["longer"], [0], [100])
    assert "customdata" not in mark
    assert figure["layout"]["shapes"][0]["x0"] == 30  # the marks reach no further up the line
    assert parsed(models_figure([], X, Y, marks=[("a", 1, 2)]))["data"][0]["text"] == ["a"]


# Heat maps.


def alike_of(*models: str, r: float = 0.5) -> Alike:
    n = len(models)
    return Alike(models, np.where(np.eye(n), 1.0, r))


def cells(trace: dict[str, Any]) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """The numbers of a heat map, which go to the browser as bytes."""
    packed = trace["z"]
    n_rows, n_columns = map(int, packed["shape"].split(","))
    return np.frombuffer(b64decode(packed["bdata"]), packed["dtype"]).reshape(n_rows, n_columns)


def test_a_cell_is_of_a_row_and_a_column_and_a_row_carries_its_name() -> None:
    found = Alike(
        ("a", "b", "c"), np.array([[1, 0.256, -0.8], [0.256, 1, np.nan], [-0.8, np.nan, 1]])
    )
    (trace,) = parsed(alike_figure(found))["data"]
    assert trace["meta"] == CORRELATION
    rounded = np.array([[1, 0.26, -0.8], [0.26, 1, np.nan], [-0.8, np.nan, 1]], np.float32)
    np.testing.assert_array_equal(cells(trace), rounded)
    assert trace["x"] == trace["y"] == trace["customdata"] == ["a", "b", "c"]
    assert (trace["zmin"], trace["zmax"]) == (-0.8, 0.8)


def test_colours_have_ends_where_no_two_models_can_be_compared() -> None:
    for found in (alike_of("a"), alike_of("a", "b", r=np.nan), alike_of("a", "b", r=0.0)):
        (trace,) = parsed(alike_figure(found))["data"]
        assert (trace["zmin"], trace["zmax"]) == (-1, 1)


def test_rows_are_named_in_short_while_there_is_room() -> None:
    names = ("org/model", "one/same", "other/same", "org/" + "m" * 20 + "-8B-v0.2", "path/")
    layout = parsed(alike_figure(alike_of(*names)))["layout"]
    short = [*enumerate(["model", "one/same", "other/same", "mmmmmmmm…mmmmm-8B-v0.2", "path"])]
    for axis, across in (("y", "x"), ("x", "y")):
        named = [each for each in layout["annotations"] if each[f"{across}ref"] == "paper"]
        assert [(each[axis], each["text"]) for each in named] == short
    many = parsed(alike_figure(alike_of(*map(str, range(100)))))["layout"]
    assert "annotations" not in many or not many["annotations"]
    assert 500 < many["height"] < 900


def test_no_two_rows_fall_into_one() -> None:
    names = ("a" * 120, "a" * 121, "b", "b 2", "c")
    (trace,) = parsed(alike_figure(alike_of(*names)))["data"]
    assert len(set(trace["y"])) == len(names) == len(cells(trace))


# Spreads.


def spread(subset: str, section: str | None) -> SubsetSpread:
    return SubsetSpread(subset, section, 3, 0.5, 0.0, 0.25, 0.5, 0.75, 1.0)


def test_a_box_for_each_subset_in_the_colour_of_its_section() -> None:
    spreads = [spread("b", "Chat"), spread("a", "Safety"), spread("c", "Chat"), spread("d", None)]
    figure = parsed(spread_figure(spreads))
    drawn = {trace["name"]: trace for trace in figure["data"]}
    assert {name: trace["y"] for name, trace in drawn.items()} == {
        "Chat": ["b", "c"], "Safety": ["a"], "outside the score": ["d"],
    }  # fmt: skip
    chat = drawn["Chat"]
    ends = ("lowerfence", "q1", "median", "q3", "upperfence", "mean")
    assert [chat[end] for end in ends] == [[value] * 2 for value in (0, 25, 50, 75, 100, 50)]
    assert figure["layout"]["yaxis"]["categoryarray"] == ["b", "a", "c", "d"]
    assert figure["layout"]["showlegend"] is True


def test_where_each_section_is_one_subset_there_is_no_legend() -> None:
    for spreads in ([spread("a", "a"), spread("b", "b")], [spread("a", "x"), spread("b", "x")]):
        assert parsed(spread_figure(spreads))["layout"]["showlegend"] is False


# All of them.


def test_names_that_attack_the_page_stay_text_and_are_still_asked_for() -> None:
    points = [Point(name, 5.0, 5.0, "DPO", True, Interval(1.0, 9.0)) for name in HOSTILE]
    for figure in (models_figure(points, X, Y), alike_figure(alike_of(*HOSTILE))):
        read = parsed(figure)
        assert read["data"][0]["customdata"] == list(HOSTILE)
        drawn = words_of(read)
        assert any("&lt;script&gt;" in words for words in drawn)
        assert not any("&quot;" in words for words in drawn)  # which Plotly would show
        tags = {tag for words in drawn for tag in re.findall(r"<[^>]*>?", words)}
        assert tags <= {"<br>"}
        templates = {trace["hovertemplate"] for trace in read["data"]}
        assert not any(name in template for template in templates for name in HOSTILE)


def test_each_pair_is_a_point_of_its_cell_that_names_it() -> None:
    points = margin_points(compared(comparing("org/a", "org/b"), rivals()))
    assert points is not None
    keys = [f"<b>:{row}" for row in points.rows.tolist()]
    figure = margin_points_figure(points, keys)
    seen = {
        trace.name: {
            key: (x, y) for key, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
        }
        for trace in figure.data
    }
    assert seen == {
        "both win (2)": {"<b>:0": (1, 1), "<b>:3": (2, 2)},
        "A alone wins (2)": {"<b>:1": (1, -1), "<b>:5": (1, -1)},
        "B alone wins (2)": {"<b>:2": (-1, 1), "<b>:6": (-1, 1)},
        "neither wins (1)": {"<b>:4": (-2, -2)},
    }
    assert len({trace.meta for trace in figure.data}) == 4
    assert {trace.type for trace in figure.data} == {"scatter"}
    assert figure.data[0].hovertext == ("&lt;b&gt;:0", "&lt;b&gt;:3")
    assert "%{x:.3f}" in figure.data[0].hovertemplate
