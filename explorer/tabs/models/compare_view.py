"""The Compare tab: models on the same pairs, or one against the majority of the others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import gradio as gr

from explorer.core.parts import (
    EVENT,
    Linked,
    Part,
    act_of,
    again,
    build_part,
    guarded,
    unchanged,
    wire_part,
    wrote,
)
from explorer.core.settings import Settings
from explorer.reader.links import tab_of
from explorer.reader.reading import FIRST
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.tabs.models.compare_ensembles import ensembles_html
from explorer.tabs.models.compare_head import (
    choices_html,
    compare_bar_html,
    compare_head_html,
    differing_html,
    differing_pair_html,
    likeness_html,
)
from explorer.tabs.models.compare_margins_view import margins_shown
from explorer.tabs.models.compare_state import (
    COMPARE_LINK,
    CompareScene,
    CompareView,
    compare_scene,
    fitting_compare,
    next_compare_scene,
)
from explorer.tabs.models.compare_table import table_html

PART = "compare"
REFRESH_SECONDS = 2.0


@dataclass(frozen=True)
class CompareTabView:
    """The tab's components, and what a session remembers of it.

    seen: a `CompareView`; None until the page's own address was looked at. address: its query
        string. timer: runs while a run that is compared does.
    """

    part: Part
    head: gr.HTML
    bar: gr.HTML
    choices: gr.HTML
    body: gr.HTML
    plot: gr.Plot
    reader_bar: gr.HTML
    pair: gr.HTML
    seen: gr.State
    address: gr.Textbox
    timer: gr.Timer

    @property
    def outputs(self) -> list[gr.components.Component]:
        """The components that a `CompareShown` fills."""
        return [
            self.seen, self.address, self.head, self.bar, self.choices, self.body, self.plot,
            self.reader_bar, self.pair, self.timer,
        ]  # fmt: skip


class CompareShown(NamedTuple):
    """What the tab shows, in the order of `CompareTabView.outputs`."""

    seen: Any
    address: Any
    head: Any
    bar: Any
    choices: Any
    body: Any
    plot: Any
    reader_bar: Any
    pair: Any
    timer: Any


def build_compare() -> CompareTabView:
    """Lay the tab out where it is called."""
    with build_part(PART) as part:
        head, bar, choices, body = (gr.HTML() for _ in range(4))
        plot = gr.Plot(show_label=False, visible=False, elem_classes="pairs-plot")
        reader, pair = gr.HTML(), gr.HTML(elem_classes="reader")
    return CompareTabView(
        part, head, bar, choices, body, plot, reader, pair, gr.State(None),
        gr.Textbox(visible=False), gr.Timer(REFRESH_SECONDS, active=False),
    )  # fmt: skip


@dataclass(frozen=True)
class Compare:
    """The tab's callbacks. `where` is (the results' id, the pairs' id, the browser's own runs)."""

    fields: Fields
    settings: Settings

    @guarded
    def open(self, query_string: object, seen: CompareView | None, *where: object) -> CompareShown:
        """What a link asks for, where it is one of this tab."""
        if tab_of(query_string) != PART:
            return unchanged(CompareShown) if seen else self.show(CompareView(), *where)
        decoded = COMPARE_LINK.decode(query_string)
        view, notes = fitting_compare(decoded.view, partial(self._field_of, where=where))
        now = compare_scene(view, self._field_of(view.a, where))
        return self.shown(now, where, (*decoded.dropped, *notes))

    @guarded
    def show(self, seen: CompareView | None, *where: object) -> CompareShown:
        """The same with what was scored or read since."""
        if seen is None:
            return unchanged(CompareShown)
        view, notes = fitting_compare(seen, partial(self._field_of, where=where))
        return self.shown(compare_scene(view, self._field_of(view.a, where)), where, notes)

    @guarded
    def act(self, event: gr.EventData, seen: CompareView | None, *where: object) -> CompareShown:
        """What is shown after one act."""
        name, sent = act_of(event)
        seen = seen or CompareView()
        if name == "again":
            return self.show(seen, *where)
        now = next_compare_scene(seen, partial(self._field_of, where=where), name, sent)
        return self.shown(now, where, before=seen)

    def shown(
        self,
        now: CompareScene,
        where: tuple[object, ...],
        notes: tuple[str, ...] = (),
        before: CompareView | None = None,
    ) -> CompareShown:
        """A scene as values for `CompareTabView.outputs`. before: what is on screen already."""
        view = now.view
        anew: dict[str, Any] = {}
        if before is None or _apart_from_reading(before) != _apart_from_reading(view):
            body, plot = _body(now)
            anew = {
                "head": compare_head_html(now, self.fields.all(*where)),
                "bar": compare_bar_html(now, notes, self.settings.link_base),
                "choices": choices_html(now),
                "body": body,
                "plot": plot,
            }
        return unchanged(
            CompareShown,
            seen=view,
            address=COMPARE_LINK.encode(view),
            reader_bar=differing_html(now),
            pair=differing_pair_html(now),
            timer=gr.Timer(active=any(map(now.field.is_running, view.named))),
            **anew,
        )

    def _field_of(self, model: str, where: tuple[object, ...]) -> Field:
        """The field that a model is in; of none, the largest."""
        return self.fields.of(model, *where) if model else self.fields.largest(*where)


def _body(now: CompareScene) -> tuple[str, Any]:
    """The words and the figure of a panel."""
    if now.view.a and now.view.panel == "scatter":
        return margins_shown(now)
    words = {"table": table_html, "agreement": likeness_html, "ensembles": ensembles_html}
    html = words[now.view.panel](now) if now.view.a else ""
    return html, gr.update(visible=False)


def _apart_from_reading(view: CompareView) -> CompareView:
    return replace(view, reading=FIRST)


def wire_compare(
    view: CompareTabView,
    tab: Compare,
    where: Sequence[gr.components.Component],
    opened: gr.Tab,
) -> None:
    """Connect the components; the tab is brought up to date when it is opened."""
    state = [view.seen, *where]
    wire_part(view.part, tab.act, state, view.outputs, view.address)
    opened.select(tab.show, state, view.outputs, **EVENT).then(
        None, view.address, None, js=wrote(view.part)
    )
    view.timer.tick(None, None, None, js=again(view.part))


def linked_compare(
    view: CompareTabView, tab: Compare, where: Sequence[gr.components.Component]
) -> Linked:
    """How a link opens the tab."""
    return Linked(view.part, tab.open, [view.seen, *where], view.outputs, view.address)
