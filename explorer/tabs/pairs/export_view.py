"""The export panel of the Browse tab: files of what is filtered, and code that selects the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import gradio as gr

from explorer.core.files import passing_folder
from explorer.core.html import note, step_html, tag
from explorer.core.parts import copy_button
from explorer.core.text import text
from explorer.data.export import FORMATS, Format, export, file_name, snippet
from explorer.reader.searchbar import filter_words
from explorer.reader.state import Scene
from scoring.limits import Step


@dataclass(frozen=True)
class ExportPanelView:
    """The panel's components."""

    buttons: dict[Format, gr.Button]
    stop: gr.Button
    status: gr.HTML
    file: gr.File
    snippet: gr.HTML


def build_export() -> ExportPanelView:
    """Lay the panel out where it is called."""
    gr.HTML(note(text("export.about")))
    with gr.Row(elem_classes="export-buttons"):
        buttons = {
            form: gr.Button(
                text(f"export.{form}"), elem_id=f"export-{form}", variant="primary", min_width=160
            )
            for form in FORMATS
        }
        stop = gr.Button(text("score.stop"), scale=0, min_width=80)
    status = gr.HTML(elem_id="export-status")
    file = gr.File(visible=False, label=text("export.file"), elem_id="exported")
    return ExportPanelView(buttons, stop, status, file, gr.HTML())


def exporting(now: Scene, form: object) -> Iterator[tuple[str, Any]]:
    """Write a file of what passes the filters: how far it is, and at last the file.

    Raises:
        KnownError: nothing passes, or the file cannot be written.
    """
    rows, table = now.listed.rows, now.table
    known = next((each for each in FORMATS if each == form), FORMATS[0])
    with passing_folder() as folder:
        path = folder / file_name(table, rows, known)
        hidden = gr.update(visible=False)
        for done in export(table, rows, known, path, filter_words(now.view.filters)):
            yield step_html(Step("reading", done, len(rows))), hidden
        words = note(text("export.done", n=f"{len(rows):,}"))
        yield words, gr.update(value=str(path), visible=True)


def snippet_html(now: Scene) -> Any:
    """Python that selects what is in view; nothing anew while another panel is open."""
    if now.view.panel != "export":
        return gr.skip()
    if not len(now.listed):
        return note(text("list.none"))
    code = snippet(now.table, now.listed.rows, filter_words(now.view.filters))
    copy = copy_button(text("export.copy"), "#snippet")
    title = tag("div", tag("b", escape(text("export.snippet"))) + copy, css="line")
    body = tag("pre", escape(code), id="snippet", tabindex="0", aria_label=text("export.snippet"))
    return tag("div", title + body, css="snippet")
