"""Reads the HTML that a view made, as a browser would."""

from collections import defaultdict
from html.parser import HTMLParser
from typing import Any

from explorer.core import html as templates

VOID = {"input", "br"}
"""Elements that have no end."""


TAGS = {
    "div", "section", "header", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td",
    "h2", "h3", "p", "ul", "li", "details", "summary", "a", "b", "i", "small", "bdi", "span",
    "form", "fieldset", "legend", "label", "input", "textarea", "datalist", "select", "option",
    "button", "nav", "figure", "svg", "path", "circle", "code", "mark", "ins", "del",
}  # fmt: skip
"""Elements that do nothing by themselves, of which a page may be made."""


class HtmlReading(HTMLParser):
    """The elements of some HTML, and the text in them.

    Every element must be one of `tags`, without a handler of events, and closed in the order in
    which it was opened.

    words: all text. of_class: class -> the text of each element that has it.
    attributes: (tag, name) -> the values, in their order.
    """

    def __init__(self, html: str, tags: set[str] = TAGS) -> None:
        super().__init__(convert_charrefs=True)
        self.words = ""
        self.of_class: dict[str, list[str]] = defaultdict(list)
        self.attributes: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._tags = tags
        self._open: list[tuple[str, list[str], int]] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self._tags
        for name, value in attrs:
            assert not name.startswith("on")
            self.attributes[tag, name].append(value or "")
        if tag not in VOID:
            self._open.append((tag, (dict(attrs).get("class") or "").split(), len(self.words)))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        opened, classes, start = self._open.pop()
        assert opened == tag
        for name in classes:
            self.of_class[name].append(self.words[start:])

    def handle_data(self, data: str) -> None:
        self.words += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")


def macro_html(name: str, *values: object) -> str:
    """What a macro of the reader's texts writes, to the last space."""
    macros: Any = templates._environment().get_template("reader/bodies.html").module
    return str(getattr(macros, name)(*values))
