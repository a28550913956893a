"""The bias probe below the Try tab: run, stop, take away as CSV."""

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.files import passing_folder
from explorer.core.html import note
from explorer.core.parts import EVENT, guarded, saying, unchanged
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.core.validation import one_of
from explorer.core.work import Latest
from explorer.reader.searchbar import filter_words
from explorer.reader.state import Tables, View
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.runs.selections import Choice, Selection
from explorer.runs.visitors import Visitor
from explorer.tabs.try_it.probe import Probe, probed_changes, probing
from explorer.tabs.try_it.probe_csv import ProbeForm, write_probe
from explorer.tabs.try_it.probe_figure import probe_figure
from explorer.tabs.try_it.probe_html import Stage, probe_html, probe_status_html
from explorer.tabs.try_it.probe_statistics import bought
from explorer.tabs.try_it.probe_view import ProbeShown, ProbeView
from scoring.errors import KnownError
from scoring.pairs.opening import as_pairs

WAYS = ("subset", "filter")
EVERY_SECONDS = 0.4
"""Between two pictures of a probe that is under way."""


@dataclass(frozen=True)
class ProbePanel:
    """The callbacks. `choice` is (which, pairs per subset, seed, changes)."""

    tables: Tables
    runs: Runs
    settings: Settings
    latest: Latest

    @guarded
    def start(
        self, who: Visitor, model: object, seen: View, *choice: object
    ) -> Iterator[ProbeShown]:
        """Probe, showing now and then what is known; what was known before stays until then."""
        yield unchanged(ProbeShown, **_buttons("running"), status=note(text("probe.loading")))
        number = self.latest.ask(who.session)
        steps = self._probing(who, model, seen, *choice)
        yield from probe_followed(steps, lambda: self.latest.is_last(who.session, number))

    @guarded
    def stop(self, who: Visitor) -> None:
        """End the probe after its present pack."""
        self.latest.ask(who.session)

    @guarded
    def export(self, form: ProbeForm, probe: Probe | None) -> Iterator[tuple[str, Any]]:
        """A file of what was probed."""
        with passing_folder() as folder:
            path = folder / f"bias-probe-{form}.csv"
            write_probe(probe, form, path)
            yield note(text("probe.written")), gr.update(value=str(path), visible=True)

    def selected(self, seen: View, which: object, per_subset: object, seed: object) -> Selection:
        """The pairs that are probed.

        Raises:
            KnownError: they are not here any more, or a number that cannot be.
        """
        way = one_of("A way to choose pairs", WAYS, which)
        words = ", ".join(filter_words(seen.filters))
        table, typed = self.tables.of(seen), self.tables.library.typed
        found = Choice(way, per_subset, seed).of(table, seen.filters, words, _no_field, typed)
        if not len(found.rows):
            raise KnownError(text("score.none_selected"))
        return found

    def _probing(
        self, who: Visitor, model: object, seen: View, *choice: object
    ) -> Generator[Probe, None, None]:
        which, per_subset, seed, changes = choice
        order = ModelOrder.of({"model": model})
        wanted = probed_changes(changes)
        selection = self.selected(seen, which, per_subset, seed)
        pairs = as_pairs(selection.table.arrow, selection.rows.tolist())
        rewarding = partial(self.runs.rewarding, who, order)
        yield from probing(pairs, wanted, rewarding, most=self.settings.max_pairs)


def probe_followed(
    steps: Generator[Probe, None, None], is_last: Callable[[], bool]
) -> Iterator[ProbeShown]:
    """A probe now and then until its end or until `is_last` says no; it outlives an error."""
    probe, shown_at = None, 0.0
    try:
        for probe in steps:
            if not is_last():
                steps.close()
                break
            if time.monotonic() - shown_at > EVERY_SECONDS:
                yield probe_shown(probe, "running")
                shown_at = time.monotonic()
    except KnownError as error:
        yield probe_ended(probe)._replace(status=note(str(error), "wrong"))
        return
    if probe is not None:
        yield probe_shown(probe, "finished" if probe.is_whole else "stopped")


def probe_ended(probe: Probe | None) -> ProbeShown:
    """A probe that ended early; what was shown before stays where nothing is known of this one."""
    if probe is None or not any(probe.effects.values()):
        return unchanged(ProbeShown, **_buttons("stopped"))
    return probe_shown(probe, "stopped")


def probe_shown(probe: Probe, stage: Stage) -> ProbeShown:
    """A probe at a moment."""
    found = bought(probe.scores) if any(probe.effects.values()) else []
    figure = gr.update(value=painted(probe_figure(found)), visible=True) if found else gr.skip()
    return ProbeShown(
        status=probe_status_html(probe, stage),
        **_buttons(stage),
        table=probe_html(probe, found) if found else gr.skip(),
        plot=figure,
        files=gr.Column(visible=bool(found) and stage != "running"),
        probe=gr.skip() if stage == "running" else probe,
    )


def _buttons(stage: Stage) -> dict[str, Any]:
    """Start can be pressed while nothing runs, Stop while something does."""
    busy = stage == "running"
    return {"start": gr.update(interactive=not busy), "stop": gr.update(interactive=busy)}


def _no_field(model: object) -> Any:
    raise AssertionError(f"no way of choosing probed pairs asks for {model}")


def wire_probe(
    view: ProbeView, panel: ProbePanel, who: gr.State, model: gr.Dropdown, browsed: gr.State
) -> None:
    """Connect the components. browsed: what the Browse tab shows."""
    view.start.click(
        panel.start,
        [who, model, browsed, *view.inputs],
        view.outputs,
        trigger_mode="once",
        concurrency_limit=None,  # who waits in the line holds nobody up
        **EVENT,
    )
    said = saying("#probe-status .note, #probe-status .status > div", text("score.stopping"))
    view.stop.click(panel.stop, who, None, js=said, queue=False, **EVENT)
    for form, press in view.exports.items():
        press.click(
            partial(panel.export, form), view.probe, [view.export_status, view.file], **EVENT
        )
