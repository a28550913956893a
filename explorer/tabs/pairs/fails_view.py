"""The Failures tab: what a model loses, what kind of pairs these are, and who else fails them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.html import note, nothing_to_tell, refused_html, step_html
from explorer.core.parts import (
    EVENT,
    Filling,
    Linked,
    act_of,
    again,
    guarded,
    nothing_new,
    segments,
    wire_part,
    wrote,
)
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.reader.facetpanel import facets_html
from explorer.reader.links import tab_of
from explorer.reader.listing import reader_bar
from explorer.reader.reading import FIRST
from explorer.reader.session import Session
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.runs.facts import facts_html
from explorer.tabs.pairs.export_view import fail_exporting
from explorer.tabs.pairs.fail_bar import fail_bar_html, head_html
from explorer.tabs.pairs.fail_exports import FailFormat
from explorer.tabs.pairs.fail_list import fail_list_html, fail_pair_html
from explorer.tabs.pairs.fail_parts_view import PART, FailuresParts
from explorer.tabs.pairs.fail_state import (
    FAIL_LINK,
    PANELS,
    FailScene,
    FailView,
    fail_scene,
    fitting_fails,
    next_fail_scene,
)
from explorer.tabs.pairs.kinds import kinds_html
from explorer.tabs.pairs.notes import PairNotes, mark_of
from explorer.tabs.pairs.notes_view import note_html
from explorer.tabs.pairs.rewards_view import rewards_shown
from explorer.tabs.pairs.tokens_view import Tokens, has_tokens, wire_tokens
from scoring.errors import KnownError


@dataclass(frozen=True)
class Followed:
    """The run that was scored last when the tab was opened last; None for none."""

    run_id: str | None = None


@dataclass(frozen=True)
class Failures:
    """The tab's callbacks. `notes` are what the browser keeps of notes on pairs."""

    fields: Fields
    settings: Settings
    parts: FailuresParts

    @guarded
    def open(self, query_string: object, session: Session, notes: object) -> Filling:
        """What a link asks for, where it is one of this tab; and the run that was followed."""
        if tab_of(query_string) != PART:
            is_open = session.get(FailView)
            return nothing_new() if is_open else self._show(FailView(), session, notes)
        session.show(Followed(session.run_id))
        decoded = FAIL_LINK.decode(query_string)
        view, dropped = fitting_fails(decoded.view, partial(self._field_of, session))
        now = fail_scene(view, self._field_of(session, view.model))
        return self.shown(now, session, notes, (*decoded.dropped, *dropped))

    @guarded
    def show(self, session: Session, notes: object) -> Filling:
        """The same with what was scored or read since."""
        return self._show(session.seen(FailView), session, notes)

    @guarded
    def follow(self, session: Session, notes: object) -> Filling:
        """What the run lost that was scored since the tab was last open; else the same.

        Nothing before the page's own address was looked at, which opens the tab, too.
        """
        followed, seen = session.seen(Followed).run_id, session.seen(FailView)
        if session.get(FailView) is None:
            return nothing_new()
        session.show(Followed(session.run_id))
        if session.run_id == followed or (followed is None and seen.model):
            return self._show(seen, session, notes)
        return self.turn_to(session, notes)

    @guarded
    def turn_to(self, session: Session, notes: object) -> Filling:
        """What a run lost, from its worst pair on; the same as before where it has none yet."""
        model = self.fields.name_of(session.run_id, *session.where)
        view = FailView(model) if model else session.seen(FailView)
        return self.shown(fail_scene(view, self._field_of(session, view.model)), session, notes)

    @guarded
    def act(self, event: gr.EventData, session: Session, notes: object) -> Filling:
        """What is shown after one act."""
        name, sent = act_of(event)
        seen, field_of = session.seen(FailView), partial(self._field_of, session)
        if name == "again":
            return self._show(seen, session, notes, before=seen)
        if name == "note":
            return self._noted(fail_scene(seen, field_of(seen.model)), notes, sent)
        try:
            now = next_fail_scene(seen, field_of, name, sent)
        except KnownError as error:
            if name not in ("search", "model"):
                raise
            return self._refused(fail_scene(seen, field_of(seen.model)), str(error))
        return self.shown(now, session, notes, before=seen)

    @guarded
    def read(self, session: Session) -> Iterator[tuple[str, Any]]:
        """Read published results of each pair, telling how far it is."""
        for step in self.fields.reading(session.results_id):
            yield step_html(step, text("board.reading")), gr.update(visible=True)
        yield refused_html(self.fields.refused(session.results_id)), gr.update(visible=False)

    @guarded
    def export(
        self, form: FailFormat, session: Session, notes: object
    ) -> Iterator[tuple[str, Any]]:
        """Write a file of what is listed, telling how far it is."""
        seen = session.seen(FailView)
        now = fail_scene(seen, self._field_of(session, seen.model))
        yield from fail_exporting(now, form, PairNotes.read(notes))

    def _show(
        self, view: FailView, session: Session, notes: object, before: FailView | None = None
    ) -> Filling:
        view, dropped = fitting_fails(view, partial(self._field_of, session))
        now = fail_scene(view, self._field_of(session, view.model))
        return self.shown(now, session, notes, dropped, before)

    def shown(
        self,
        now: FailScene,
        session: Session,
        notes: object,
        dropped: tuple[str, ...] = (),
        before: FailView | None = None,
    ) -> Filling:
        """What a scene changes on the page, and from now on the session sees.

        dropped: what of a link cannot be shown. before: what is on screen already.
        """
        view, field, parts, kept = now.view, now.field, self.parts, PairNotes.read(notes)
        session.show(view)
        run = field.runs.get(view.model)
        filled: Filling = {
            parts.address: FAIL_LINK.encode(view),
            parts.read: _read_button(self.fields.unread(session.results_id)),
            parts.head: head_html(now, self.fields.all(*session.where)),
            parts.facets: facets_html(field.table, view.view.filters, now.selection),
            parts.bar: fail_bar_html(now, dropped, self.settings.link_base),
            parts.tokens.button: gr.update(visible=has_tokens(field, view.model)),
            parts.facts: facts_html(run) if run else "",
            parts.timer: gr.Timer(active=field.is_running(view.model)),
        }
        if before is None or before.panel != view.panel:
            filled[parts.panels] = _panels_html(view)
            for panel, column in parts.columns.items():
                filled[column] = gr.Column(visible=panel == view.panel)
        if view.panel == "pairs":
            filled[parts.pairs] = fail_list_html(now, kept)
            filled[parts.reader_bar] = reader_bar(now.listed, view.view.reading)
            filled[parts.note] = note_html(now, kept)
            filled[parts.pair] = fail_pair_html(now)
        elif view.panel == "kinds":
            filled[parts.kinds] = kinds_html(now)
        else:
            filled |= rewards_shown(parts.rewards, now)
        if before is None or _open(before) != _open(view):
            filled[parts.tokens.words] = ""
            filled[parts.tokens.plot] = gr.update(visible=False)
        if before is None or _unread(before) != _unread(view):
            filled[parts.exports.status] = ""
            filled[parts.exports.file] = gr.update(visible=False)
        return filled

    def _noted(self, now: FailScene, notes: object, sent: Mapping[str, Any]) -> Filling:
        """After a note was written: it is kept, and its pair has a sign."""
        row = now.field.table.row_of(str(sent.get("key")))
        if row is None:
            raise KnownError(text("failnote.no_pair"))
        kept = PairNotes.read(notes).put(mark_of(now.field, row), sent.get("value"))
        return {
            self.parts.notes: kept.stored(),
            self.parts.note: note_html(now, kept),
            self.parts.pairs: fail_list_html(now, kept),
        }

    def _refused(self, now: FailScene, why: str) -> Filling:
        """Why a search or a model cannot be used, beside what is shown still."""
        bar = fail_bar_html(now, (), self.settings.link_base)
        return {self.parts.bar: bar + note(why, "wrong")}

    def _field_of(self, session: Session, model: str) -> Field:
        """The field that a model is in; of all models together, the largest."""
        if model:
            return self.fields.of(model, *session.where)
        return self.fields.largest(*session.where)


