"""Files of what the Failures tab lists."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.core.files import passing_folder
from explorer.core.html import note, step_html
from explorer.core.text import text
from explorer.reader.searchbar import filter_words
from explorer.tabs.pairs.fail_exports import FAIL_FORMATS, FailFormat, export_fails, fail_file_name
from explorer.tabs.pairs.fail_state import FailScene
from explorer.tabs.pairs.notes import PairNotes
from scoring.limits import Step


@dataclass(frozen=True)
class FailExportView:
    """The components."""

    buttons: dict[FailFormat, gr.Button]
    status: gr.HTML
    file: gr.File

    @property
    def outputs(self) -> list[gr.components.Component]:
        """The components that `fail_exporting` fills."""
        return [self.status, self.file]


def build_fail_export() -> FailExportView:
    """Lay the buttons out where it is called."""
    gr.HTML(note(text("failexport.about")))
    with gr.Row(elem_classes="export-buttons"):
        buttons = {
            form: gr.Button(
                text(f"failexport.{form}"), size="md", min_width=160, elem_id=f"fail-export-{form}"
            )
            for form in FAIL_FORMATS
        }
    status = gr.HTML(elem_id="fail-export-status")
    file = gr.File(visible=False, label=text("export.file"), elem_id="fail-file")
    return FailExportView(buttons, status, file)


def fail_exporting(now: FailScene, form: FailFormat, notes: PairNotes) -> Iterator[tuple[str, Any]]:
    """Write a file of what is listed: how far it is, and at last the file.

    Raises:
        KnownError: of `export_fails`.
    """
    with passing_folder() as folder:
        path = folder / fail_file_name(now, form)
        words = filter_words(now.view.view.filters)
        for done in export_fails(now, form, path, notes, words):
            step = Step("reading", done, len(now.listed))
            yield step_html(step), gr.update(visible=False)
        said = text("failexport.done", n=f"{len(now.listed):,}")
        said += "" if now.field.has_texts else f" {text('fails.no_texts')}"
        yield note(said), gr.update(value=str(path), visible=True)
