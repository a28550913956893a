"""Numbers -> Plotly figures, colourless: traces are named, and the theme paints them by name."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from explorer.lengths import LengthHistogram
from explorer.text import text

Figure = Any
"""A plotly Figure; plotly is imported when the first one is drawn."""

MARGIN_BINS = 15
"""Bins on each side of zero."""


def length_figure(histogram: LengthHistogram) -> Figure:
    """Chosen as bars, rejected as a line over them, by characters."""
    import plotly.graph_objects as go

    figure = go.Figure()
    edges = histogram.edges
    middles = [(low + high) / 2 for low, high in pairwise(edges)]
    ranges = [f"{low:,} to {high - 1:,}" for low, high in pairwise(edges)]
    if ranges and histogram.longest >= edges[-1]:
        ranges[-1] = f"{edges[-2]:,} to {histogram.longest:,}"
    hover = "%{customdata} characters: %{y}"
    figure.add_bar(
        name=text("side.chosen"), meta="chosen", x=middles, y=histogram.chosen,
        customdata=ranges, hovertemplate=hover,
    )  # fmt: skip
    figure.add_scatter(
        name=text("side.rejected"), meta="rejected", x=middles, y=histogram.rejected,
        customdata=ranges, hovertemplate=hover, mode="lines", line_shape="hvh",
    )  # fmt: skip
    figure.update_layout(title=text("figure.lengths"), bargap=0.05)
    figure.update_xaxes(title=text("figure.characters"))
    return figure


def margin_figure(margins: Sequence[float]) -> Figure:
    """How many pairs have each margin: losses and ties left of the zero line, wins right of it."""
    import plotly.graph_objects as go

    figure = go.Figure()
    if margins:
        limit = float(max(abs(margin) for margin in margins)) or 1.0
        edges = np.linspace(0, limit, MARGIN_BINS + 1)
        middles = (edges[:-1] + edges[1:]) / 2
        won = [margin for margin in margins if margin > 0]
        lost = [-margin for margin in margins if margin <= 0]
        for name, sizes, sign in (("rejected", lost, -1), ("chosen", won, 1)):
            figure.add_bar(
                name=text("outcome.lost" if name == "rejected" else "outcome.won"),
                meta=name,
                x=(sign * middles)[::sign].tolist(),
                y=np.histogram(sizes, edges)[0][::sign].tolist(),
                hovertemplate="margin about %{x:.2f}: %{y}",
            )
        figure.add_vline(x=0)
    figure.update_layout(title=text("figure.margins"), barmode="stack", bargap=0.05)
    figure.update_xaxes(title=text("figure.margin"))
    return figure
