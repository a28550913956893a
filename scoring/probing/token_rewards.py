"""The reward after each token of a response: where in its text a classifier changes its mind.

A causal classifier's hidden state at a token knows the text up to there and nothing after it, so
its head, put on every token of one forward pass, gives what scoring each beginning of the text
anew would give (as `analysis/get_per_token_reward.py` of allenai/reward-bench does). A model is
trained to be read at the end alone: what it says before is a view of it, not a reward it was
taught.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from scoring.engine.formatting import (
    Formatter,
    Prepared,
    Tokenizer,
    TokenSequence,
    UpstreamFormatter,
    n_equal,
)
from scoring.engine.forward import is_out_of_memory
from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.families.classifier import Classifier
from scoring.probing.side_rewards import SideRewards, TokenReward, TokenRewards
from scoring.spec import Pair, text_hash

_CHECKED = 32
"""Tokens of a pair that a model is proven causal with."""
_NO_PLACES = "The model's tokenizer does not say where in a text its tokens stand."
_SPACE = re.compile(r"\s*")
_MOST_SHARING = 16
"""Tokens that one character's bytes, and what is written with them, are spread over at most."""


Span = tuple[int, int]
"""In a text: a first character, and the one behind the last."""


def locate_tokens(
    tokenizer: Tokenizer, text: str, *, special: bool
) -> tuple[tuple[int, ...], list[Span]]:
    """Tokenize a text and find where the piece of each token stands: by offsets, else by decoding.

    special: let the tokenizer put its own tokens around the text.

    Raises:
        KnownError: it has no offsets, and decodes its tokens to another text.
    """
    is_fast = getattr(tokenizer, "is_fast", False)
    options = {"return_offsets_mapping": True} if is_fast else {}
    encoding = tokenizer(text, add_special_tokens=special, **options)
    ids: tuple[int, ...] = tuple(encoding.input_ids)
    if is_fast:
        ends = piece_ends(encoding.offset_mapping, len(text))
    else:
        ends = _decoded_ends(tokenizer, ids, text)
    return ids, list(pairwise((0, *ends)))


