"""The Try tab, laid out: a pair to type in, its rewards, one-click edits, the bias probe."""

from dataclasses import dataclass

import gradio as gr

from explorer.core.html import note
from explorer.core.parts import Part, build_part, components
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.reader.fields_view import build_model, build_typed
from explorer.reader.tokens_view import TokensParts, build_tokens
from explorer.tabs.try_it.probe_view import ProbeParts, build_probe

_PART = "try"
TYPED_MILLISECONDS = 400
"""Of quiet, after which somebody has stopped typing."""
_LISTEN = f"""
const part = element.closest(".relayed");
const isNew = !part.explorerTyped;
part.explorerTyped = () => trigger("typed", {{}});
let wait = 0;
if (isNew) part.addEventListener("input", (event) => {{
  if (!event.target.matches(".typed textarea")) return;
  clearTimeout(wait);
  wait = setTimeout(() => part.explorerTyped(), {TYPED_MILLISECONDS});
}});
"""


@dataclass(frozen=True)
class TrialParts:
    """The components.

    typed: has the event `typed`, some time after the last key in one of the text areas.
    """

    part: Part
    typed: gr.HTML
    model: gr.Dropdown
    score: gr.Button
    stop: gr.Button
    opened: gr.Button
    undo: gr.Button
    status: gr.HTML
    conversation: gr.Textbox
    chosen: gr.Textbox
    rejected: gr.Textbox
    numbers: gr.HTML
    edits: gr.HTML
    rest: gr.Button
    tokens: TokensParts
    probe: ProbeParts

    @property
    def texts(self) -> list[gr.components.Component]:
        """What is typed in."""
        return [self.conversation, self.chosen, self.rejected]

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """The components that a trial fills."""
        return components(
            self.status, self.numbers, self.edits, self.rest, self.stop,
            self.tokens.words, self.tokens.plot,
        )  # fmt: skip


def build_trial(settings: Settings) -> TrialParts:
    """Lay the tab out where it is called."""
    with build_part(_PART) as part, gr.Row(equal_height=False, elem_classes="panes"):
        typed = gr.HTML("", visible="hidden", js_on_load=_LISTEN)
        with gr.Column(min_width=0, elem_classes="try-pane"):
            with gr.Row(elem_classes="pane-bar"):
                model = build_model(settings, "try-model")
                score = gr.Button(
                    text("trial.score"), variant="primary", size="sm", elem_id="try-score"
                )
                stop = gr.Button(
                    text("score.stop"), size="sm", interactive=False, elem_id="try-stop"
                )
                opened = gr.Button(text("trial.opened"), size="sm", elem_id="try-opened")
                undo = gr.Button(
                    text("trial.undo"), size="sm", interactive=False, elem_id="try-undo"
                )
            with gr.Column(elem_classes="try-texts"):
                numbers = gr.HTML(elem_id="try-numbers")
                status = gr.HTML(note(text("trial.idle")), elem_id="try-status")
                texts = build_typed(settings, "try", are_examples=True)
                edits = gr.HTML(elem_id="try-edits")
                rest = gr.Button(text("trial.rest"), size="md", elem_id="try-rest", visible=False)
                tokens = build_tokens("try-tokens")
        with gr.Column(min_width=0, elem_classes="probe-pane"):
            probe = build_probe()
    return TrialParts(
        part, typed, model, score, stop, opened, undo, status, *texts,
        numbers, edits, rest, tokens, probe,
    )  # fmt: skip
