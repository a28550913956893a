"""The charts below the board: the models that its table shows, drawn in one of five ways."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.core.html import render
from explorer.core.parts import Filling
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.tabs.models.chart_data import (
    Point,
    alike,
    axes_of,
    number_columns,
    points_of,
    subset_spreads,
)
from explorer.tabs.models.chart_tables import Drawn, percent_axis, spreads_html
from explorer.tabs.models.figures import Axis, alike_figure, models_figure, spread_figure
from explorer.tabs.models.length_chart import draw_length
from explorer.tabs.models.scene import Ranked
from explorer.tabs.models.state import CHARTS, Chart
from explorer.tabs.models.table import MOST_ROWS, column_words

MOST_ALIKE = 200
"""Models of a heat map."""


@dataclass(frozen=True)
class BoardChartParts:
    """The components: buttons and words, the figure, its table."""

    about: gr.HTML
    plot: gr.Plot
    table: gr.HTML


def build_chart() -> tuple[gr.HTML, gr.Plot]:
    """Lay the buttons and the figure out where it is called."""
    about = gr.HTML(elem_id="chart")
    return about, gr.Plot(
        show_label=False, visible=False, elem_classes="models-plot", elem_id="chart-plot"
    )


def chart_shown(parts: BoardChartParts, scene: Ranked) -> Filling:
    """The chart that a state asks for. Where it asks for none, nothing is computed."""
    chosen = scene.state.chart
    drawn, notes = Drawn(), []
    if chosen:
        drawn = _DRAW[chosen](scene) if len(scene.rows) else Drawn([text("board.none")])
        notes = [text(f"chart.about_{chosen}"), *drawn.notes]
    plot = gr.update(visible=False)
    if drawn.figure is not None:
        plot = gr.update(value=painted(drawn.figure, 460), visible=True)
        notes += [text("chart.click")] if chosen != "difficulty" else []
    about = render(
        "tabs/models/chart_about.html",
        charts={each: text(f"chart.show_{each or 'none'}") for each in CHARTS},
        chart=chosen,
        axes=drawn.axes,
        columns={each: column_words(each) for each in number_columns(scene.board)},
        notes=notes,
    )
    return {parts.about: about, parts.plot: plot, parts.table: drawn.table}


def _agreement(scene: Ranked) -> Drawn:
    matrix = scene.outcomes()
    if matrix is None:
        return Drawn([scene.not_read])
    rows, notes = scene.drawn_by_pairs(matrix, MOST_ALIKE)
    if len(rows) < 2:
        return Drawn([text("chart.two_models"), *notes])
    models = rows.index.to_list()
    return Drawn(notes, alike_figure(alike(matrix, models, scene.board.rule, scene.state.ties)))


def _difficulty(scene: Ranked) -> Drawn:
    spreads = subset_spreads(scene.board, scene.rows)
    if not spreads:
        return Drawn([text("chart.nothing")])
    return Drawn(figure=spread_figure(spreads), table=spreads_html(spreads, scene.state.digits))


def _size(scene: Ranked) -> Drawn:
    points = points_of(scene.rows, "size", "score", scene.state.pins, intervals=True)
    if not points:
        return Drawn([text("chart.nothing")])
    return Drawn(_missing(scene, points, "size"), _scatter(points, "size", "score"))


def _tradeoff(scene: Ranked) -> Drawn:
    x, y = axes_of(scene.board, scene.state)
    axes = {"x": x, "y": y}
    points = points_of(scene.rows, x, y, scene.state.pins)
    if not points:
        return Drawn([text("chart.nothing")], axes=axes)
    figure = _scatter(points, x, y, diagonal="size" not in (x, y))
    return Drawn(_missing(scene, points, "numbers"), figure, axes)


_DRAW: dict[Chart, Callable[[Ranked], Drawn]] = {
    "length": draw_length,
    "agreement": _agreement,
    "difficulty": _difficulty,
    "size": _size,
    "tradeoff": _tradeoff,
}


def _scatter(points: Sequence[Point], x: str, y: str, *, diagonal: bool = False) -> Any:
    across, up = (
        Axis(column_words(each), log=True) if each == "size" else percent_axis(column_words(each))
        for each in (x, y)
    )
    return models_figure(points[:MOST_ROWS], across, up, diagonal=diagonal)


def _missing(scene: Ranked, points: Sequence[Point], why: str) -> list[str]:
    notes = []
    if n := len(scene.rows) - len(points):
        notes.append(text(f"chart.without_{why}", n=f"{n:,}"))
    if len(points) > MOST_ROWS:
        notes.append(text("chart.cut", n=f"{MOST_ROWS:,}"))
    return notes
