"""The review panel's components, and how they are laid out."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gradio as gr

from explorer.review import LONGEST_NOTE, Review
from explorer.review_files import ONLY_KEEP, STATES
from explorer.text import text
from explorer.ui.reviewhtml import Theirs

STORAGE = "rewardbench-explorer-review"
"""Where a browser keeps its reviews."""


@dataclass
class Stay:
    """What a visitor's stay remembers.

    review: the one under way; open_key: its open pair; theirs: a colleague's decisions.
    turn: who holds it may read the others and change them.
    """

    review: Review | None = None
    open_key: str | None = None
    theirs: Theirs = ()
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def state(
        self, table_id: object, note: object, noted: object, kept: object
    ) -> tuple[object, Review | None, str | None, object, Theirs, object]:
        """What a callback is given.

        note: what stands in its field, which was last filled for the pair `noted`: the open one,
            unless that changed while the browser was not told yet.
        """
        typed = note if noted == self.open_key else ""
        return table_id, self.review, self.open_key, typed, self.theirs, kept


@dataclass(frozen=True)
class ReviewView:
    """The panel's components, and what a visitor's stay remembers.

    told: what happened that a person should know.
    marking: the column that is seen while a review is under way.
    noted: the pair for which `note` was last filled; nobody sees it.
    file: is filled with an export and then pressed by a script; nobody sees it.
    stay: what the server remembers of a visitor's stay (`Stay`).
    kept: the reviews of this browser, as texts.
    """

    subset: gr.Dropdown
    start: gr.Number
    begin: gr.Button
    resume_file: gr.UploadButton
    told: gr.HTML
    marking: gr.Column
    progress: gr.HTML
    keep: gr.Button
    drop: gr.Button
    unsure: gr.Button
    undo: gr.Button
    skip: gr.Button
    back: gr.Button
    forward: gr.Button
    note: gr.Textbox
    noted: gr.Textbox
    pair: gr.HTML
    states: gr.CheckboxGroup
    export_decisions: gr.Button
    export_kept: gr.Button
    file: gr.DownloadButton
    compare_file: gr.UploadButton
    compared: gr.HTML
    differing: gr.Dropdown
    stay: gr.State
    kept: gr.BrowserState

    @property
    def offered(self) -> list[gr.components.Component]:
        """What an `Offered` fills, and what is remembered of it."""
        return [self.subset, self.start, self.told, self.marking, self.noted, self.stay]

    @property
    def panel(self) -> list[gr.components.Component]:
        """What a `Panel` fills, and what is remembered of it."""
        shown = [self.told, self.marking, self.progress, self.note, self.pair]
        compared = [self.compared, self.differing]
        remembered = [self.noted, self.kept, self.stay]
        return [self.subset, self.start, *shown, *compared, *remembered]


class Offered(NamedTuple):
    """What may be reviewed, in the order of `ReviewView.offered`; `review` is for the stay."""

    subset: Any
    start: Any
    told: Any
    marking: Any
    open_key: Any
    review: Any

    @property
    def filled(self) -> list[Any]:
        """What is sent to the browser."""
        return [*self[:-1]]


class Panel(NamedTuple):
    """A review under way, in the order of `ReviewView.panel`; the last two are for the stay."""

    subset: Any
    start: Any
    told: str
    marking: Any
    progress: str
    note: str
    pair: str
    compared: str
    differing: Any
    open_key: str
    kept: list[str]
    review: Review
    theirs: Theirs

    @property
    def filled(self) -> list[Any]:
        """What is sent to the browser."""
        return [*self[:-2]]


class Chosen(NamedTuple):
    """A subset that was chosen: where its review began, and how far it is."""

    start: int
    told: str


def remembered_review() -> gr.BrowserState:
    """The reviews of this browser. It must stand outside the tabs, which are filled when opened."""
    return gr.BrowserState([], storage_key=STORAGE, secret=STORAGE)


def build_review(kept: gr.BrowserState) -> ReviewView:
    """Lay the panel out where it is called. kept: from `remembered_review`."""
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
            0,
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
        with gr.Row(elem_classes="review-marks"):
            keep, drop, unsure = _button("mark_keep"), _button("mark_drop"), _button("mark_unsure")
            undo, skip = _button("undo"), _button("skip")
            # The keys of every reader, j and k, press these too.
            back, forward = _button("back", "reader-previous"), _button("forward", "reader-next")
        words = gr.Textbox(
            label=text("review.note"),
            placeholder=text("review.note_placeholder"),
            max_length=LONGEST_NOTE,
            max_lines=4,
            elem_id="review-note",
        )
        noted = gr.Textbox(visible="hidden", elem_id="review-noted")
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
    return ReviewView(
        subset, start, begin, resume_file, told, marking, progress, keep, drop, unsure, undo, skip,
        back, forward, words, noted, pair, states, export_decisions, export_kept, file,
        compare_file, compared, differing, gr.State(Stay()), kept,
    )  # fmt: skip


def _button(name: str, css: str = "", variant: str = "secondary") -> gr.Button:
    classes = [f"review-{name.removeprefix('mark_').replace('_', '-')}", *css.split()]
    words = text(f"review.{name}")
    return gr.Button(words, variant=variant, size="md", min_width=100, elem_classes=classes)


def _upload(name: str) -> gr.UploadButton:
    return gr.UploadButton(
        text(f"review.{name}"),
        file_types=[".jsonl"],
        size="md",
        min_width=110,
        elem_id=f"review-{name.replace('_', '-')}",
    )
