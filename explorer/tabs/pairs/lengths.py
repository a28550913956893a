"""The lengths panel of the Pairs tab: charts whose parts are filters, and their table.

Beside lengths of responses stands which of the two is longer. Prompts and responses together are
drawn as the paper draws them: means and standard deviations.

Figures are colourless: traces are named, and the theme paints them by name. A point carries as
`customdata` what it adds to the address: the lengths of its bin, and the subset if the figure has
one a subset.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from explorer.core.figures import SELECTED, Figure
from explorer.core.html import render, step_html
from explorer.core.links import written
from explorer.core.theme import figure_json
from explorer.core.work import Job
from explorer.data.filters import LengthRange
from explorer.data.lengths import (
    SCALES,
    Histogram,
    LengthStats,
    Longer,
    Measured,
    Range,
    Scale,
    SubsetHistograms,
    histogram,
    histograms_by_subset,
    length_stats,
    longer_lines,
    measures_of,
)
from explorer.data.table import Measure, PairTable, Unit
from explorer.data.tokens import MOST_CHARS, TokenCounter, cut_texts
from explorer.reader.filter_html import UNIT_WORDS
from explorer.reader.scene import Scene, rows_without
from explorer.reader.state import PairsState, range_written
from scoring.benchmarks import Benchmark
from scoring.errors import counted
from scoring.limits import Step
from scoring.models.tokenizers import SUGGESTED

_MEASURED: dict[Measured, str] = {
    "responses": "Chosen and rejected",
    "with_prompt": "Paper's figure",
    "chosen": "Chosen",
    "rejected": "Rejected",
    "prompt": "Prompt",
    "difference": "Chosen − rejected",
}
_WHAT: dict[Measured, str] = {
    "responses": "responses",
    "with_prompt": "prompt and response",
    "chosen": "chosen responses",
    "rejected": "rejected responses",
    "prompt": "prompts",
    "difference": "chosen − rejected",
}
_MOST_COLUMNS = 4
_ROW_HEIGHT = 130
_LINE_HEIGHT = 26
_LONGEST_TITLE = 28
_LONGEST_NAME = 100
"""Of a subset that points repeat; a longer one would make the figure heavy."""


def lengths_html(now: Scene, counter: TokenCounter, job: Job[Step, str] | None) -> str:
    """The panel of a scene.

    The bars count what passes every filter but the ranges that they show themselves, so that a
    range can be widened again; those are shaded. The table counts what passes all.

    job: the count of tokens that was asked for; None for none.
    """
    state, table = now.state, now.table
    said, stats, figures = "", "", {}
    if state.unit != "tokens" or counter.known(table, state.tokenizer):
        figures, said, stats = _figures(now), _said(table, state), _stats(now)
    return render(
        "tabs/pairs/lengths.html",
        state=state,
        shown=_MEASURED,
        units={unit: words.capitalize() for unit, words in UNIT_WORDS.items()},
        scales={each: each.capitalize() for each in SCALES},
        tokenizer=state.tokenizer or counter.suggested(),
        job=job,
        step=Markup(step_html(job.step or Step("asking"))) if job else "",  # noqa: S704 - ours
        said=said,
        figures={chart: (figure, _brush(state, chart)) for chart, figure in figures.items()},
        base=state.narrowed(subset=() if state.by_subset else state.subset)[1:],
        stats=Markup(stats),  # noqa: S704 - of a template
    )


def _figures(now: Scene) -> dict[Measured, str]:
    """What is drawn -> the chart as Plotly's JSON; nothing without pairs."""
    state = now.state
    if state.chart == "with_prompt":
        stats = length_stats(now.table, now.filtered.rows, *_measured(state))
        return (
            {"with_prompt": figure_json(spread_figure(stats, state.unit, now.table.benchmark), 300)}
            if stats
            else {}
        )
    several = state.chart == "responses" and not state.by_subset
    charts: tuple[Measured, ...] = ("responses", "difference") if several else (state.chart,)
    return {chart: figure for chart in charts if (figure := _figure(now, chart))}


