"""The pair reader that tabs share: prompt above, chosen and rejected side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import gradio as gr

from explorer.diffs import Span, word_diff
from explorer.text import text
from explorer.ui.markup import chip, note, signed, tag
from scoring.benchmark import section_of
from scoring.spec import ScoredPair


@dataclass(frozen=True)
class ReaderView:
    """The reader's components."""

    previous: gr.Button
    next: gr.Button
    random: gr.Button
    position: gr.HTML
    diff: gr.Checkbox
    pair: gr.HTML


def build_reader() -> ReaderView:
    """Lay the reader out where it is called."""
    with gr.Row(elem_classes="reader-bar"):
        previous = _button("previous")
        following = _button("next")
        random = _button("random")
        position = gr.HTML(elem_classes="reader-position")
        diff = gr.Checkbox(
            True, label=text("reader.diff"), container=False, elem_classes="reader-diff"
        )
    pair = gr.HTML(note(text("reader.empty")), elem_classes="reader")
    return ReaderView(previous, following, random, position, diff, pair)


def _button(step: str) -> gr.Button:
    return gr.Button(
        text(f"reader.{step}"),
        size="md",
        scale=0,
        min_width=110,
        elem_classes=f"reader-{step}",
    )


def position_html(keys: Sequence[str], open_key: str | None) -> str:
    """Where the open pair stands among those in view."""
    if open_key in keys:
        where = text("reader.position", place=f"{keys.index(open_key) + 1:,}", n=f"{len(keys):,}")
    else:
        where = text("reader.outside", n=f"{len(keys):,}") if open_key else ""
    return note(where, "position") + note(text("reader.keys"), "keys")


def pair_html(
    cells: Mapping[str, str] | None,
    key: str | None,
    diff: object,
    scored: ScoredPair | None = None,
) -> str:
    """One pair as inert HTML.

    Args:
        cells: the pair's columns; None where its texts are not at hand.
        key: how the pair is called here; None shows that none is open.
        diff: whether to mark the words that differ.
        scored: the pair's rewards, shown where given.
    """
    if key is None:
        return tag("div", note(text("reader.empty")), css="pair-none")
    if cells is None:
        return tag("div", _chips(key, "", scored) + note(text("reader.text_missing")), "pair-none")
    spans = word_diff(cells["chosen"], cells["rejected"]) if diff else None
    warning = note(text("reader.too_long")) if diff and spans is None else ""
    chosen, rejected = spans or ([Span(cells["chosen"], True)], [Span(cells["rejected"], True)])
    prompt = _part(
        "prompt",
        tag("b", escape(text("reader.prompt"))) + _chips(key, cells["subset"], scored),
        _text([Span(cells["prompt"], True)], "span"),
        text("reader.prompt"),
    )
    return tag(
        "div",
        prompt
        + warning
        + _side("chosen", cells, _text(chosen, "ins"), scored)
        + _side("rejected", cells, _text(rejected, "del"), scored),
        css="pair code" if cells["subset"].startswith("hep-") else "pair",
        data_key=key,
    )


def _chips(key: str, subset: str, scored: ScoredPair | None) -> str:
    verdict = ""
    if scored is not None:
        outcome = text(f"outcome.{scored.outcome}")
        words = text("reader.verdict", outcome=outcome, margin=signed(scored.margin))
        verdict = chip(words, "good" if scored.outcome == "win" else "bad")
    section = section_of(subset)
    return (chip(section) if section else "") + verdict + tag("span", escape(key), css="key")


def _side(side: str, cells: Mapping[str, str], words: str, scored: ScoredPair | None) -> str:
    response, title = cells[side], text(f"side.{side}")
    facts = [
        cells[f"{side}_model"],
        text("reader.words", words=f"{len(response.split()):,}", chars=f"{len(response):,}"),
    ]
    reward = ""
    if scored is not None:
        facts.append(text("reader.tokens", tokens=f"{getattr(scored, f'{side}_tokens'):,}"))
        if getattr(scored, f"{side}_truncated"):
            facts.append(text("reader.truncated"))
        reward = tag("span", escape(signed(getattr(scored, f"{side}_reward"))), css="reward")
    header = tag("b", escape(title)) + tag("span", escape(" · ".join(facts)), css="facts") + reward
    return _part(side, header, words, title)


def _part(css: str, header: str, body: str, label: str) -> str:
    """A card. The body takes the focus, so that the keyboard can scroll it."""
    attributes: dict[str, Any] = {"tabindex": "0", "role": "region", "aria_label": label}
    return tag("section", tag("header", header) + tag("div", body, "body", **attributes), css)


def _text(spans: Sequence[Span], mark: str) -> str:
    """Spans as escaped text; those that differ inside `mark`."""
    whole = "".join(
        escape(span.text) if span.same else tag(mark, escape(span.text)) for span in spans
    )
    return whole or tag("span", escape(text("reader.empty_response")), css="empty")
