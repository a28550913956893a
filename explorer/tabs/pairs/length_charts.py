"""Numbers -> Plotly figures, colourless: traces are named, and the theme paints them by name.

A point of a length figure carries as `customdata` what a click on it asks for: [measure, least
length, greatest length], both included, null where there is no end, and the subset if the figure
has one a subset.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from explorer.core.figures import SELECTED, Figure
from explorer.core.html import render
from explorer.core.text import text
from explorer.data.lengths import Histogram, LengthStats, Measured, Range, SubsetHistograms
from explorer.data.table import Measure, Unit

_MOST_COLUMNS = 4
_ROW_HEIGHT = 130
_LONGEST_TITLE = 28
_LONGEST_NAME = 100
"""Of a subset that points repeat; a longer one would make the figure heavy."""


def length_figure(
    histogram: Histogram,
    shown: Measured,
    unit: Unit,
    selected: Mapping[Measure, Range] | None = None,
) -> Figure:
    """Lengths as bars; of two sides the second as a line over them.

    Differences left of zero are named "rejected", since rejected is longer there, others "chosen".
    selected: measure -> the lengths of it that a filter lets through, both ends included.
    """
    import plotly.graph_objects as go

    layout: dict[str, Any] = {
        "title": {"text": text("figure.lengths", what=text(f"figure.of_{shown}"))},
        "barmode": "overlay",
        "dragmode": "select",
        "selectdirection": "h",
        "xaxis": {"title": {"text": _axis_title(shown, unit)}},
        "shapes": [*_selection(histogram, selected or {}), *_zero_line(shown)],
    }
    return go.Figure({"data": _traces(histogram, shown, unit), "layout": layout})


def small_multiples(histograms: SubsetHistograms, shown: Measured, unit: Unit) -> Figure:
    """One small chart a subset, all with the same axis of lengths; its height is set."""
    import plotly.graph_objects as go

    what = {"what": text(f"figure.of_{shown}"), "unit": text(f"figure.unit_{unit}")}
    title = text("figure.by_subset", **what)
    if histograms.left_out:
        title = text("figure.left_out", title=title, n=f"{histograms.left_out:,}")
    n = len(histograms.by_subset)
    columns = min(_MOST_COLUMNS, max(1, n))
    rows = -(-n // columns)
    layout: dict[str, Any] = {
        "title": {"text": title},
        "barmode": "overlay",
        "dragmode": False,
        "height": 110 + _ROW_HEIGHT * rows,
        "annotations": [],
    }
    traces: list[dict[str, Any]] = []
    named: set[str] = set()
    for place, (subset, histogram) in enumerate(histograms.by_subset.items()):
        number = str(place + 1) if place else ""
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        for trace in _traces(histogram, shown, unit, subset):
            side = trace["meta"]
            first = bool(trace["y"]) and side not in named
            named |= {side} if first else set()
            traces.append({**trace, **axes, "legendgroup": side, "showlegend": first})
        lowest = place + columns >= n
        layout[f"xaxis{number}"] = {"nticks": 4, "matches": "x", "showticklabels": lowest}
        layout[f"yaxis{number}"] = {"nticks": 3}
        layout["annotations"].append(_small_title(subset, number))
    if n:
        layout["xaxis"].pop("matches")
        layout["grid"] = {"rows": rows, "columns": columns, "pattern": "independent", "ygap": 0.45}
    return go.Figure({"data": traces, "layout": layout})


def _traces(
    histogram: Histogram, shown: Measured, unit: Unit, subset: str | None = None
) -> list[dict[str, Any]]:
    """The traces of one chart. Of a small one, what cannot be seen is left out, to be light."""
    bins = range(histogram.bins)
    if shown == "difference":
        negative = [place for place in bins if histogram.edges[place] < 0]
        sides = {"chosen": bins[len(negative) :], "rejected": negative}
        return [
            {
                **_trace(histogram, shown, unit, subset, places),
                "name": text(f"figure.longer_{side}"),
                "meta": side,
            }
            for side, places in sides.items()
        ]
    return [
        {
            **_trace(histogram, measure, unit, subset, bins, line=place > 0),
            "name": text(f"figure.side_{measure}"),
            "meta": measure,
        }
        for place, measure in enumerate(histogram.counts)
    ]


def _trace(
    histogram: Histogram,
    measure: Measure,
    unit: Unit,
    subset: str | None,
    places: Sequence[int],
    *,
    line: bool = False,
) -> dict[str, Any]:
    edges, counts = histogram.edges, histogram.counts[measure]
    if subset is not None:
        # A line needs the zeros beside its steps; between these it runs on by itself.
        reach = 1 if line else 0
        places = [at for at in places if any(counts[max(0, at - reach) : at + reach + 1])]
    width = edges[1] - edges[0] if edges else 0
    last = [subset] if subset is not None and len(subset) <= _LONGEST_NAME else []
    trace = {
        "x": [edges[place] + width / 2 for place in places],
        "y": [counts[place] for place in places],
        "customdata": [[measure, *histogram.bin_range(place), *last] for place in places],
        "hovertext": [_ends(*histogram.bin_ends(place)) for place in places],
        "hovertemplate": text("figure.hover", unit=text(f"figure.unit_{unit}")),
    }
    if line:
        mode = "lines" if len(places) > 1 else "markers"
        return {**trace, "type": "scatter", "mode": mode, "line": {"shape": "hvh"}}
    return {**trace, "type": "bar", "width": width * 0.95}


def _ends(least: int, most: int) -> str:
    if least == most:
        return f"{least:,}".replace("-", "−")
    return text("figure.ends", low=f"{least:,}", high=f"{most:,}").replace("-", "−")


def _axis_title(shown: Measured, unit: Unit) -> str:
    name = text(f"figure.unit_{unit}")
    return text("figure.difference", unit=name) if shown == "difference" else name


def _zero_line(shown: Measured) -> list[dict[str, Any]]:
    line = {"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "y domain"}
    return [line] if shown == "difference" else []


def _selection(histogram: Histogram, selected: Mapping[Measure, Range]) -> Iterator[dict[str, Any]]:
    """The shapes behind the selected lengths, as far as the axis goes."""
    if not histogram.bins:
        return
    first, end = histogram.edges[0], histogram.edges[-1]
    for measure, (least, most) in selected.items():
        low = first if least is None else max(first, least)
        high = end if most is None else min(end, most + 1)
        if low < high:
            place = {"x0": low, "x1": high, "y0": 0, "y1": 1, "yref": "y domain"}
            yield {"type": "rect", "name": f"{SELECTED}-{measure}", "layer": "below", **place}


def _small_title(subset: str, number: str) -> dict[str, Any]:
    """A subset's name over its chart; Plotly would take tags in it for tags."""
    short = subset if len(subset) <= _LONGEST_TITLE else f"{subset[: _LONGEST_TITLE - 1]}…"
    return {
        "text": escape(short),
        "showarrow": False,
        "x": 0,
        "xref": f"x{number} domain",
        "xanchor": "left",
        "y": 1,
        "yref": f"y{number} domain",
        "yanchor": "bottom",
    }


def stats_html(stats: Sequence[LengthStats], unit: Unit) -> str:
    """Mean, median, 95th percentile and maximum, a line a subset and all pairs in the last.

    stats: as `length_stats` gives them; of chosen and rejected the columns stand in two groups.
    No lines give nothing.
    """
    if not stats:
        return ""
    *lines, total = stats
    measures = tuple(total.spreads)
    what = text("figure.of_responses" if len(measures) > 1 else f"figure.of_{measures[0]}")
    return render(
        "tabs/pairs/stats.html",
        caption=text("figure.by_subset", what=what, unit=text(f"figure.unit_{unit}")),
        measures=measures,
        lines=lines,
        total=total,
        n_hidden=total.n - sum(line.n for line in lines),
    )