def _open(view: FailView) -> tuple[str, str]:
    return view.model, view.view.reading.key


def _unread(view: FailView) -> FailView:
    """A view without the place in its list."""
    return replace(view, view=replace(view.view, reading=FIRST))


def _read_button(unread: int) -> Any:
    return gr.update(value=text("fails.read", n=f"{unread:,}"), visible=unread > 0)


def _panels_html(view: FailView) -> str:
    words: dict[str, str] = {panel: text(f"fails.panel_{panel}") for panel in PANELS}
    return segments(text("panel.label"), "panel", words, view.panel)


def wire_failures(tab: Failures, session: gr.State, opened: gr.Tab) -> None:
    """Connect the components; the tab is brought up to date when it is opened."""
    parts, state = tab.parts, [session, tab.parts.notes]
    wire_part(parts.part, tab.act, state, parts.outputs, parts.address)
    opened.select(tab.follow, state, parts.outputs, **EVENT).then(
        None, parts.address, None, js=wrote(parts.part)
    )
    reading = parts.read.click(tab.read, session, [parts.status, parts.stop], **EVENT)
    reading.then(tab.show, state, parts.outputs, **EVENT)
    parts.stop.click(None, cancels=reading)
    exported = [parts.exports.status, parts.exports.file]
    for form, button in parts.exports.buttons.items():
        writing = button.click(partial(tab.export, form), state, exported, **EVENT)
        writing.failure(nothing_to_tell, None, parts.exports.status, **EVENT)
    wire_tokens(parts.tokens, Tokens(tab.fields, tab.fields.runs), session)
    parts.timer.tick(None, None, None, js=again(parts.part))


def linked_failures(tab: Failures, session: gr.State) -> Linked:
    """How a link opens the tab."""
    parts = tab.parts
    return Linked(parts.part, tab.open, [session, parts.notes], parts.outputs, parts.address)
