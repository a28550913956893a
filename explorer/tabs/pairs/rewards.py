"""The rewards panel of the Pairs tab: margins, calibration and rewards of one model.

Figures are colourless: traces are named, and the theme paints them by name.
"""

from itertools import pairwise

from explorer.core.figures import MARK, Figure
from explorer.core.html import note, part
from explorer.core.theme import figure_json
from explorer.reader.scene import Scene
from explorer.stats.margins import (
    Calibration,
    MarginHistogram,
    RewardHistogram,
    calibration,
    margin_histogram,
    reward_histogram,
)
from scoring.errors import counted


def rewards_html(now: Scene) -> str:
    """The panel of a scene: of the pairs that pass the filters and slices, whatever their kind."""
    field, rows, rule = now.known, now.passing, now.table.benchmark.rule
    if not now.model:
        return note("Choose a model under “Model results” to see its rewards.")
    place = field.place(now.model)
    sides = field.matrix.chosen[place][rows], field.matrix.rejected[place][rows]
    spread, sure = margin_histogram(*sides), calibration(*sides)
    if sure.error is None:
        return note(
            "These results have outcomes only. Score the model to see its margins, or add a "
            "result file with rewards."
        )
    words = f"{counted(sure.n, 'pair', 'pairs')} with both rewards: "
    words += f"{spread.wins:,} won, {spread.losses:,} lost, {spread.ties:,} tied. "
    figures = [margins_figure(spread), rewards_figure(reward_histogram(*sides))]
    if rule.reads_several:
        words += f"{rule.margin} Calibration does not apply: a row is decided among its responses."
    else:
        words += f"Calibration error {100 * sure.error:.1f} points, if margins are log-odds."
        figures.insert(1, calibration_figure(sure))
    drawn = [figure_json(figure, 330) for figure in figures]
    return note(words) + "".join(
        part("figure_of", each, "", of="core/links.html") for each in drawn
    )


def margins_figure(histogram: MarginHistogram) -> Figure:
    """How many pairs have each margin: losses left of the zero line, wins right of it."""
    import plotly.graph_objects as go

    figure = go.Figure()
    middle = len(histogram.counts) // 2
    centres = _middles(histogram.edges)
    sides = {
        "rejected": ("Lost or tied", slice(None, middle)),
        "chosen": ("Won", slice(middle, None)),
    }
    for side, (outcome, bins) in sides.items():
        figure.add_bar(
            name=outcome,
            meta=side,
            x=centres[bins],
            y=list(histogram.counts[bins]),
            hovertemplate="chosen reward − rejected reward about %{x:.2f}, pairs: %{y}",
        )
    figure.add_vline(x=0)
    figure.update_layout(title={"text": "Margins"}, barmode="stack", bargap=0.05)
    figure.update_xaxes(title="chosen reward − rejected reward (end bins include outliers)")
    return figure


def rewards_figure(histogram: RewardHistogram) -> Figure:
    """How many responses of each side have each reward."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for side, counts in (("chosen", histogram.chosen), ("rejected", histogram.rejected)):
        figure.add_scatter(
            name=side.capitalize(),
            meta=side,
            x=_middles(histogram.edges),
            y=list(counts),
            mode="lines",
            line={"shape": "hvh"},
            hovertemplate="reward about %{x:.2f}, responses: %{y}",
        )
    figure.update_layout(title={"text": "Rewards of both sides"})
    figure.update_xaxes(title="reward (end bins include outliers)")
    return figure


def calibration_figure(found: Calibration) -> Figure:
    """How often the model is right against how sure its margins say that it is."""
    import plotly.graph_objects as go

    bins = found.bins
    figure = go.Figure()
    figure.add_scatter(
        name="perfectly calibrated", meta=MARK, x=[0.5, 1], y=[0.5, 1], mode="lines",
        line={"dash": "dash"}, hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        name="share won",
        meta="prompt",
        x=[each.confidence for each in bins],
        y=[each.accuracy for each in bins],
        error_y={
            "type": "data",
            "array": [each.interval.high - each.accuracy for each in bins],
            "arrayminus": [each.accuracy - each.interval.low for each in bins],
        },
        mode="markers+lines",
        customdata=[[each.n, each.low, each.high] for each in bins],
        hovertemplate=(
            "Pairs: %{customdata[0]}, |margin| %{customdata[1]:.3f} to %{customdata[2]:.3f}: "
            "share won %{y:.1%}, confidence %{x:.1%}"
        ),
    )
    figure.update_layout(title={"text": "Calibration: share won by confidence"})
    figure.update_xaxes(title="confidence: sigmoid of |margin|")
    figure.update_yaxes(title="share won", range=[0, 1.02])
    return figure


def _middles(edges: tuple[float, ...]) -> list[float]:
    return [(low + high) / 2 for low, high in pairwise(edges)]
