"""The texts of a pair as inert HTML: as they are written, with what is marked in them, or rendered.

Every function gives HTML in which nothing of a text is more than text, but for what
`explorer.reader.markdown` lets through.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any, Literal

from explorer.core.html import chip, note, signed, tag
from explorer.core.text import text
from explorer.data.search import hits
from explorer.reader.diffs import Piece, Span, pieces, visible
from explorer.reader.markdown import rendered
from explorer.reader.reading import Display
from explorer.results.field import Verdict

Side = Literal["prompt", "chosen", "rejected"]

LONGEST_BODY = 500_000
"""Characters of a text that are shown."""
MOST_TURNS = 200
"""Turns of a conversation that are shown."""

_MARKS = {"prompt": "span", "chosen": "ins", "rejected": "del"}
_SPEAKERS = ("system", "user", "assistant")


def body_html(words: str, side: Side, display: Display, spans: Sequence[Span] | None = None) -> str:
    """One text.

    Args:
        words: the text; what of it is not shown is said.
        side: whose it is: it decides how differences are marked and whether hits are.
        display: how to show it.
        spans: what is shown of the text as `diff_spans` cut it; None marks no difference.
    """
    here = beginning(words)
    if len(here) == len(words):
        return _body(words, side, display, spans)
    cut = text("reader.cut", shown=f"{len(here):,}", n=f"{len(words):,}")
    return _body(here, side, display, spans) + note(cut)


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


def _body(words: str, side: Side, display: Display, spans: Sequence[Span] | None) -> str:
    if not words:
        return tag("span", escape(text("reader.empty_response")), css="empty")
    if display.rendered:
        html = rendered(words)
        if html is not None:
            return tag("div", html, css="rendered")
        return note(text("reader.not_rendered")) + escape(words)
    found = hits(words, display.query) if display.query.looks_at(side) else []
    return "".join(_piece(piece, side, display.spaces) for piece in pieces(words, spans, found))


def prompt_html(cells: Mapping[str, Any], display: Display) -> str:
    """A prompt; of a conversation each turn under the name of who speaks."""
    if not cells.get("turns"):
        return body_html(cells["prompt"], "prompt", display)
    turns = json.loads(cells["turns"])
    n = fitting((len(words) for _, words in turns), MOST_TURNS)
    html = "".join(_turn(role, words, display) for role, words in turns[:n])
    left = len(turns) - n
    return html + (note(text("reader.more_turns", n=f"{left:,}")) if left else "")


def _turn(role: str, words: str, display: Display) -> str:
    known = role in _SPEAKERS
    speaker = text(f"reader.speaker_{role}") if known else role
    return tag(
        "div",
        tag("div", escape(speaker), css="speaker")
        + tag("div", body_html(words, "prompt", display), css="words"),
        css=f"turn {role}" if known else "turn",
    )


def _piece(piece: Piece, side: Side, spaces: bool) -> str:
    html = _with_signs(piece.text) if spaces else escape(piece.text)
    html = tag("mark", html) if piece.hit else html
    return tag(_MARKS[side], html) if piece.changed else html


def _with_signs(words: str) -> str:
    html = []
    for shown in visible(words):
        if not shown.sign:
            html.append(escape(shown.text))
        elif shown.name:
            html.append(tag("i", escape(shown.sign), css="ws named", title=shown.name))
        else:
            html.append(tag("i", escape(shown.sign), css="ws"))
    return "".join(html)


def verdict_chip(verdict: Verdict) -> str:
    """The outcome, and the margin where it is known."""
    words = text(f"outcome.{verdict.outcome}")
    if verdict.margin is not None:
        words = text("reader.verdict", outcome=words, margin=signed(verdict.margin))
    return chip(words, _css(verdict))


def verdicts_html(verdicts: Sequence[Verdict]) -> str:
    """What several models made of a pair, one below the other; nothing for one alone."""
    if len(verdicts) < 2:
        return ""
    names = ("model", "outcome", "margin", "chosen_reward", "rejected_reward")
    heads = "".join(tag("th", escape(text(f"list.{name}")), scope="col") for name in names)
    rows = ""
    for each in verdicts:
        rewards = (each.margin, each.chosen_reward, each.rejected_reward)
        cells = tag("th", tag("bdi", escape(each.model)), scope="row")
        cells += tag("td", chip(text(f"outcome.{each.outcome}"), _css(each)))
        cells += "".join(tag("td", escape(signed(reward)), "number") for reward in rewards)
        rows += tag("tr", cells)
    table = tag("table", tag("thead", tag("tr", heads)) + tag("tbody", rows))
    label = text("reader.verdicts")
    return tag("div", table, "verdicts", tabindex="0", role="region", aria_label=label)


def _css(verdict: Verdict) -> str:
    return "good" if verdict.outcome == "win" else "bad"
