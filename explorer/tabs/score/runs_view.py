"""The Runs tab: every run that is kept, to be opened, gone on with, named, shared and removed."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import gradio as gr

from explorer.core.files import passing_folder
from explorer.core.parts import EVENT, Part, act_of, build_part, guarded, wire_part
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.reader.links import compare_query, failures_query
from explorer.results.fields import Fields
from explorer.runs.exports import RUN_FORMATS, RunFormat, export_run
from explorer.runs.lines import RunsScene, RunsView, move_runs, runs_scene
from explorer.runs.running import Runs
from explorer.runs.visitors import Visitor
from explorer.tabs.score.publish_view import PublishView, build_publish
from explorer.tabs.score.runs_list import run_html, runs_html

LEAVES = ("report", "resume")
"""Acts that open the Score tab."""


@dataclass(frozen=True)
class RunsTabView:
    """The components."""

    part: Part
    listed: gr.HTML
    opened: gr.HTML
    exports: dict[RunFormat, gr.Button]
    file: gr.File
    publish: PublishView
    seen: gr.State
    asked: gr.State

    @property
    def outputs(self) -> list[gr.components.Component]:
        """In the order of `RunsTabShown`."""
        return [self.listed, self.opened, *self.exports.values(), self.seen]


class RunsTabShown(NamedTuple):
    """What the components show."""

    listed: str
    opened: str
    csv: Any
    jsonl: Any
    json: Any
    seen: RunsView


def build_runs(settings: Settings) -> RunsTabView:
    """Lay the tab out where it is called."""
    with build_part("runs") as part:
        listed = gr.HTML(elem_id="runs-list")
        opened = gr.HTML(elem_id="run-open")
        with gr.Row(elem_classes="export-buttons"):
            exports = {
                form: gr.Button(
                    text(f"runs.export_{form}"), visible=False, size="md", min_width=120,
                    elem_id=f"run-export-{form}",
                )
                for form in RUN_FORMATS
            }  # fmt: skip
        file = gr.File(visible=False, label=text("export.file"), elem_id="run-file")
        publish = build_publish(settings)
    return RunsTabView(
        part, listed, opened, exports, file, publish, gr.State(RunsView()), gr.State(None)
    )


@dataclass(frozen=True)
class RunsTab:
    """The callbacks. `where` is (results id, table id, visitor)."""

    runs: Runs
    fields: Fields
    settings: Settings

    @guarded
    def show(self, seen: RunsView, *where: Any) -> RunsTabShown:
        """The list as it stands now."""
        return self._shown(runs_scene(self.runs.shelf, where[2], seen), where)

    @guarded
    def act(self, event: gr.EventData, seen: RunsView, *where: Any) -> RunsTabShown:
        """Do what was pressed."""
        act, sent = act_of(event)
        moved = seen if act in LEAVES else move_runs(self.runs.shelf, where[2], seen, act, sent)
        return self.show(moved, *where)

    @guarded
    def asked(self, event: gr.EventData) -> Any:
        """The act that opens the Score tab, the run it names, and when; any other act is none."""
        act, sent = act_of(event)
        return (act, str(sent.get("id")), time.monotonic()) if act in LEAVES else gr.skip()

    def turn(self) -> gr.Tabs:
        """Open the Score tab."""
        return gr.Tabs(selected="score")

    @guarded
    def export(self, form: str, seen: RunsView, who: Visitor) -> Iterator[Any]:
        """A file of the open run."""
        with passing_folder() as folder:
            path = export_run(self.runs.open(seen.open_id, who), form, folder)
            yield gr.update(value=str(path), visible=True)

    def _shown(self, now: RunsScene, where: Any) -> RunsTabShown:
        query = compare = ""
        if now.open is not None:
            name = self.fields.name_of(now.open.run.id, *where)
            query = failures_query(name) if name else ""
            compare = compare_query(name) if name else ""
        opened = run_html(now.open, query=query, compare=compare, deleting=now.view.deleting)
        # An update of a tab that was not opened yet takes the words away unless it has them.
        csv, jsonl, json = (
            gr.update(value=text(f"runs.export_{form}"), visible=now.open is not None)
            for form in RUN_FORMATS
        )
        waiting = [live for live in self.runs.live.of(where[2]) if live.run_id is None]
        listed = runs_html(now, waiting, kept=self.settings.runs_last)
        return RunsTabShown(listed, opened, csv, jsonl, json, now.view)


def wire_runs(
    view: RunsTabView, tab: RunsTab, where: list[gr.components.Component], opened: gr.Tab
) -> None:
    """Connect the components. where: as of `RunsTab`."""
    turn: dict[str, Any] = {"concurrency_id": "runs", "concurrency_limit": 1}  # none undoes an act
    wire_part(view.part, tab.act, [view.seen, *where], view.outputs, **turn)
    for changed in (opened.select, where[2].change):  # a link opens the tab before it is known who
        changed(tab.show, [view.seen, *where], view.outputs, **turn, **EVENT)
    for form, pressed in view.exports.items():
        pressed.click(partial(tab.export, form), [view.seen, where[2]], view.file, **EVENT)
