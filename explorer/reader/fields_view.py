"""The fields in which a model is named and a pair is typed, wherever something is scored."""

from typing import NamedTuple

import gradio as gr

from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.data.typed import longest_text
from scoring.models.finding import DEMO_NAME


class TypedFields(NamedTuple):
    """What is typed, in the order of `explorer.data.typed.typed_pair`."""

    conversation: gr.Textbox
    chosen: gr.Textbox
    rejected: gr.Textbox


def build_typed(settings: Settings, prefix: str, *, are_examples: bool = False) -> TypedFields:
    """Lay the fields out where it is called; the responses side by side where there is room.

    prefix: of their element ids. are_examples: whether an example stands in them.
    """
    longest = longest_text(settings)

    def field(name: str, lines: int, most: int) -> gr.Textbox:
        return gr.Textbox(
            text(f"trial.example_{name}") if are_examples else "",
            label=text(f"trial.{name}"),
            info=text("trial.prompt_info") if name == "prompt" else None,
            lines=lines,
            max_lines=most,
            max_length=longest,
            min_width=300,
            elem_id=f"{prefix}-{name}",
        )

    with gr.Column(elem_classes="typed"):
        conversation = field("prompt", 2, 12)
        with gr.Row(equal_height=False):
            return TypedFields(conversation, field("chosen", 6, 18), field("rejected", 6, 18))


def build_model(settings: Settings, elem_id: str) -> gr.Dropdown:
    """The field that says which model; the page fills its menu once it is seen."""
    return gr.Dropdown(
        [(text("score.model_demo"), DEMO_NAME)],
        value=DEMO_NAME,
        allow_custom_value=True,
        label=text("score.model"),
        info=text("score.model_info_space" if settings.public else "score.model_info"),
        elem_id=elem_id,
    )
