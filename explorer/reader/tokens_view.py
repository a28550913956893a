"""Token rewards of a pair: both responses shaded by how the reward changed, and as lines."""

from dataclasses import dataclass
from html import escape

import gradio as gr

from explorer.core.figures import Figure
from explorer.core.html import render
from explorer.core.text import text
from explorer.reader.listing import harm_css
from scoring.probing.side_rewards import SideRewards, TokenRewards, largest_jumps

_N_JUMPS = 5
_MOST_TOKENS = 4_000
"""Of a side that are shaded; the line has them all."""
_STRONGEST = 0.55
"""Opacity of the largest change."""
_LONGEST_PIECE = 40


@dataclass(frozen=True)
class TokensParts:
    """The components; all but the button are filled when it is pressed."""

    button: gr.Button
    words: gr.HTML
    plot: gr.Plot


def build_tokens() -> TokensParts:
    """Lay them out where it is called."""
    button = gr.Button(
        text("tokens.button"), size="md", elem_id="token-rewards", visible=False, min_width=160
    )
    return TokensParts(button, gr.HTML(), gr.Plot(show_label=False, visible=False))


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
            customdata=[escape(repr(token.piece[:_LONGEST_PIECE])) for token in found.tokens],
            mode="lines",
            hovertemplate=text("tokens.hover", what=text("figure.reward")),
        )
    figure.update_layout(title={"text": text("tokens.figure")})
    figure.update_xaxes(title=text("tokens.axis"))
    figure.update_yaxes(title=text("figure.reward"))
    return figure


def tokens_html(rewards: TokenRewards, key: str, subset: str) -> str:
    """Both responses, shaded, with the largest changes listed. key, subset: of the pair."""
    sides = {"chosen": rewards.chosen, "rejected": rewards.rejected}
    largest = [jump.change for side in sides.values() for jump in largest_jumps(side, 1)]
    most = max(map(abs, largest), default=0.0)
    return render(
        "reader/tokens.html",
        pair=key,
        model=rewards.model.name,
        traits=rewards.traits,
        harm=harm_css(subset),
        sides=[_side(side, name, most) for name, side in sides.items()],
    )


def _side(side: SideRewards, name: str, most: float) -> dict[str, object]:
    shaded, last = [], side.before
    for token in side.tokens[:_MOST_TOKENS]:
        change = 0.0 if last is None else token.reward - last
        last = token.reward
        words = token.piece if token.in_response else ""
        shade = _shade(change, most)
        shaded.append({"words": words, "change": change, "reward": token.reward, "shade": shade})
    jumps = []
    for jump in largest_jumps(side, _N_JUMPS):
        token = side.tokens[jump.place]
        words = repr(token.piece) if token.in_response else text("tokens.end")
        jumps.append({"words": words[:60], "change": jump.change, "reward": token.reward})
    return {
        "name": name,
        "reward": side.reward,
        "tokens": shaded,
        "has_end": not side.tokens[-1].in_response,
        "is_truncated": side.truncated,
        "jumps": jumps,
    }


def _shade(change: float, most: float) -> str:
    """A background: teal where the reward went up, rose where it went down.

    >>> _shade(-1.0, 2.0), _shade(0.0, 2.0)
    ('background: rgba(225,29,72,0.28)', '')
    """
    if not most or not change or change != change:  # noqa: PLR0124 - NaN
        return ""
    colour = "13,148,136" if change > 0 else "225,29,72"
    strength = _STRONGEST * min(1.0, abs(change) / most)
    return f"background: rgba({colour},{strength:.2f})" if strength >= 0.005 else ""
