"""HTML and figures as read: visible text, and links and fields."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from textwrap import shorten
from typing import Any

import numpy as np

INLINE = set(
    "a abbr b bdi button code del em i ins kbd label mark output q s small span strong sub "
    "summary sup text time tspan u var wbr".split()
)
"""Elements that begin no line of their own."""
VOID = set("area base br col embed hr img input link meta source track wbr".split())
SILENT = set("script style template".split())
ALTERNATIVES = ("alt", "title", "aria-label")
"""Attributes that are read out, or shown when pointed at."""
LISTED = set(
    "name x y z text customdata labels hovertext lowerfence q1 median q3 upperfence mean".split()
)
"""What of a figure a person reads."""
_LONGEST_LABEL = 80
"""Characters of what a link is called by."""


class Outline(HTMLParser):
    """Some HTML as text in reading order, and its links and fields, a line each.

    Whatever is hidden until it is asked for (a menu, a folded part) is read too; elements that are
    `hidden`, scripts and templates are not. Alternative texts stand in brackets.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self._pieces: list[str] = []
        self._open: list[tuple[str, dict[str, str], int]] = []
        self._n_silent = 0
        self.feed(html)
        self.close()

    @property
    def lines(self) -> list[str]:
        """The visible text, line by line."""
        lines = (" ".join(line.split()) for line in "".join(self._pieces).split("\n"))
        return [line for line in lines if line]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag not in VOID:
            self._open.append((tag, given, len(self._pieces)))
            self._n_silent += tag in SILENT or "hidden" in given
        if self._n_silent:
            return
        self._break(tag)
        alternatives = dict.fromkeys(given[name] for name in ALTERNATIVES if given.get(name))
        self._pieces += [f" [{each}] " for each in alternatives]
        if "data-plot" in given:
            self._pieces += [f"\n{line}\n" for line in figure_lines(json.loads(given["data-plot"]))]
        if tag in ("input", "option", "form"):
            self.links.append(_field(tag, given))

    def handle_endtag(self, tag: str) -> None:
        while tag in [name for name, _, _ in self._open]:
            name, given, start = self._open.pop()
            if not self._n_silent:
                self._end(name, given, shorten("".join(self._pieces[start:]), _LONGEST_LABEL))
                self._break(name)
            self._n_silent -= name in SILENT or "hidden" in given
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        if not self._n_silent:
            in_cell = {"td", "th"} & {name for name, _, _ in self._open[-2:]}
            self._pieces.append(re.sub(r"\s+", " ", data) + (" " if in_cell else ""))

    def _end(self, tag: str, given: Mapping[str, str], text: str) -> None:
        """Note where an element leads whose text is known now."""
        if tag == "a" and "href" in given:
            self.links.append(f"link {text} -> {given['href']}")
        elif "data-act" in given:
            sent = given.get("data-sent", "")
            self.links.append(f"press {text} -> {given['data-act']} {sent}".rstrip())
        elif tag in ("button", "textarea", "select"):
            self.links.append(_field(tag, given, text))

    def _break(self, tag: str) -> None:
        if tag not in INLINE:
            self._pieces.append("  " if tag in ("td", "th") else "\n")


def figure_lines(figure: Mapping[str, Any]) -> list[str]:
    """What a plotly figure says: titles, names and numbers of its traces, a line each."""
    lines = list(_figure_texts("", figure.get("layout", {})))
    for trace in figure["data"]:
        values = {name: _numbers(trace[name]) for name in sorted(LISTED & trace.keys())}
        read = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in values.items())
        lines.append(f"{trace.get('type', 'scatter')}: {' '.join(read)}")
    return lines


def _figure_texts(name: str, node: Any) -> Iterator[str]:
    """Texts of a layout: titles, annotations and labels of ticks."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in ("title", "text", "ticktext") and isinstance(value, str | list):
                yield f"figure {name} {key}: {value}"
            elif key != "template":
                yield from _figure_texts(f"{name} {key}".strip(), value)
    elif isinstance(node, list):
        for each in node:
            yield from _figure_texts(name, each)


def _numbers(value: Any) -> Any:
    """Values of a trace, those that plotly packed into bytes too."""
    if isinstance(value, Mapping) and "bdata" in value:
        numbers = np.frombuffer(base64.b64decode(value["bdata"]), np.dtype(value["dtype"]))
        return numbers.tolist()
    return value


def _field(tag: str, given: Mapping[str, str], text: str = "") -> str:
    kind = {"input": given.get("type", "text")}.get(tag, tag)
    state = [name for name in ("checked", "selected", "disabled", "required") if name in given]
    wanted = ("placeholder", "min", "max", "pattern", "action", "method", "popovertarget")
    state += [f"{name}={given[name]}" for name in wanted if name in given]
    value = given.get("value", text)
    name = next((given[each] for each in ("name", "aria-label", "id") if given.get(each)), "")
    return " ".join(filter(None, [kind, name, f"= {value}", *state]))
