"""Token rewards of the open pair: both responses shaded by how the reward changed, and as lines."""

from collections.abc import Iterator
from typing import Any

import gradio as gr

from explorer.core.html import note
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.core.work import shown_as
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.reader.tokens_view import token_figure, tokens_html
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.runs.cards import card_of
from explorer.runs.orders import ModelOrder
from scoring.errors import KnownError
from scoring.pairs.opening import as_pairs
from scoring.probing.side_rewards import TokenRewards


def has_tokens(field: Field, model: str) -> bool:
    """Whether a model's token rewards can be asked for: a run of a classifier, on texts at hand."""
    run = field.runs.get(model)
    return run is not None and field.has_texts and run.facts.family == "classifier"


def tokens_shown(fields: Fields, session: Session) -> Iterator[tuple[str, Any]]:
    """The rewards of the open pair, token by token: words, and the figure.

    Raises:
        KnownError: no pair is open, or `has_tokens` says no.
    """
    state = session.seen(PairsState)
    field = fields.of(state.model, *session.where)
    row = field.table.row_of(state.reading.key)
    if row is None or not has_tokens(field, state.model):
        raise KnownError(text("tokens.only_own"))
    [pair] = as_pairs(field.table.arrow, [row])
    run = field.runs[state.model]
    order = card_of(run).order or ModelOrder(run.facts.model)
    working = note(text("tokens.working")), gr.skip()
    steps = fields.runs.token_rewards(session.visitor, order, pair)
    rewards = yield from shown_as(steps, lambda _: working)
    figure = painted(token_figure(rewards), 300)
    said = _differs(field, state.model, row, rewards)
    words = said + tokens_html(rewards, pair.key, pair.subset)
    yield words, gr.update(value=figure, visible=True)


def _differs(field: Field, model: str, row: int, rewards: TokenRewards) -> str:
    """A word where the run itself gave other rewards."""
    verdict = field.verdict(model, row)
    known = (verdict.chosen_reward, rewards.chosen), (verdict.rejected_reward, rewards.rejected)
    most = max((abs(side.reward - given) for given, side in known if given is not None), default=0)
    least = 0.001 * max(1.0, abs(rewards.chosen.reward), abs(rewards.rejected.reward))
    return note(text("tokens.differs", difference=f"{most:.3g}"), "wrong") if most > least else ""
