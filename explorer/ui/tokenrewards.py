"""Token rewards of the open pair: both responses shaded by how the reward changed, and as lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import gradio as gr

from explorer.core.html import note, signed, tag
from explorer.core.parts import EVENT, guarded
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.failview import FailView
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.runs.cards import card_of
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.token_figure import token_figure
from explorer.ui.listing import harm_css
from scoring.errors import KnownError
from scoring.pairs.opening import as_pairs
from scoring.probing.side_rewards import SideRewards, TokenRewards, largest_jumps
from scoring.spec import Pair

N_JUMPS = 5
MOST_TOKENS = 4_000
"""Of a side that are shaded; the line has them all."""
STRONGEST = 0.55
"""Opacity of the largest change."""


@dataclass(frozen=True)
class TokensView:
    """The components; all but the button are filled when it is pressed."""

    button: gr.Button
    words: gr.HTML
    plot: gr.Plot


def build_tokens() -> TokensView:
    """Lay them out where it is called."""
    button = gr.Button(
        text("tokens.button"), size="md", elem_id="token-rewards", visible=False, min_width=160
    )
    return TokensView(button, gr.HTML(), gr.Plot(show_label=False, visible=False))


def has_tokens(field: Field, model: str) -> bool:
    """Whether a model's token rewards can be asked for: a run of a classifier, on texts at hand."""
    run = field.runs.get(model)
    return run is not None and field.has_texts and run.facts.family == "classifier"


@dataclass(frozen=True)
class Tokens:
    """The callback. `where` is as of `explorer.ui.failures.Failures`."""

    fields: Fields
    runs: Runs

    @guarded
    def show(self, seen: FailView, *where: Any) -> Iterator[tuple[str, Any]]:
        """The rewards of the open pair, token by token."""
        field = self.fields.of(seen.model, *where)
        order, pair = _asked(field, seen)
        yield note(text("tokens.working")), gr.skip()
        rewards = self.runs.token_rewards(where[2], order, pair)
        figure = painted(token_figure(rewards), 300)
        said = _differs(field, seen, rewards)
        yield (
            said + tokens_html(rewards, pair.key, pair.subset),
            gr.update(value=figure, visible=True),
        )


def _asked(field: Field, seen: FailView) -> tuple[ModelOrder, Pair]:
    """What the run was asked for, and the pair that is open."""
    row = field.table.row_of(seen.view.reading.key)
    if row is None or not has_tokens(field, seen.model):
        raise KnownError(text("tokens.only_own"))
    [pair] = as_pairs(field.table.arrow, [row])
    run = field.runs[seen.model]
    return card_of(run).order or ModelOrder(run.facts.model), pair


def _differs(field: Field, seen: FailView, rewards: TokenRewards) -> str:
    """A word where the run itself gave other rewards."""
    row = field.table.row_of(seen.view.reading.key) or 0
    verdict = field.verdict(seen.model, row)
    known = (verdict.chosen_reward, rewards.chosen), (verdict.rejected_reward, rewards.rejected)
    most = max((abs(side.reward - given) for given, side in known if given is not None), default=0)
    least = 0.001 * max(1.0, abs(rewards.chosen.reward), abs(rewards.rejected.reward))
    return note(text("tokens.differs", difference=f"{most:.3g}"), "wrong") if most > least else ""


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


def wire_tokens(
    view: TokensView, tokens: Tokens, state: list[gr.components.Component]
) -> gr.events.Dependency:
    """Connect the components. state: a `FailView` and where it is seen."""
    return view.button.click(tokens.show, state, [view.words, view.plot], **EVENT)
