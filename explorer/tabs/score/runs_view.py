"""The Runs tab: every run that is kept, to be opened, gone on with, named, shared and removed."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.files import download_folder
from explorer.core.parts import (
    EVENT,
    Filling,
    Part,
    act_of,
    build_part,
    components,
    guarded,
    wire_part,
)
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.reader.links import compare_query, failures_query
from explorer.reader.session import Session
from explorer.results.fields import Fields
from explorer.runs.exports import RUN_FORMATS, RunFormat, export_run
from explorer.runs.lines import RunsState, move_runs, runs_scene
from explorer.runs.running import Runs
from explorer.tabs.score.publish_view import PublishParts, build_publish
from explorer.tabs.score.runs_list import run_html, runs_html

LEAVES = ("report", "resume")
"""Acts that open the Score tab."""
IN_TURN: dict[str, Any] = {"concurrency_id": "runs", "concurrency_limit": 1}
"""No list that comes late undoes an act."""


@dataclass(frozen=True)
class RunsParts:
    """The components. asked: the act that opens the Score tab, the run it names, and when."""

    part: Part
    listed: gr.HTML
    opened: gr.HTML
    exports: dict[RunFormat, gr.Button]
    file: gr.File
    publish: PublishParts
    asked: gr.State

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """The components that `RunsTab.show` fills."""
        return components(self.listed, self.opened, self.exports)


def build_runs(settings: Settings) -> RunsParts:
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
    return RunsParts(part, listed, opened, exports, file, publish, gr.State(None))


@dataclass(frozen=True)
class RunsTab:
    """The callbacks."""

    runs: Runs
    fields: Fields
    settings: Settings
    parts: RunsParts

    @guarded
    def show(self, session: Session) -> Filling:
        """The list as it stands now."""
        now = runs_scene(self.runs.store, session.visitor, session.seen(RunsState))
        session.show(now.view)
        query = compare = ""
        if now.open is not None:
            name = self.fields.name_of(now.open.run.id, *session.where)
            query = failures_query(name) if name else ""
            compare = compare_query(name) if name else ""
        waiting = [live for live in self.runs.live.of(session.visitor) if live.run_id is None]
        parts, deleting = self.parts, now.view.deleting
        return {
            parts.listed: runs_html(now, waiting, kept=self.settings.runs_last),
            parts.opened: run_html(now.open, query=query, compare=compare, deleting=deleting),
            # An update of a tab that was not opened yet takes the words away unless it has them.
            **{
                button: gr.update(value=text(f"runs.export_{form}"), visible=now.open is not None)
                for form, button in parts.exports.items()
            },
        }

    @guarded
    def act(self, event: gr.EventData, session: Session) -> Filling:
        """Do what was pressed."""
        act, sent = act_of(event)
        if act not in LEAVES:
            seen = session.seen(RunsState)
            session.show(move_runs(self.runs.store, session.visitor, seen, act, sent))
        return self.show(session)

    @guarded
    def asked(self, event: gr.EventData) -> Any:
        """The act that opens the Score tab, the run it names, and when; any other act is none."""
        act, sent = act_of(event)
        return (act, str(sent.get("id")), time.monotonic()) if act in LEAVES else gr.skip()

    def turn(self) -> gr.Tabs:
        """Open the Score tab."""
        return gr.Tabs(selected="score")

    @guarded
    def export(self, form: str, session: Session) -> Iterator[Any]:
        """A file of the open run."""
        with download_folder() as folder:
            run = self.runs.open(session.seen(RunsState).open_id, session.visitor)
            yield gr.update(value=str(export_run(run, form, folder)), visible=True)


def showing(tab: RunsTab, session: gr.State) -> dict[str, Any]:
    """The event that shows the list anew."""
    return {"fn": tab.show, "inputs": session, "outputs": tab.parts.outputs, **IN_TURN, **EVENT}


def wire_runs(tab: RunsTab, session: gr.State, opened: gr.Tab) -> None:
    """Connect the components; the list is brought up to date when the tab is opened."""
    parts = tab.parts
    wire_part(parts.part, tab.act, session, parts.outputs, **IN_TURN)
    opened.select(**showing(tab, session))
    parts.part.relay.act(tab.asked, None, parts.asked, **EVENT)
    for form, pressed in parts.exports.items():
        pressed.click(partial(tab.export, form), session, parts.file, **EVENT)
