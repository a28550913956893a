"""Where in a text its tokens stand: as pieces that join to the text, nothing lost or doubled."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scoring.engine.formatting import Formatter, Prepared, Tokenizer, TokenSequence
from scoring.engine.upstream import UpstreamFormatter
from scoring.errors import KnownError
from scoring.spec import text_hash

_UNTOLD = "The model's tokenizer does not say where in a text its tokens stand."
_SPACE = re.compile(r"\s*")
_MOST_SHARING = 16
"""Tokens that one character's bytes, and what is written with them, are spread over at most."""


class Located(NamedTuple):
    """A tokenized text. ends: where the piece of each token ends; it begins where the last did."""

    ids: tuple[int, ...]
    ends: tuple[int, ...]

    def span(self, place: int) -> tuple[int, int]:
        """First character of a token's piece, and the one behind it."""
        return (self.ends[place - 1] if place else 0), self.ends[place]


def locate_tokens(tokenizer: Tokenizer, text: str, *, special: bool) -> Located:
    """Tokenize a text and say where its tokens stand: by offsets, else by decoding.

    special: let the tokenizer put its own tokens around the text.

    Raises:
        KnownError: it has no offsets, and decodes its tokens to another text.
    """
    if getattr(tokenizer, "is_fast", False):
        told = tokenizer(text, add_special_tokens=special, return_offsets_mapping=True)
        return Located(tuple(told.input_ids), piece_ends(told.offset_mapping, len(text)))
    ids: tuple[int, ...] = tuple(tokenizer(text, add_special_tokens=special).input_ids)
    return Located(ids, _decoded_ends(tokenizer, ids, text))


def piece_ends(offsets: Sequence[tuple[int, int]], length: int) -> tuple[int, ...]:
    """Where the piece of each token ends.

    What no token claims (spaces that offsets leave out) goes with the token after it, at the very
    end with the last. A character whose bytes several tokens share goes with the last of them.

    Args:
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


def response_span(text: str, marked: str, mark: str) -> tuple[int, int]:
    """Where in a formatted conversation its response stands: its first character, and the end.

    Args:
        text: the conversation as its template writes it.
        marked: the same with another response.
        mark: that response.

    >>> response_span("<s>Hi</s>", "<s>MARK</s>", "MARK"), response_span("<s></s>", "<s>*</s>", "*")
    ((3, 5), (3, 3))
    """
    before, _, after = marked.partition(mark)
    begin = _n_same(text, before)
    return begin, len(text) - _n_same(text[begin:][::-1], after[::-1])


@dataclass(frozen=True, slots=True)
class Placed:
    """Where in a formatted conversation the tokens stand that a model sees of it.

    text: the conversation, before truncation.
    response: its response there, first character and end.
    spans: of each token's piece, first character and end.
    in_response: whether a token writes at least a part of the response.
    opening: place of the first that does.
    truncated: there are more tokens than the model sees.
    """

    text: str
    response: tuple[int, int]
    spans: list[tuple[int, int]]
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


def placed_sides(formatter: Formatter, prepared: Prepared) -> tuple[Placed, Placed]:
    """Where the tokens of a pair's chosen and of its rejected side stand.

    Raises:
        KnownError: a response is empty or wholly cut off, or the tokenizer does not say.
    """
    pair = prepared.pair
    # A pair's own hash can stand in none of its texts.
    mark = text_hash(pair.prompt, pair.chosen, pair.rejected)
    conversations = [pair.answered(each) for each in (pair.chosen, pair.rejected, mark)]
    chosen, rejected, marked = formatter.render(conversations)
    return (
        _placed(
            formatter,
            "The chosen response",
            chosen,
            response_span(chosen, marked, mark),
            TokenSequence(prepared.chosen, prepared.chosen_truncated, prepared.chosen_start),
        ),
        _placed(
            formatter,
            "The rejected response",
            rejected,
            response_span(rejected, marked, mark),
            TokenSequence(prepared.rejected, prepared.rejected_truncated, prepared.rejected_start),
        ),
    )


def _placed(
    formatter: Formatter,
    name: str,
    text: str,
    response: tuple[int, int],
    sequence: TokenSequence,
) -> Placed:
    """Where the tokens that a model sees stand in a text. name: of the response in messages."""
    if response[0] == response[1]:
        raise KnownError(f"{name} is empty: there is no token to give a reward after.")
    special = isinstance(formatter, UpstreamFormatter)
    whole = locate_tokens(formatter.tokenizer, text, special=special)
    cut = len(whole.ids) - formatter.max_length if sequence.truncated else 0
    lost = sequence.start + (cut if formatter.cuts_left else 0)
    places = range(lost, lost + len(sequence.ids))
    if places.stop > len(whole.ids):
        raise KnownError(_UNTOLD)
    spans = [whole.span(place) for place in places]
    # Truncation may have put a BOS in the place of the first token.
    same = [whole.ids[place] == id_ for place, id_ in zip(places, sequence.ids, strict=True)]
    own = [_is_in(span, response) and here for span, here in zip(spans, same, strict=True)]
    if not any(own):
        raise KnownError(
            f"{name} is cut off: the conversation has {len(whole.ids):,} tokens, of which the "
            f"{'last' if formatter.cuts_left else 'first'} {formatter.max_length:,} are scored. "
            "Allow more tokens, or choose a shorter pair."
        )
    opening = own.index(True)
    if not all(same[opening:]):
        raise KnownError(_UNTOLD)
    return Placed(text, response, spans, own, opening, sequence.truncated)


def _is_in(span: tuple[int, int], response: tuple[int, int]) -> bool:
    """Whether a token's piece writes of a response; an empty one where it stands within."""
    (start, end), (begin, stop) = span, response
    return start < stop and (end > begin or start == end == begin)


def _n_same(first: str, second: str) -> int:
    """Characters that both begin with."""
    both = enumerate(zip(first, second, strict=False))
    return next((n for n, (a, b) in both if a != b), min(len(first), len(second)))


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
            raise KnownError(_UNTOLD)
        ends.append(end)
    return (*ends[:-1], len(text)) if ends else ()
