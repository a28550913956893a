"""Two models' margins -> a Plotly figure, colourless: the theme paints traces by their `meta`."""

from collections.abc import Sequence

import numpy as np

from explorer.compared import MarginPoints
from explorer.core.figures import SERIES, Figure, plotly_name
from explorer.core.text import text
from explorer.stats.duels import CELLS, Cell

_SERIES_OF: dict[Cell, int] = {"both": 5, "only_a": 0, "only_b": 1, "neither": 3}


def margins_figure(points: MarginPoints, keys: Sequence[str]) -> Figure:
    """The margin of each pair by one model against that by another, a trace for each cell.

    keys: of the pairs; the `customdata` of a point, which a click asks for.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    for at, cell in enumerate(CELLS):
        places = np.flatnonzero(points.cells == at).tolist()
        figure.add_scatter(
            name=text(f"compare.cell_{cell}", n=f"{len(places):,}"),
            meta=f"{SERIES}-{_SERIES_OF[cell]}",
            mode="markers",
            marker={"size": 6, "opacity": 0.55},
            x=[_short(points.a[place]) for place in places],
            y=[_short(points.b[place]) for place in places],
            customdata=[keys[place] for place in places],
            hovertext=[plotly_name(keys[place]) for place in places],
            hovertemplate=text("compare.margin_hover", a="A", b="B"),
        )
    figure.add_vline(x=0)
    figure.add_hline(y=0)
    figure.update_layout(dragmode=False, hovermode="closest", margin={"l": 56})
    figure.update_xaxes(title=text("compare.margin_a"))
    figure.update_yaxes(title=text("compare.margin_b"))
    return figure


def _short(value: float) -> float:
    """Six digits, which are more than can be seen: the figure is sent to a browser."""
    return float(f"{value:.6g}")
