"""The components of the Failures tab, and how they are laid out."""

from dataclasses import dataclass

import gradio as gr

from explorer.core.parts import Part, build_part, components
from explorer.core.text import text
from explorer.reader.searchbar import search_html
from explorer.reader.tokens_view import TokensParts, build_tokens
from explorer.tabs.pairs.export_view import FailExportParts, build_fail_export
from explorer.tabs.pairs.fail_state import PANELS, Panel
from explorer.tabs.pairs.rewards_view import RewardsParts, build_rewards

PART = "failures"
REFRESH_SECONDS = 2.0


@dataclass(frozen=True)
class FailuresParts:
    """The tab's components.

    notes: what the browser keeps of them. address: its query string. timer: runs while the model's
    run does.
    """

    part: Part
    read: gr.Button
    stop: gr.Button
    status: gr.HTML
    head: gr.HTML
    facets: gr.HTML
    bar: gr.HTML
    panels: gr.HTML
    columns: dict[Panel, gr.Column]
    pairs: gr.HTML
    reader_bar: gr.HTML
    note: gr.HTML
    pair: gr.HTML
    tokens: TokensParts
    exports: FailExportParts
    kinds: gr.HTML
    rewards: RewardsParts
    facts: gr.HTML
    notes: gr.BrowserState
    address: gr.Textbox
    timer: gr.Timer

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """The components that `Failures.shown` fills."""
        return components(
            self.read, self.head, self.facets, self.bar, self.panels, self.columns, self.pairs,
            self.reader_bar, self.note, self.pair, self.tokens, self.exports.status,
            self.exports.file, self.kinds, self.rewards, self.facts, self.notes, self.address,
            self.timer,
        )  # fmt: skip


def build_failures(notes: gr.BrowserState) -> FailuresParts:
    """Lay the tab out where it is called. notes: from `remembered_notes`."""
    with build_part(PART) as part:
        with gr.Row(elem_classes="status-row"):
            status = gr.HTML(elem_id="read-status")
            read = gr.Button(
                "", variant="primary", size="md", scale=0, min_width=200,
                elem_id="read-results", visible=False,
            )  # fmt: skip
            stop = gr.Button(text("score.stop"), size="md", scale=0, min_width=80, visible=False)
        head = gr.HTML()
        with gr.Row(equal_height=False):
            with gr.Column(scale=1, min_width=270, elem_classes="side"):
                facets = gr.HTML()
            with gr.Column(scale=4, min_width=320):
                gr.HTML(search_html("fail-search"))
                bar, panels = gr.HTML(), gr.HTML()
                columns = {panel: gr.Column(visible=panel == PANELS[0]) for panel in PANELS}
                with columns["pairs"]:
                    pairs, reader, note = gr.HTML(), gr.HTML(), gr.HTML()
                    pair = gr.HTML(elem_classes="reader")
                    tokens, exports = build_tokens(), build_fail_export()
                with columns["kinds"]:
                    kinds = gr.HTML()
                with columns["rewards"]:
                    rewards = build_rewards()
        facts = gr.HTML()
    return FailuresParts(
        part, read, stop, status, head, facets, bar, panels, columns, pairs, reader, note, pair,
        tokens, exports, kinds, rewards, facts, notes,
        gr.Textbox(visible=False), gr.Timer(REFRESH_SECONDS, active=False),
    )  # fmt: skip
