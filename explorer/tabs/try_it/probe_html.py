"""A bias probe on the page: how far it is, what each change bought, and as a figure."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from explorer.core.figures import Figure
from explorer.core.html import part, step_html
from explorer.core.theme import figure_json
from explorer.tabs.try_it.probe import Bought, Probe
from explorer.tabs.try_it.trial import EDIT_NAMES, SIDES
from scoring.spec import margin_of

ProbeStage = Literal["running", "finished", "stopped"]
_APART = 0.16
"""Between a line's middle and either side's point."""
_ROW_HEIGHT = 46
_TEMPLATE = "tabs/try_it/probe.html"


def probe_status_html(probe: Probe | None, stage: ProbeStage) -> str:
    """How far a probe is, with a bar. probe: None before its first word."""
    waits = probe.waits if probe is not None else None
    if probe is not None and (waits is None or stage != "running"):
        return part("status", probe, stage, of=_TEMPLATE)
    if waits is not None and waits.step is not None:
        return step_html(waits.step)
    return part("waiting", waits.ahead if waits is not None else 0, of=_TEMPLATE)


def probe_html(probe: Probe, found: Sequence[Bought], *, has_files: bool = True) -> str:
    """What each change bought on each side, and how to read it.

    found: of the probe. has_files: whether files of it are offered.
    """
    if not (probe.facts and found):
        return ""
    figure = figure_json(probe_figure(found), _ROW_HEIGHT)
    return part("bought", probe, found, EDIT_NAMES, figure, has_files, of=_TEMPLATE)


def probe_figure(found: Sequence[Bought]) -> Figure:
    """The mean change of each side's rewards with its interval, a line for each change.

    Colourless: the theme paints its traces by their `meta`. A change that applies to nothing has no
    line, what is not known no point.
    """
    import plotly.graph_objects as go

    changes = list(dict.fromkeys(each.change for each in found if each.applies))
    traces = [
        _trace(found, side, {change: line + apart for line, change in enumerate(changes)})
        for side, apart in zip(SIDES, (-_APART, _APART), strict=True)
    ]
    layout: dict[str, Any] = {
        "title": {"text": "Mean change in reward, with 95 % intervals"},
        "dragmode": False,
        "hovermode": "closest",
        "height": 130 + _ROW_HEIGHT * len(changes),
        "shapes": [{"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "y domain"}],
        "xaxis": {"title": {"text": "change in reward"}, "showgrid": True},
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(range(len(changes))),
            "ticktext": [EDIT_NAMES[change] for change in changes],
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
        "name": side.capitalize(),
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
        "hovertemplate": f"{side}<br>%{{x:.3f}}",
    }
