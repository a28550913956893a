"""The texts of a pair as inert HTML: as they are written, with what is marked in them, or rendered.

Every function gives HTML in which nothing of a text is more than text, but for what
`explorer.markdown` lets through.
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal

from explorer.diffs import Span
from explorer.look import Look
from explorer.markdown import rendered
from explorer.passages import Piece, pieces, visible
from explorer.search import hits
from explorer.text import text
from explorer.ui.markup import note, tag

Side = Literal["prompt", "chosen", "rejected"]

_MARKS = {"prompt": "span", "chosen": "ins", "rejected": "del"}
_SPEAKERS = ("system", "user", "assistant")


def body_html(words: str, side: Side, look: Look, spans: Sequence[Span] | None = None) -> str:
    """One text.

    Args:
        words: the text.
        side: whose it is: it decides how differences are marked and whether hits are.
        look: how to show it.
        spans: the text as `diff_spans` cut it; None marks no difference.
    """
    if not words:
        return tag("span", escape(text("reader.empty_response")), css="empty")
    if look.rendered:
        html = rendered(words)
        if html is not None:
            return tag("div", html, css="rendered")
        return note(text("reader.not_rendered")) + escape(words)
    found = hits(words, look.query) if look.query.looks_at(side) else []
    return "".join(_piece(piece, side, look.spaces) for piece in pieces(words, spans, found))


def prompt_html(cells: Mapping[str, Any], look: Look) -> str:
    """A prompt; of a conversation each turn under the name of who speaks."""
    if not cells.get("turns"):
        return body_html(cells["prompt"], "prompt", look)
    return "".join(_turn(role, words, look) for role, words in json.loads(cells["turns"]))


def _turn(role: str, words: str, look: Look) -> str:
    known = role in _SPEAKERS
    speaker = text(f"reader.speaker_{role}") if known else role
    return tag(
        "div",
        tag("div", escape(speaker), css="speaker")
        + tag("div", body_html(words, "prompt", look), css="words"),
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