def _figure(now: Scene, chart: Measured) -> str:
    state, own = now.state, own_ranges(now.state, chart)
    rows = rows_without(now, own)
    if not len(rows):
        return ""
    drawn = (now.table, rows, chart, state.unit, state.tokenizer)
    if state.by_subset:
        found = histograms_by_subset(*drawn)
        return figure_json(small_multiples(found, chart, state.unit, state.tokenizer), 300)
    shaded = {each.measure: (each.low, each.high) for each in own}
    found_all = histogram(*drawn, scale=state.scale)
    figure = length_figure(found_all, chart, state.unit, shaded, state.tokenizer, scale=state.scale)
    return figure_json(figure, 300)


def _measured(state: PairsState) -> tuple[Measured, Unit, str]:
    return state.chart, state.unit, state.tokenizer


def _stats(now: Scene) -> str:
    """Which response is longer, by subset, or how what is drawn is spread."""
    state, rows = now.state, now.filtered.rows
    if not state.more and state.chart in ("responses", "difference", "with_prompt"):
        lines = longer_lines(now.table, rows, state.unit, state.tokenizer)
        return longer_html(lines, state)
    return stats_html(length_stats(now.table, rows, *_measured(state)), state)


def _brush(state: PairsState, chart: Measured) -> str:
    """The parameters that a range of lengths adds to the address; "" where none can be dragged."""
    end = f".{state.tokenizer}" if state.unit == "tokens" else ""
    brushed = [f"{each}.{state.unit}.{{}}{end}" for each in measures_of(chart)]
    return "" if state.by_subset else written([("range", each) for each in brushed])


def own_ranges(state: PairsState, chart: Measured) -> list[LengthRange]:
    """The ranges of a state that a chart shows itself."""
    kinds = [(measure, state.unit) for measure in measures_of(chart)]
    return [each for each in state.ranges if each.what in kinds]


def _said(table: PairTable, state: PairsState) -> str:
    """How tokens were counted, and what a click does."""
    said = []
    if which := table.measured_response:
        said.append(f"Rows have several responses; lengths are of the {which} one of each side.")
    if state.unit == "tokens":
        said.append(f"Counted by {state.tokenizer}.")
        if n := cut_texts(table):
            said.append(
                f"Only the first {counted(MOST_CHARS, 'character', 'characters')} were counted of "
                f"{counted(n, 'text', 'texts')}."
            )
    if state.chart == "with_prompt":
        as_paper = state.unit == "tokens" and state.tokenizer.startswith(f"{SUGGESTED}@")
        said.append(
            "Prompt and response together: mean ± one standard deviation, as in the paper's figure"
            + (", without special tokens." if as_paper else f". The paper counted {SUGGESTED}.")
        )
    else:
        said.append(
            "Click a bar to keep only those pairs of its subset."
            if state.by_subset
            else "Click a bar, or drag over a chart, to filter."
        )
    return " ".join(said)


