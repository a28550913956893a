"""Boards whose models' names attack the page, what HTML may be made of, and where links lead."""

from typing import Any

from explorer.results.board import Board, build_board
from explorer.results.boards import BoardView
from explorer.results.field import MAJORITY
from explorer.tabs.models.ranked import Ranked, visible_rows
from explorer.tabs.models.state import ModelsPanel, ModelsState, rule_of
from tests.support.board_data import results_of
from tests.support.html_reading import HtmlReading

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
    "div", "section", "header", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td",
    "h2", "h3", "p", "ul", "li", "details", "summary", "a", "b", "i", "small", "bdi", "span",
    "form", "fieldset", "legend", "label", "input", "datalist", "select", "option", "button",
    "figure",
}  # fmt: skip


def comparing(
    a: str = "",
    b: str = MAJORITY,
    more: tuple[str, ...] = (),
    panel: ModelsPanel = "compare",
    **others: Any,
) -> ModelsState:
    """These models beside each other."""
    return ModelsState(panel, a=a, b=b, more=more, **others)


def ranked(board: Board, state: ModelsState | None = None, **seen: Any) -> Ranked:
    """A board as a state shows it. seen: further fields of `BoardView`."""
    state = ModelsState() if state is None else state
    return Ranked(state, BoardView(board, **seen), visible_rows(board, state), list)


def hostile_board(state: ModelsState | None = None) -> Board:
    """Of models with hostile names, the first the best."""
    shares = {name: 0.9 - 0.05 * place for place, name in enumerate(HOSTILE)}
    return build_board(results_of(shares), rule_of(state or ModelsState()))


def reading(html: str) -> HtmlReading:
    """HTML that is made of harmless elements alone."""
    return HtmlReading(html, TAGS)


def linked_states(read: HtmlReading) -> list[ModelsState]:
    """The states that links to the tab itself lead to, in their order."""
    links = read.attributes["a", "href"]
    return [ModelsState.parse(each)[0] for each in links if each.startswith("?tab=models")]
