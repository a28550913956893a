"""What changes bought -> a forest plot, colourless: the theme paints its traces by their `meta`."""

from collections.abc import Mapping, Sequence
from typing import Any

from explorer.core.figures import Figure
from explorer.core.text import text
from explorer.tabs.try_it.counterfactuals import SIDES
from explorer.tabs.try_it.probe_statistics import Bought
from scoring.spec import margin_of

_APART = 0.16
"""Between a line's middle and either side's point."""
_ROW_HEIGHT = 46


def probe_figure(found: Sequence[Bought]) -> Figure:
    """The mean change of each side's rewards with its interval, a line for each change.

    Its height is set. A change that applies to nothing has no line, what is not known no point.
    """
    import plotly.graph_objects as go

    changes = list(dict.fromkeys(each.change for each in found if each.applies))
    traces = [
        _trace(found, side, {change: line + apart for line, change in enumerate(changes)})
        for side, apart in zip(SIDES, (-_APART, _APART), strict=True)
    ]
    layout: dict[str, Any] = {
        "title": {"text": text("probe.figure")},
        "dragmode": False,
        "hovermode": "closest",
        "height": 130 + _ROW_HEIGHT * len(changes),
        "shapes": [{"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "y domain"}],
        "xaxis": {"title": {"text": text("probe.axis")}, "showgrid": True},
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(range(len(changes))),
            "ticktext": [text(f"edit.{change}") for change in changes],
            "range": [len(changes) - 0.5, -0.5],
            "automargin": True,
            "showgrid": False,
        },
    }
    return go.Figure({"data": traces, "layout": layout})


def _trace(found: Sequence[Bought], side: str, height: Mapping[str, float]) -> dict[str, Any]:
    known = [each for each in found if each.side == side and each.mean is not None]
    return {
        "type": "scatter",
        "mode": "markers",
        "meta": side,
        "name": text(f"side.{side}"),
        "marker": {"size": 9, "symbol": "circle" if side == "chosen" else "diamond"},
        "x": [each.mean for each in known],
        "y": [height[each.change] for each in known],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [margin_of(each.high, each.mean) or 0 for each in known],
            "arrayminus": [margin_of(each.mean, each.low) or 0 for each in known],
            "thickness": 1.5,
            "width": 4,
        },
        "hovertemplate": text("probe.hover", side=text(f"side.{side}")),
    }