def length_figure(
    found: Histogram,
    shown: Measured,
    unit: Unit,
    selected: Mapping[Measure, Range] | None = None,
    tokenizer: str = "",
    *,
    scale: Scale = "linear",
) -> Figure:
    """Lengths as steps, one line a side; differences as bars.

    Differences left of zero are named "rejected", since rejected is longer there, none "same", and
    others "chosen".
    selected: measure -> the lengths of it that a filter lets through, both ends included.
    """
    import plotly.graph_objects as go

    axis, shapes = UNIT_WORDS[unit], [*_selection(found, selected or {})]
    title = f"Length of {_WHAT[shown]}"
    if shown == "difference":
        title = "Which response is longer"
        axis = f"{axis}, chosen − rejected"
        place = {"x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "y domain"}
        shapes.append({"type": "line", **place})
    layout: dict[str, Any] = {
        "title": {"text": title},
        "barmode": "stack",
        "hoverdistance": -1,
        "dragmode": "select",
        "selectdirection": "h",
        "xaxis": {"title": {"text": axis}},
        "shapes": shapes,
    }
    traces = _traces(found, shown, unit, tokenizer)
    if shown == "difference":
        traces = _with_equal(traces, found, unit, tokenizer)
    else:
        if scale == "log":
            layout["xaxis"] |= {"type": "log", "dtick": 1}
        traces = [_steps(each, found, scale) for each in traces]
    return go.Figure({"data": traces, "layout": layout})


def _with_equal(
    traces: list[dict[str, Any]], found: Histogram, unit: Unit, tokenizer: str
) -> list[dict[str, Any]]:
    """The traces of differences with one more, of the pairs whose responses are equally long."""
    if not found.equal:
        return traces
    [chosen, rejected] = sorted(traces, key=lambda trace: str(trace["meta"]))
    same = LengthRange("difference", unit, 0, 0, tokenizer if unit == "tokens" else "")
    place = found.edges.index(0)
    longer = {
        **chosen,
        "name": "Chosen longer",
        "y": [chosen["y"][0] - found.equal, *chosen["y"][1:]],
    }
    if (high := found.bin_range(place)[1]) != 0:  # else no chosen response of the bin is longer
        first = written([("range", range_written(replace(same, low=1, high=high)))])
        longer["customdata"] = [first, *chosen["customdata"][1:]]
        longer["hovertext"] = [_ends(1, found.bin_ends(place)[1]), *chosen["hovertext"][1:]]
    equal = {
        **chosen,
        "name": "Same length",
        "meta": "same",
        "x": chosen["x"][:1],
        "y": [found.equal],
        "customdata": [written([("range", range_written(same))])],
        "hovertext": ["0"],
    }
    return [rejected, longer, equal]


def _steps(trace: dict[str, Any], found: Histogram, scale: Scale) -> dict[str, Any]:
    """A trace as steps over a filled ground; its points are in the middle of the bins."""
    middles = [
        math.sqrt(low * high) if scale == "log" else (low + high) / 2
        for low, high in pairwise(found.edges)
    ]
    kept = {name: each for name, each in trace.items() if name not in ("type", "width", "mode")}
    line = {"shape": "hvh"}
    return {
        **kept,
        "type": "scatter",
        "mode": "lines",
        "x": middles,
        "line": line,
        "fill": "tozeroy",
    }


def small_multiples(
    histograms: SubsetHistograms, shown: Measured, unit: Unit, tokenizer: str = ""
) -> Figure:
    """One small chart a subset, all with the same axis of lengths; its height is set."""
    import plotly.graph_objects as go

    title = f"Length of {_WHAT[shown]} in {UNIT_WORDS[unit]}, by subset"
    if histograms.left_out:
        title = (
            f"{title} · {counted(histograms.left_out, 'smaller subset is', 'smaller subsets are')}"
            " not drawn"
        )
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
    for place, (subset, found) in enumerate(histograms.by_subset.items()):
        number = str(place + 1) if place else ""
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        for trace in _traces(found, shown, unit, tokenizer, subset):
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


def spread_figure(stats: Sequence[LengthStats], unit: Unit, benchmark: Benchmark) -> Figure:
    """Mean and standard deviation of both sides, a line a subset, by section where it has one.

    stats: as `length_stats` gives them; the last, of all pairs, is not drawn. Its height is set.
    """
    import plotly.graph_objects as go

    names = [(each.subset or "")[:_LONGEST_NAME] for each in stats[:-1]]
    sections = [benchmark.group_of(name) or "" for name in names]
    lines: list[Any] = [[*map(escape, each)] for each in (sections, names)]
    traces = []
    for measure in stats[-1].spreads if stats else ():
        spreads = [each.spreads[measure] for each in stats[:-1]]
        sds = [each.sd for each in spreads]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "orientation": "h",
                "name": measure.capitalize(),
                "meta": measure,
                "x": [each.mean for each in spreads],
                "y": lines if any(sections) else lines[1],
                "error_x": {"array": sds, "thickness": 2, "width": 3},
                "marker": {"size": 9},
                "hovertext": [f"{sd:,.1f}" for sd in sds],
                "hovertemplate": "%{y}: mean %{x:,.1f}, standard deviation %{hovertext} "
                + UNIT_WORDS[unit],
            }
        )
    title = f"Length of {_WHAT['with_prompt']} in {UNIT_WORDS[unit]}: mean ± standard deviation"
    layout: dict[str, Any] = {
        "title": {"text": title},
        "dragmode": False,
        "scattermode": "group",
        "height": 110 + _LINE_HEIGHT * len(names),
        "margin": {"l": 190},
        "xaxis": {
            "title": {"text": UNIT_WORDS[unit]},
            "rangemode": "nonnegative",
            "showgrid": True,
        },
        "yaxis": {"autorange": "reversed", "dtick": 1, "showgrid": False},
    }
    return go.Figure({"data": traces, "layout": layout})


