"""The bias probe below the Try tab: run, stop, take away as CSV."""

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.files import download_folder
from explorer.core.html import note
from explorer.core.parts import EVENT, Filling, guarded, saying
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.core.validation import one_of
from explorer.core.work import Latest
from explorer.reader.scene import Scenes
from explorer.reader.searchbar import listed_and_why
from explorer.reader.session import Session
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.runs.selections import Choice, Selection
from explorer.tabs.try_it.probe import Probe, probed_changes, probing
from explorer.tabs.try_it.probe_csv import ProbeForm, write_probe
from explorer.tabs.try_it.probe_figure import probe_figure
from explorer.tabs.try_it.probe_html import Stage, probe_html, probe_status_html
from explorer.tabs.try_it.probe_statistics import bought
from explorer.tabs.try_it.probe_view import ProbeParts
from scoring.errors import KnownError
from scoring.pairs.opening import as_pairs

WAYS = ("subset", "filter")
EVERY_SECONDS = 0.4
"""Between two pictures of a probe that is under way."""


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
        steps = self._probing(session, model, *choice)
        yield from probe_followed(parts, session, steps, is_last)

    @guarded
    def stop(self, session: Session) -> None:
        """End the probe after its present pack."""
        self.latest.ask(session.visitor.session)

    @guarded
    def export(self, form: ProbeForm, session: Session) -> Iterator[tuple[str, Any]]:
        """A file of what was probed."""
        probe = session.get(Probe)
        with download_folder() as folder:
            path = folder / f"bias-probe-{form}.csv"
            write_probe(probe, form, path)
            yield note(text("probe.written")), gr.update(value=str(path), visible=True)

    def selected(
        self, session: Session, which: object, per_subset: object, seed: object
    ) -> Selection:
        """The pairs that are probed.

        Raises:
            KnownError: they are not here any more, or a number that cannot be.
        """
        way = one_of("A way to choose pairs", WAYS, which)
        found = Choice(way, per_subset, seed).of(
            partial(self.scenes.with_texts, session),
            lambda: listed_and_why(self.scenes.now(session)),
            _no_field,
            self.scenes.tables.library.typed,
        )
        if not len(found.rows):
            raise KnownError(text("score.none_selected"))
        return found

    def _probing(
        self, session: Session, model: object, *choice: object
    ) -> Generator[Probe, None, None]:
        which, per_subset, seed, changes = choice
        who = session.visitor
        order = ModelOrder.of({"model": model})
        wanted = probed_changes(changes)
        selection = self.selected(session, which, per_subset, seed)
        pairs = as_pairs(selection.table.arrow, selection.rows.tolist())
        rewarding = partial(self.runs.rewarding, who, order)
        yield from probing(pairs, wanted, rewarding, most=self.settings.max_pairs)


def probe_followed(
    parts: ProbeParts,
    session: Session,
    steps: Generator[Probe, None, None],
    is_last: Callable[[], bool],
) -> Iterator[Filling]:
    """A probe now and then until its end or until `is_last` says no; it outlives an error."""
    probe, shown_at = None, 0.0
    try:
        for probe in steps:
            if not is_last():
                steps.close()
                break
            if time.monotonic() - shown_at > EVERY_SECONDS:
                yield probe_shown(parts, probe, "running")
                shown_at = time.monotonic()
    except KnownError as error:
        yield probe_ended(parts, session, probe) | {parts.status: note(str(error), "wrong")}
        return
    if probe is not None:
        session.show(probe)
        yield probe_shown(parts, probe, "finished" if probe.is_whole else "stopped")


def probe_ended(parts: ProbeParts, session: Session, probe: Probe | None) -> Filling:
    """A probe that ended early; what was shown before stays where nothing is known of this one."""
    if probe is None or not any(probe.effects.values()):
        return _buttons(parts, "stopped")
    session.show(probe)
    return probe_shown(parts, probe, "stopped")


def probe_shown(parts: ProbeParts, probe: Probe, stage: Stage) -> Filling:
    """A probe at a moment."""
    found = bought(probe.scores) if any(probe.effects.values()) else []
    filled = _buttons(parts, stage) | {
        parts.status: probe_status_html(probe, stage),
        parts.files: gr.Column(visible=bool(found) and stage != "running"),
    }
    if found:
        filled[parts.table] = probe_html(probe, found)
        filled[parts.plot] = gr.update(value=painted(probe_figure(found)), visible=True)
    return filled


def _buttons(parts: ProbeParts, stage: Stage) -> Filling:
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
        concurrency_limit=None,  # who waits in the line holds nobody up
        **EVENT,
    )
    said = saying("#probe-status .note, #probe-status .status > div", text("score.stopping"))
    parts.stop.click(panel.stop, session, None, js=said, queue=False, **EVENT)
    for form, press in parts.exports.items():
        press.click(
            partial(panel.export, form), session, [parts.export_status, parts.file], **EVENT
        )
