"""Boards whose models' names attack the page, what HTML may be made of, and visits."""

import json
from functools import cache
from typing import Any

import gradio as gr

from explorer.page import Page
from explorer.reader.source_view import build_sourcebar
from explorer.results.board import Board, build_board
from explorer.results.field import MAJORITY
from explorer.stores import Stores
from explorer.tabs.models.acts_view import ModelsTab
from explorer.tabs.models.state import ModelsPanel, ModelsState, rule_of
from explorer.tabs.models.view import ModelsParts, build_models
from tests.explorer.board_data import results_of
from tests.explorer.browsing import pairs_parts, posted
from tests.explorer.filling import Filled, answered, laid_out
from tests.explorer.html_reading import HtmlReading
from tests.explorer.posting import Visitor

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
    "span", "p", "h2", "h3", "header", "b", "i", "details", "summary", "ul", "li",
    "input", "label", "fieldset", "legend",
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


def hostile_board(state: ModelsState | None = None) -> Board:
    """Of models with hostile names, the first the best."""
    shares = {name: 0.9 - 0.05 * place for place, name in enumerate(HOSTILE)}
    return build_board(results_of(shares), rule_of(state or ModelsState()))


def reading(html: str) -> HtmlReading:
    """HTML that is made of harmless elements alone."""
    return HtmlReading(html, TAGS)


def sent(seen: HtmlReading, act: str) -> list[dict[str, object]]:
    """What the buttons of an act send."""
    acts = [json.loads(each) for each in seen.attributes["button", "data-sent"]]
    names = [each for each in seen.attributes["button", "data-act"] if each != "reset"]
    return [values for name, values in zip(names, acts, strict=True) if name == act]


# Visits.


@cache
def board_parts() -> ModelsParts:
    """The components of the tab, on a page of their own."""
    return laid_out(lambda: build_models(build_sourcebar(gr.HTML()).results))


def tab_on(stores: Stores) -> ModelsTab:
    """The callbacks of the tab."""
    parts, settings = board_parts(), stores.settings
    return ModelsTab(
        stores.boards, stores.measuring, stores.fields, settings, parts, stores.pairs.all
    )


def by_name(values: list[Any]) -> Filled:
    """What an event of the tab was answered."""
    return answered(board_parts(), values)


def opened(visitor: Visitor, link: object) -> dict[str, Any]:
    _, *values = visitor.data(Page.open, {"Textbox": link})
    start, parts = len(pairs_parts().outputs), board_parts()
    return answered(parts, values[start : start + len(parts.outputs)])


def acted(visitor: Visitor, name: object, /, **sent: Any) -> dict[str, Any]:
    """An act that must succeed; what it changes."""
    return by_name(visitor.data(ModelsTab.act, event_data=posted(name, **sent)))


def models(shown: dict[str, Any]) -> list[str]:
    """The models of the table, in its order."""
    _, *names = reading(shown["table"]).of_class["model"]
    return [name[1:] for name in names]
