"""Token rewards -> a Plotly figure, colourless: the theme paints its traces by name."""

from html import escape

from explorer.core.figures import Figure
from explorer.core.text import text
from scoring.probing.side_rewards import TokenRewards

LONGEST_PIECE = 40


def token_figure(rewards: TokenRewards) -> Figure:
    """The reward after each token of both responses, as two lines."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for side, found in (("chosen", rewards.chosen), ("rejected", rewards.rejected)):
        figure.add_scatter(
            name=text(f"side.{side}"),
            meta=side,
            x=list(range(1, len(found.tokens) + 1)),
            y=list(found.rewards),
            customdata=[escape(repr(token.piece[:LONGEST_PIECE])) for token in found.tokens],
            mode="lines",
            hovertemplate=text("tokens.hover", what=text("figure.reward")),
        )
    figure.update_layout(title={"text": text("tokens.figure")})
    figure.update_xaxes(title=text("tokens.axis"))
    figure.update_yaxes(title=text("figure.reward"))
    return figure
