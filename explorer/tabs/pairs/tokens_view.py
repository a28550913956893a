"""Token rewards of the open pair: both responses shaded by how the reward changed, and as lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.core.html import note
from explorer.core.parts import EVENT, guarded
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.core.work import shown_as
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.reader.tokens import token_figure, tokens_html
from explorer.reader.tokens_view import TokensParts
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.runs.cards import card_of
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from scoring.errors import KnownError
from scoring.pairs.opening import as_pairs
from scoring.probing.side_rewards import TokenRewards
from scoring.spec import Pair


def has_tokens(field: Field, model: str) -> bool:
    """Whether a model's token rewards can be asked for: a run of a classifier, on texts at hand."""
    run = field.runs.get(model)
    return run is not None and field.has_texts and run.facts.family == "classifier"


@dataclass(frozen=True)
class Tokens:
    """The callback."""

    fields: Fields
    runs: Runs

    @guarded
    def show(self, session: Session) -> Iterator[tuple[str, Any]]:
        """The rewards of the open pair, token by token."""
        seen = session.seen(PairsState)
        field = self.fields.of(seen.model, *session.where)
        order, pair = _asked(field, seen)
        steps = self.runs.token_rewards(session.visitor, order, pair)
        working = note(text("tokens.working")), gr.skip()
        rewards = yield from shown_as(steps, lambda _: working)
        figure = painted(token_figure(rewards), 300)
        said = _differs(field, seen, rewards)
        yield (
            said + tokens_html(rewards, pair.key, pair.subset),
            gr.update(value=figure, visible=True),
        )


def _asked(field: Field, seen: PairsState) -> tuple[ModelOrder, Pair]:
    """What the run was asked for, and the pair that is open."""
    row = field.table.row_of(seen.reading.key)
    if row is None or not has_tokens(field, seen.model):
        raise KnownError(text("tokens.only_own"))
    [pair] = as_pairs(field.table.arrow, [row])
    run = field.runs[seen.model]
    return card_of(run).order or ModelOrder(run.facts.model), pair


def _differs(field: Field, seen: PairsState, rewards: TokenRewards) -> str:
    """A word where the run itself gave other rewards."""
    row = field.table.row_of(seen.reading.key) or 0
    verdict = field.verdict(seen.model, row)
    known = (verdict.chosen_reward, rewards.chosen), (verdict.rejected_reward, rewards.rejected)
    most = max((abs(side.reward - given) for given, side in known if given is not None), default=0)
    least = 0.001 * max(1.0, abs(rewards.chosen.reward), abs(rewards.rejected.reward))
    return note(text("tokens.differs", difference=f"{most:.3g}"), "wrong") if most > least else ""


def wire_tokens(parts: TokensParts, tokens: Tokens, session: gr.State) -> gr.events.Dependency:
    """Connect the components."""
    return parts.button.click(tokens.show, session, [parts.words, parts.plot], **EVENT)
