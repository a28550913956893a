"""The bias probe, laid out: which pairs, which changes, what they buy."""

from dataclasses import dataclass

import gradio as gr

from explorer.core.html import note, part
from explorer.core.parts import components
from explorer.core.text import text
from explorer.tabs.try_it.counterfactuals import CHANGES
from explorer.tabs.try_it.probe_csv import PROBE_FORMS, ProbeForm


@dataclass(frozen=True)
class ProbeParts:
    """The components. files: holds the exports, once there is something to export."""

    which: gr.Radio
    per_subset: gr.Number
    seed: gr.Number
    changes: gr.CheckboxGroup
    start: gr.Button
    stop: gr.Button
    status: gr.HTML
    table: gr.HTML
    plot: gr.Plot
    files: gr.Column
    exports: dict[ProbeForm, gr.Button]
    export_status: gr.HTML
    file: gr.File

    @property
    def inputs(self) -> list[gr.components.Component]:
        """What is chosen."""
        return [self.which, self.per_subset, self.seed, self.changes]

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """The components that a probe fills."""
        return components(self.status, self.start, self.stop, self.table, self.plot, self.files)


def build_probe() -> ProbeParts:
    """Lay it out where it is called."""
    gr.HTML(part("title", of="tabs/try_it/probe.html"))
    gr.HTML(note(text("probe.about")))
    with gr.Group():
        with gr.Row():
            which = gr.Radio(
                [(text("score.by_subset"), "subset"), (text("score.by_filter"), "filter")],
                value="subset",
                label=text("score.which"),
                elem_id="probe-which",
                scale=2,
                min_width=260,
            )
            per_subset = gr.Number(
                1, label=text("score.per_subset"), precision=0, min_width=110,
                elem_id="probe-per-subset",
            )  # fmt: skip
            seed = gr.Number(
                0, label=text("score.seed"), precision=0, min_width=110, elem_id="probe-seed"
            )
        changes = gr.CheckboxGroup(
            [(text(f"edit.{change}"), change) for change in CHANGES],
            value=list(CHANGES),
            label=text("probe.changes"),
            info=text("probe.changes_info"),
            elem_id="probe-changes",
        )
    with gr.Row(elem_classes="status-row"):
        start = gr.Button(
            text("probe.start"), variant="primary", scale=0, min_width=160, elem_id="probe-start"
        )
        stop = gr.Button(
            text("score.stop"), scale=0, min_width=80, interactive=False, elem_id="probe-stop"
        )
        status = gr.HTML(elem_id="probe-status", min_width=280)
    table = gr.HTML(elem_id="probe-table")
    plot = gr.Plot(show_label=False, visible=False)
    with gr.Column(visible=False) as files:
        with gr.Row(elem_classes="export-buttons"):
            exports = {
                form: gr.Button(
                    text(f"probe.csv_{form}"), size="md", min_width=160, elem_id=f"probe-csv-{form}"
                )
                for form in PROBE_FORMS
            }
        export_status = gr.HTML()
        file = gr.File(visible=False, label=text("export.file"), elem_id="probe-file")
    return ProbeParts(
        which, per_subset, seed, changes, start, stop, status, table, plot, files, exports,
        export_status, file,
    )  # fmt: skip
