"""The review panel's components, and how they are laid out."""

from dataclasses import dataclass
from typing import NamedTuple

import gradio as gr

from explorer.core.parts import Part, build_part, components
from explorer.core.text import text
from explorer.tabs.pairs.review.files import ONLY_KEEP, STATES
from explorer.tabs.pairs.review.html import marks_html
from explorer.tabs.pairs.review.state import LONGEST_NOTE

PART = "review"
"""The part's element, as assets/acts.js knows it."""


@dataclass(frozen=True)
class ReviewParts:
    """The panel's components.

    part: whose acts all that changes the panel is.
    told: what happened that a person should know.
    marking: the column that is seen while a review is under way.
    file: is filled with an export and then pressed by a script; nobody sees it.
    address: the open `Place`; before a review is begun, the source of the pairs that are offered.
    kept: the reviews of this browser, as texts; assets/acts.js stores them, for all its tabs.
    """

    part: Part
    subset: gr.Dropdown
    start: gr.Number
    begin: gr.Button
    resume_file: gr.UploadButton
    told: gr.HTML
    marking: gr.Column
    progress: gr.HTML
    note: gr.Textbox
    pair: gr.HTML
    states: gr.CheckboxGroup
    export_decisions: gr.Button
    export_kept: gr.Button
    file: gr.DownloadButton
    compare_file: gr.UploadButton
    compared: gr.HTML
    differing: gr.Dropdown
    address: gr.Textbox
    kept: gr.JSON

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """The components that an act fills."""
        return components(
            self.subset, self.start, self.told, self.marking, self.progress, self.note, self.pair,
            self.compared, self.differing, self.address, self.kept,
        )  # fmt: skip


class Remembered(NamedTuple):
    """The parts of a review that stand outside the tabs, which are filled when opened."""

    part: Part
    kept: gr.JSON


def remembered_review() -> Remembered:
    """Lay these parts out; nobody sees them."""
    with build_part(PART) as part:
        kept = gr.JSON(visible=False)
    return Remembered(part, kept)


def build_review(remembered: Remembered) -> ReviewParts:
    """Lay the panel out where it is called. remembered: from `remembered_review`."""
    with gr.Row(elem_classes="review-bar", equal_height=False):
        # Gradio's own check would repeat a value as HTML; custom values pass it, to ours.
        subset = gr.Dropdown(
            [],
            label=text("review.subset"),
            allow_custom_value=True,
            elem_id="review-subset",
            scale=3,
            min_width=200,
        )
        start = gr.Number(
            1,
            label=text("review.start"),
            precision=0,
            scale=1,
            min_width=110,
            elem_id="review-start",
        )
        begin = _button("begin", variant="primary")
        resume_file = _upload("resume_file")
    told = gr.HTML()
    with gr.Column(visible=False, elem_classes="review") as marking:
        progress = gr.HTML()
        gr.HTML(marks_html(PART))
        words = gr.Textbox(
            label=text("review.note"),
            placeholder=text("review.note_placeholder"),
            max_length=LONGEST_NOTE,
            max_lines=4,
            interactive=True,
            elem_id="review-note",
        )
        pair = gr.HTML(elem_classes="reader")
        with gr.Accordion(text("review.files"), open=False, elem_classes="review-files"):
            states = gr.CheckboxGroup(
                [(text(f"review.{state}"), state) for state in STATES],
                value=sorted(ONLY_KEEP),
                label=text("review.states"),
                elem_id="review-states",
            )
            with gr.Row():
                export_decisions, export_kept = _button("export_decisions"), _button("export_kept")
                compare_file = _upload("compare_file")
            file = gr.DownloadButton(visible="hidden", elem_id="review-file")
        compared = gr.HTML()
        differing = gr.Dropdown(
            [],
            label=text("review.differing"),
            allow_custom_value=True,
            visible=False,
            elem_id="review-differing",
        )
    return ReviewParts(
        remembered.part, subset, start, begin, resume_file, told, marking, progress, words, pair,
        states, export_decisions, export_kept, file, compare_file, compared, differing,
        gr.Textbox(visible=False), remembered.kept,
    )  # fmt: skip


def _button(name: str, variant: str = "secondary") -> gr.Button:
    css = f"review-{name.replace('_', '-')}"
    words = text(f"review.{name}")
    return gr.Button(words, variant=variant, size="md", min_width=100, elem_classes=css)


def _upload(name: str) -> gr.UploadButton:
    return gr.UploadButton(
        text(f"review.{name}"),
        file_types=[".jsonl"],
        size="md",
        min_width=110,
        elem_id=f"review-{name.replace('_', '-')}",
    )
