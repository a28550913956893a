"""The charts of the Leaderboard tab: the models that its table shows, drawn in one of five ways."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import gradio as gr

from explorer.aggregate import accuracies_of, aggregate_counted, settled
from explorer.board_alike import alike
from explorer.board_figures import Axis, alike_figure, models_figure, spread_figure
from explorer.board_points import Point, axes_of, kind, number_columns, points_of
from explorer.board_spreads import subset_spreads
from explorer.boards import Board, BoardRow, benchmark_of
from explorer.boardview import CHARTS, BoardView, Chart
from explorer.length_bias import LengthBias, length_alone, length_bias, lengths_of
from explorer.outcome_matrix import OutcomeMatrix
from explorer.rules import V1
from explorer.table import PairTable
from explorer.text import text
from explorer.ui.boardtable import MOST_ROWS, column_words
from explorer.ui.chart_tables import LengthLine, length_html, spreads_html
from explorer.ui.markup import note, tag
from explorer.ui.relay import acting, segments
from explorer.ui.theme import painted
from explorer.uncertainty import subsets_by

MOST_ALIKE = 200
"""Models of a heat map."""


@dataclass(frozen=True)
class BoardChartView:
    """The components: buttons and words, the figure, its table."""

    about: gr.HTML
    plot: gr.Plot
    table: gr.HTML


class ChartShown(NamedTuple):
    """What the chart shows, in the order of `BoardChartView`."""

    about: Any
    plot: Any
    table: Any


@dataclass(frozen=True)
class ChartScene:
    """What a chart is drawn of.

    rows: as `explorer.boardview.shown_rows` gives them.
    outcomes: gives those of each pair, None where none were read.
    tables: gives the pairs whose texts are at hand.
    unread: files with results of each pair that were not read yet.
    """

    view: BoardView
    board: Board
    rows: Sequence[BoardRow]
    outcomes: Callable[[], OutcomeMatrix | None]
    tables: Callable[[], Sequence[PairTable]]
    unread: int = 0


@dataclass(frozen=True)
class Drawn:
    """A chart. notes: plain sentences on what is not in it. figure: None without anything to draw.

    controls, table: HTML.
    """

    notes: Sequence[str] = ()
    figure: Any = None
    controls: str = ""
    table: str = ""


def build_chart() -> tuple[gr.HTML, gr.Plot]:
    """Lay the buttons and the figure out where it is called."""
    about = gr.HTML(elem_id="chart")
    return about, gr.Plot(
        show_label=False, visible=False, elem_classes="models-plot", elem_id="chart-plot"
    )


def chart_shown(scene: ChartScene) -> ChartShown:
    """The chart that a view asks for. Where it asks for none, nothing is computed."""
    chosen = scene.view.chart
    names: dict[str, str] = {each: text(f"chart.show_{each or 'none'}") for each in CHARTS}
    buttons = tag("div", segments(text("chart.chart"), "chart", names, chosen), css="line")
    if not chosen:
        return ChartShown(buttons, gr.update(visible=False), "")
    drawn = _DRAW[chosen](scene)
    notes = [text(f"chart.about_{chosen}"), *drawn.notes]
    if drawn.figure is None:
        plot = gr.update(visible=False)
    else:
        plot = gr.update(value=painted(drawn.figure, 460), visible=True)
        if chosen != "difficulty":
            notes.append(text("chart.click"))
    words = "".join(note(each) for each in notes)
    return ChartShown(buttons + drawn.controls + words, plot, drawn.table)


def _length(scene: ChartScene) -> Drawn:
    board, view = scene.board, scene.view
    if benchmark_of(board.rule) != "v1":
        return Drawn([text("chart.only_v1")])
    matrix = scene.outcomes()
    if matrix is None:
        return Drawn([_not_read(scene)])
    lengths = lengths_of(scene.tables(), matrix.pairs)
    if lengths is None:
        return Drawn([text("chart.no_texts")])
    rows, notes = _with_outcomes(scene, matrix)
    place = {model: at for at, model in enumerate(matrix.models)}
    at = [place[row.model] for row in rows]
    counting = settled(matrix.outcomes[at], matrix.known_equal[at], view.ties, view.missing)
    subsets = subsets_by(V1, matrix.pairs)
    found = length_bias(counting, lengths.difference, subsets)
    lines = [LengthLine(row.model, row.score, each) for row, each in zip(rows, found, strict=True)]
    alone = []
    for name, longer in (
        (text("chart.longer_alone"), True),
        (text("chart.shorter_alone"), False),
    ):
        outcomes = length_alone(lengths.difference, longer=longer)
        (each,) = length_bias(outcomes[None], lengths.difference, subsets)
        score = aggregate_counted(board.rule, accuracies_of(outcomes, subsets)).score
        alone.append(LengthLine(name, score, each))
    points = [
        Point(row.model, 100 * x, 100 * y, kind(row), row.model in view.pins)
        for row, each in zip(rows, found, strict=True)
        if (x := each.rejected_longer.accuracy) is not None
        and (y := each.chosen_longer.accuracy) is not None
    ]
    figure = models_figure(
        points,
        _percent(text("chart.axis_rejected_longer")),
        _percent(text("chart.axis_chosen_longer")),
        diagonal=True,
        marks=[(line.name, *_place(line.bias)) for line in alone],
    )
    notes.insert(0, _measured(lengths.pairs, alone[0].bias))
    return Drawn(notes, figure, table=length_html(lines, alone, view.digits))


def _agreement(scene: ChartScene) -> Drawn:
    matrix = scene.outcomes()
    if matrix is None:
        return Drawn([_not_read(scene)])
    rows, notes = _with_outcomes(scene, matrix, MOST_ALIKE)
    if len(rows) < 2:
        return Drawn([text("chart.two_models"), *notes])
    models = [row.model for row in rows]
    return Drawn(notes, alike_figure(alike(matrix, models, scene.board.rule, scene.view.ties)))


def _difficulty(scene: ChartScene) -> Drawn:
    spreads = subset_spreads(scene.board, scene.rows)
    if not spreads:
        return Drawn([text("board.none")])
    return Drawn(figure=spread_figure(spreads), table=spreads_html(spreads, scene.view.digits))


def _size(scene: ChartScene) -> Drawn:
    points = points_of(scene.rows, "size", "score", scene.view.pins, intervals=True)
    notes = _missing(scene, points, "size")
    return Drawn(notes, _scatter(points, "size", "score") if points else None)


def _tradeoff(scene: ChartScene) -> Drawn:
    x, y = axes_of(scene.board, scene.view)
    columns = number_columns(scene.board)
    choosers = tag("div", _select("x", columns, x) + _select("y", columns, y), css="line")
    points = points_of(scene.rows, x, y, scene.view.pins)
    notes = _missing(scene, points, "numbers")
    if not points:
        return Drawn([*notes, text("chart.nothing")], controls=choosers)
    return Drawn(notes, _scatter(points, x, y, diagonal="size" not in (x, y)), choosers)


_DRAW: dict[Chart, Callable[[ChartScene], Drawn]] = {
    "length": _length,
    "agreement": _agreement,
    "difficulty": _difficulty,
    "size": _size,
    "tradeoff": _tradeoff,
}


def _scatter(points: Sequence[Point], x: str, y: str, *, diagonal: bool = False) -> Any:
    across, up = (
        Axis(column_words(each), log=True) if each == "size" else _percent(column_words(each))
        for each in (x, y)
    )
    return models_figure(points[:MOST_ROWS], across, up, diagonal=diagonal)


def _percent(what: str) -> Axis:
    return Axis(text("chart.percent", what=what))


def _with_outcomes(
    scene: ChartScene, matrix: OutcomeMatrix, most: int = MOST_ROWS
) -> tuple[list[BoardRow], list[str]]:
    """The rows that are drawn by their outcomes, and what is to be said of the others."""
    there = set(matrix.models)
    rows = [row for row in scene.rows if row.by_pairs and row.model in there]
    notes = [_not_read(scene)] if scene.unread else []
    if without := len(scene.rows) - len(rows):
        notes.append(text("chart.without_pairs", n=f"{without:,}"))
    if len(rows) > most:
        notes.append(text("chart.cut", n=f"{most:,}"))
    return rows[:most], notes


def _not_read(scene: ChartScene) -> str:
    if not scene.unread:
        return text("chart.no_pairs")
    return text("chart.unread", n=f"{scene.unread:,}", button=text("board.measure"))


def _missing(scene: ChartScene, points: Sequence[Point], why: str) -> list[str]:
    notes = [text("chart.cut", n=f"{MOST_ROWS:,}")] if len(points) > MOST_ROWS else []
    if n := len(scene.rows) - len(points):
        notes.insert(0, text(f"chart.without_{why}", n=f"{n:,}"))
    return notes


def _measured(pairs: str, any_of: LengthBias) -> str:
    return text(
        "chart.lengths_of",
        pairs=pairs,
        chosen=f"{any_of.chosen_longer.n:,}",
        rejected=f"{any_of.rejected_longer.n:,}",
        equal=f"{any_of.equal.n:,}",
    )


def _place(bias: LengthBias) -> tuple[float, float]:
    """Where a baseline, which knows every pair, stands."""
    return 100 * (bias.rejected_longer.accuracy or 0), 100 * (bias.chosen_longer.accuracy or 0)


def _select(axis: str, columns: Sequence[str], chosen: str) -> str:
    options = "".join(
        tag(
            "option",
            escape(column_words(each)),
            value=each,
            **({"selected": "selected"} if each == chosen else {}),
        )
        for each in columns
    )
    # Its value is an attribute of its own, by which a select that was used is set anew.
    select = tag("select", options, data_field="value", value=chosen, **acting(axis))
    return tag("label", escape(text(f"chart.choose_{axis}")) + select, css="choice")
