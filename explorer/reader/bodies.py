"""What is shown of the texts of a pair: how much, with which marks, as written or rendered."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from markupsafe import Markup

from explorer.core.text import text
from explorer.data.search import hits
from explorer.reader.diffs import Shown, Span, pieces, visible
from explorer.reader.markdown import rendered
from explorer.reader.reading import Display

Side = Literal["prompt", "chosen", "rejected"]

LONGEST_BODY = 500_000
"""Characters of a text that are shown."""
MOST_TURNS = 200
"""Turns of a conversation that are shown."""

_MARKS = {"prompt": "span", "chosen": "ins", "rejected": "del"}
_SPEAKERS = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    """A piece of a text. changed: the other side lacks it. hit: the search found it."""

    shown: Sequence[Shown]
    changed: bool
    hit: bool


@dataclass(frozen=True, slots=True)
class Body:
    """What is shown of a text.

    words: all of it that is shown; n_more: characters that are not.
    mark: the element around what the other side lacks.
    pieces: the words cut where a mark begins or ends.
    rendered: the Markdown in them as safe HTML; None where they are shown as they are written.
    is_refused: whether they were to be rendered and cannot be.
    """

    words: str
    n_more: int
    mark: str
    pieces: Sequence[MarkedPiece] = ()
    rendered: Markup | None = None
    is_refused: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.words

    @property
    def n_shown(self) -> int:
        """Characters that are shown."""
        return len(self.words)

    @property
    def any_direction(self) -> bool:
        """Whether it may run from right to left: laying that out takes ten times as long."""
        return not self.words.isascii()


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a conversation. css: who speaks, where that is known."""

    speaker: str
    css: str
    body: Body


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is shown of a prompt: of a conversation its turns. n_more: turns that are not shown."""

    body: Body
    turns: Sequence[Turn] = ()
    n_more: int = 0

    @property
    def any_direction(self) -> bool:
        """As of a body."""
        bodies = [each.body for each in self.turns] or [self.body]
        return any(each.any_direction for each in bodies)


def body_of(words: str, side: Side, display: Display, spans: Sequence[Span] | None = None) -> Body:
    """What is shown of one text.

    Args:
        words: the text.
        side: whose it is: it decides how differences are marked and whether hits are.
        display: how to show it.
        spans: what is shown of the text as `diff_spans` cut it; None marks no difference.
    """
    here, mark = beginning(words), _MARKS[side]
    n_more = len(words) - len(here)
    if display.rendered:
        html = rendered(here)
        if html is not None:
            return Body(here, n_more, mark, rendered=Markup(html))  # noqa: S704 - made safe there
        return Body(here, n_more, mark, [MarkedPiece([Shown(here)], False, False)], is_refused=True)
    found = hits(here, display.query) if display.query.looks_at(side) else []
    marked = [
        MarkedPiece(
            visible(each.text) if display.spaces else [Shown(each.text)], each.changed, each.hit
        )
        for each in pieces(here, spans, found)
    ]
    return Body(here, n_more, mark, marked)


def beginning(words: str) -> str:
    """What is shown of a text."""
    return words[:LONGEST_BODY]


def fitting(lengths: Iterable[int], most: int) -> int:
    """How many texts in a row are shown, so that a page stays within bounds.

    Args:
        lengths: characters of each text.
        most: texts to show; none begins after `LONGEST_BODY` characters.

    >>> fitting([5, 5, 5], 2), fitting([5, LONGEST_BODY, 5], 3)
    (2, 2)
    """
    shown, before = 0, 0
    for length in islice(lengths, most):
        if before >= LONGEST_BODY:
            break
        shown, before = shown + 1, before + length
    return shown


def prompt_of(cells: Mapping[str, Any], display: Display) -> Prompt:
    """What is shown of a prompt; of a conversation each turn under the name of who speaks."""
    if not cells.get("turns"):
        return Prompt(body_of(cells["prompt"], "prompt", display))
    turns = json.loads(cells["turns"])
    n = fitting((len(words) for _, words in turns), MOST_TURNS)
    shown = [_turn(role, words, display) for role, words in turns[:n]]
    return Prompt(body_of("", "prompt", Display()), shown, len(turns) - n)


def _turn(role: str, words: str, display: Display) -> Turn:
    known = role in _SPEAKERS
    speaker = text(f"reader.speaker_{role}") if known else role
    return Turn(speaker, role if known else "", body_of(words, "prompt", display))
