"""A pair's rewards token by token, and where they changed. Values only, no torch."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from scoring.engine.scorer import Traits
from scoring.spec import ModelSpec, Pair


class TokenReward(NamedTuple):
    """A token, and the reward of the text that ends with it.

    piece: its characters; "" where a character's bytes go on in the next token.
    start, end: of the piece in `SideRewards.text`.
    in_response: it writes at least a part of the response, else it is of the template's end.
    reward: NaN or infinite where the model's is.
    """

    piece: str
    start: int
    end: int
    in_response: bool
    reward: float


@dataclass(frozen=True, slots=True)
class SideRewards:
    """One response, token by token.

    text: the whole conversation as the template writes it, before truncation.
    response: where in it the response stands, first character and end.
    tokens: from the response's first to the one that is scored; their pieces join to the text
        there, or up to where truncation ends it.
    before: the reward after the token before them, which is the prompt's; None where there is none.
    truncated: some tokens of the conversation were cut off, as in a run.
    """

    text: str
    response: tuple[int, int]
    tokens: tuple[TokenReward, ...]
    before: float | None
    truncated: bool

    @property
    def rewards(self) -> tuple[float, ...]:
        """After each token."""
        return tuple(token.reward for token in self.tokens)

    @property
    def reward(self) -> float:
        """What a run gives: that of the last token."""
        return self.tokens[-1].reward


@dataclass(frozen=True, slots=True)
class TokenRewards:
    """Both responses of a pair, token by token, and what the numbers rest on.

    traits: device, dtype, template, and max_length, the tokens that a side may have.
    truncation_side: where tokens of a longer side are cut off.
    """

    pair: Pair
    chosen: SideRewards
    rejected: SideRewards
    model: ModelSpec
    traits: Traits
    truncation_side: str


class Jump(NamedTuple):
    """How much the reward changed with a token. place: of the token in `SideRewards.tokens`."""

    place: int
    change: float


def largest_jumps(side: SideRewards, n: int = 5) -> list[Jump]:
    """The tokens with which the reward changed most, up or down; the largest change first.

    The first token counts where the reward before it is known, and so do tokens of the template's
    end; changes that are 0 or no finite number do not.

    >>> rewards = enumerate([0.5, 0.5, -1.0, float("nan")])
    >>> tokens = tuple(TokenReward("a", n, n + 1, True, reward) for n, reward in rewards)
    >>> largest_jumps(SideRewards("aaaa", (0, 4), tokens, before=0.0, truncated=False), n=2)
    [Jump(place=2, change=-1.5), Jump(place=0, change=0.5)]
    """
    before = (math.nan if side.before is None else side.before, *side.rewards)
    jumps = [
        Jump(place, reward - last)
        for place, (last, reward) in enumerate(zip(before, side.rewards, strict=False))
    ]
    finite = [jump for jump in jumps if jump.change and math.isfinite(jump.change)]
    return sorted(finite, key=lambda jump: -abs(jump.change))[:n]
