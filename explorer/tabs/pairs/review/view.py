"""The review panel: its components, and what it says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import gradio as gr

from explorer.core.html import note, part
from explorer.core.parts import Part, build_part, components
from explorer.core.text import text
from explorer.tabs.pairs.review.agreement import Agreement
from explorer.tabs.pairs.review.files import MARKS, ONLY_KEEP
from explorer.tabs.pairs.review.state import (
    LONGEST_REVIEW_NOTE,
    VERDICTS,
    Decision,
    Review,
    Verdict,
)

_PART = "review"
"""The part's element, as assets/acts.js knows it."""
_PRESS_KEYS = (
    *((verdict, f"mark_{verdict}", "") for verdict in VERDICTS),
    ("undo", "undo", ""),
    ("skip", "skip", ""),
    # The keys of every reader, j and k, press these too.
    ("back", "back", "reader-previous"),
    ("forward", "forward", "reader-next"),
)
"""Press, key of its words, further classes of its button."""

_TEMPLATE = "tabs/pairs/review/review.html"
_CHIPS: dict[Verdict, str] = {"keep": "good", "drop": "bad", "unsure": ""}


@dataclass(frozen=True)
class ReviewParts:
    """The panel's components.

    part: whose acts all that changes the panel is.
    setup: what a review is of; it folds once one is begun.
    told: what happened that a person should know.
    marking: the column that is seen while a review is under way.
    file: is filled with an export and then pressed by a script; nobody sees it.
    address: the open `Place`; before a review is begun, the source of the pairs that are offered.
    kept: the reviews of this browser, as texts; assets/acts.js stores them, for all its tabs.
    """

    part: Part
    setup: gr.Accordion
    subset: gr.Dropdown
    start: gr.Number
    begin: gr.Button
    resume_file: gr.UploadButton
    told: gr.HTML
    marking: gr.Column
    progress: gr.HTML
    note: gr.Textbox
    pair: gr.HTML
    marks: gr.CheckboxGroup
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
            self.setup, self.subset, self.start, self.told, self.marking, self.progress, self.note,
            self.pair, self.compared, self.differing, self.address, self.kept,
        )  # fmt: skip


class Remembered(NamedTuple):
    """The parts of a review that stand outside the tabs, which are filled when opened."""

    part: Part
    kept: gr.JSON


def remembered_review() -> Remembered:
    """Lay these parts out; nobody sees them."""
    with build_part(_PART) as part_:
        kept = gr.JSON(visible=False)
    return Remembered(part_, kept)


def build_review(remembered: Remembered) -> ReviewParts:
    """Lay the panel out where it is called. remembered: from `remembered_review`."""
    with (
        gr.Accordion(text("review.setup"), elem_classes="review-setup") as setup,
        gr.Row(elem_classes="review-bar", equal_height=False),
    ):
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
        gr.HTML(part("marks", _PRESS_KEYS, _PART, of=_TEMPLATE))
        words = gr.Textbox(
            label=text("review.note"),
            placeholder=text("review.note_placeholder"),
            max_length=LONGEST_REVIEW_NOTE,
            max_lines=4,
            interactive=True,
            elem_id="review-note",
        )
        pair = gr.HTML(elem_classes="reader")
        with gr.Accordion(text("review.files"), open=False, elem_classes="review-files"):
            marks = gr.CheckboxGroup(
                [(text(f"review.{mark}"), mark) for mark in MARKS],
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
        remembered.part, setup, subset, start, begin, resume_file, told, marking, progress, words,
        pair, marks, export_decisions, export_kept, file, compare_file, compared, differing,
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


def progress_html(review: Review, keys: Sequence[str], key: str) -> str:
    """How many pairs are marked, and where the open one stands.

    keys: of the pairs under review, in order.
    """
    verdicts = [review.verdict_of(each) for each in keys]
    marked = len(verdicts) - verdicts.count(None)
    counts = {verdict: f"{verdicts.count(verdict):,}" for verdict in VERDICTS}
    words = text("review.progress", marked=f"{marked:,}", n=f"{len(keys):,}", **counts)
    place = text("review.outside")
    if key in keys:
        place = text("review.place", place=f"{keys.index(key) + 1:,}", n=f"{len(keys):,}")
    verdict = review.verdict_of(key)
    said, css = (_word(verdict), _CHIPS[verdict]) if verdict else (text("review.unmarked"), "")
    return part("progress", words, marked / len(keys), place, said, css, of=_TEMPLATE)


def told_html(words: Sequence[str]) -> str:
    """What happened that a person should know; read out by a screen reader."""
    return part("told", words, of=_TEMPLATE)


def agreement_html(found: Agreement, n_theirs: int) -> str:
    """How far two people agree on what both marked, and what each number means.

    n_theirs: pairs that the colleague marked; of none, nothing is said.
    """
    return part("agreement", found, n_theirs, VERDICTS, of=_TEMPLATE) if n_theirs else ""


def answer_html(answer: Decision | None) -> str:
    """What a colleague decided on the open pair, where one has decided oneself."""
    if answer is None:
        return ""
    words = text("review.answer", verdict=_word(answer.verdict))
    return note(f"{words} {text('review.their_note', words=answer.note)}" if answer.note else words)


def differing_choices(found: Agreement, review: Review) -> list[tuple[str, str]]:
    """(label, key) of each pair of a review on which two people disagree."""
    return [
        (
            text(
                "review.differs",
                pair=key,
                mine=_word(review.standing[key].verdict),
                theirs=_word(found.answers[key].verdict),
            ),
            key,
        )
        for key in found.differing
    ]


def _word(verdict: Verdict) -> str:
    return text(f"review.{verdict}")
