"""The lengths panel of the Pairs tab: a chart whose bars are filters, and its table."""

from dataclasses import dataclass

import gradio as gr

from explorer.core.html import note, render
from explorer.core.parts import Filling
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.data.filters import Filters, LengthRange
from explorer.data.lengths import (
    MEASURED,
    Range,
    histogram,
    histograms_by_subset,
    length_stats,
    measures_of,
)
from explorer.data.table import UNITS, Measure, PairTable
from explorer.data.tokens import MOST_CHARS, TokenCounter, cut_texts
from explorer.reader.scene import Scene, rows_with
from explorer.reader.state import Chart
from explorer.tabs.pairs.length_charts import length_figure, small_multiples, stats_html


@dataclass(frozen=True)
class LengthParts:
    """The panel's components."""

    controls: gr.HTML
    tokenizing: gr.Column
    tokenizer: gr.Textbox
    count: gr.Button
    stop: gr.Button
    status: gr.HTML
    plot: gr.Plot
    stats: gr.HTML


def build_lengths(counter: TokenCounter) -> LengthParts:
    """Lay the panel out where it is called."""
    controls = gr.HTML()
    with gr.Column(visible=False, elem_classes="tokenizing") as tokenizing, gr.Row():
        tokenizer = gr.Textbox(
            counter.suggested(),
            label=text("lengths.tokenizer"),
            info=text("lengths.tokenizer_info"),
            elem_id="tokenizer",
            max_lines=1,
            scale=4,
        )
        count = gr.Button(text("lengths.count"), variant="primary", scale=1, elem_id="count-tokens")
        stop = gr.Button(text("score.stop"), scale=0, min_width=80)
    status = gr.HTML(elem_id="tokens-status")
    plot = gr.Plot(show_label=False, container=True, elem_classes="lengths-plot")
    return LengthParts(
        controls, tokenizing, tokenizer, count, stop, status, plot, gr.HTML(elem_classes="stats-of")
    )


def lengths_shown(parts: LengthParts, now: Scene, counter: TokenCounter) -> Filling:
    """The panel of a scene; nothing while another panel is open.

    The bars count what passes every filter but the ranges that they show themselves, so that a
    range can be widened again; those are shaded. The table counts what passes all.
    """
    if now.state.panel != "lengths":
        return {}
    chart, table = now.state.chart, now.table
    filled: Filling = {
        parts.controls: _controls(chart),
        parts.tokenizing: gr.Column(visible=chart.unit == "tokens"),
    }
    if chart.unit == "tokens" and not counter.known(table, chart.tokenizer):
        return filled | {
            parts.status: note(text("lengths.not_counted")),
            parts.plot: gr.update(visible=False),
            parts.stats: "",
        }
    rows = rows_with(now, without_own_ranges(now.state.filters, chart))
    drawn = (table, rows, chart.shown, chart.unit, chart.tokenizer)
    if chart.by_subset:
        figure = small_multiples(histograms_by_subset(*drawn), chart.shown, chart.unit)
        figure = painted(figure)
    else:
        shaded = _shaded(now.state.filters, chart)
        figure = painted(length_figure(histogram(*drawn), chart.shown, chart.unit, shaded), 330)
    stats = length_stats(table, now.selection.rows, *drawn[2:])
    return filled | {
        parts.status: note(_said(table, chart)),
        parts.plot: gr.update(value=figure, visible=len(rows) > 0),
        parts.stats: stats_html(stats, chart.unit),
    }


def _said(table: PairTable, chart: Chart) -> str:
    """How tokens were counted, and what a click does."""
    said = [text("lengths.hint_subsets") if chart.by_subset else text("lengths.hint")]
    if chart.unit == "tokens":
        said.insert(0, text("lengths.counted", tokenizer=chart.tokenizer))
        if n := cut_texts(table):
            said.insert(1, text("lengths.cut", n=f"{n:,}", most=f"{MOST_CHARS:,}"))
    return " ".join(said)


def without_own_ranges(filters: Filters, chart: Chart) -> Filters:
    """Filters without the ranges that a chart shows."""
    for each in _own(filters, chart):
        filters = filters.without_range(each)
    return filters


def _own(filters: Filters, chart: Chart) -> list[LengthRange]:
    kinds = [(measure, chart.unit) for measure in measures_of(chart.shown)]
    return [each for each in filters.ranges if each.what in kinds]


def _shaded(filters: Filters, chart: Chart) -> dict[Measure, Range]:
    return {each.measure: (each.low, each.high) for each in _own(filters, chart)}


def _controls(chart: Chart) -> str:
    shown = {each: text(f"lengths.{each}") for each in MEASURED}
    units = {each: text(f"unit.{each}") for each in UNITS}
    return render("tabs/pairs/chart_controls.html", chart=chart, shown=shown, units=units)
