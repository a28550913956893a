"""The bias probe, laid out: which pairs, which changes, what they buy."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import gradio as gr

from explorer.core.html import note
from explorer.core.text import text
from explorer.tabs.try_it.counterfactuals import CHANGES
from explorer.tabs.try_it.probe_csv import PROBE_FORMS, ProbeForm


class ProbeShown(NamedTuple):
    """What is shown of a probe, in the order of `ProbeView.outputs`."""

    status: Any
    start: Any
    stop: Any
    table: Any
    plot: Any
    files: Any
    probe: Any


@dataclass(frozen=True)
class ProbeView:
    """The components.

    files: holds the exports, once there is something to export.
    probe: the `Probe` that is shown; None before the first.
    """

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
    probe: gr.State

    @property
    def inputs(self) -> list[gr.components.Component]:
        """What is chosen."""
        return [self.which, self.per_subset, self.seed, self.changes]

    @property
    def outputs(self) -> list[gr.components.Component]:
        """What a `ProbeShown` fills."""
        return [getattr(self, name) for name in ProbeShown._fields]


def build_probe() -> ProbeView:
    """Lay it out where it is called."""
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
    return ProbeView(
        which, per_subset, seed, changes, start, stop, status, table, plot, files, exports,
        export_status, file, gr.State(None),
    )  # fmt: skip
