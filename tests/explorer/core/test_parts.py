"""What a press sends, whatever was posted."""

from typing import Any

import gradio as gr
import pytest

from explorer.core.parts import act_of


@pytest.mark.parametrize(
    ("posted", "found"),
    [
        ({"act": "step", "sent": {"value": 1}}, ("step", {"value": 1})),
        (None, ("", {})),
        (5, ("", {})),
        ([["act", "step"]], ("", {})),
        ("step", ("", {})),
        ({}, ("", {})),
        ({"act": "step"}, ("step", {})),
        ({"act": ["step"], "sent": ["value", 1]}, ("", {})),
        ({"act": "x" * 99, "sent": "y"}, ("x" * 99, {})),
    ],
)
def test_an_act_is_read_from_whatever_was_posted(posted: Any, found: tuple[str, Any]) -> None:
    assert act_of(gr.EventData(None, posted)) == found
