"""The bias probe below the Try tab: laid out, run, stopped, drawn, taken away as CSV."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import gradio as gr

from explorer.core.figures import Figure
from explorer.core.files import download_folder
from explorer.core.html import note, part, step_html
from explorer.core.parts import (
    EVENT,
    Filling,
    build_menu,
    components,
    fetching,
    guarded,
    saying,
)
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.core.validation import one_of
from explorer.core.work import Latest
from explorer.reader.filter_html import listed_and_why
from explorer.reader.scene import Scenes
from explorer.reader.session import Session
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.runs.selections import Choice
from explorer.tabs.try_it.probe import (
    PROBE_FORMS,
    Bought,
    Probe,
    ProbeForm,
    bought,
    probed_changes,
    probing,
    write_probe,
)
from explorer.tabs.try_it.state import CHANGES, SIDES
from scoring.errors import KnownError
from scoring.pairs.opening import as_pairs
from scoring.spec import margin_of

_ProbeStage = Literal["running", "finished", "stopped"]
TEMPLATE = "tabs/try_it/probe.html"
_WAYS = ("subset", "filter")
_EVERY_SECONDS = 0.4
"""Between two pictures of a probe that is under way."""
_APART = 0.16
"""Between a line's middle and either side's point."""
_ROW_HEIGHT = 46


@dataclass(frozen=True)
class ProbeParts:
    """The components. files: holds the menu of files, once there is something to export."""

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
    file: gr.DownloadButton

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
    with gr.Row(elem_classes="pane-bar"):
        gr.HTML(part("title", of=TEMPLATE))
        with build_menu(text("runs.export"), "probe-exports") as files:
            exports = {
                form: gr.Button(text(f"probe.csv_{form}"), elem_id=f"probe-csv-{form}")
                for form in PROBE_FORMS
            }
        file = gr.DownloadButton(visible="hidden", elem_id="probe-file")
    gr.HTML(note(text("probe.about")))
    with gr.Group():
        which = gr.Radio(
            [(text("score.by_subset"), "subset"), (text("probe.by_filter"), "filter")],
            value="subset",
            label=text("score.which"),
            elem_id="probe-which",
        )
        with gr.Row():
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
    return ProbeParts(
        which, per_subset, seed, changes, start, stop, status, table, plot, files, exports, file
    )  # fmt: skip


@dataclass(frozen=True)
class ProbePanel:
    """The callbacks. `choice` is (which, pairs per subset, seed, changes)."""

    scenes: Scenes
    runs: Runs
    settings: Settings
    latest: Latest
    parts: ProbeParts

    @guarded
    def start(self, session: Session, model: object, *choice: object) -> Iterator[Filling]:
        """Probe, showing now and then what is known; what was known before stays until then."""
        parts = self.parts
        yield _buttons(parts, "running") | {parts.status: note(text("probe.loading"))}
        page = session.visitor.session
        is_last = partial(self.latest.is_last, page, self.latest.ask(page))
        yield from self._followed(session, self._probing(session, model, *choice), is_last)

    @guarded
    def stop(self, session: Session) -> None:
        """End the probe after its present pack."""
        self.latest.ask(session.visitor.session)

    @guarded
    def export(self, form: ProbeForm, session: Session) -> Iterator[Filling]:
        """A file of what was probed."""
        probe = session.get(Probe)
        with download_folder() as folder:
            path = folder / f"bias-probe-{form}.csv"
            write_probe(probe, form, path)
            yield {self.parts.file: gr.update(value=str(path))}

    def _probing(
        self, session: Session, model: object, *choice: object
    ) -> Generator[Probe, None, None]:
        which, per_subset, seed, changes = choice
        order = ModelOrder.of({"model": model})
        wanted = probed_changes(changes)
        way = one_of("A way to choose pairs", _WAYS, which)
        found = Choice(way, per_subset, seed).of(
            partial(self.scenes.with_texts, session),
            lambda: listed_and_why(self.scenes.now(session)),
            _no_field,
            self.scenes.library.typed,
        )
        if not len(found.rows):
            raise KnownError(text("score.none_selected"))
        if found.n_several:
            raise KnownError(text("probe.several", n=f"{found.n_several:,}"))
        pairs = as_pairs(found.table.arrow, found.rows.tolist())
        rewarding = partial(self.runs.rewarding, session.visitor, order)
        yield from probing(pairs, wanted, rewarding, most=self.settings.max_pairs)

    def _followed(
        self,
        session: Session,
        steps: Generator[Probe, None, None],
        is_last: Callable[[], bool],
    ) -> Iterator[Filling]:
        """A probe now and then until its end or until `is_last` says no; it outlives an error."""
        probe, shown_at, wrong = None, 0.0, ""
        try:
            with closing(steps):
                for probe in steps:
                    if not is_last():
                        break
                    if time.monotonic() - shown_at > _EVERY_SECONDS:
                        yield self._shown(probe, "running")
                        shown_at = time.monotonic()
        except KnownError as error:
            wrong = note(str(error), "wrong")
        # What was shown before stays where nothing is known.
        filled = _buttons(self.parts, "stopped")
        if probe is not None and (not wrong or any(probe.effects.values())):
            session.show(probe)
            filled = self._shown(probe, "finished" if probe.is_whole else "stopped")
        yield filled | ({self.parts.status: wrong} if wrong else {})

    def _shown(self, probe: Probe, stage: _ProbeStage) -> Filling:
        parts = self.parts
        found = bought(probe) if any(probe.effects.values()) else []
        filled = _buttons(parts, stage) | {
            parts.status: probe_status_html(probe, stage),
            parts.files: gr.Column(visible=bool(found) and stage != "running"),
        }
        if found:
            filled[parts.table] = probe_html(probe, found)
            filled[parts.plot] = gr.update(value=painted(probe_figure(found)), visible=True)
        return filled


def _buttons(parts: ProbeParts, stage: _ProbeStage) -> Filling:
    """Start can be pressed while nothing runs, Stop while something does."""
    busy = stage == "running"
    return {
        parts.start: gr.update(interactive=not busy),
        parts.stop: gr.update(interactive=busy),
    }


def _no_field(model: object) -> Any:
    raise AssertionError(f"no way of choosing probed pairs asks for {model}")


def wire_probe(panel: ProbePanel, model: gr.Dropdown, session: gr.State) -> None:
    """Connect the components. model: which is probed."""
    parts = panel.parts
    parts.start.click(
        panel.start,
        [session, model, *parts.inputs],
        parts.outputs,
        trigger_mode="once",
        concurrency_limit=None,  # who waits in the queue holds nobody up
        **EVENT,
    )
    said = saying("#probe-status .note, #probe-status .status > div", text("score.stopping"))
    parts.stop.click(panel.stop, session, None, js=said, queue=False, **EVENT)
    for form, press in parts.exports.items():
        made = press.click(partial(panel.export, form), session, [parts.file], **EVENT)
        made.success(None, None, None, js=fetching("probe-file"))


def probe_status_html(probe: Probe, stage: _ProbeStage) -> str:
    """How far a probe is, with a bar."""
    waits = probe.waits
    if waits is None or stage != "running":
        return part("status", probe, stage, of=TEMPLATE)
    if waits.step is not None:
        return step_html(waits.step)
    words = text("probe.waiting", n=waits.ahead) if waits.ahead else text("probe.loading")
    return part("waiting", words, of=TEMPLATE)


def probe_html(probe: Probe, found: Sequence[Bought]) -> str:
    """What each change bought on each side, and how to read it. found: of the probe."""
    return part("bought", probe, found, of=TEMPLATE) if probe.facts and found else ""


def probe_figure(found: Sequence[Bought]) -> Figure:
    """The mean change of each side's rewards with its interval, a line for each change.

    Colourless: the theme paints its traces by their `meta`. A change that applies to nothing has no
    line, what is not known no point.
    """
    import plotly.graph_objects as go

    changes = list(dict.fromkeys(each.change for each in found if each.applies))
    traces = [
        _trace(found, side, {change: line + apart for line, change in enumerate(changes)})
        for side, apart in zip(SIDES, (-_APART, _APART), strict=True)
    ]
    layout: dict[str, Any] = {
        "title": {"text": text("probe.figure")},
        "dragmode": False,
        "hovermode": "closest",
        "height": 130 + _ROW_HEIGHT * len(changes),
        "shapes": [{"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "y domain"}],
        "xaxis": {"title": {"text": text("probe.axis")}, "showgrid": True},
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(range(len(changes))),
            "ticktext": [text(f"edit.{change}") for change in changes],
            "range": [len(changes) - 0.5, -0.5],
            "automargin": True,
            "showgrid": False,
        },
    }
    return go.Figure({"data": traces, "layout": layout})


def _trace(found: Sequence[Bought], side: str, height: Mapping[str, float]) -> dict[str, Any]:
    known = [each for each in found if each.side == side and each.mean is not None]
    return {
        "type": "scatter",
        "mode": "markers",
        "meta": side,
        "name": text(f"side.{side}"),
        "marker": {"size": 9, "symbol": "circle" if side == "chosen" else "diamond"},
        "x": [each.mean for each in known],
        "y": [height[each.change] for each in known],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [margin_of(each.high, each.mean) or 0 for each in known],
            "arrayminus": [margin_of(each.mean, each.low) or 0 for each in known],
            "thickness": 1.5,
            "width": 4,
        },
        "hovertemplate": text("probe.hover", side=text(f"side.{side}")),
    }
