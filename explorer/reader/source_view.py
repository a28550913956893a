"""The strip that says why pairs and results are not others, and what of them has arrived."""

import time
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.core.html import part, render
from explorer.core.parts import Filling
from explorer.core.text import text
from explorer.data.sources import Sourced, Sources

Seen = tuple[Sources[Any], Sourced | None]
"""Sources, and which of theirs someone looks at; None where that is not here any more."""


@dataclass(frozen=True)
class SourceParts:
    """What tells of the pairs.

    caption: names them, and opens the popover in which others are chosen; its id is the popover's
        with "-caption" behind it.
    remarks: what was found in them. show: a button in the strip that shows what arrived.
    """

    caption: gr.HTML
    remarks: gr.HTML
    show: gr.Button


@dataclass(frozen=True)
class SourceBarParts:
    """The strip's components. words: what is to be known of pairs and results."""

    words: gr.HTML
    retry: gr.Button
    pairs: SourceParts


def build_sourcebar(caption: gr.HTML) -> SourceBarParts:
    """Lay the strip out where it is called; it is not seen while there is nothing to be known.

    caption: of the pairs.
    """
    with gr.Row(elem_classes="sourcebar"):
        words, remarks = gr.HTML(), gr.HTML()
        show = gr.Button(
            text("source.show_pairs"), variant="primary", size="sm", scale=0, min_width=140,
            visible=False,
        )  # fmt: skip
        retry = gr.Button(text("source.retry"), size="sm", scale=0, min_width=70, visible=False)
    return SourceBarParts(words, retry, SourceParts(caption, remarks, show))


def sourcebar(
    parts: SourceBarParts, pairs: Seen, results: Sources[Any], can_retry: bool
) -> Filling:
    """What the strip and the caption say to someone who looks at these pairs.

    What is told of pairs that are not here any more stays as it was.
    """
    sources, item = pairs
    if item is None:
        return {}
    is_asking = sources.fetching or results.fetching
    is_known = sources.find(item.id) is not None
    has_arrived = item.id != sources.best and is_known and not sources.fetching
    times = [each.asked for each in (sources, results) if each.asked and each.passed_over]
    reasons = _reasons(sources.passed_over | results.passed_over)
    each = parts.pairs
    popover = (each.caption.elem_id or "").removesuffix("-caption")
    remarks = text("source.remarks", n=f"{len(item.remarks)}")
    return {
        each.caption: render("reader/caption.html", caption=item.caption, popover=popover),
        each.remarks: part("listing", remarks, item.remarks),
        each.show: gr.update(visible=has_arrived),
        parts.words: render(
            "reader/sourcebar.html",
            is_asking=is_asking,
            arrived=[sources.get(sources.best).caption] if has_arrived else [],
            reasons=reasons,
            asked=time.strftime("%H:%M:%S", time.gmtime(max(times))) if times else "",
        ),
        parts.retry: gr.update(visible=can_retry and bool(reasons) and not is_asking),
    }


def _reasons(passed_over: dict[str, str]) -> list[str]:
    """Why each of these is not shown; what holds of several is said once."""
    labels: dict[str, list[str]] = {}
    for label, reason in passed_over.items():
        said = reason.removeprefix(label) if reason.startswith(label) else f": {reason}"
        labels.setdefault(said, []).append(label)
    return [
        text("source.passed_over", reason=f"{first}{said}")
        if not others
        else text("source.passed_over_too", reason=f"{first}{said}", others=", ".join(others))
        for said, (first, *others) in labels.items()
    ]
