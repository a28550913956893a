"""The chart of length bias: where models stand between two that go by length alone."""

from explorer.core.text import text
from explorer.results.board import benchmark_of
from explorer.stats.aggregate import accuracies_of, aggregate_counted, settled
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import V1, Rule
from explorer.stats.uncertainty import subsets_by
from explorer.tabs.models.chart_data import Point, kind
from explorer.tabs.models.chart_tables import Drawn, LengthLine, length_html, percent_axis
from explorer.tabs.models.figures import models_figure
from explorer.tabs.models.length_bias import (
    LengthBias,
    PairLengths,
    length_alone,
    length_bias,
    lengths_of,
)
from explorer.tabs.models.scene import Ranked


def draw_length(scene: Ranked) -> Drawn:
    """The chart, or why there is none."""
    if benchmark_of(scene.board.rule) != "v1":
        return Drawn([text("chart.only_v1")])
    matrix = scene.outcomes()
    if matrix is None:
        return Drawn([scene.not_read])
    lengths = lengths_of(scene.tables(), matrix.pairs)
    if lengths is None:
        return Drawn([text("chart.no_texts")])
    return _drawn(scene, matrix, lengths)


def _drawn(scene: Ranked, matrix: OutcomeMatrix, lengths: PairLengths) -> Drawn:
    state = scene.state
    rows, notes = scene.drawn_by_pairs(matrix)
    place = {model: at for at, model in enumerate(matrix.models)}
    at = [place[model] for model in rows.index]
    outcomes = settled(matrix.outcomes[at], matrix.known_equal[at], state.ties, state.missing)
    found = length_bias(outcomes, lengths.difference, subsets_by(V1, matrix.pairs))
    drawn = list(zip(map(scene.board.rows.__getitem__, rows.index), found, strict=True))
    lines = [LengthLine(row["model"], row["score"], each) for row, each in drawn]
    alone = _alone(scene.board.rule, matrix, lengths)
    points = [
        Point(row["model"], 100 * x, 100 * y, kind(row), row["model"] in state.pins)
        for row, each in drawn
        if (x := each.rejected_longer.accuracy) is not None
        and (y := each.chosen_longer.accuracy) is not None
    ]
    figure = models_figure(
        points,
        percent_axis(text("chart.axis_rejected_longer")),
        percent_axis(text("chart.axis_chosen_longer")),
        diagonal=True,
        marks=[(line.name, *_place(line.bias)) for line in alone],
    )
    said = [_measured(lengths, alone[0].bias), *notes]
    return Drawn(said, figure, table=length_html(lines, alone, state.digits))


def _alone(rule: Rule, matrix: OutcomeMatrix, lengths: PairLengths) -> list[LengthLine]:
    """The two baselines without a model."""
    lines = []
    subsets = subsets_by(V1, matrix.pairs)
    for name, longer in (
        (text("chart.longer_alone"), True),
        (text("chart.shorter_alone"), False),
    ):
        outcomes = length_alone(lengths.difference, longer=longer)
        (bias,) = length_bias(outcomes[None], lengths.difference, subsets)
        score = aggregate_counted(rule, accuracies_of(outcomes, subsets)).score
        lines.append(LengthLine(name, score, bias))
    return lines


def _measured(lengths: PairLengths, of_all: LengthBias) -> str:
    return text(
        "chart.lengths_of",
        pairs=lengths.pairs,
        chosen=f"{of_all.chosen_longer.n:,}",
        rejected=f"{of_all.rejected_longer.n:,}",
        equal=f"{of_all.equal.n:,}",
    )


def _place(bias: LengthBias) -> tuple[float, float]:
    """Where a baseline, which knows every pair, stands."""
    return 100 * (bias.rejected_longer.accuracy or 0), 100 * (bias.chosen_longer.accuracy or 0)
