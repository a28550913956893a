"""The Failures tab: what a model loses, what kind of pairs these are, and who else fails them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import gradio as gr

from explorer.fail_links import decode_fails, encode_fails
from explorer.failview import (
    PANELS,
    FailScene,
    FailView,
    Panel,
    fail_scene,
    fitting_fails,
    next_fail_scene,
)
from explorer.field import Field
from explorer.fields import Fields
from explorer.links import TABS, tab_of
from explorer.settings import Settings
from explorer.text import text
from explorer.ui.errors import guarded
from explorer.ui.facetpanel import facets_html
from explorer.ui.failbar import fail_bar_html, head_html
from explorer.ui.failkinds import kinds_html
from explorer.ui.faillist import fail_list_html, fail_pair_html
from explorer.ui.failrewards import RewardsView, build_rewards, rewards_shown
from explorer.ui.listing import reader_bar
from explorer.ui.markup import note
from explorer.ui.progress import step_html
from explorer.ui.relay import (
    EVENT,
    Linked,
    Part,
    act_of,
    build_part,
    segments,
    unchanged,
    wire_part,
    wrote,
)
from explorer.ui.report import facts_html
from explorer.ui.searchbar import search_html
from scoring.errors import KnownError

PART = TABS[2]
REFRESH_SECONDS = 2.0


@dataclass(frozen=True)
class FailuresView:
    """The tab's components, and what a session remembers of it.

    seen: a `FailView`. followed: the run that was scored last when the tab was opened last.
    address: its query string. timer: runs while the model's run does.
    """

    part: Part
    read: gr.Button
    stop: gr.Button
    status: gr.HTML
    head: gr.HTML
    facets: gr.HTML
    bar: gr.HTML
    panels: gr.HTML
    columns: dict[Panel, gr.Column]
    pairs: gr.HTML
    reader_bar: gr.HTML
    pair: gr.HTML
    kinds: gr.HTML
    rewards: RewardsView
    facts: gr.HTML
    seen: gr.State
    followed: gr.State
    address: gr.Textbox
    timer: gr.Timer

    @property
    def outputs(self) -> list[gr.components.Component]:
        """The components that a `FailsShown` fills."""
        return [
            self.seen, self.address, self.read, self.head, self.facets, self.bar, self.panels,
            *self.columns.values(), self.pairs, self.reader_bar, self.pair, self.kinds,
            *self.rewards.outputs, self.facts, self.timer,
        ]  # fmt: skip


class FailsShown(NamedTuple):
    """What the tab shows, in the order of `FailuresView.outputs`; columns and rewards flat."""

    seen: Any
    address: Any
    read: Any
    head: Any
    facets: Any
    bar: Any
    panels: Any
    columns: Any
    pairs: Any
    reader_bar: Any
    pair: Any
    kinds: Any
    rewards: Any
    facts: Any
    timer: Any

    @property
    def values(self) -> tuple[Any, ...]:
        """One for each output."""
        flat: list[Any] = []
        for name, value in self._asdict().items():
            flat += value if name in ("columns", "rewards") else [value]
        return tuple(flat)

    @classmethod
    def only(cls, **changed: Any) -> tuple[Any, ...]:
        """What leaves everything else as it is."""
        skips = {"columns": [gr.skip()] * len(PANELS), "rewards": [gr.skip()] * RewardsView.N}
        return unchanged(cls, **skips, **changed).values


def build_failures() -> FailuresView:
    """Lay the tab out where it is called."""
    with build_part(PART) as part:
        with gr.Row(elem_classes="status-row"):
            status = gr.HTML(elem_id="read-status")
            read = gr.Button(
                "", variant="primary", size="md", scale=0, min_width=200,
                elem_id="read-results", visible=False,
            )  # fmt: skip
            stop = gr.Button(text("score.stop"), size="md", scale=0, min_width=80, visible=False)
        head = gr.HTML()
        with gr.Row(equal_height=False):
            with gr.Column(scale=1, min_width=270, elem_classes="side"):
                facets = gr.HTML()
            with gr.Column(scale=4, min_width=320):
                gr.HTML(search_html("fail-search"))
                bar, panels = gr.HTML(), gr.HTML()
                columns = {panel: gr.Column(visible=panel == PANELS[0]) for panel in PANELS}
                with columns["pairs"]:
                    pairs, reader, pair = gr.HTML(), gr.HTML(), gr.HTML(elem_classes="reader")
                with columns["kinds"]:
                    kinds = gr.HTML()
                with columns["rewards"]:
                    rewards = build_rewards()
        facts = gr.HTML()
    return FailuresView(
        part, read, stop, status, head, facets, bar, panels, columns, pairs, reader, pair, kinds,
        rewards, facts, gr.State(FailView()), gr.State(None), gr.Textbox(visible=False),
        gr.Timer(REFRESH_SECONDS, active=False),
    )  # fmt: skip


@dataclass(frozen=True)
class Failures:
    """The tab's callbacks. `where` is (the results' id, the pairs' id, the browser's own runs)."""

    fields: Fields
    settings: Settings

    @guarded
    def open(self, query_string: object, *where: object) -> tuple[Any, ...]:
        """What a link asks for, where it is one of this tab."""
        if tab_of(query_string) != PART:
            return FailsShown.only()
        decoded = decode_fails(query_string)
        view, notes = fitting_fails(decoded.view, partial(self._field_of, where=where))
        now = fail_scene(view, self._field_of(view.model, where))
        return self.shown(now, where, (*decoded.dropped, *notes))

    @guarded
    def show(self, seen: FailView, *where: object) -> tuple[Any, ...]:
        """The same with what was scored or read since."""
        view, notes = fitting_fails(seen, partial(self._field_of, where=where))
        return self.shown(fail_scene(view, self._field_of(view.model, where)), where, notes)

    @guarded
    def follow(
        self, run_id: object, followed: object, seen: FailView, *where: object
    ) -> tuple[Any, ...]:
        """What the run lost that was scored since the tab was last open; else the same."""
        if run_id == followed:
            return (*self.show(seen, *where), run_id)
        return (*self.turn_to(run_id, seen, *where), run_id)

    @guarded
    def turn_to(self, run_id: object, seen: FailView, *where: object) -> tuple[Any, ...]:
        """What a run lost, from its worst pair on; the same as before where it has none yet."""
        model = self.fields.name_of(run_id, *where)
        view = FailView(model) if model else seen
        return self.shown(fail_scene(view, self._field_of(view.model, where)), where)

    @guarded
    def act(self, event: gr.EventData, seen: FailView, *where: object) -> tuple[Any, ...]:
        """What is shown after one act."""
        name, sent = act_of(event)
        field_of = partial(self._field_of, where=where)
        try:
            now = next_fail_scene(seen, field_of, name, sent)
        except KnownError as error:
            if name not in ("search", "model"):
                raise
            return self._refused(seen, where, str(error))
        return self.shown(now, where, before=seen)

    @guarded
    def read(self, results_id: object, *_: object) -> Iterator[tuple[str, Any]]:
        """Read published results of each pair, telling how far it is."""
        for step in self.fields.reading(results_id):
            yield step_html(step, text("board.reading")), gr.update(visible=True)
        yield "", gr.update(visible=False)

    def shown(
        self,
        now: FailScene,
        where: tuple[object, ...],
        notes: tuple[str, ...] = (),
        before: FailView | None = None,
    ) -> tuple[Any, ...]:
        """A scene as values for `FailuresView.outputs`. before: what is on screen already."""
        view, field = now.view, now.field
        turned = before is None or before.panel != view.panel
        read = view.panel == "pairs"
        run = field.runs.get(view.model)
        return FailsShown(
            seen=view,
            address=encode_fails(view),
            read=_read_button(self.fields.unread(where[0])),
            head=head_html(now, self.fields.all(*where)),
            facets=facets_html(field.table, view.view.filters, now.selection),
            bar=fail_bar_html(now, notes, self._link_base),
            panels=_panels_html(view) if turned else gr.skip(),
            columns=[gr.Column(visible=panel == view.panel) for panel in PANELS],
            pairs=fail_list_html(now) if read else gr.skip(),
            reader_bar=reader_bar(now.listed, view.view.reading) if read else gr.skip(),
            pair=fail_pair_html(now) if read else gr.skip(),
            kinds=kinds_html(now) if view.panel == "kinds" else gr.skip(),
            rewards=rewards_shown(now) if view.panel == "rewards" else RewardsView.unchanged(),
            facts=facts_html(run) if run else "",
            timer=gr.Timer(active=run is not None and run.status == "running"),
        ).values

    def _refused(self, seen: FailView, where: tuple[object, ...], why: str) -> tuple[Any, ...]:
        """Why a search or a model cannot be used, beside what is shown still."""
        now = fail_scene(seen, self._field_of(seen.model, where))
        bar = fail_bar_html(now, (), self._link_base)
        return FailsShown.only(bar=bar + note(why, "wrong"))

    def _field_of(self, model: str, where: tuple[object, ...]) -> Field:
        """The field that a model is in; of all models together, the largest."""
        if model:
            return self.fields.of(model, *where)
        return self.fields.largest(*where)

    @property
    def _link_base(self) -> str:
        space = self.settings.space
        return f"https://huggingface.co/spaces/{space}" if space else ""


def _read_button(unread: int) -> Any:
    return gr.update(value=text("fails.read", n=f"{unread:,}"), visible=unread > 0)


def _panels_html(view: FailView) -> str:
    words: dict[str, str] = {panel: text(f"fails.panel_{panel}") for panel in PANELS}
    return segments(text("panel.label"), "panel", words, view.panel)


def wire_failures(
    view: FailuresView,
    tab: Failures,
    where: list[gr.components.Component],
    run_id: gr.State,
    opened: gr.Tab,
) -> None:
    """Connect the components; the tab is brought up to date when it is opened.

    run_id: of the run that was scored last.
    """
    state = [view.seen, *where]
    wire_part(view.part, tab.act, state, view.outputs, view.address)
    opened.select(
        tab.follow, [run_id, view.followed, *state], [*view.outputs, view.followed], **EVENT
    ).then(None, view.address, None, js=wrote(view.part))
    reading = view.read.click(tab.read, where, [view.status, view.stop], **EVENT)
    reading.then(tab.show, state, view.outputs, **EVENT)
    view.stop.click(None, cancels=reading)
    view.timer.tick(tab.show, state, view.outputs, **EVENT)


def linked_failures(
    view: FailuresView, tab: Failures, where: list[gr.components.Component]
) -> Linked:
    """How a link opens the tab."""
    return Linked(view.part, tab.open, where, view.outputs, view.address)
