"""The components of the Failures tab, and how they are laid out."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import gradio as gr

from explorer.core.parts import Part, build_part, unchanged
from explorer.core.text import text
from explorer.reader.searchbar import search_html
from explorer.reader.tokens_view import TokensView, build_tokens
from explorer.tabs.pairs.export_view import FailExportView, build_fail_export
from explorer.tabs.pairs.fail_state import PANELS, FailView, Panel
from explorer.tabs.pairs.rewards_view import RewardsView, build_rewards

PART = "failures"
UNOPENED = ""
"""Until the page's own address was looked at, which may open the tab."""
REFRESH_SECONDS = 2.0


@dataclass(frozen=True)
class FailuresView:
    """The tab's components, and what a session remembers of it.

    seen: a `FailView`. followed: the run that was scored last when the tab was opened last, or
    `UNOPENED`. notes: what the browser keeps of them. address: its query string. timer: runs while
    the model's run does.
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
    tokens: TokensView
    exports: FailExportView
    kinds: gr.HTML
    rewards: RewardsView
    facts: gr.HTML
    seen: gr.State
    followed: gr.State
    notes: gr.BrowserState
    address: gr.Textbox
    timer: gr.Timer

    @property
    def outputs(self) -> list[gr.components.Component]:
        """The components that a `FailsShown` fills."""
        return [
            self.seen, self.address, self.read, self.head, self.facets, self.bar, self.panels,
            *self.columns.values(), self.pairs, self.reader_bar, self.note, self.pair,
            self.tokens.button, self.tokens.words, self.tokens.plot, *self.exports.outputs,
            self.kinds,
            *self.rewards.outputs, self.facts, self.notes, self.timer,
        ]  # fmt: skip


class FailsShown(NamedTuple):
    """What the tab shows, in the order of `FailuresView.outputs`; columns and rewards flat."""

    seen: Any
    address: Any
    read: Any
    head: Any
    facets: Any
    bar: Any
    panels: Any
    columns: Any
    pairs: Any
    reader_bar: Any
    note: Any
    pair: Any
    tokens: Any
    tokens_words: Any
    tokens_plot: Any
    export_words: Any
    export_file: Any
    kinds: Any
    rewards: Any
    facts: Any
    notes: Any
    timer: Any

    @property
    def values(self) -> tuple[Any, ...]:
        """One for each output."""
        flat: list[Any] = []
        for name, value in self._asdict().items():
            flat += value if name in ("columns", "rewards") else [value]
        return tuple(flat)

    @classmethod
    def only(cls, **changed: Any) -> tuple[Any, ...]:
        """What leaves everything else as it is."""
        skips = {"columns": [gr.skip()] * len(PANELS), "rewards": [gr.skip()] * RewardsView.N}
        return unchanged(cls, **skips, **changed).values


def build_failures(notes: gr.BrowserState) -> FailuresView:
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
    return FailuresView(
        part, read, stop, status, head, facets, bar, panels, columns, pairs, reader, note, pair,
        tokens, exports, kinds, rewards, facts, gr.State(FailView()), gr.State(UNOPENED), notes,
        gr.Textbox(visible=False), gr.Timer(REFRESH_SECONDS, active=False),
    )  # fmt: skip
