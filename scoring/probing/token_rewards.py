"""The reward after each token of a response: where in its text a classifier changes its mind.

A causal classifier's hidden state at a token knows nothing of the text after it, so its head, put
on every token of one forward pass, gives what scoring each beginning of the text by itself would
give (as `analysis/get_per_token_reward.py` of allenai/reward-bench does). A model is trained to be
read at the end alone: what it says before is a view of it, not a reward it was taught.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scoring.engine.formatting import (
    Formatter,
    Prepared,
    Tokenizer,
    TokenSequence,
    UpstreamFormatter,
    n_equal,
)
from scoring.engine.scorer import Scorer, Traits
from scoring.errors import KnownError
from scoring.spec import ModelSpec, Pair, text_hash

if TYPE_CHECKING:
    from scoring.families.classifier import Classifier

_CHECKED = 32  # tokens of a pair that a model is proven causal with
_NO_PLACES = "The model's tokenizer does not say where in a text its tokens stand."
_SPACE = re.compile(r"\s*")
_MOST_SHARING = 16  # tokens that one character's bytes, and its like, are spread over at most

Span = tuple[int, int]  # in a text: a first character, and the one behind the last
Piece = tuple[str, bool]
"""The text of a token, and whether it is at least a part of the response."""


class TokenReward(NamedTuple):
    """A token of a response, or of the template's end, and the reward of the text up to it.

    piece: its characters; "" where a character's bytes go on in the next token.
    in_response: it writes at least a part of the response.
    reward: NaN or infinite where the model's is.
    """

    piece: str
    in_response: bool
    reward: float


@dataclass(frozen=True, slots=True)
class SideRewards:
    """One response, token by token.

    tokens: from the response's first to the one that is scored; their pieces join to the text
        there, or up to where truncation ends it.
    before: the reward after the token before them, which is the prompt's; None where there is none.
    truncated: some tokens of the conversation were cut off, as in a run.
    """

    tokens: tuple[TokenReward, ...]
    before: float | None
    truncated: bool

    @property
    def rewards(self) -> tuple[float, ...]:
        """The reward after each token."""
        return tuple(token.reward for token in self.tokens)

    @property
    def reward(self) -> float:
        """The reward that a run gives: that of the last token."""
        return self.tokens[-1].reward


@dataclass(frozen=True, slots=True)
class TokenRewards:
    """Both responses of a pair, token by token, by a model."""

    pair: Pair
    chosen: SideRewards
    rejected: SideRewards
    model: ModelSpec
    traits: Traits


class Jump(NamedTuple):
    """A change of the reward with a token. place: of the token in `SideRewards.tokens`."""

    place: int
    change: float


def largest_jumps(side: SideRewards, n: int = 5) -> list[Jump]:
    """The tokens with which the reward changed most, up or down; the largest change first.

    The first token counts where the reward before it is known, and so do tokens of the template's
    end; changes that are 0 or no finite number do not.
    """
    before = (math.nan if side.before is None else side.before, *side.rewards)
    jumps = [Jump(place, after - last) for place, (last, after) in enumerate(pairwise(before))]
    finite = [jump for jump in jumps if jump.change and math.isfinite(jump.change)]
    return sorted(finite, key=lambda jump: -abs(jump.change))[:n]


def token_rewards(scorer: Scorer, pair: Pair) -> TokenRewards:
    """The reward after each token of both responses, in one forward pass.

    A side's last reward is that of a run, within the tolerance of the scorer's `proof`. Raises a
    `KnownError` for a scorer that is no causal classifier, a response that is empty or wholly cut
    off, or a pair that does not fit in memory.
    """
    from scoring.engine.forward import is_out_of_memory
    from scoring.families.classifier import Classifier

    if not isinstance(scorer, Classifier):
        raise KnownError(
            f"{scorer.spec.name} is of family {scorer.spec.family}, which has no reward after each "
            "token. Choose a sequence classifier that is built on a decoder."
        )
    (prepared,) = scorer.prepare([pair])
    pieces = side_pieces(scorer.formatter, prepared)
    prepared = replace(
        prepared,
        chosen=replace(prepared.chosen, tail=len(pieces[0])),
        rejected=replace(prepared.rejected, tail=len(pieces[1])),
    )
    try:
        _check_causal(scorer, prepared)
        chosen, rejected = scorer.at_tails(prepared)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise KnownError(
            f"The pair {pair.key}, {prepared.cost:,} tokens, does not fit in memory. Choose a "
            "shorter pair, a smaller model, or a device with more memory."
        ) from error
    # What both sides share is equal to the last bit, which products of matrices do not see to.
    first, other_first = (side.first_read for side in prepared.sides)
    for place in range(max(first, other_first), prepared.shared):
        rejected[place - other_first] = chosen[place - first]
    return TokenRewards(
        pair,
        _side(pieces[0], chosen, prepared.chosen.truncated),
        _side(pieces[1], rejected, prepared.rejected.truncated),
        scorer.spec,
        scorer.traits,
    )


def _side(pieces: Sequence[Piece], rewards: Sequence[float], truncated: bool) -> SideRewards:
    read = zip(pieces, rewards, strict=True)
    tokens = tuple(TokenReward(*piece, reward) for piece, reward in read)
    has_before = not tokens[0].in_response
    return SideRewards(tokens[has_before:], rewards[0] if has_before else None, truncated)


def _check_causal(scorer: "Classifier", prepared: Prepared) -> None:
    # Whether rewards change with what follows is seen on the pair's own first tokens.
    ids, start = prepared.chosen.ids[:_CHECKED], prepared.chosen.start
    begin = ids[: (len(ids) + 1) // 2]
    sides = [TokenSequence(each, start=start, tail=len(each)) for each in (ids, begin)]
    followed, single = scorer.at_tails(Prepared(prepared.pair, sides[0], sides[1]))
    pairs = zip(followed[: len(single)], single, strict=True)
    n_different = sum(abs(one - other) > scorer.proof.tolerance for one, other in pairs)
    if 2 * n_different > len(single):
        raise KnownError(
            f"{scorer.spec.name} sees the whole text at each token, so that it has no reward after "
            "a token. Choose a classifier that is built on a decoder."
        )


def side_pieces(formatter: Formatter, prepared: Prepared) -> list[list[Piece]]:
    """The pieces of both sides' tokens from the one before the response on, or a `KnownError`."""
    pair = prepared.pair
    # A pair's own hash can stand in none of its texts.
    mark = text_hash(pair.prompt, pair.chosen, pair.rejected)
    responses = (pair.chosen, pair.rejected, mark)
    *texts, marked = formatter.render([pair.answered(each) for each in responses])
    return [
        _pieces(formatter, name, text, response_span(text, marked, mark), sequence)
        for name, text, sequence in zip(("chosen", "rejected"), texts, prepared.sides, strict=True)
    ]


