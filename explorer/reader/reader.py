"""The pair reader that tabs share: prompt above, chosen and rejected side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import zip_longest
from typing import Any, Literal

import pyarrow as pa

from explorer.core.html import chip, note, signed, tag
from explorer.core.text import text
from explorer.data.counting import count_words
from explorer.data.datacard import SubsetCard, data_card, subset_card
from explorer.reader.bodies import (
    beginning,
    body_html,
    fitting,
    prompt_html,
    verdict_chip,
    verdicts_html,
)
from explorer.reader.diffs import diff_spans
from explorer.reader.markdown import LONGEST
from explorer.reader.reading import Display
from explorer.results.field import Verdict
from scoring.benchmark import section_of
from scoring.pairs.opening import PairSource

MOST_SAME = 12
"""Other pairs with the same prompt that are named; the rest are counted."""
MOST_FURTHER = 50
"""Responses of a side beyond the first that are shown; the rest are counted."""


def pair_html(
    cells: Mapping[str, Any] | None,
    key: str | None,
    display: Display,
    verdicts: Sequence[Verdict] = (),
    *,
    same_prompt: Sequence[str] = (),
    source: PairSource | None = None,
) -> str:
    """One pair as inert HTML.

    Args:
        cells: the pair's columns; None where its texts are not at hand.
        key: how the pair is called here; None shows that none is open.
        display: what is marked in the texts, and how they are shown.
        verdicts: what models made of the pair; of several, a table.
        same_prompt: keys of the other pairs with this prompt.
        source: where the pair is from; the bundled pairs are this project's own.
    """
    if key is None:
        return tag("div", note(text("reader.empty")), css="pair-none")
    if cells is None:
        chips = _chips(key, "", verdicts) + verdicts_html(verdicts)
        return tag("div", chips + note(text("reader.text_missing")), "pair-none")
    card = subset_card(cells["subset"])
    display, notes = _possible(cells, card, display)
    diff = "off" if display.rendered else display.diff
    words = cells["rejected"]
    spans = diff_spans(beginning(cells["chosen"]), beginning(words), diff, cells["subset"])
    if diff != "off" and spans is None:
        notes.append(text("reader.too_long"))
    chosen, rejected = spans or (None, None)
    css = ["pair", *(["code"] if _is_code(cells, card) else [])]
    warning = ""
    if card is not None and card.may_harm:
        css.append("may-harm")
        warning = _warning()
    title = text("reader.prompt")
    chips = _chips(key, cells["subset"], verdicts, _origin(card, source) if card else "")
    header = tag("b", escape(title)) + chips
    return tag(
        "div",
        warning
        + _part("prompt", header, prompt_html(cells, display), title, below=_same(same_prompt))
        + "".join(map(note, notes))
        + verdicts_html(verdicts)
        + _side("chosen", cells, body_html(cells["chosen"], "chosen", display, chosen), verdicts)
        + _side("rejected", cells, body_html(words, "rejected", display, rejected), verdicts)
        + _further(cells, display),
        css=" ".join(css),
        data_key=key,
    )


def _possible(
    cells: Mapping[str, Any], card: SubsetCard | None, display: Display
) -> tuple[Display, list[str]]:
    """The display as far as these texts allow it, and why not all of it."""
    length = sum(len(cells[name]) for name in ("prompt", "chosen", "rejected"))
    length += sum(len(each["text"]) for _, _, each in _more(cells))
    if (display.rendered or display.spaces) and length > LONGEST:
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


def _warning() -> str:
    show = tag("button", escape(text("reader.show_harm")), css="reveal", type="button")
    return tag("div", tag("span", escape(data_card().content_warning)) + show, css="warning")


def _chips(key: str, subset: str, verdicts: Sequence[Verdict], origin: str = "") -> str:
    verdict = verdict_chip(verdicts[0]) if len(verdicts) == 1 else ""
    section = section_of(subset)
    return (
        (chip(section) if section else "") + verdict + origin + tag("span", escape(key), css="key")
    )


def _origin(card: SubsetCard, source: PairSource | None) -> str:
    """What the subset is in RewardBench: a table may carry its name and other texts."""
    if source is not None and source.kind == "demo":
        return tag("span", escape(text("reader.demo", name=card.name)), css="facts")
    words = text("reader.origin", origin=card.origin.name, licence=card.origin.licence)
    link = tag("a", escape(words), href=card.origin.url, target="_blank", rel="noopener noreferrer")
    subset = escape(text("reader.subset", name=card.name))
    return tag("span", f"{subset} · {link}", css="facts")


def _same(keys: Sequence[str]) -> str:
    if not keys:
        return ""
    buttons = [
        tag("button", escape(key), css="goto", type="button", data_key=key)
        for key in keys[:MOST_SAME]
    ]
    more = len(keys) - MOST_SAME
    rest = tag("span", escape(text("reader.same_more", n=f"{more:,}"))) if more > 0 else ""
    words = tag("span", escape(text("reader.same_prompt")))
    return tag("div", words + "".join(buttons) + rest, css="same")


def _side(
    side: Literal["chosen", "rejected"],
    cells: Mapping[str, Any],
    body: str,
    verdicts: Sequence[Verdict],
) -> str:
    title = text(f"side.{side}")
    facts = _facts(cells[f"{side}_model"], cells[side])
    reward = ""
    if len(verdicts) == 1:
        [one] = verdicts
        tokens = getattr(one, f"{side}_tokens")
        facts += [] if tokens is None else [text("reader.tokens", tokens=f"{tokens:,}")]
        facts += [text("reader.truncated")] if getattr(one, f"{side}_truncated") else []
        if getattr(one, f"{side}_reward") is not None:
            reward = tag("span", escape(signed(getattr(one, f"{side}_reward"))), css="reward")
    return _part(side, _header(title, facts) + reward, body, title, data_sync="pair")


def _further(cells: Mapping[str, Any], display: Display) -> str:
    """A card for each response beyond the first of its side, each in its side's column."""
    html, more = [], _more(cells)
    n = fitting((len(response["text"]) for _, _, response in more), len(more))
    for side, number, response in more[:n]:
        title = text("reader.further", side=text(f"side.{side}"), n=number)
        header = _header(title, _facts(response["model"], response["text"]))
        html.append(_part(side, header, body_html(response["text"], side, display), title))
    left = sum(len(cells.get(f"more_{side}") or ()) for side in ("chosen", "rejected")) - n
    return "".join(html) + (note(text("reader.more_responses", n=f"{left:,}")) if left else "")


