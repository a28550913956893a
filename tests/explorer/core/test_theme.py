"""What the theme adds to a figure."""

import json

import numpy as np
import pytest

from explorer.core.theme import CHOSEN, PROMPT, REJECTED, SCRIPTS, STYLES, painted, script, theme
from explorer.data.lengths import Histogram, Range, SubsetHistograms
from explorer.data.table import Measure
from explorer.stats.margins import margin_histogram
from explorer.tabs.models.charts import OWN, Alike, Point, SubsetSpread
from explorer.tabs.models.figures import Axis, alike_figure, models_figure, spread_figure
from explorer.tabs.models.state import MODEL_TYPES
from explorer.tabs.pairs.lengths import length_figure, small_multiples
from explorer.tabs.pairs.rewards import margins_figure

BOTH = Histogram([0, 5, 10], {"chosen": [1, 2], "rejected": [2, 1]}, 0, 9)
PROMPTS = Histogram([0, 5, 10], {"prompt": [1, 2]}, 0, 9)

MARGINS = margin_histogram(np.array([1.0, 0.0]), np.array([0.0, 1.0]))


def test_traces_are_painted_by_what_they_count() -> None:
    chosen, rejected = painted(length_figure(BOTH, "responses", "chars")).data
    assert (chosen.marker.color, rejected.line.color) == (CHOSEN, REJECTED)
    (prompt,) = painted(length_figure(PROMPTS, "prompt", "chars")).data
    assert prompt.marker.color == PROMPT
    assert {trace.marker.color for trace in painted(margins_figure(MARGINS)).data} == {
        CHOSEN,
        REJECTED,
    }


def test_what_is_selected_is_a_shade_and_zero_a_line() -> None:
    found = Histogram([-5, 0, 5], {"difference": [1, 2]}, -5, 4)
    shade, line = painted(
        length_figure(found, "difference", "chars", {"difference": (0, 4)})
    ).layout.shapes
    assert (shade.line.width, line.line.width) == (0, 1)
    assert shade.fillcolor
    assert not line.fillcolor


def test_what_is_selected_of_a_side_has_the_sides_colour() -> None:
    selected: dict[Measure, Range] = {"chosen": (0, 4), "rejected": (2, None)}
    shades = painted(length_figure(BOTH, "responses", "chars", selected)).layout.shapes
    for shade, colour in zip(shades, (CHOSEN, REJECTED), strict=True):
        rgb = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
        assert shade.fillcolor.startswith(f"rgba({','.join(map(str, rgb))},")


@pytest.mark.parametrize("n", [1, 23])
def test_a_figure_of_many_charts_keeps_its_own_height_and_few_ticks(n: int) -> None:
    found = SubsetHistograms({f"s{i}": BOTH for i in range(n)}, 0)
    drawn = small_multiples(found, "responses", "chars")
    layout = json.loads(painted(drawn, 260).to_json())["layout"]
    assert layout["height"] == drawn.layout.height
    axes = [axis for name, axis in layout.items() if name.startswith("yaxis")]
    assert [axis["nticks"] for axis in axes] == [3] * n
    assert painted(length_figure(BOTH, "responses", "chars"), 300).layout.height == 300


def test_each_kind_of_model_has_a_colour_of_its_own_and_a_diagonal_stays_dashed() -> None:
    points = [Point(kind, at, at, kind, pinned=True) for at, kind in enumerate((*MODEL_TYPES, OWN))]
    axis = Axis("percent")
    figure = painted(models_figure(points, axis, axis, diagonal=True, marks=[("mark", 0, 9)]), 460)
    *models, mark = figure.data
    colours = {trace.marker.color for trace in models}
    assert len(colours) == len(points) and mark.marker.color
    assert all(trace.marker.size == (15,) for trace in models)
    (line,) = figure.layout.shapes
    assert (line.line.dash, line.line.width) == ("dash", 1)
    assert figure.layout.height == 460
    assert figure.layout.xaxis.showgrid and figure.layout.yaxis.showgrid


def test_a_heat_map_is_see_through_at_zero_and_keeps_room_for_names() -> None:
    figure = painted(alike_figure(Alike(("a", "b"), np.eye(2))))
    (trace,) = figure.data
    middle = [colour for place, colour in trace.colorscale if place == 0.5]
    assert [colour.endswith(",0)") for colour in middle] == [True, True]
    assert trace.colorbar.orientation == "h" and trace.colorbar.thickness == 12
    assert figure.layout.margin.l > 100
    assert not figure.layout.xaxis.showgrid and not figure.layout.yaxis.showgrid
    assert {each.font.size for each in figure.layout.annotations} == {11}


def test_boxes_have_the_colours_of_their_sections() -> None:
    spreads = [
        SubsetSpread(name, section, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5)
        for name, section in (("a", "Chat"), ("b", "Chat"), ("c", "Safety"))
    ]
    figure = painted(spread_figure(spreads))
    assert len({trace.line.color for trace in figure.data}) == 2
    assert figure.layout.xaxis.showgrid and not figure.layout.yaxis.showgrid


def test_every_script_runs_once_when_the_page_opens() -> None:
    whole = script()
    assert whole.startswith("() => {") and whole.endswith("}")
    for path in SCRIPTS:
        body = path.read_text(encoding="utf-8").rstrip()
        assert whole.count(f"({body})();") == 1
        assert body.endswith("})")  # a function that is not called yet


def test_scripts_and_styles_ask_no_other_server() -> None:
    for path in (*SCRIPTS, *STYLES):
        written = path.read_text(encoding="utf-8")
        assert "http:" not in written and "@import" not in written and "//fonts" not in written


def test_the_theme_has_dark_for_each_colour_of_light_and_fonts_that_are_bundled() -> None:
    look = theme()
    assert look.body_background_fill != look.body_background_fill_dark
    assert look.input_border_color != look.input_border_color_dark
    assert "googleapis" not in str(look._font_css) + str(look._stylesheets)
