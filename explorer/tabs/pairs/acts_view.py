"""The Pairs tab: pairs to read, alone or with what a model, or all models, made of them."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.html import nothing_to_tell, refused_html, step_html
from explorer.core.parts import (
    EVENT,
    Filling,
    act_of,
    again,
    components,
    fetching,
    guarded,
    nothing_new,
    telling,
    told,
    wire_part,
    wire_stop,
    wrote,
)
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.data.export import Format
from explorer.data.sources import DEMO_ID
from explorer.reader.filter_html import facets_html, model_names
from explorer.reader.links import decode_pairs
from explorer.reader.listing import reader_bar
from explorer.reader.scene import Scene, Scenes, at_its_pair, next_scene, shown_again
from explorer.reader.session import Session
from explorer.reader.state import PAIRS_LINK, Chart, PairsState, move
from explorer.reader.tokens_view import has_tokens, tokens_shown
from explorer.runs.facts import facts_html
from explorer.tabs.pairs.export_view import FailFormat, exporting, fail_exporting, snippet_html
from explorer.tabs.pairs.lengths_view import lengths_shown
from explorer.tabs.pairs.list_html import (
    bar_html,
    head_html,
    list_of_pairs_html,
    note_html,
    open_pair_html,
    panels_html,
)
from explorer.tabs.pairs.notes import PairNotes, mark_of
from explorer.tabs.pairs.rewards_view import rewards_shown
from explorer.tabs.pairs.slices import slices_html
from explorer.tabs.pairs.view import PairsParts
from scoring.errors import KnownError
from scoring.hub.access import parse_hub_id

TYPED = ("search", "model", "margin")
"""Acts by which a person types: nobody does without slips, so what is shown stays."""


@dataclass(frozen=True)
class PairsTab:
    """The tab's callbacks. `notes` are what the browser keeps of notes on pairs."""

    scenes: Scenes
    settings: Settings
    parts: PairsParts

    def open(
        self, query_string: object, session: Session, notes: object, source: str = ""
    ) -> Filling:
        """What a link asks for, as far as it is here; of one of another tab, its pairs.

        source: of which pairs; "" for those that the link names.
        """
        decoded = decode_pairs(query_string)
        state, dropped = decoded.state, decoded.dropped
        state = replace(state, source=source or state.source)
        if state.source and not self.scenes.library.find(state.source):
            dropped = (*dropped, text("filter.no_source", source=state.source[:120]))
            state = replace(state, source="")
        wanted = self._to_read(state, session)
        now, left = shown_again(
            state.of(None) if wanted else state, partial(self.scenes.pairs_of, session)
        )
        return self.shown(at_its_pair(now), session, notes, (*dropped, *left)) | wanted

    def missing(self, query_string: object) -> str:
        """The source that the address asks for, where it is not here; else nothing."""
        source = decode_pairs(query_string).state.source
        if self.scenes.library.find(source) or not (source == DEMO_ID or parse_hub_id(source)):
            return ""  # a stranger's link opens no file of this machine
        return source

    @guarded
    def follow(self, query_string: object, opened: str, session: Session, notes: object) -> Filling:
        """What the address asks for, once its source was opened; nothing where there was none."""
        if not opened:
            return nothing_new()
        return self.open(query_string, session, notes, opened)

    @guarded
    def show(self, session: Session, notes: object) -> Filling:
        """The same with what was scored or read since."""
        return self._show(session.seen(PairsState), session, notes)

    def turn_back(self, session: Session, notes: object) -> Filling:
        """After the tab was opened: the same, where outcomes are looked at, which may be new."""
        state = session.get(PairsState)
        if state is None or not state.outcomes:
            return nothing_new()
        return self._show(state, session, notes)

    @guarded
    def act(self, event: gr.EventData, session: Session, notes: object) -> Filling:
        """What is shown after one act."""
        name, sent = act_of(event)
        if name == "turned":
            return self.turn_back(session, notes)
        session.check_open()
        seen = session.seen(PairsState)
        if seen.outcomes and (name, sent.get("value", "")) == ("model", None):
            seen = self._of_table(seen)
        if name == "again":
            return self._show(seen, session, notes, before=seen)
        if name == "note":
            return self._noted(self.scenes.now(session), notes, sent)
        try:
            if name in ("model", "against"):
                meant = self.scenes.fields.meant(sent.get("value"), *session.where)
                sent = {**sent, "value": meant}
            if name == "model" and (wanted := self._to_read(move(seen, name, sent), session)):
                return wanted
            now = next_scene(seen, partial(self.scenes.pairs_of, session), name, sent)
        except KnownError as error:
            if name not in TYPED:
                raise
            seen_now = self.scenes.now(session)
            return {self.parts.bar: bar_html(seen_now, (), self.settings.link_base, str(error))}
        filled = self.shown(now, session, notes, before=seen)
        table = self.scenes.library.find(seen.source)
        if name == "model" and table is not None and table is not now.table:
            why = text("match.other", dataset=table.id)
            filled[self.parts.bar] = bar_html(now, (), self.settings.link_base, why)
        return filled

    @guarded
    def read(self, session: Session) -> Iterator[Filling]:
        """Read published results of each pair, telling how far it is."""
        status, stop, fields = self.parts.status, self.parts.stop, self.scenes.fields
        for step in fields.reading(session.results_id):
            yield {
                status: step_html(step, text("board.reading")),
                stop: gr.update(visible=True),
            }
        refused = refused_html(fields.refused(session.results_id))
        yield {status: refused, stop: gr.update(visible=False)}

    @guarded
    def follow_read(self, wanted: tuple[str, float], session: Session, notes: object) -> Filling:
        """What waited for published results, now that they were read."""
        return self._show(PAIRS_LINK.decode(wanted[0]).state, session, notes)

    @guarded
    def count(self, wanted: object, session: Session) -> Iterator[Filling]:
        """Count tokens: how far it is, and at last the tokenizer."""
        table = self.scenes.pairs_of(session, session.seen(PairsState)).table
        counting, parts = telling(self.scenes.counter.count(table, wanted)), self.parts.lengths
        starts = parts.count, parts.paper
        yield from told(counting, parts.status, self.parts.counted, parts.stop, *starts)

    @guarded
    def count_in(self, tokenizer: str, session: Session, notes: object) -> Filling:
        """Draw lengths in the tokens of a tokenizer."""
        seen = session.seen(PairsState)
        chart = replace(seen.chart, unit="tokens", tokenizer=tokenizer)
        return self.shown(self.scenes.of(session, replace(seen, chart=chart)), session, notes)

    @guarded
    def as_in_paper(self, tokenizer: str, session: Session, notes: object) -> Filling:
        """Draw the paper's figure of all pairs in the tokens of a tokenizer."""
        seen = move(session.seen(PairsState).of(None), "reset", {})
        chart = Chart("with_prompt", "tokens", tokenizer=tokenizer)
        return self.shown(self.scenes.of(session, replace(seen, chart=chart)), session, notes)

    @guarded
    def show_tokens(self, session: Session) -> Iterator[Filling]:
        """The token rewards of the open pair."""
        parts = self.parts.tokens
        steps = tokens_shown(self.scenes.fields, session)
        yield from told(steps, parts.words, parts.plot, parts.stop, parts.button)

    @guarded
    def export(self, form: Format, session: Session) -> Iterator[Filling]:
        """Write the pairs that are listed to a file."""
        writing, parts = exporting(self.scenes.now(session), form), self.parts.export
        yield from told(writing, parts.status, parts.file, parts.stop, *parts.buttons.values())

    @guarded
    def export_fails(self, form: FailFormat, session: Session, notes: object) -> Iterator[Filling]:
        """Write what models made of the pairs that are listed to a file."""
        writing = fail_exporting(self.scenes.now(session), form, PairNotes.read(notes))
        yield from told(writing, self.parts.export.fail_status, self.parts.export.fail_file)

    @guarded
    def turn_to(self, source: str, session: Session, notes: object) -> Filling:
        """Another table; nothing where none was opened."""
        if not source:
            return nothing_new()
        state = session.seen(PairsState).on(source)
        return self.shown(self.scenes.of(session, state), session, notes)

    def _to_read(self, state: PairsState, session: Session) -> Filling:
        """Has published results read where the model of a state has some, after which it is shown;
        nothing where it has none, or they are read.
        """
        if state.model not in self.scenes.fields.unread_models(session.results_id):
            return {}
        return {self.parts.wanted: (PAIRS_LINK.encode(state), time.monotonic())}

    def _of_table(self, state: PairsState) -> PairsState:
        """A state whose pairs can be shown without outcomes, too: those of some results cannot."""
        return state if self.scenes.library.find(state.source) else state.on("").of(state.model)

    def _show(
        self,
        state: PairsState,
        session: Session,
        notes: object,
        before: PairsState | None = None,
    ) -> Filling:
        now, left = shown_again(state, partial(self.scenes.pairs_of, session))
        return self.shown(now, session, notes, left, before)

    def shown(
        self,
        now: Scene,
        session: Session,
        notes: object,
        dropped: tuple[str, ...] = (),
        before: PairsState | None = None,
    ) -> Filling:
        """What a scene changes on the page, and from now on the session sees.

        dropped: what of a link cannot be shown. before: what is on screen already, so that what
        stays is not sent again; None for nothing.
        """
        state, parts = now.state, self.parts
        session.show(state)
        filled: Filling = {
            parts.table_id: state.source,
            parts.listed: state.listed_link,
            parts.address: PAIRS_LINK.encode(state),
            parts.bar: bar_html(now, dropped, self.settings.link_base),
        }
        if before is None or state.outcomes or before.outcomes:
            filled |= self._outcomes_shown(now, session, before)
        if before is None or _filtered(before) != _filtered(state):
            filled[parts.facets] = facets_html(now.table, state.filters, now.filtered)
        if before is None or (before.panel, before.outcomes) != (state.panel, state.outcomes):
            filled[parts.panels] = panels_html(state)
            for panel, column in parts.columns.items():
                filled[column] = gr.Column(visible=panel == state.panel)
            filled[parts.reading] = gr.Column(visible=state.panel == "pairs")
        if state.panel == "pairs":
            kept = PairNotes.read(notes)
            filled[parts.pairs] = list_of_pairs_html(now, kept)
            filled[parts.reader_bar] = reader_bar(now.listed, state.reading)
            filled[parts.note] = note_html(now, kept)
            filled[parts.pair] = open_pair_html(now)
        elif state.panel == "lengths":
            filled |= lengths_shown(parts.lengths, now, self.scenes.counter)
        elif state.panel == "kinds":
            filled[parts.kinds] = slices_html(now)
        elif state.panel == "rewards":
            filled |= rewards_shown(parts.rewards, now)
        elif state.panel == "export":
            filled[parts.export.snippet] = snippet_html(now)
        return filled

    def _outcomes_shown(self, now: Scene, session: Session, before: PairsState | None) -> Filling:
        """What stands around the list because outcomes are looked at, or not any more."""
        state, parts, field, model = now.state, self.parts, now.field, now.state.model
        fields = self.scenes.fields
        unread = fields.unread(session.results_id) if field is not None else 0
        unread_models = fields.unread_models(session.results_id)
        run = field.runs.get(model) if field is not None else None
        reads_tokens = gr.update(visible=field is not None and has_tokens(field, model))
        filled: Filling = {
            parts.read: gr.update(value=text("fails.read", n=f"{unread:,}"), visible=unread > 0),
            parts.head: head_html(now, model_names(fields.all(*session.where), unread_models)),
            parts.tokens.button: reads_tokens,
            parts.tokens.stop: reads_tokens,
            parts.export.box: gr.Column(visible=field is not None),
            parts.facts: facts_html(run) if run else "",
            parts.timer: gr.Timer(active=field is not None and field.is_running(model)),
        }
        if before is None or (before.model, before.reading.key) != (model, state.reading.key):
            filled[parts.tokens.words] = ""
            filled[parts.tokens.plot] = gr.update(visible=False)
        if before is None or (_filtered(before), before.sort) != (_filtered(state), state.sort):
            filled[parts.export.fail_status] = ""
            filled[parts.export.fail_file] = gr.update(visible=False)
        return filled

    def _noted(self, now: Scene, notes: object, sent: Mapping[str, Any]) -> Filling:
        """After a note was written: it is kept, and its pair has a sign."""
        row = now.table.row_of(str(sent.get("key")))
        if row is None:
            raise KnownError(text("failnote.no_pair"))
        kept = PairNotes.read(notes).put(mark_of(now.known, row), sent.get("value"))
        return {
            self.parts.notes: kept.by_mark,
            self.parts.note: note_html(now, kept),
            self.parts.pairs: list_of_pairs_html(now, kept),
        }


