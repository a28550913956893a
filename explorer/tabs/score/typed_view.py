"""The fields into which a pair is typed."""

from typing import NamedTuple

import gradio as gr

from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.data.typed import longest_text


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
        conversation = field("prompt", 3, 12)
        with gr.Row(equal_height=False):
            return TypedFields(conversation, field("chosen", 6, 18), field("rejected", 6, 18))
