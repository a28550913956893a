"""The Models tab, laid out: the panels, and below them a board or a comparison of models."""

from dataclasses import dataclass

import gradio as gr

from explorer.core.parts import Part, build_part, components
from explorer.core.text import text
from explorer.reader.links import MODELS_TAB
from explorer.reader.source_view import SourceParts
from explorer.tabs.models.board_html import search_html
from explorer.tabs.models.charts_view import BoardChartParts, build_chart
from explorer.tabs.models.exports import BOARD_FORMATS, BoardFormat
from explorer.tabs.models.source_view import BoardSourceParts, build_boardsource

_REFRESH_SECONDS = 2.0


@dataclass(frozen=True)
class ModelsParts:
    """The tab's components.

    status, measure: how far results of each pair are read and measured; tries that once more.
    drawer: beside the table, what is known of one model.
    below: holds chart, exports, file.
    plot, reader_bar, pair: of a comparison; timer: runs while a run that is compared does.
    address: its query string.
    """

    source: BoardSourceParts
    part: Part
    panels: gr.HTML
    head: gr.HTML
    told: gr.HTML
    measure: gr.Button
    status: gr.HTML
    table: gr.HTML
    drawer: gr.HTML
    below: gr.Column
    chart: BoardChartParts
    exports: dict[BoardFormat, gr.Button]
    file: gr.File
    about: gr.HTML
    plot: gr.Plot
    reader_bar: gr.HTML
    pair: gr.HTML
    address: gr.Textbox
    timer: gr.Timer

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """The components that `ModelsTab.shown` fills."""
        return components(
            self.address, self.panels, self.head, self.told, self.measure, self.status, self.table,
            self.drawer, self.below, self.chart, self.about, self.plot, self.reader_bar, self.pair,
            self.timer,
        )  # fmt: skip


def build_models(results: SourceParts) -> ModelsParts:
    """Lay the tab out where it is called. results: what tells of them, not laid out yet."""
    with gr.Column(elem_id="results", elem_classes="popover"):
        source = build_boardsource()
    with build_part(MODELS_TAB) as part:
        with gr.Row(elem_classes="pane-bar"):
            panels, head = gr.HTML(), gr.HTML(elem_id="models-head")
            gr.HTML(search_html(), elem_id="models-search")
            told = gr.HTML(elem_id="models-told")
            measure = gr.Button(
                text("board.measure"), variant="primary", size="sm", scale=0, min_width=100,
                elem_id="measure", visible=False,
            )  # fmt: skip
            results.caption.render()
            results.remarks.render()
        status = gr.HTML(elem_id="measure-status")
        with gr.Row(elem_classes="board-split"):
            table = gr.HTML(elem_id="models-table")
            drawer = gr.HTML(elem_id="drawer")
        with gr.Column(visible=False) as below:
            chart_about, chart_plot = build_chart()
            chart = BoardChartParts(chart_about, chart_plot, gr.HTML(elem_id="chart-table"))
            with gr.Row(elem_classes="export-buttons"):
                exports = {
                    form: gr.Button(text(f"board.export_{form}"), size="md", min_width=100)
                    for form in BOARD_FORMATS
                }
            file = gr.File(visible=False, label=text("export.file"), elem_id="board-file")
        about = gr.HTML(elem_classes="about")
        plot = gr.Plot(show_label=False, visible=False, elem_classes="pairs-plot")
        reader, pair = gr.HTML(), gr.HTML(elem_classes="reader")
    return ModelsParts(
        source, part, panels, head, told, measure, status, table, drawer, below, chart,
        exports, file, about, plot, reader, pair, gr.Textbox(visible=False),
        gr.Timer(_REFRESH_SECONDS, active=False),
    )  # fmt: skip