def _filtered(state: PairsState) -> PairsState:
    """What of a state says which pairs are listed."""
    usual = PairsState()
    return replace(
        state, reading=usual.reading, panel=usual.panel, chart=usual.chart, sort=usual.sort
    )


def wire_pairs(tab: PairsTab, session: gr.State) -> None:
    """Connect the components."""
    parts, state = tab.parts, [session, tab.parts.notes]
    lengths, tokens, export = parts.lengths, parts.tokens, parts.export
    wire_part(parts.part, tab.act, state, parts.outputs, parts.address)
    reading = parts.read.click(tab.read, session, [parts.status, parts.stop], **EVENT)
    reading.then(tab.show, state, parts.outputs, **EVENT)
    first = parts.wanted.change(tab.read, session, [parts.status, parts.stop], **EVENT)
    followed = first.then(tab.follow_read, [parts.wanted, *state], parts.outputs, **EVENT)
    followed.then(None, parts.address, None, js=wrote(parts.part))
    parts.stop.click(None, cancels=[reading, first])
    starts, counts = (lengths.count, lengths.paper), []
    for start, draw in zip(starts, (tab.count_in, tab.as_in_paper), strict=True):
        counting = start.click(
            tab.count,
            [lengths.tokenizer, session],
            [lengths.status, parts.counted, lengths.stop, *starts],
            **EVENT,
        )
        drawn = counting.success(draw, [parts.counted, *state], parts.outputs, **EVENT)
        drawn.then(None, parts.address, None, js=wrote(parts.part))
        counts.append(counting)
    wire_stop(lengths.stop, lengths.status, counts, *starts)
    exported = [export.status, export.file, export.stop, *export.buttons.values()]
    writing = [
        button.click(partial(tab.export, form), session, exported, **EVENT)
        for form, button in export.buttons.items()
    ]
    for each in writing:
        each.success(None, None, None, js=fetching("exported"))
    wire_stop(export.stop, export.status, writing, *export.buttons.values())
    for form, button in export.fail_buttons.items():
        written = button.click(
            partial(tab.export_fails, form), state, [export.fail_status, export.fail_file], **EVENT
        )
        written.success(None, None, None, js=fetching("fail-file"))
        written.failure(nothing_to_tell, None, export.fail_status, **EVENT)
    reading_tokens = tokens.button.click(tab.show_tokens, session, components(tokens), **EVENT)
    wire_stop(tokens.stop, tokens.words, [reading_tokens], tokens.button)
    parts.timer.tick(None, None, None, js=again(parts.part))