def piece_ends(offsets: Sequence[tuple[int, int]], length: int) -> tuple[int, ...]:
    """Where the piece of each token ends.

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


def response_span(text: str, marked: str, mark: str) -> Span:
    """Where in a formatted conversation its response stands: its first character, and the end.

    marked: the conversation with the response `mark`.

    >>> response_span("<s>Hi</s>", "<s>MARK</s>", "MARK"), response_span("<s></s>", "<s>*</s>", "*")
    ((3, 5), (3, 3))
    """
    before, _, after = marked.partition(mark)
    begin = n_equal(text, before)
    return begin, len(text) - n_equal(text[begin:][::-1], after[::-1])


@dataclass(frozen=True, slots=True)
class PlacedTokens:
    """Where in a formatted conversation the tokens stand that a model sees of it.

    text, response, truncated: as of `SideRewards`.
    spans: of each token's piece, first character and end.
    in_response: whether a token writes at least a part of the response.
    opening: place of the first that does.
    """

    text: str
    response: Span
    spans: list[Span]
    in_response: list[bool]
    opening: int
    truncated: bool

    @property
    def first(self) -> int:
        """Place of the first token that is read: the one before the response, if there is one."""
        return max(0, self.opening - 1)

    @property
    def tail(self) -> int:
        """How many tokens are read."""
        return len(self.spans) - self.first


def placed_sides(formatter: Formatter, prepared: Prepared) -> tuple[PlacedTokens, PlacedTokens]:
    """Where the tokens of a pair's chosen and of its rejected side stand.

    Raises:
        KnownError: a response is empty or wholly cut off, or the tokenizer does not say.
    """
    pair = prepared.pair
    # A pair's own hash can stand in none of its texts.
    mark = text_hash(pair.prompt, pair.chosen, pair.rejected)
    conversations = [pair.answered(each) for each in (pair.chosen, pair.rejected, mark)]
    chosen, rejected, marked = formatter.render(conversations)
    ours = TokenSequence(prepared.chosen, prepared.chosen_truncated, prepared.chosen_start)
    theirs = TokenSequence(prepared.rejected, prepared.rejected_truncated, prepared.rejected_start)
    return (
        _placed(formatter, "chosen", chosen, response_span(chosen, marked, mark), ours),
        _placed(formatter, "rejected", rejected, response_span(rejected, marked, mark), theirs),
    )


def _placed(
    formatter: Formatter,
    side: str,
    text: str,
    response: Span,
    sequence: TokenSequence,
) -> PlacedTokens:
    if response[0] == response[1]:
        raise KnownError(f"The {side} response is empty: there is no token to give a reward after.")
    special = isinstance(formatter, UpstreamFormatter)
    whole, spans = locate_tokens(formatter.tokenizer, text, special=special)
    cut = len(whole) - formatter.max_length if sequence.truncated else 0
    lost = sequence.start + (cut if formatter.cuts_left else 0)
    places = range(lost, lost + len(sequence.ids))
    if places.stop > len(whole):
        raise KnownError(_NO_PLACES)
    spans = spans[places.start : places.stop]
    # Truncation may have put a BOS in the place of the first token.
    same = [whole[place] == id_ for place, id_ in zip(places, sequence.ids, strict=True)]
    begin, stop = response
    own = [
        is_same and start < stop and (end > begin or start == end == begin)
        for (start, end), is_same in zip(spans, same, strict=True)
    ]
    if not any(own):
        part = "last" if formatter.cuts_left else "first"
        raise KnownError(
            f"The {side} response is cut off: the conversation has {len(whole):,} tokens, of which "
            f"the {part} {formatter.max_length:,} are scored. Allow more tokens, or choose a "
            "shorter pair."
        )
    opening = own.index(True)
    if not all(same[opening:]):
        raise KnownError(_NO_PLACES)
    return PlacedTokens(text, response, spans, own, opening, sequence.truncated)


def _decoded_ends(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> tuple[int, ...]:
    """As `piece_ends`: tokens end where what they decode to is found in the text."""
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


def token_rewards(scorer: Scorer, pair: Pair) -> TokenRewards:
    """The reward after each token of both responses, in one forward pass.

    Formatting, truncation, dtype and path are the scorer's, so that the last reward of a side is
    the one that a run gives, within the tolerance of its `proof`.

    Raises:
        KnownError: the scorer is no causal classifier, a response is empty or wholly cut off by
            truncation, or the pair does not fit in memory.
    """
    if not isinstance(scorer, Classifier):
        raise KnownError(
            f"{scorer.spec.name} is of family {scorer.spec.family}, which has no reward after each "
            "token. Choose a sequence classifier that is built on a decoder."
        )
    (prepared,) = scorer.prepare([pair])
    chosen, rejected = placed_sides(scorer.formatter, prepared)
    prepared = replace(prepared, chosen_tail=chosen.tail, rejected_tail=rejected.tail)
    try:
        _check_causal(scorer, prepared)
        chosen_rewards, rejected_rewards = scorer.at_tails(prepared)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise KnownError(
            f"The pair {pair.key}, {prepared.cost:,} tokens, does not fit in memory. Choose a "
            "shorter pair, a smaller model, or a device with more memory."
        ) from error
    # What both sides share is equal to the last bit, which products of matrices do not see to.
    for place in range(max(chosen.first, rejected.first), prepared.shared):
        rejected_rewards[place - rejected.first] = chosen_rewards[place - chosen.first]
    return TokenRewards(
        pair=pair,
        chosen=_side(chosen, chosen_rewards),
        rejected=_side(rejected, rejected_rewards),
        model=scorer.spec,
        traits=scorer.traits,
        truncation_side="left" if scorer.formatter.cuts_left else "right",
    )


def _side(placed: PlacedTokens, rewards: Sequence[float]) -> SideRewards:
    """rewards: at the tail of what is placed."""
    opening = placed.opening - placed.first
    placed_tokens = zip(placed.spans, placed.in_response, strict=True)
    rows = zip(list(placed_tokens)[placed.opening :], rewards[opening:], strict=True)
    return SideRewards(
        text=placed.text,
        response=placed.response,
        tokens=tuple(
            TokenReward(placed.text[start:end], start, end, own, reward)
            for ((start, end), own), reward in rows
        ),
        before=rewards[0] if opening else None,
        truncated=placed.truncated,
    )


def _check_causal(scorer: Classifier, prepared: Prepared) -> None:
    """Prove that rewards do not change with what follows, on the pair's own first tokens.

    Raises:
        KnownError: most of them do.
    """
    ids = prepared.chosen[:_CHECKED]
    begin = ids[: (len(ids) + 1) // 2]
    check = replace(
        prepared,
        chosen=ids,
        rejected=begin,
        shared=0,
        chosen_tail=len(ids),
        rejected_tail=len(begin),
        rejected_start=prepared.chosen_start,
    )
    followed, single = scorer.at_tails(check)
    pairs = zip(followed[: len(single)], single, strict=True)
    n_different = sum(abs(one - other) > scorer.proof.tolerance for one, other in pairs)
    if 2 * n_different > len(single):
        raise KnownError(
            f"{scorer.spec.name} sees the whole text at each token, so that it has no reward after "
            "a token. Choose a classifier that is built on a decoder."
        )
