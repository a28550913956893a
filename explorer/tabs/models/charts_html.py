"""The charts above the board: the models that its table shows, drawn in one of five ways."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from markupsafe import Markup

from explorer.core.html import part, render
from explorer.core.theme import figure_json
from explorer.stats.aggregate import settled
from explorer.stats.rules import V1
from explorer.stats.uncertainty import subsets_by
from explorer.tabs.models.board_html import CHART_NAMES
from explorer.tabs.models.charts import (
    CATEGORIES,
    LENGTH_BASELINES,
    LengthBias,
    Point,
    alike,
    axes_of,
    kinds,
    length_baseline,
    length_bias,
    lengths_of,
    number_columns,
    points_of,
    shares_won,
    subset_spreads,
)
from explorer.tabs.models.figures import Axis, alike_figure, models_figure, spread_figure
from explorer.tabs.models.ranked import MOST_BOARD_ROWS, Ranked, column_words
from explorer.tabs.models.state import ChartName
from scoring.errors import counted

MOST_ALIKE = 200
"""Models of a heat map."""
_table = partial(part, of="tabs/models/chart_table.html")

_ABOUT: dict[ChartName, str] = {
    "length": "Above the dashed line, a model is more accurate where the chosen response is longer "
    "(in characters). The two kinds of pairs come from different subsets, so this does not isolate "
    "the effect of length.",
    "agreement": "Correlation (Pearson's r) of wins and losses between models, similar models next "
    "to each other. It says nothing about who is right.",
    "difficulty": "Accuracy of the listed models by subset: median and middle half as a box, mean "
    "as a dashed line, lowest and highest as whiskers. It shows how hard a subset is for these "
    "models, not how good its labels are.",
    "size": "Score against number of parameters, as given in the model's name, with 95 % "
    "intervals. Models differ in more than size.",
    "tradeoff": "Two columns of the listed models. Both are equal on the dashed line.",
}


def chart_html(scene: Ranked) -> str:
    """The chart that a state asks for, with the links to others; "" for none."""
    state, chosen = scene.state, scene.state.chart
    if not chosen:
        return ""
    drawn = _DRAW[chosen](scene) if len(scene.rows) else _Chart(["No matching models."])
    notes = [_ABOUT[chosen], *drawn.notes]
    if drawn.figure is not None and chosen != "difficulty":
        notes.append("Click a model to see its details.")
    return render(
        "tabs/models/chart.html",
        state=state,
        charts=CHART_NAMES,
        axes=drawn.axes,
        columns={each: column_words(each) for each in number_columns(scene.board)},
        notes=notes,
        figure="" if drawn.figure is None else figure_json(drawn.figure, 460),
        table=Markup(drawn.table),  # noqa: S704 - of a template
    )


_NO_NUMBERS = "These models lack the numbers for this chart. Choose another chart or other models."


@dataclass(frozen=True)
class _Chart:
    """A chart. notes: sentences on what it shows and what it leaves out.

    figure: None where there is nothing to draw. axes: axis -> its column, where one can choose.
    table: HTML.
    """

    notes: Sequence[str] = ()
    figure: Any = None
    axes: Mapping[str, str] = field(default_factory=dict)
    table: str = ""


def _agreement(scene: Ranked) -> _Chart:
    matrix = scene.seen.outcomes
    if matrix is None:
        return _Chart([scene.not_read])
    rows, notes = scene.rows_with_outcomes(matrix, MOST_ALIKE)
    if len(rows) < 2:
        return _Chart(["This chart needs per-pair results of at least two models.", *notes])
    models = rows.index.to_list()
    return _Chart(notes, alike_figure(alike(matrix, models, scene.board.rule, scene.state.ties)))


def _difficulty(scene: Ranked) -> _Chart:
    spreads = subset_spreads(scene.board, scene.rows)
    if not spreads:
        return _Chart([_NO_NUMBERS])
    table = _table("spreads", spreads, scene.state.digits)
    return _Chart(figure=spread_figure(spreads), table=table)


def _size(scene: Ranked) -> _Chart:
    points = points_of(scene.rows, "size", "score", scene.state.pins, intervals=True)
    if not points:
        return _Chart([_NO_NUMBERS])
    return _Chart(_missing(scene, points, "no size in the name"), _scatter(points, "size", "score"))


def _tradeoff(scene: Ranked) -> _Chart:
    x, y = axes_of(scene.board, scene.state)
    axes = {"x": x, "y": y}
    points = points_of(scene.rows, x, y, scene.state.pins)
    if not points:
        return _Chart([_NO_NUMBERS], axes=axes)
    figure = _scatter(points, x, y, diagonal="size" not in (x, y))
    return _Chart(_missing(scene, points, "a number is unknown"), figure, axes)


def _length(scene: Ranked) -> _Chart:
    """Where models stand between two baselines that go by length alone."""
    if scene.board.rule.benchmark.key != V1.name:
        return _Chart(["Length bias needs RewardBench's pairs. Choose RewardBench above."])
    matrix = scene.seen.outcomes
    if matrix is None:
        return _Chart([scene.not_read])
    lengths = lengths_of(scene.tables(), matrix.pairs)
    if lengths is None:
        return _Chart(
            ["Lengths need the texts of the pairs. Open RewardBench from the menu above."]
        )
    state, subsets = scene.state, subsets_by(V1, matrix.pairs)
    rows, notes = scene.rows_with_outcomes(matrix)
    row_of = {model: row for row, model in enumerate(matrix.models)}
    at = [row_of[model] for model in rows.index]
    outcomes = settled(matrix.outcomes[at], matrix.known_equal[at], state.ties, state.missing)
    found = length_bias(outcomes, lengths.difference, subsets)
    scores = [scene.board.rows[model]["score"] for model in rows.index]
    lines = list(map(_LengthLine, rows.index, scores, found))
    alone = []
    for name, longer in LENGTH_BASELINES.items():
        outcomes = length_baseline(lengths.difference, longer=longer)
        (bias,) = length_bias(outcomes[None], lengths.difference, subsets)
        score = shares_won(scene.board.rule, outcomes, subsets)["score"]
        alone.append(_LengthLine(name, score, bias))
    points = [
        Point(line.name, 100 * x, 100 * y, kind, line.name in state.pins)
        for line, kind in zip(lines, kinds(rows), strict=True)
        for x, y in [line.place]
        if x is not None and y is not None
    ]
    x, y = (_percent_axis(f"Accuracy where {side} is longer") for side in ("rejected", "chosen"))
    marks = [(each.name, 100 * (a or 0), 100 * (b or 0)) for each in alone for a, b in [each.place]]
    figure = models_figure(points, x, y, diagonal=True, marks=marks)
    of_all = alone[0].bias
    said = (
        f"Lengths: {lengths.pairs} The chosen response is longer in "
        f"{counted(of_all.chosen_longer.n, 'pair', 'pairs')}, the rejected one in "
        f"{of_all.rejected_longer.n:,}; {of_all.equal.n:,} of equal length count apart."
    )
    table = _table("lengths", lines, alone, state.digits, CATEGORIES)
    return _Chart([said, *notes], figure, table=table)


_DRAW: dict[ChartName, Callable[[Ranked], _Chart]] = {
    "length": _length,
    "agreement": _agreement,
    "difficulty": _difficulty,
    "size": _size,
    "tradeoff": _tradeoff,
}


@dataclass(frozen=True, slots=True)
class _LengthLine:
    """One model, or a baseline; score: 0 to 1."""

    name: str
    score: float | None
    bias: LengthBias

    @property
    def place(self) -> tuple[float | None, float | None]:
        """Where it stands in the chart, 0 to 1."""
        return self.bias.rejected_longer.accuracy, self.bias.chosen_longer.accuracy


def _percent_axis(what: str) -> Axis:
    return Axis(f"{what} (%)")


def _scatter(points: Sequence[Point], x: str, y: str, *, diagonal: bool = False) -> Any:
    across, up = (
        Axis(column_words(each), log=True) if each == "size" else _percent_axis(column_words(each))
        for each in (x, y)
    )
    return models_figure(points[:MOST_BOARD_ROWS], across, up, diagonal=diagonal)


def _missing(scene: Ranked, points: Sequence[Point], why: str) -> list[str]:
    notes = []
    if n := len(scene.rows) - len(points):
        notes.append(f"{counted(n, 'model', 'models')} hidden: {why}.")
    if len(points) > MOST_BOARD_ROWS:
        notes.append(f"Only the first {counted(MOST_BOARD_ROWS, 'model is', 'models are')} shown.")
    return notes
