"""The pair reader that tabs share: prompt above, chosen and rejected side by side.

How much is shown of each text, with which marks, as it is written or as the Markdown it may be.
Nothing of a text loads or runs anything.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from markupsafe import Markup

from explorer.core.html import render
from explorer.core.text import text
from explorer.data.datacard import SubsetCard, data_card, subset_card
from explorer.data.facets import count_words
from explorer.data.search import hits
from explorer.reader.diffs import Span, VisibleSpace, diff_spans, pieces, visible
from explorer.reader.reading import Display
from explorer.results.field import PairOutcome
from scoring.benchmark import section_of
from scoring.pairs.opening import PairSource

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

TextName = Literal["prompt", "chosen", "rejected"]

MOST_SAME = 12
"""Other pairs with the same prompt that are named; the rest are counted."""
MOST_FURTHER = 50
"""Responses of a side beyond the first that are shown; the rest are counted."""
LONGEST_BODY = 500_000
"""Characters of a text that are shown."""
MOST_SHOWN_TURNS = 200
"""Turns of a conversation that are shown."""
LONGEST_MARKDOWN = 100_000
"""Characters of a text; a longer one is not rendered."""
DEEPEST = 40
"""Levels of lists and quotes in each other; a deeper text is not rendered."""

_SIDES: tuple[Literal["chosen", "rejected"], ...] = ("chosen", "rejected")
_MARKS = {"prompt": "span", "chosen": "ins", "rejected": "del"}
_SPEAKERS = ("system", "user", "assistant")
_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    """A piece of a text. changed: the other side lacks it. hit: the search found it."""

    shown: Sequence[VisibleSpace]
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
    def any_direction(self) -> bool:
        """Whether it may run from right to left: laying that out takes ten times as long."""
        return not self.words.isascii()


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn of a conversation. css: who speaks, where that is known."""

    speaker: str
    css: str
    body: Body


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is shown of a prompt: of a conversation its turns. n_more: turns that are not shown."""

    body: Body
    turns: Sequence[ShownTurn] = ()
    n_more: int = 0

    @property
    def any_direction(self) -> bool:
        """As of a body."""
        bodies = [each.body for each in self.turns] or [self.body]
        return any(each.any_direction for each in bodies)


@dataclass(frozen=True, slots=True)
class Card:
    """A response. is_first: of its side. reward: None where it is not shown."""

    side: Literal["chosen", "rejected"]
    title: str
    facts: Sequence[str]
    body: Body
    is_first: bool = False
    reward: float | None = None


def pair_html(
    cells: Mapping[str, Any] | None,
    key: str | None,
    display: Display,
    verdicts: Sequence[PairOutcome] = (),
    *,
    same_prompt: Sequence[str] = (),
    source: PairSource | None = None,
) -> str:
    """One pair as inert HTML.

    Args:
        cells: the pair's columns; None where its texts are not at hand.
        key: how the pair is called here; None shows that none is open.
        display: how it is shown.
        verdicts: what models made of the pair; of several, a table.
        same_prompt: keys of the other pairs with this prompt.
        source: where the pair is from; the bundled pairs are this project's own.
    """
    if key is None or cells is None:
        return render("reader/no_pair.html", key=key or "", verdicts=verdicts)
    card = subset_card(cells["subset"])
    display, notes = _possible(cells, card, display)
    diff = "off" if display.rendered else display.diff
    chosen, rejected = (cells[side][:LONGEST_BODY] for side in _SIDES)
    spans = diff_spans(chosen, rejected, diff, cells["subset"])
    if diff != "off" and spans is None:
        notes.append(text("reader.too_long"))
    cards = [
        _first(side, cells, body_of(cells[side], side, display, own), verdicts)
        for side, own in zip(_SIDES, spans or (None, None), strict=True)
    ]
    further, n_more = _further(cells, display)
    return render(
        "reader/pair.html",
        key=key,
        verdicts=verdicts,
        section=section_of(cells["subset"]),
        origin=card,
        is_demo=source is not None and source.kind == "demo",
        is_code=_is_code(cells, card),
        warning=data_card().content_warning if card is not None and card.may_harm else "",
        prompt=prompt_of(cells, display),
        same=same_prompt[:MOST_SAME],
        n_more_same=max(0, len(same_prompt) - MOST_SAME),
        notes=notes,
        cards=[*cards, *further],
        n_more=n_more,
    )


def _possible(
    cells: Mapping[str, Any], card: SubsetCard | None, display: Display
) -> tuple[Display, list[str]]:
    """The display as far as these texts allow it, and why not all of it."""
    length = sum(len(cells[name]) for name in ("prompt", "chosen", "rejected"))
    length += sum(len(each["text"]) for _, _, each in _more(cells))
    if (display.rendered or display.spaces) and length > LONGEST_MARKDOWN:
        return replace(display, rendered=False, spaces=False), [text("reader.too_long_look")]
    if display.rendered and card is not None and card.language is not None:
        return replace(display, rendered=False), [text("reader.code_as_written")]
    if display.rendered and (display.diff != "off" or display.query.words or display.spaces):
        return display, [text("reader.without_marks")]
    return display, []


def _is_code(cells: Mapping[str, Any], card: SubsetCard | None) -> bool:
    if card is not None and card.language is not None:
        return True
    return "```" in cells["chosen"] and "```" in cells["rejected"]


def _first(
    side: Literal["chosen", "rejected"],
    cells: Mapping[str, Any],
    body: Body,
    verdicts: Sequence[PairOutcome],
) -> Card:
    facts, reward = _facts(cells[f"{side}_model"], cells[side]), None
    if len(verdicts) == 1:
        [one] = verdicts
        tokens = getattr(one, f"{side}_tokens")
        facts += [] if tokens is None else [text("reader.tokens", tokens=f"{tokens:,}")]
        facts += [text("reader.truncated")] if getattr(one, f"{side}_truncated") else []
        reward = getattr(one, f"{side}_reward")
    return Card(side, text(f"side.{side}"), facts, body, is_first=True, reward=reward)


def _further(cells: Mapping[str, Any], display: Display) -> tuple[list[Card], int]:
    """A card for each response beyond the first of its side, and how many are left out."""
    more = _more(cells)
    n = _n_shown((len(response["text"]) for _, _, response in more), len(more))
    cards = [
        Card(
            side,
            text("reader.further", side=text(f"side.{side}"), n=number),
            _facts(response["model"], response["text"]),
            body_of(response["text"], side, display),
        )
        for side, number, response in more[:n]
    ]
    return cards, sum(len(cells.get(f"more_{side}") or ()) for side in _SIDES) - n


def _more(
    cells: Mapping[str, Any],
) -> list[tuple[Literal["chosen", "rejected"], int, Mapping[str, str]]]:
    """(side, which of its responses from 2, response), chosen and rejected in turns.

    Of each side `MOST_FURTHER`.
    """
    sides = ((cells.get(f"more_{side}") or ())[:MOST_FURTHER] for side in _SIDES)
    return [
        (side, number, response)
        for number, responses in enumerate(zip_longest(*sides), start=2)
        for side, response in zip(_SIDES, responses, strict=True)
        if response is not None
    ]


def _facts(model: str, response: str) -> list[str]:
    encoded = response.encode(errors="replace")  # a lone surrogate is in no Arrow text
    words = count_words(pa.chunked_array([[encoded]], pa.large_binary()))[0]
    return [model, text("reader.words", words=f"{words:,}", chars=f"{len(response):,}")]


def body_of(
    words: str, side: TextName, display: Display, spans: Sequence[Span] | None = None
) -> Body:
    """What is shown of one text.

    side: whose it is: it decides how differences are marked and whether hits are.
    spans: what is shown of the text as `diff_spans` cut it; None marks no difference.
    """
    here, mark = words[:LONGEST_BODY], _MARKS[side]
    n_more = len(words) - len(here)
    if display.rendered:
        html = rendered(here)
        if html is not None:
            return Body(here, n_more, mark, rendered=Markup(html))  # noqa: S704 - made safe there
        return Body(
            here, n_more, mark, [MarkedPiece([VisibleSpace(here)], False, False)], is_refused=True
        )
    found = hits(here, display.query) if display.query.looks_at(side) else []
    marked = [
        MarkedPiece(
            visible(each.text) if display.spaces else [VisibleSpace(each.text)],
            each.changed,
            each.hit,
        )
        for each in pieces(here, spans, found)
    ]
    return Body(here, n_more, mark, marked)


def _n_shown(lengths: Iterable[int], most: int) -> int:
    """How many texts in a row are shown: `most`, and none that begins after `LONGEST_BODY`."""
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
    n = _n_shown((len(words) for _, words in turns), MOST_SHOWN_TURNS)
    shown = [
        ShownTurn(
            text(f"reader.speaker_{role}") if role in _SPEAKERS else role,
            role if role in _SPEAKERS else "",
            body_of(words, "prompt", display),
        )
        for role, words in turns[:n]
    ]
    return Prompt(body_of("", "prompt", Display()), shown, len(turns) - n)


def rendered(words: str) -> str | None:
    r"""A text's Markdown as HTML; None where it is too long or too deep.

    HTML in it is shown as it is written, an image as its description and address. Links lead to
    http, https and mailto alone and open a page of their own. Headings are paragraphs of the
    classes h1 to h6, so that the page keeps its own outline.

    >>> rendered("# Hi *you*")
    '<p class="h1">Hi <em>you</em></p>\n'
    >>> rendered("<b>![x](http://e.org/p.png)")
    '<p>&lt;b&gt;![x](http://e.org/p.png)</p>\n'
    """
    if len(words) > LONGEST_MARKDOWN:
        return None
    parser = _parser()
    tokens = parser.parse(words)
    # The parser drops what is nested deeper than it goes.
    if any(token.level >= DEEPEST - 1 for token in tokens):
        return None
    for token in tokens:
        for each in (token, *(token.children or ())):
            _tame(each)
    return str(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    options = {"html": False, "linkify": False, "breaks": True, "maxNesting": DEEPEST}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    # A definition of one long address lets each of its uses repeat it: megabytes from kilobytes.
    parser.disable("reference")
    parser.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]
    return parser


def _tame(token: "Token") -> None:
    """Let a token be rendered as `rendered` says."""
    if token.type in ("heading_open", "heading_close"):
        token.attrs = {"class": token.tag} if token.nesting == 1 else {}
        token.tag = "p"
    elif token.type == "link_open":
        url = token.attrs["href"]
        own_page = {"target": "_blank", "rel": "noopener noreferrer nofollow"}
        token.attrs = {"href": url, **own_page} if url else {}
    elif token.type == "image":
        token.type, token.content = "text", f"![{token.content}]({token.attrs['src']})"
    elif token.type == "fence":
        token.type = "code_block"