def _pieces(
    formatter: Formatter, side: str, text: str, response: Span, sequence: TokenSequence
) -> list[Piece]:
    begin, stop = response
    if begin == stop:
        raise KnownError(f"The {side} response is empty: there is no token to give a reward after.")
    special = isinstance(formatter, UpstreamFormatter)
    whole, spans = locate_tokens(formatter.tokenizer, text, special=special)
    cut = len(whole) - formatter.max_length if sequence.truncated else 0
    lost = sequence.start + (cut if formatter.cuts_left else 0)
    if not 0 <= lost <= len(whole) - len(sequence.ids):
        raise KnownError(_NO_PLACES)
    read = slice(lost, lost + len(sequence.ids))
    # Truncation may have put a BOS in the place of the first token.
    is_same = [there == id_ for there, id_ in zip(whole[read], sequence.ids, strict=True)]
    in_response = [
        same and start < stop and (end > begin or start == end == begin)
        for (start, end), same in zip(spans[read], is_same, strict=True)
    ]
    if not any(in_response):
        part = "last" if formatter.cuts_left else "first"
        raise KnownError(
            f"The {side} response is cut off: the conversation has {len(whole):,} tokens, of which "
            f"the {part} {formatter.max_length:,} are scored. Allow more tokens, or choose a "
            "shorter pair."
        )
    opening = in_response.index(True)
    if not all(is_same[opening:]):
        raise KnownError(_NO_PLACES)
    pieces = [(text[slice(*span)], own) for span, own in zip(spans[read], in_response, strict=True)]
    return pieces[max(0, opening - 1) :]


def response_span(text: str, marked: str, mark: str) -> Span:
    """The span of the response in a formatted conversation.

    marked: the conversation with the response `mark`.

    >>> response_span("<s>Hi</s>", "<s>MARK</s>", "MARK"), response_span("<s></s>", "<s>*</s>", "*")
    ((3, 5), (3, 3))
    """
    before, _, after = marked.partition(mark)
    begin = n_equal(text, before)
    return begin, len(text) - n_equal(text[begin:][::-1], after[::-1])


def locate_tokens(
    tokenizer: Tokenizer, text: str, *, special: bool
) -> tuple[tuple[int, ...], list[Span]]:
    """Token ids of a text, and where each one's piece stands, by offsets or by decoding, or a
    `KnownError`. special: let the tokenizer put its own tokens around the text.
    """
    if getattr(tokenizer, "is_fast", False):
        encoding = tokenizer(text, add_special_tokens=special, return_offsets_mapping=True)
        ends = piece_ends(encoding.offset_mapping, len(text))
    else:
        encoding = tokenizer(text, add_special_tokens=special)
        ends = _decoded_ends(tokenizer, encoding.input_ids, text)
    return tuple(encoding.input_ids), list(pairwise((0, *ends)))


def piece_ends(offsets: Sequence[Span], length: int) -> tuple[int, ...]:
    """The end of each token's piece.

    What no token claims (spaces that offsets leave out) goes with the token after it, at the very
    end with the last. A character whose bytes several tokens share goes with the last of them.

    offsets: (start, end) in characters, in reading order; empty ones claim nothing.
    length: of the text in characters.

    >>> piece_ends([(0, 1), (2, 3), (2, 3), (2, 3), (3, 5), (0, 0)], 6)  # such as "a 😀bc."
    (1, 2, 2, 3, 5, 6)
    """
    if not offsets:
        return ()
    starts, ends = np.array(offsets).T
    claimed = np.append(np.where(starts < ends, starts, length)[1:], length)
    next_start = np.minimum.accumulate(claimed[::-1])[::-1]
    found = np.minimum(np.maximum.accumulate(ends), next_start)
    found[-1] = length
    return tuple(found.tolist())


def _decoded_ends(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> tuple[int, ...]:
    # Tokens end where what they decode to is found in the text.
    ends: list[int] = []
    begin = end = 0
    for place in range(len(ids)):
        piece: str = tokenizer.decode(ids[begin : place + 1])
        found = _SPACE.match(text, end) if piece[:1].strip() else None
        start = found.end() if found else end
        if piece and text.startswith(piece, start):
            begin, end = place + 1, start + len(piece)
        elif place - begin >= _MOST_SHARING:
            raise KnownError(_NO_PLACES)
        ends.append(end)
    return (*ends[:-1], len(text)) if ends else ()
