"""Token rewards of a pair: both responses shaded by how the reward changed, and as lines."""

from html import escape

from explorer.core.figures import Figure
from explorer.core.html import note, signed, tag
from explorer.core.text import text
from explorer.reader.listing import harm_css
from scoring.probing.side_rewards import SideRewards, TokenRewards, largest_jumps

N_JUMPS = 5
MOST_TOKENS = 4_000
"""Of a side that are shaded; the line has them all."""
STRONGEST = 0.55
"""Opacity of the largest change."""
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


def tokens_html(rewards: TokenRewards, key: str, subset: str) -> str:
    """Both responses, shaded, with the largest changes listed. key, subset: of the pair."""
    traits = rewards.traits
    title = tag("h3", escape(text("tokens.title", pair=key)))
    about = note(
        text("tokens.about", model=rewards.model.name, dtype=traits.dtype, device=traits.device)
    )
    sides = (rewards.chosen, rewards.rejected)
    most = max((abs(jump.change) for side in sides for jump in largest_jumps(side, 1)), default=0.0)
    parts = _side(rewards.chosen, "chosen", most) + _side(rewards.rejected, "rejected", most)
    return title + about + tag("div", parts, f"pair tokens {harm_css(subset)}".strip())


def _side(side: SideRewards, name: str, most: float) -> str:
    shaded, last = [], side.before
    for token in side.tokens[:MOST_TOKENS]:
        change = 0.0 if last is None else token.reward - last
        last = token.reward
        words = token.piece if token.in_response else ""
        title = f"{signed(change)} → {signed(token.reward)}"
        shaded.append(tag("span", escape(words), style=_shade(change, most), title=title))
    end = "" if side.tokens[-1].in_response else tag("i", escape(f"⟨{text('tokens.end')}⟩"))
    body = tag("div", "".join(shaded) + end, "body", tabindex="0", role="region",
               aria_label=text(f"side.{name}"))  # fmt: skip
    reward = tag("span", escape(signed(side.reward)), "reward")
    header = tag("header", tag("b", escape(text(f"side.{name}"))) + reward)
    cut = note(text("tokens.truncated")) if side.truncated else ""
    return tag("section", header + body + cut + _jumps(side), name)


def _jumps(side: SideRewards) -> str:
    heads = "".join(
        tag("th", escape(text(f"tokens.{name}")), scope="col")
        for name in ("token", "change", "after")
    )
    rows = ""
    for jump in largest_jumps(side, N_JUMPS):
        token = side.tokens[jump.place]
        words = repr(token.piece) if token.in_response else text("tokens.end")
        cells = tag("th", tag("code", escape(words[:60])), scope="row")
        cells += tag("td", escape(signed(jump.change)), "number")
        cells += tag("td", escape(signed(token.reward)), "number")
        rows += tag("tr", cells)
    table = tag("table", tag("thead", tag("tr", heads)) + tag("tbody", rows))
    return tag("div", tag("b", escape(text("tokens.jumps"))) + table, "verdicts jumps")


def _shade(change: float, most: float) -> str:
    """A background: teal where the reward went up, rose where it went down.

    >>> _shade(-1.0, 2.0), _shade(0.0, 2.0)
    ('background: rgba(225,29,72,0.28)', '')
    """
    if not most or not change or change != change:  # noqa: PLR0124 - NaN
        return ""
    colour = "13,148,136" if change > 0 else "225,29,72"
    strength = STRONGEST * min(1.0, abs(change) / most)
    return f"background: rgba({colour},{strength:.2f})" if strength >= 0.005 else ""
