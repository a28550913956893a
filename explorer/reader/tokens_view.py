"""Token rewards of a pair: both responses shaded by how the reward changed, and as lines."""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from markupsafe import Markup

from explorer.core.figures import Figure
from explorer.core.html import magnitude, note, part
from explorer.core.theme import figure_json
from explorer.reader.listing import harm_css
from explorer.reader.reader import is_code
from explorer.results.field import Field
from explorer.runs.cards import card_of
from explorer.runs.orders import ModelOrder
from explorer.runs.progress import Progress
from explorer.runs.running import Runs
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError
from scoring.pairs.opening import as_pairs
from scoring.probing.token_rewards import SideRewards, TokenRewards, largest_jumps
from scoring.spec import Pair

_N_JUMPS = 5
_MOST_TOKENS = 4_000
"""Of a side that are shaded; the line has them all."""
_STRONGEST = 0.55
"""Opacity of the largest change."""
_LONGEST_PIECE = 40
READING_TOKENS = "Loading the model and reading the pair…"
TokenView = Mapping[str, Any]


def has_tokens(field: Field, model: str) -> bool:
    """Whether a model's token rewards can be asked for: a run of a classifier, on texts at hand."""
    run = field.runs.get(model)
    return run is not None and field.has_texts and run.facts.family == "classifier"


ONLY_OWN = "Token rewards need the model itself: choose a run of your own by a classifier."


def pair_tokens(  # noqa: PLR0917
    runs: Runs,
    field: Field,
    model: str,
    row: int,
    visitor: Visitor,
    tell: Callable[[str], None] = lambda words: None,
) -> str:
    """The rewards of a pair, token by token, as HTML. tell: is told how far it is, in words.

    Raises:
        KnownError: `has_tokens` says no, or the pair has several responses.
    """
    if not has_tokens(field, model):
        raise KnownError(ONLY_OWN)
    [pair] = as_pairs(field.table.arrow, [row])
    if len(pair.responses) > 2:
        raise KnownError("Token rewards are shown for pairs; this row has more than two responses.")
    run = field.runs[model]
    order = card_of(run).order or ModelOrder(run.facts.model)
    rewards = runs.token_rewards(visitor, order, pair, lambda now: tell(_words(now)))
    shaded = tokens_html(rewards, pair.key, pair.subset)
    return _differs(field, model, row, rewards) + shaded + _figure_html(rewards)


def typed_tokens(
    runs: Runs,
    order: ModelOrder,
    pair: Pair,
    visitor: Visitor,
    tell: Callable[[str], None] = lambda words: None,
) -> TokenView:
    """The token rewards of a typed pair, by any model that has rewards after each token.

    Raises:
        KnownError: it has none, or cannot be had.
    """
    rewards = runs.token_rewards(visitor, order, pair, lambda now: tell(_words(now)))
    return token_view(rewards, pair.subset)


def _words(now: Progress) -> str:
    if not now.ahead:
        return READING_TOKENS
    return f"{now.ahead} ahead of you in the queue. Keep this page open for the token rewards."


def _figure_html(rewards: TokenRewards) -> str:
    return part("figure_of", figure_json(token_figure(rewards), 300), "", of="core/links.html")


def _differs(field: Field, model: str, row: int, rewards: TokenRewards) -> str:
    """A word where the run itself gave other rewards."""
    verdict = field.verdict(model, row)
    known = (verdict.chosen_reward, rewards.chosen), (verdict.rejected_reward, rewards.rejected)
    most = max((abs(side.reward - given) for given, side in known if given is not None), default=0)
    least = 0.001 * max(1.0, abs(rewards.chosen.reward), abs(rewards.rejected.reward))
    if most <= least:
        return ""
    size = magnitude(most)
    said = f"The last value differs from the run's reward by {size}: the run used other settings."
    return note(said, "wrong")


def token_figure(rewards: TokenRewards) -> Figure:
    """The reward after each token of both responses, as two lines."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for side, found in (("chosen", rewards.chosen), ("rejected", rewards.rejected)):
        figure.add_scatter(
            name=side.capitalize(),
            meta=side,
            x=list(range(1, len(found.tokens) + 1)),
            y=list(found.rewards),
            customdata=[escape(repr(token.piece[:_LONGEST_PIECE])) for token in found.tokens],
            mode="lines",
            hovertemplate="%{customdata}<br>reward: %{y:.3f}",
        )
    figure.update_layout(title={"text": "Reward after each token"})
    figure.update_xaxes(title="token of the response")
    figure.update_yaxes(title="reward")
    return figure


def tokens_html(rewards: TokenRewards, key: str, subset: str) -> str:
    """Both responses, shaded, with the largest changes listed. key, subset: of the pair."""
    view, harm = token_view(rewards, subset), harm_css(subset)
    return part("pair_of_tokens", view, key, harm, of="reader/tokens.html")


def token_view(rewards: TokenRewards, subset: str) -> TokenView:
    """The values that "reader/tokens.html" writes, and a chart as HTML."""
    sides = {"chosen": rewards.chosen, "rejected": rewards.rejected}
    texts = {name: "".join(token.piece for token in side.tokens) for name, side in sides.items()}
    largest = [jump.change for side in sides.values() for jump in largest_jumps(side, 1)]
    most = max(map(abs, largest), default=0.0)
    return {
        "model": rewards.model.name,
        "traits": rewards.traits,
        "is_code": is_code({"subset": subset, **texts}),
        "sides": [_side(side, name, most) for name, side in sides.items()],
        "figure": Markup(_figure_html(rewards)),  # noqa: S704 - of a template
    }


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
        words = repr(token.piece) if token.in_response else "end of template"
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