def _traces(
    found: Histogram, shown: Measured, unit: Unit, tokenizer: str, subset: str | None = None
) -> list[dict[str, Any]]:
    """The traces of one chart, of one subset or of all."""
    bins = range(found.bins)
    if shown == "difference":
        negative = [place for place in bins if found.edges[place] < 0]
        sides = {
            "chosen": ("Chosen longer or equal", bins[len(negative) :]),
            "rejected": ("Rejected longer", negative),
        }
        return [
            _trace(found, shown, unit, tokenizer, subset, places) | {"name": name, "meta": side}
            for side, (name, places) in sides.items()
        ]
    return [
        _trace(found, measure, unit, tokenizer, subset, bins, line=place > 0)
        | {"name": measure.capitalize(), "meta": measure}
        for place, measure in enumerate(found.counts)
    ]


def _trace(  # noqa: PLR0917
    found: Histogram,
    measure: Measure,
    unit: Unit,
    tokenizer: str,
    subset: str | None,
    places: Sequence[int],
    *,
    line: bool = False,
) -> dict[str, Any]:
    edges, counts = found.edges, found.counts[measure]
    if subset is not None:
        # What cannot be seen is left out of small charts, to be light. A line needs the zeros
        # beside its steps; between these it runs on by itself.
        reach = 1 if line else 0
        places = [at for at in places if any(counts[max(0, at - reach) : at + reach + 1])]
    width = edges[1] - edges[0] if edges else 0
    more = [("subset", subset)] if subset is not None and len(subset) <= _LONGEST_NAME else []

    def asked(place: int) -> str:
        kept = _bin(found, measure, unit, tokenizer, place)
        return written([*([("range", range_written(kept))] if kept else []), *more])

    trace = {
        "x": [edges[place] + width / 2 for place in places],
        "y": [counts[place] for place in places],
        "customdata": [asked(place) for place in places],
        "hovertext": [_ends(*found.bin_ends(place)) for place in places],
        "hovertemplate": f"%{{hovertext}} {UNIT_WORDS[unit]}: %{{y:,}}",
    }
    if line:
        mode = "lines" if len(places) > 1 else "markers"
        return {**trace, "type": "scatter", "mode": mode, "line": {"shape": "hvh"}}
    return {**trace, "type": "bar", "width": width * 0.95}


def _bin(
    found: Histogram, measure: Measure, unit: Unit, tokenizer: str, place: int
) -> LengthRange | None:
    """The lengths of a bin; None if these are all."""
    low, high = found.bin_range(place)
    if low is None and high is None:
        return None
    return LengthRange(measure, unit, low, high, tokenizer if unit == "tokens" else "")


def _ends(least: int, most: int) -> str:
    if least == most:
        return f"{least:,}".replace("-", "−")
    return f"{least:,} to {most:,}".replace("-", "−")


def _selection(found: Histogram, selected: Mapping[Measure, Range]) -> Iterator[dict[str, Any]]:
    """The shapes behind the selected lengths, as far as the axis goes."""
    if not found.bins:
        return
    first, end = found.edges[0], found.edges[-1]
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


def longer_html(lines: Sequence[Longer], state: PairsState) -> str:
    """Which response is longer, a line a section and a subset, and all pairs in the last.

    lines: as `longer_lines` gives them. No lines give nothing.
    """
    if not lines:
        return ""
    return render(
        "tabs/pairs/longer.html",
        state=state,
        caption=f"Length in {UNIT_WORDS[state.unit]}, by subset",
        lines=lines[:-1],
        total=lines[-1],
    )


def stats_html(stats: Sequence[LengthStats], state: PairsState) -> str:
    """How lengths are spread, a line a subset and all pairs in the last.

    stats: as `length_stats` gives them; of chosen and rejected the columns stand in two groups.
    No lines give nothing.
    """
    if not stats:
        return ""
    *lines, total = stats
    measures = tuple(total.spreads)
    return render(
        "tabs/pairs/stats.html",
        caption=f"Length of {_WHAT[state.chart]} in {UNIT_WORDS[state.unit]}, by subset",
        measures=measures,
        lines=lines,
        total=total,
        n_hidden=total.n - sum(line.n for line in lines),
    )
