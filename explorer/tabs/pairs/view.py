"""The Pairs tab, laid out: facets and search, and by them a list with its reader and wide views."""

from dataclasses import dataclass

import gradio as gr

from explorer.core.html import render
from explorer.core.parts import Part, build_part, components
from explorer.core.text import text
from explorer.data.tokens import TokenCounter
from explorer.reader.filter_html import search_html
from explorer.reader.state import PAIRS_PANELS, PairsPanel
from explorer.reader.tokens_view import TokensParts, build_tokens
from explorer.tabs.pairs.export_view import ExportParts, build_export
from explorer.tabs.pairs.lengths_view import LengthParts, build_lengths
from explorer.tabs.pairs.review.view import Remembered, ReviewParts, build_review
from explorer.tabs.pairs.rewards_view import RewardsParts, build_rewards

_PART = "pairs"
_REFRESH_SECONDS = 2.0
_STORAGE = "rewardbench-explorer-notes"
"""Where a browser keeps its notes on pairs."""


@dataclass(frozen=True)
class PairsParts:
    """The tab's components.

    read, stop, status: of published results of each pair that were not read yet.
    notes: what the browser keeps of them.
    table_id: of the pairs on screen, for whom others concern. listed: `PairsState.listed_link`.
    address: its query string.
    counted: the tokenizer whose tokens were counted last.
    wanted: the address of what is shown once published results are read, and when it was asked for.
    timer: runs while the run does whose outcomes are shown.
    """

    part: Part
    read: gr.Button
    stop: gr.Button
    status: gr.HTML
    head: gr.HTML
    facets: gr.HTML
    bar: gr.HTML
    panels: gr.HTML
    columns: dict[PairsPanel, gr.Column]
    reading: gr.Column
    pairs: gr.HTML
    reader_bar: gr.HTML
    note: gr.HTML
    pair: gr.HTML
    tokens: TokensParts
    lengths: LengthParts
    kinds: gr.HTML
    rewards: RewardsParts
    review: ReviewParts
    export: ExportParts
    facts: gr.HTML
    notes: gr.BrowserState
    table_id: gr.State
    listed: gr.State
    address: gr.Textbox
    counted: gr.State
    wanted: gr.State
    timer: gr.Timer

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """The components that `PairsTab.shown` fills."""
        export = self.export
        return components(
            self.read, self.head, self.facets, self.bar, self.panels, self.columns, self.reading,
            self.pairs, self.reader_bar, self.note, self.pair, self.tokens, self.lengths,
            self.kinds, self.rewards, export.snippet, export.box, export.fail_status,
            export.fail_file, self.facts, self.notes, self.table_id, self.listed, self.address,
            self.wanted, self.timer,
        )  # fmt: skip


def remembered_notes() -> gr.BrowserState:
    """The notes of this browser. It must stand outside the tabs, which are filled when opened."""
    return gr.BrowserState({}, storage_key=_STORAGE, secret=_STORAGE)


def build_pairs(counter: TokenCounter, reviews: Remembered, notes: gr.BrowserState) -> PairsParts:
    """Lay the tab out where it is called.

    reviews: from `remembered_review`. notes: from `remembered_notes`.
    """
    with build_part(_PART) as part, gr.Row(equal_height=False, elem_classes="panes"):
        gr.HTML(render("tabs/pairs/panes.html"), elem_classes="pane-rail")
        # Before the filters, that the keyboard is soon in the search; the style sheet places panes.
        with gr.Column(min_width=0, elem_classes="list-pane"):
            gr.HTML(search_html())
            panels = gr.HTML(elem_classes="pane-bar")
            bar = gr.HTML()
            columns = {
                panel: gr.Column(visible=panel == PAIRS_PANELS[0], elem_classes="canvas")
                for panel in PAIRS_PANELS
            }
            with columns["pairs"]:
                pairs = gr.HTML(elem_classes="pair-list")
            with columns["lengths"]:
                lengths = build_lengths(counter)
            with columns["kinds"]:
                kinds = gr.HTML()
            with columns["rewards"]:
                rewards = build_rewards()
            with columns["review"]:
                review = build_review(reviews)
            with columns["export"]:
                export = build_export()
        with gr.Column(min_width=0, elem_classes="filters-pane"):
            head = gr.HTML()
            status = gr.HTML(elem_id="read-status")
            read = gr.Button(
                "", variant="primary", size="sm", elem_id="read-results", visible=False
            )
            stop = gr.Button(text("score.stop"), size="sm", visible=False)
            facets, facts = gr.HTML(), gr.HTML()
        with gr.Column(min_width=0, elem_id="reader", elem_classes="reader-pane") as reading:
            reader = gr.HTML(elem_classes="pane-bar")
            with gr.Column(elem_classes="reader-scroll"):
                pair = gr.HTML(elem_classes="reader")
                tokens = build_tokens("token-rewards", visible=False)
                note = gr.HTML()
    return PairsParts(
        part, read, stop, status, head, facets, bar, panels, columns, reading, pairs, reader, note,
        pair, tokens, lengths, kinds, rewards, review, export, facts, notes, gr.State(""),
        gr.State(""), gr.Textbox(visible=False), gr.State(""), gr.State(("", 0.0)),
        gr.Timer(_REFRESH_SECONDS, active=False),
    )  # fmt: skip
