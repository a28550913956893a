"""Files of what is listed: of pairs, with code that selects the same, and of a model's failures."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.core.files import download_folder
from explorer.core.html import note, render, step_html
from explorer.core.text import text
from explorer.data.export import FORMATS, Format, export, file_name, snippet
from explorer.reader.scene import Scene
from explorer.reader.searchbar import filter_words, listed_words
from explorer.tabs.pairs.fail_exports import FAIL_FORMATS, FailFormat, export_fails, fail_file_name
from explorer.tabs.pairs.notes import PairNotes
from scoring.errors import KnownError
from scoring.limits import Step


@dataclass(frozen=True)
class ExportParts:
    """The panel's components."""

    buttons: dict[Format, gr.Button]
    stop: gr.Button
    status: gr.HTML
    file: gr.File
    snippet: gr.HTML


def build_export() -> ExportParts:
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
    return ExportParts(buttons, stop, status, file, gr.HTML())


def exporting(now: Scene, form: object) -> Iterator[tuple[str, Any]]:
    """Write a file of what is listed: how far it is, and at last the file.

    Raises:
        KnownError: nothing passes, the texts are not at hand, or the file cannot be written.
    """
    if not now.pairs.has_texts:
        raise KnownError(text("fails.no_texts"))
    rows, table = now.listed.rows, now.table
    known = next((each for each in FORMATS if each == form), FORMATS[0])
    with download_folder() as folder:
        path = folder / file_name(table, rows, known)
        steps = export(table, rows, known, path, listed_words(now))
        yield from _written(path, steps, len(rows), text("export.done", n=f"{len(rows):,}"))


def _written(path: Path, steps: Iterator[int], n: int, said: str) -> Iterator[tuple[str, Any]]:
    for done in steps:
        yield step_html(Step("reading", done, n)), gr.update(visible=False)
    yield note(said), gr.update(value=str(path), visible=True)


def snippet_html(now: Scene) -> str:
    """Python that selects what is in view."""
    if not len(now.listed):
        return note(text("list.none"))
    code = snippet(now.table, now.listed.rows, listed_words(now))
    return render("tabs/pairs/snippet.html", code=code)


@dataclass(frozen=True)
class FailExportParts:
    """The components for files of what models made of the pairs. box: holds all of them."""

    box: gr.Column
    buttons: dict[FailFormat, gr.Button]
    status: gr.HTML
    file: gr.File


def build_fail_export() -> FailExportParts:
    """Lay the buttons out where it is called."""
    with gr.Column(visible=False) as box:
        gr.HTML(note(text("failexport.about")))
        with gr.Row(elem_classes="export-buttons"):
            buttons = {
                form: gr.Button(
                    text(f"failexport.{form}"),
                    size="md",
                    min_width=160,
                    elem_id=f"fail-export-{form}",
                )
                for form in FAIL_FORMATS
            }
        status = gr.HTML(elem_id="fail-export-status")
        file = gr.File(visible=False, label=text("export.file"), elem_id="fail-file")
    return FailExportParts(box, buttons, status, file)


def fail_exporting(now: Scene, form: FailFormat, notes: PairNotes) -> Iterator[tuple[str, Any]]:
    """Write a file of what is listed: how far it is, and at last the file.

    Raises:
        KnownError: of `export_fails`.
    """
    with download_folder() as folder:
        path = folder / fail_file_name(now, form)
        steps = export_fails(now, form, path, notes, filter_words(now.state.filters))
        said = text("failexport.done", n=f"{len(now.listed):,}")
        said += "" if now.known.has_texts else f" {text('fails.no_texts')}"
        yield from _written(path, steps, len(now.listed), said)
