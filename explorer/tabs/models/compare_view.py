"""The Compare tab: models on the same pairs, or one against the majority of the others."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.html import note
from explorer.core.parts import (
    EVENT,
    Filling,
    Linked,
    Part,
    act_of,
    again,
    build_part,
    components,
    guarded,
    nothing_new,
    wire_part,
    wrote,
)
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.reader.links import tab_of
from explorer.reader.reading import FIRST
from explorer.reader.session import Session
from explorer.results.field import MAJORITY, Field
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
from explorer.tabs.models.compare_state import (
    COMPARE_LINK,
    CompareScene,
    CompareState,
    compare_scene,
    fitting_compare,
    next_compare_scene,
)
from explorer.tabs.models.compare_table import table_html
from explorer.tabs.models.compared import MarginPoints, margin_points
from explorer.tabs.models.figures import margins_figure

PART = "compare"
REFRESH_SECONDS = 2.0


@dataclass(frozen=True)
class CompareParts:
    """The tab's components.

    address: its query string. timer: runs while a run that is compared does.
    """

    part: Part
    head: gr.HTML
    bar: gr.HTML
    choices: gr.HTML
    body: gr.HTML
    plot: gr.Plot
    reader_bar: gr.HTML
    pair: gr.HTML
    address: gr.Textbox
    timer: gr.Timer

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """The components that `Compare.shown` fills."""
        return components(
            self.address, self.head, self.bar, self.choices, self.body, self.plot,
            self.reader_bar, self.pair, self.timer,
        )  # fmt: skip


def build_compare() -> CompareParts:
    """Lay the tab out where it is called."""
    with build_part(PART) as part:
        head, bar, choices, body = (gr.HTML() for _ in range(4))
        plot = gr.Plot(show_label=False, visible=False, elem_classes="pairs-plot")
        reader, pair = gr.HTML(), gr.HTML(elem_classes="reader")
    return CompareParts(
        part, head, bar, choices, body, plot, reader, pair,
        gr.Textbox(visible=False), gr.Timer(REFRESH_SECONDS, active=False),
    )  # fmt: skip


@dataclass(frozen=True)
class Compare:
    """The tab's callbacks."""

    fields: Fields
    settings: Settings
    parts: CompareParts

    @guarded
    def open(self, query_string: object, session: Session) -> Filling:
        """What a link asks for, where it is one of this tab."""
        if tab_of(query_string) != PART:
            is_open = session.get(CompareState)
            return nothing_new() if is_open else self._show(CompareState(), session)
        decoded = COMPARE_LINK.decode(query_string)
        return self._show(decoded.view, session, decoded.dropped)

    @guarded
    def show(self, session: Session) -> Filling:
        """The same with what was scored or read since."""
        if session.get(CompareState) is None:
            return nothing_new()
        return self._show(session.seen(CompareState), session)

    @guarded
    def act(self, event: gr.EventData, session: Session) -> Filling:
        """What is shown after one act."""
        name, sent = act_of(event)
        if name == "again":
            return self.show(session)
        seen = session.seen(CompareState)
        now = next_compare_scene(seen, partial(self._field_of, session), name, sent)
        return self.shown(now, session, before=seen)

    def _show(self, view: CompareState, session: Session, dropped: tuple[str, ...] = ()) -> Filling:
        view, notes = fitting_compare(view, partial(self._field_of, session))
        now = compare_scene(view, self._field_of(session, view.a))
        return self.shown(now, session, (*dropped, *notes))

    def shown(
        self,
        now: CompareScene,
        session: Session,
        notes: tuple[str, ...] = (),
        before: CompareState | None = None,
    ) -> Filling:
        """What a scene changes on the page, and from now on the session sees.

        before: what is on screen already.
        """
        view, parts = now.view, self.parts
        session.show(view)
        filled: Filling = {
            parts.address: COMPARE_LINK.encode(view),
            parts.reader_bar: differing_html(now),
            parts.pair: differing_pair_html(now),
            parts.timer: gr.Timer(active=any(map(now.field.is_running, view.named))),
        }
        if before is None or _apart_from_reading(before) != _apart_from_reading(view):
            filled[parts.body], filled[parts.plot] = _body(now)
            filled[parts.head] = compare_head_html(now, self.fields.all(*session.where))
            filled[parts.bar] = compare_bar_html(now, notes, self.settings.link_base)
            filled[parts.choices] = choices_html(now)
        return filled

    def _field_of(self, session: Session, model: str) -> Field:
        """The field that a model is in; of none, the largest."""
        if model:
            return self.fields.of(model, *session.where)
        return self.fields.largest(*session.where)


def _body(now: CompareScene) -> tuple[str, Any]:
    """The words and the figure of a panel."""
    if now.view.a and now.view.panel == "scatter":
        return _margins_shown(now)
    words = {"table": table_html, "agreement": likeness_html, "ensembles": ensembles_html}
    html = words[now.view.panel](now) if now.view.a else ""
    return html, gr.update(visible=False)


def _apart_from_reading(view: CompareState) -> CompareState:
    return replace(view, reading=FIRST)


def _margins_shown(now: CompareScene) -> tuple[str, Any]:
    """The words and the figure of a scene; no figure where there is nothing to draw."""
    found = margin_points(now)
    words = _margins_words(now, found)
    if found is None or not found.n:
        return words, gr.update(visible=False)
    keys = [now.field.table.key_of(row) for row in found.rows.tolist()]
    figure = painted(margins_figure(found, keys), 520)
    return words, gr.update(value=figure, visible=True)


def _margins_words(now: CompareScene, found: MarginPoints | None) -> str:
    """What is drawn, or why nothing is. found: of the scene."""
    if now.view.b == MAJORITY:
        return note(text("compare.scatter_majority"))
    if found is None:
        without = [each for each in now.view.named[:2] if not now.field.has_rewards(each)]
        return note(text("compare.scatter_missing", models=", ".join(without)))
    if not found.n:
        return note(text("compare.scatter_none"))
    html = note(text("compare.scatter_about"))
    if len(found.rows) < found.n:
        n, of = f"{len(found.rows):,}", f"{found.n:,}"
        html += note(text("compare.scatter_cut", n=n, of=of))
    return html


def wire_compare(tab: Compare, session: gr.State, opened: gr.Tab) -> None:
    """Connect the components; the tab is brought up to date when it is opened."""
    parts = tab.parts
    wire_part(parts.part, tab.act, session, parts.outputs, parts.address)
    opened.select(tab.show, session, parts.outputs, **EVENT).then(
        None, parts.address, None, js=wrote(parts.part)
    )
    parts.timer.tick(None, None, None, js=again(parts.part))


def linked_compare(tab: Compare, session: gr.State) -> Linked:
    """How a link opens the tab."""
    parts = tab.parts
    return Linked(parts.part, tab.open, [session], parts.outputs, parts.address)
