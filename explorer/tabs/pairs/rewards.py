"""The rewards panel of the Pairs tab: margins, calibration and rewards of one model.

Figures are colourless: traces are named, and the theme paints them by name.
"""

from itertools import pairwise

from explorer.core.figures import MARK, Figure
from explorer.core.html import note, part
from explorer.core.text import text
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


def rewards_html(now: Scene) -> str:
    """The panel of a scene: of the pairs that pass the filters and slices, whatever their kind."""
    field, rows = now.known, now.passing
    if not now.model:
        return note(text("fails.rewards_model"))
    place = field.place(now.model)
    sides = field.matrix.chosen[place][rows], field.matrix.rejected[place][rows]
    spread, sure = margin_histogram(*sides), calibration(*sides)
    if sure.error is None:
        return note(text("fails.rewards_missing"))
    words = text(
        "fails.rewards_about", n=f"{sure.n:,}", wins=f"{spread.wins:,}",
        losses=f"{spread.losses:,}", ties=f"{spread.ties:,}", error=f"{100 * sure.error:.1f}",
    )  # fmt: skip
    figures = (
        margins_figure(spread), calibration_figure(sure), rewards_figure(reward_histogram(*sides)),
    )  # fmt: skip
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
    sides = {"rejected": ("lost", slice(None, middle)), "chosen": ("won", slice(middle, None))}
    for side, (outcome, bins) in sides.items():
        figure.add_bar(
            name=text(f"outcome.{outcome}"),
            meta=side,
            x=centres[bins],
            y=list(histogram.counts[bins]),
            hovertemplate=text("figure.margin_hover", what=text("figure.margin")),
        )
    figure.add_vline(x=0)
    figure.update_layout(title={"text": text("figure.margins")}, barmode="stack", bargap=0.05)
    figure.update_xaxes(title=text("figure.beyond", what=text("figure.margin")))
    return figure


def rewards_figure(histogram: RewardHistogram) -> Figure:
    """How many responses of each side have each reward."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for side, counts in (("chosen", histogram.chosen), ("rejected", histogram.rejected)):
        figure.add_scatter(
            name=text(f"side.{side}"),
            meta=side,
            x=_middles(histogram.edges),
            y=list(counts),
            mode="lines",
            line={"shape": "hvh"},
            hovertemplate=text("figure.reward_hover", what=text("figure.reward")),
        )
    figure.update_layout(title={"text": text("figure.rewards")})
    figure.update_xaxes(title=text("figure.beyond", what=text("figure.reward")))
    return figure


def calibration_figure(found: Calibration) -> Figure:
    """How often the model is right against how sure its margins say that it is."""
    import plotly.graph_objects as go

    bins = found.bins
    figure = go.Figure()
    figure.add_scatter(
        name=text("figure.calibrated"), meta=MARK, x=[0.5, 1], y=[0.5, 1], mode="lines",
        line={"dash": "dash"}, hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        name=text("figure.share_won"),
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
        hovertemplate=text("figure.calibration_hover", what=text("figure.share_won")),
    )
    figure.update_layout(title={"text": text("figure.calibration")})
    figure.update_xaxes(title=text("figure.confidence"))
    figure.update_yaxes(title=text("figure.share_won"), range=[0, 1.02])
    return figure


def _middles(edges: tuple[float, ...]) -> list[float]:
    return [(low + high) / 2 for low, high in pairwise(edges)]
