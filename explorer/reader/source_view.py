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
    """What tells of the data of one kind.

    caption: names it, and opens the popover in which others are chosen; its id is the popover's
        with "-caption" behind it.
    remarks: what was found in it. show: a button in the strip that shows what arrived.
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
    results: SourceParts


def build_sourcebar(caption: gr.HTML) -> SourceBarParts:
    """Lay the strip out where it is called; it is not seen while there is nothing to be known.

    caption: of the pairs. Caption and remarks of the results are laid out where they stand.
    """
    with gr.Row(elem_classes="sourcebar"):
        words, remarks = gr.HTML(), gr.HTML()
        shows = [
            gr.Button(
                text(f"source.show_{which}"), variant="primary", size="sm", scale=0, min_width=140,
                visible=False,
            )
            for which in ("pairs", "board")
        ]  # fmt: skip
        retry = gr.Button(text("source.retry"), size="sm", scale=0, min_width=70, visible=False)
    results = SourceParts(
        gr.HTML(elem_id="results-caption", render=False),
        gr.HTML(elem_id="results-remarks", render=False),
        shows[1],
    )
    return SourceBarParts(words, retry, SourceParts(caption, remarks, shows[0]), results)


def sourcebar(parts: SourceBarParts, pairs: Seen, results: Seen, can_retry: bool) -> Filling:
    """What the strip and the captions say to someone who looks at these.

    What is told of data that are not here any more stays as it was.
    """
    kinds = [(parts.pairs, *pairs), (parts.results, *results)]
    filled: Filling = {}
    arrived, asked = list[str](), list[float]()
    for each, sources, item in kinds:
        if item is None:
            continue
        has_arrived = (
            item.id != sources.best and sources.find(item.id) is not None and not sources.fetching
        )
        if has_arrived:
            arrived.append(sources.get(sources.best).caption)
        if sources.asked is not None and sources.passed_over:
            asked.append(sources.asked)
        popover = (each.caption.elem_id or "").removesuffix("-caption")
        remarks = text("source.remarks", n=f"{len(item.remarks)}")
        filled |= {
            each.caption: render("reader/caption.html", caption=item.caption, popover=popover),
            each.remarks: part("listing", remarks, item.remarks),
            each.show: gr.update(visible=has_arrived),
        }
    if any(item is None for _, _, item in kinds):
        return filled
    reasons = _reasons(pairs[0].passed_over | results[0].passed_over)
    is_asking = any(sources.fetching for _, sources, _ in kinds)
    return filled | {
        parts.words: render(
            "reader/sourcebar.html",
            is_asking=is_asking,
            arrived=arrived,
            reasons=reasons,
            asked=time.strftime("%H:%M:%S", time.gmtime(max(asked))) if asked else "",
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
