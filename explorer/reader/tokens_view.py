"""Where token rewards stand below a pair."""

from dataclasses import dataclass

import gradio as gr

from explorer.core.text import text


@dataclass(frozen=True)
class TokensParts:
    """The components; all but the button are filled when it is pressed."""

    button: gr.Button
    words: gr.HTML
    plot: gr.Plot


def build_tokens() -> TokensParts:
    """Lay them out where it is called."""
    button = gr.Button(
        text("tokens.button"), size="md", elem_id="token-rewards", visible=False, min_width=160
    )
    return TokensParts(button, gr.HTML(), gr.Plot(show_label=False, visible=False))