def _more(
    cells: Mapping[str, Any],
) -> list[tuple[Literal["chosen", "rejected"], int, Mapping[str, str]]]:
    """(side, which of its responses from 2, response), chosen and rejected in turns.

    Of each side `MOST_FURTHER`.
    """
    sides = (cells.get(f"more_{side}") or () for side in ("chosen", "rejected"))
    rows = zip_longest(*(responses[:MOST_FURTHER] for responses in sides))
    found: list[tuple[Literal["chosen", "rejected"], int, Mapping[str, str]]] = []
    for number, (chosen, rejected) in enumerate(rows, start=2):
        found += [("chosen", number, chosen)] if chosen is not None else []
        found += [("rejected", number, rejected)] if rejected is not None else []
    return found


def _facts(model: str, response: str) -> list[str]:
    encoded = response.encode(errors="replace")  # a lone surrogate is in no Arrow text
    words = count_words(pa.chunked_array([[encoded]], pa.large_binary()))[0]
    return [model, text("reader.words", words=f"{words:,}", chars=f"{len(response):,}")]


def _header(title: str, facts: Sequence[str]) -> str:
    return tag("b", escape(title)) + tag("span", escape(" · ".join(facts)), css="facts")


def _part(css: str, header: str, body: str, label: str, below: str = "", **attributes: str) -> str:
    """A card. The body takes the focus, so that the keyboard can scroll it.

    A body that may run from right to left has a class for it: laying that out takes ten times as
    long, seconds for a megabyte.
    """
    attributes = {"tabindex": "0", "role": "region", "aria_label": label, **attributes}
    shown = tag("div", body, "body" if body.isascii() else "body any-direction", **attributes)
    return tag("section", tag("header", header) + shown + below, css)
