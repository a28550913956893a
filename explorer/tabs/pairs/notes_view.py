"""The note on the open pair of the Pairs tab, and where a browser keeps such notes."""

import gradio as gr

from explorer.core.html import render
from explorer.reader.scene import Scene
from explorer.tabs.pairs.notes import LONGEST_NOTE, PairNotes

STORAGE = "rewardbench-explorer-notes"
"""Where a browser keeps its notes on pairs."""


def remembered_notes() -> gr.BrowserState:
    """The notes of this browser. It must stand outside the tabs, which are filled when opened."""
    return gr.BrowserState({}, storage_key=STORAGE, secret=STORAGE)


def note_html(now: Scene, notes: PairNotes) -> str:
    """The field for a note on the open pair; nothing where none is open, or without outcomes."""
    key = now.state.reading.key
    row = now.table.row_of(key) if key else None
    if row is None or now.field is None:
        return ""
    note = notes.of(now.field, row)
    return render("tabs/pairs/note.html", key=key, note=note, longest=LONGEST_NOTE)
