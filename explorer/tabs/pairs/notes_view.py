"""The note on the open pair of the Failures tab, and where a browser keeps such notes."""

from html import escape

import gradio as gr

from explorer.core.html import tag
from explorer.core.parts import acting
from explorer.core.text import text
from explorer.tabs.pairs.fail_state import FailScene
from explorer.tabs.pairs.notes import LONGEST_NOTE, PairNotes

STORAGE = "rewardbench-explorer-notes"
"""Where a browser keeps its notes on pairs."""


def remembered_notes() -> gr.BrowserState:
    """The notes of this browser. It must stand outside the tabs, which are filled when opened."""
    return gr.BrowserState({}, storage_key=STORAGE, secret=STORAGE)


def note_html(now: FailScene, notes: PairNotes) -> str:
    """The field for a note on the open pair; nothing where none is open."""
    key = now.view.view.reading.key
    row = now.field.table.row_of(key) if key else None
    if row is None:
        return ""
    words = tag("label", escape(text("failnote.label")), "legend", **{"for": "pair-note"})
    entry = tag(
        "input", type="text", value=notes.of(now.field, row), id="pair-note", css="pair-note",
        data_field="value", maxlength=str(LONGEST_NOTE), placeholder=text("failnote.placeholder"),
        autocomplete="off", **acting("note", {"key": key}),
    )  # fmt: skip
    return tag("div", words + entry, css="line note-line")
