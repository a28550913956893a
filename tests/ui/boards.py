"""Boards whose models' names attack the page, and what their HTML may be made of."""

import json

from explorer.boards import Board, build_board
from explorer.boardview import BoardView, rule_of
from tests.explorer.board_data import results_of
from tests.ui.html_reading import HtmlReading

HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    'org/model" onmouseover="alert(1)',
    "javascript:alert(1)//",
    "&lt;b&gt; &amp;amp; <!-- -->",
    "${x} {{y}} `z` \\",
    "\u202edlrow olleh مرحبا שלום",
    "two\nlines\tand a tab",
    "org/" + "x" * 500,
)
TAGS = {
    "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "button", "small", "bdi", "a",
    "span", "p", "h2", "details", "summary", "ul", "li", "input", "label", "fieldset", "legend",
}  # fmt: skip


def hostile_board(view: BoardView | None = None) -> Board:
    """Of models with hostile names, the first the best."""
    shares = {name: 0.9 - 0.05 * place for place, name in enumerate(HOSTILE)}
    return build_board(results_of(shares), rule_of(view or BoardView()))


def reading(html: str) -> HtmlReading:
    """HTML that is made of harmless elements alone."""
    return HtmlReading(html, TAGS)


def sent(seen: HtmlReading, act: str) -> list[dict[str, object]]:
    """What the buttons of an act send."""
    acts = [json.loads(each) for each in seen.attributes["button", "data-sent"]]
    names = [each for each in seen.attributes["button", "data-act"] if each != "reset"]
    return [values for name, values in zip(names, acts, strict=True) if name == act]
