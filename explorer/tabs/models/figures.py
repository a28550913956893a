"""Models of a leaderboard -> Plotly figures, colourless: the theme paints traces by their `meta`.

`customdata` is the name of the model of each point (of a heat map, of each row), which a click asks
for. Names are escaped wherever Plotly would take them for tags.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import log10
from typing import Any

import numpy as np

from explorer.core.figures import (
    CORRELATION,
    MARK,
    SERIES,
    Figure,
    different_names,
    plotly_name,
    short_names,
)
from explorer.stats.duels import CELLS, Cell
from explorer.tabs.models.charts import OWN, Alike, Point, SubsetSpread
from explorer.tabs.models.compared import MarginPoints
from explorer.tabs.models.state import MODEL_TYPES

_SYMBOLS = dict(
    zip(
        (*MODEL_TYPES, OWN),
        ("circle", "square", "diamond", "hexagon", "cross", "x", "star"),
        strict=True,
    )
)
_NAMED_ROWS = 80
"""Models of a heat map up to which each row is named; of more the pointer tells."""
_TICKS = [value * 10.0**power for power in range(-3, 4) for value in (1, 2, 5)]
_BOX = {
    "lowerfence": "low", "q1": "q1", "median": "median", "q3": "q3", "upperfence": "high",
    "mean": "mean",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Axis:
    """What is along an axis. log: whether it is logarithmic, of 10^9; else it is in percent."""

    title: str
    log: bool = False

    def layout(self) -> dict[str, Any]:
        """As Plotly has it."""
        return {
            "title": {"text": escape(self.title), "standoff": 8, "font": {"size": 12}},
            "type": "log" if self.log else "linear",
            "automargin": True,
            "showgrid": True,
            "nticks": 7,
            **({"tickmode": "array", "tickvals": _TICKS} if self.log else {}),
        }


_LabelledPoint = tuple[str, float, float]
"""A name and its place, of a point that is no model."""


def models_figure(
    points: Sequence[Point],
    x: Axis,
    y: Axis,
    *,
    diagonal: bool = False,
    marks: Sequence[_LabelledPoint] = (),
) -> Figure:
    """A scatter of models, a trace for each kind; those that are pinned stand out by name.

    diagonal: whether to draw the line on which both are equal, as far as both axes have points.
    """
    import plotly.graph_objects as go

    places = [*((point.x, point.y) for point in points), *((at[1], at[2]) for at in marks)]
    middle = _middle([x_of for x_of, _ in places], x)
    traces = [
        _models(members, number, kind, middle)
        for number, kind in enumerate(_SYMBOLS)
        if (members := [point for point in points if point.kind == kind])
    ]
    traces += [_marks(marks, middle)] if marks else []
    x_as, y_as = (",.3~f" if axis.log else ".1f" for axis in (x, y))
    hover = f"%{{hovertext}}<br>{x.title}: %{{x:{x_as}}}<br>{y.title}: %{{y:{y_as}}}<extra></extra>"
    layout: dict[str, Any] = {
        "dragmode": False,
        "hovermode": "closest",
        "xaxis": x.layout(),
        "yaxis": y.layout(),
        "shapes": [*_diagonal(places)] if diagonal else [],
    }
    return go.Figure(
        {"data": [{**each, "hovertemplate": hover} for each in traces], "layout": layout}
    )


def alike_figure(found: Alike) -> Figure:
    """A heat map of correlations; its height is set. Colours reach to the strongest of two models.

    found: of at least one model.
    """
    import plotly.graph_objects as go

    n = len(found.models)
    names = different_names(found.models)
    others = np.abs(found.correlation[~np.eye(n, dtype=bool)])
    reach = (float(np.nanmax(others)) if np.isfinite(others).any() else 0.0) or 1.0
    trace = {
        "type": "heatmap",
        "meta": CORRELATION,
        "x": names,
        "y": names,
        "z": np.round(found.correlation, 2).astype(np.float32),  # lists are checked one by one
        "customdata": list(found.models),
        "zmin": -reach,
        "zmax": reach,
        "colorbar": {
            "orientation": "h",
            "y": 1,
            "yanchor": "bottom",
            "ypad": 0,
            "thickness": 12,
            "len": 0.3,
            "nticks": 5,
            "title": {"text": "Correlation", "side": "top"},
        },
        "hovertemplate": "%{y}<br>%{x}<br>Correlation: %{z:.2f}<extra></extra>",
    }
    labels = short_names(found.models) if n <= _NAMED_ROWS else []
    size = 16 if n > 25 else 24
    unnamed = {"type": "category", "showticklabels": False, "ticks": "", "showgrid": False}
    layout: dict[str, Any] = {
        "dragmode": False,
        "margin": {"l": 160, "b": 160, "t": 70, "r": 12} if labels else {"l": 12},
        "height": 230 + size * n if labels else 760,
        **({"width": max(480, 172 + size * n)} if labels else {}),
        "xaxis": unnamed,
        "yaxis": {**unnamed, "autorange": "reversed"},
        # Of ticks, the words that the pointer shows would be as short as theirs.
        "annotations": [each for row, label in enumerate(labels) for each in _labels(row, label)],
    }
    return go.Figure({"data": [trace], "layout": layout})


def _labels(row: int, label: str) -> list[dict[str, Any]]:
    """The name of a model of a heat map, at its row and below its column."""
    words = {"text": label, "showarrow": False, "font": {"size": 11}}
    left = {"x": 0, "xref": "paper", "xanchor": "right", "xshift": -3, "y": row, "yref": "y"}
    below = {"y": 0, "yref": "paper", "yanchor": "top", "yshift": -3, "x": row, "xref": "x"}
    return [{**words, **left}, {**words, **below, "textangle": -90}]


def spread_figure(spreads: Sequence[SubsetSpread]) -> Figure:
    """A box for each subset, in the colour of its section; its height is set."""
    import plotly.graph_objects as go

    sections = list(dict.fromkeys(each.section for each in spreads))
    traces = []
    for number, section in enumerate(sections):
        members = [each for each in spreads if each.section == section]
        traces.append(
            {
                "type": "box",
                "hoverinfo": "skip",  # its labels would cover each other; a table says the numbers
                "orientation": "h",
                "meta": f"{SERIES}-{number}",
                "name": escape(section or "outside the score"),
                "y": [escape(each.subset) for each in members],
                **{end: [100 * getattr(each, name) for each in members]
                   for end, name in _BOX.items()},
            }
        )  # fmt: skip
    layout: dict[str, Any] = {
        "dragmode": False,
        "height": 120 + 24 * len(spreads),
        "showlegend": 1 < len(sections) < len(spreads),
        "xaxis": Axis("Accuracy of the models (%)").layout(),
        "yaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": [escape(each.subset) for each in spreads],
            "autorange": "reversed",
            "automargin": True,
            "showgrid": False,
            # A step of one name: the theme's few ticks are for numbers.
            "tickmode": "linear",
            "dtick": 1,
        },
    }
    return go.Figure({"data": traces, "layout": layout})


def _models(members: Sequence[Point], number: int, kind: str, middle: float) -> dict[str, Any]:
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "meta": f"{SERIES}-{number}",
        "name": "yours" if kind == OWN else kind,
        "x": [point.x for point in members],
        "y": [point.y for point in members],
        "customdata": [point.model for point in members],
        "hovertext": [_hover_label(point) for point in members],
        "marker": {
            "symbol": _SYMBOLS[kind],
            "opacity": 0.85,
            "size": [15 if point.pinned else 9 for point in members],
            "line": {"width": [2 if point.pinned else 0 for point in members]},
        },
        "cliponaxis": False,
    }
    if any(point.pinned for point in members):
        labels = short_names([point.model for point in members])
        trace["text"] = [
            label if point.pinned else "" for label, point in zip(labels, members, strict=True)
        ]
        trace |= {"mode": "markers+text", "textposition": _sides(trace["x"], middle)}
    if any(point.interval for point in members):
        ends = [(point.interval or (point.y, point.y), point.y) for point in members]
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [high - y for (_, high), y in ends],
            "arrayminus": [y - low for (low, _), y in ends],
            "thickness": 1,
            "width": 0,
        }
    return trace


def _marks(marks: Sequence[_LabelledPoint], middle: float) -> dict[str, Any]:
    names = [escape(name) for name, _, _ in marks]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "meta": MARK,
        "name": "Without a model",
        "showlegend": False,
        "x": [x for _, x, _ in marks],
        "y": [y for _, _, y in marks],
        "hovertext": names,
        "text": names,
        "textposition": _sides([x for _, x, _ in marks], middle),
        "marker": {"symbol": "x-thin-open", "size": 11, "line": {"width": 2}},
        "cliponaxis": False,
    }


def _hover_label(point: Point) -> str:
    name = plotly_name(point.model)
    if point.interval is None:
        return name
    low, high = point.interval
    return f"{name}<br>95 % interval {low:.1f} to {high:.1f}"


def _middle(values: Sequence[float], axis: Axis) -> float:
    """What halves an axis: names left of it stand to the right of their points."""
    if not values:
        return 0.0
    low, high = min(values), max(values)
    return float(10 ** ((log10(low) + log10(high)) / 2)) if axis.log else (low + high) / 2


def _sides(values: Sequence[float], middle: float) -> list[str]:
    return ["top right" if value <= middle else "top left" for value in values]


def _diagonal(places: Sequence[tuple[float, float]]) -> Iterator[dict[str, Any]]:
    if not places:
        return
    low, high = max(map(min, zip(*places, strict=True))), min(map(max, zip(*places, strict=True)))
    if low < high:
        ends = {"x0": low, "y0": low, "x1": high, "y1": high}
        yield {"type": "line", "layer": "below", "line": {"dash": "dash"}, **ends}


_SERIES_OF: dict[Cell, int] = {"both": 5, "only_a": 0, "only_b": 1, "neither": 3}

_CELLS: dict[Cell, str] = {
    "both": "both win",
    "only_a": "A alone wins",
    "only_b": "B alone wins",
    "neither": "neither wins",
}


def margin_points_figure(points: MarginPoints, keys: Sequence[str]) -> Figure:
    """The margin of each pair by one model against that by another, a trace for each cell.

    keys: of the pairs; the `customdata` of a point, which a click asks for.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    for at, cell in enumerate(CELLS):
        places = np.flatnonzero(points.cells == at).tolist()
        figure.add_scatter(
            name=f"{_CELLS[cell]} ({len(places):,})",
            meta=f"{SERIES}-{_SERIES_OF[cell]}",
            mode="markers",
            marker={"size": 6, "opacity": 0.55},
            # Six digits are more than can be seen: the figure is sent to a browser.
            x=[float(f"{points.a[place]:.6g}") for place in places],
            y=[float(f"{points.b[place]:.6g}") for place in places],
            customdata=[keys[place] for place in places],
            hovertext=[plotly_name(keys[place]) for place in places],
            hovertemplate="%{hovertext}<br>A: %{x:.3f}<br>B: %{y:.3f}<extra></extra>",
        )
    figure.add_vline(x=0)
    figure.add_hline(y=0)
    figure.update_layout(dragmode=False, hovermode="closest", margin={"l": 56})
    figure.update_xaxes(title="margin by A")
    figure.update_yaxes(title="margin by B")
    return figure
