"""The Failures tab: what a model loses, what kind of pairs these are, and who else fails them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.html import note, nothing_to_tell, refused_html, step_html
from explorer.core.parts import EVENT, Linked, act_of, again, guarded, segments, wire_part, wrote
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.reader.facetpanel import facets_html
from explorer.reader.links import tab_of
from explorer.reader.listing import reader_bar
from explorer.reader.reading import FIRST
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.runs.facts import facts_html
from explorer.tabs.pairs.export_view import fail_exporting
from explorer.tabs.pairs.fail_bar import fail_bar_html, head_html
from explorer.tabs.pairs.fail_exports import FailFormat
from explorer.tabs.pairs.fail_list import fail_list_html, fail_pair_html
from explorer.tabs.pairs.fail_parts_view import PART, UNOPENED, FailsShown, FailuresView
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
from explorer.tabs.pairs.rewards_view import RewardsView, rewards_shown
from explorer.tabs.pairs.tokens_view import Tokens, has_tokens, wire_tokens
from scoring.errors import KnownError


@dataclass(frozen=True)
class Failures:
    """The tab's callbacks.

    `where` is (the results' id, the pairs' id, the browser's own runs, its notes on pairs).
    """

    fields: Fields
    settings: Settings

    @guarded
    def open(
        self, query_string: object, run_id: object, followed: object, *where: object
    ) -> tuple[Any, ...]:
        """What a link asks for, where it is one of this tab; and the run that was followed."""
        if tab_of(query_string) != PART and followed == UNOPENED:
            return (*self.show(FailView(), *where), None)
        if tab_of(query_string) != PART:
            return (*FailsShown.only(), followed)
        decoded = FAIL_LINK.decode(query_string)
        view, notes = fitting_fails(decoded.view, partial(self._field_of, where=where))
        now = fail_scene(view, self._field_of(view.model, where))
        return (*self.shown(now, where, (*decoded.dropped, *notes)), run_id)

    @guarded
    def show(
        self, seen: FailView, *where: object, before: FailView | None = None
    ) -> tuple[Any, ...]:
        """The same with what was scored or read since. before: what is on screen already."""
        view, notes = fitting_fails(seen, partial(self._field_of, where=where))
        now = fail_scene(view, self._field_of(view.model, where))
        return self.shown(now, where, notes, before)

    @guarded
    def follow(
        self, run_id: object, followed: object, seen: FailView, *where: object
    ) -> tuple[Any, ...]:
        """What the run lost that was scored since the tab was last open; else the same.

        Nothing before the page's own address was looked at, which opens the tab, too.
        """
        if followed == UNOPENED:
            return (*FailsShown.only(), UNOPENED)
        if run_id == followed or (followed is None and seen.model):
            return (*self.show(seen, *where), run_id)
        return (*self.turn_to(run_id, seen, *where), run_id)

    @guarded
    def turn_to(self, run_id: object, seen: FailView, *where: object) -> tuple[Any, ...]:
        """What a run lost, from its worst pair on; the same as before where it has none yet."""
        model = self.fields.name_of(run_id, *where[:3])
        view = FailView(model) if model else seen
        return self.shown(fail_scene(view, self._field_of(view.model, where)), where)

    @guarded
    def act(self, event: gr.EventData, seen: FailView, *where: object) -> tuple[Any, ...]:
        """What is shown after one act."""
        name, sent = act_of(event)
        field_of = partial(self._field_of, where=where)
        if name == "again":
            return self.show(seen, *where, before=seen)
        if name == "note":
            return self._noted(fail_scene(seen, field_of(seen.model)), where, sent)
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
        yield refused_html(self.fields.refused(results_id)), gr.update(visible=False)

    @guarded
    def export(self, form: FailFormat, seen: FailView, *where: object) -> Iterator[tuple[str, Any]]:
        """Write a file of what is listed, telling how far it is."""
        now = fail_scene(seen, self._field_of(seen.model, where))
        yield from fail_exporting(now, form, PairNotes.read(where[3]))

    def shown(
        self,
        now: FailScene,
        where: tuple[object, ...],
        notes: tuple[str, ...] = (),
        before: FailView | None = None,
    ) -> tuple[Any, ...]:
        """A scene as values for `FailuresView.outputs`. before: what is on screen already."""
        view, field, kept = now.view, now.field, PairNotes.read(where[3])
        turned = before is None or before.panel != view.panel
        read = view.panel == "pairs"
        moved = before is None or _open(before) != _open(view)
        turned_list = before is None or _unread(before) != _unread(view)
        run = field.runs.get(view.model)
        return FailsShown(
            seen=view,
            address=FAIL_LINK.encode(view),
            read=_read_button(self.fields.unread(where[0])),
            head=head_html(now, self.fields.all(*where[:3])),
            facets=facets_html(field.table, view.view.filters, now.selection),
            bar=fail_bar_html(now, notes, self.settings.link_base),
            panels=_panels_html(view) if turned else gr.skip(),
            columns=[gr.Column(visible=panel == view.panel) for panel in PANELS],
            pairs=fail_list_html(now, kept) if read else gr.skip(),
            reader_bar=reader_bar(now.listed, view.view.reading) if read else gr.skip(),
            note=note_html(now, kept) if read else gr.skip(),
            pair=fail_pair_html(now) if read else gr.skip(),
            tokens=gr.update(visible=has_tokens(field, view.model)),
            tokens_words="" if moved else gr.skip(),
            tokens_plot=gr.update(visible=False) if moved else gr.skip(),
            export_words="" if turned_list else gr.skip(),
            export_file=gr.update(visible=False) if turned_list else gr.skip(),
            kinds=kinds_html(now) if view.panel == "kinds" else gr.skip(),
            rewards=rewards_shown(now) if view.panel == "rewards" else RewardsView.unchanged(),
            facts=facts_html(run) if run else "",
            notes=gr.skip(),
            timer=gr.Timer(active=field.is_running(view.model)),
        ).values

    def _noted(
        self, now: FailScene, where: tuple[object, ...], sent: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """After a note was written: it is kept, and its pair has a sign."""
        row = now.field.table.row_of(str(sent.get("key")))
        if row is None:
            raise KnownError(text("failnote.no_pair"))
        kept = PairNotes.read(where[3]).put(mark_of(now.field, row), sent.get("value"))
        note, pairs = note_html(now, kept), fail_list_html(now, kept)
        return FailsShown.only(notes=kept.stored(), note=note, pairs=pairs)

    def _refused(self, seen: FailView, where: tuple[object, ...], why: str) -> tuple[Any, ...]:
        """Why a search or a model cannot be used, beside what is shown still."""
        now = fail_scene(seen, self._field_of(seen.model, where))
        bar = fail_bar_html(now, (), self.settings.link_base)
        return FailsShown.only(bar=bar + note(why, "wrong"))

    def _field_of(self, model: str, where: tuple[object, ...]) -> Field:
        """The field that a model is in; of all models together, the largest."""
        if model:
            return self.fields.of(model, *where[:3])
        return self.fields.largest(*where[:3])


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
    for form, button in view.exports.buttons.items():
        writing = button.click(partial(tab.export, form), state, view.exports.outputs, **EVENT)
        writing.failure(nothing_to_tell, None, view.exports.status, **EVENT)
    wire_tokens(view.tokens, Tokens(tab.fields, tab.fields.runs), state[:4])
    view.timer.tick(None, None, None, js=again(view.part))


def linked_failures(
    view: FailuresView, tab: Failures, where: list[gr.components.Component], run_id: gr.State
) -> Linked:
    """How a link opens the tab. run_id: of the run that was scored last."""
    outputs = [*view.outputs, view.followed]
    inputs = [run_id, view.followed, *where]
    return Linked(view.part, tab.open, inputs, outputs, view.address)
