"""The Browse tab: facets and search, and by them a list with its reader, lengths and exports."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.html import note, nothing_to_tell
from explorer.core.parts import (
    EVENT,
    Filling,
    Part,
    act_of,
    build_part,
    components,
    guarded,
    nothing_new,
    segments,
    telling,
    wire_part,
    wrote,
)
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.data.sources import DEMO
from explorer.data.tokens import TokenCounter
from explorer.reader.facetpanel import facets_html
from explorer.reader.links import decode_for_browse
from explorer.reader.listing import reader_bar
from explorer.reader.searchbar import bar_html, search_html
from explorer.reader.session import Session
from explorer.reader.state import (
    PAIRS_LINK,
    PANELS,
    Panel,
    Scene,
    Tables,
    View,
    fitting,
    next_scene,
    scene,
)
from explorer.tabs.pairs.export_view import ExportParts, build_export, exporting, snippet_html
from explorer.tabs.pairs.lengths_view import LengthParts, build_lengths, lengths_shown
from explorer.tabs.pairs.list_view import open_pair_html, pairs_html
from explorer.tabs.pairs.review.view import Remembered, ReviewParts, build_review
from scoring.errors import KnownError
from scoring.hub.access import parse_hub_id

PART = "browse"


@dataclass(frozen=True)
class BrowseParts:
    """The tab's components.

    table_id: of the pairs on screen, for whom others concern. address: its query string.
    counted: the tokenizer whose tokens were counted last.
    """

    part: Part
    facets: gr.HTML
    bar: gr.HTML
    panels: gr.HTML
    columns: dict[Panel, gr.Column]
    pairs: gr.HTML
    reader_bar: gr.HTML
    pair: gr.HTML
    lengths: LengthParts
    review: ReviewParts
    export: ExportParts
    table_id: gr.State
    address: gr.Textbox
    counted: gr.State

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """The components that `Browse.shown` fills."""
        return components(
            self.facets, self.bar, self.panels, self.columns, self.pairs, self.reader_bar,
            self.pair, self.lengths, self.export.snippet, self.table_id, self.address,
        )  # fmt: skip


def build_browse(counter: TokenCounter, reviews: Remembered) -> BrowseParts:
    """Lay the tab out where it is called. reviews: from `remembered_review`."""
    with build_part(PART) as part, gr.Row(equal_height=False):
        with gr.Column(scale=1, min_width=270, elem_classes="side"):
            facets = gr.HTML()
        with gr.Column(scale=4, min_width=320):
            gr.HTML(search_html())
            bar = gr.HTML()
            panels = gr.HTML()
            with gr.Column(elem_classes="panel") as pairs_column:
                pairs, reader, pair = gr.HTML(), gr.HTML(), gr.HTML(elem_classes="reader")
            with gr.Column(visible=False, elem_classes="panel") as lengths_column:
                lengths = build_lengths(counter)
            with gr.Column(visible=False, elem_classes="panel") as review_column:
                review = build_review(reviews)
            with gr.Column(visible=False, elem_classes="panel") as export_column:
                exports = build_export()
    columns: dict[Panel, gr.Column] = {
        "pairs": pairs_column,
        "lengths": lengths_column,
        "review": review_column,
        "export": export_column,
    }
    return BrowseParts(
        part, facets, bar, panels, columns, pairs, reader, pair, lengths, review, exports,
        gr.State(""), gr.Textbox(visible=False), gr.State(""),
    )  # fmt: skip


@dataclass(frozen=True)
class Browse:
    """The tab's callbacks."""

    tables: Tables
    settings: Settings
    parts: BrowseParts

    @guarded
    def open(self, query_string: object, session: Session) -> Filling:
        """What the address asks for, as far as it is here."""
        decoded = decode_for_browse(query_string)
        view, notes = self._fitting(decoded.view)
        return self.shown(self._scene(view), session, (*decoded.dropped, *notes))

    @guarded
    def missing(self, query_string: object) -> str:
        """The source that the address asks for, where it is not here; else nothing."""
        source = decode_for_browse(query_string).view.source
        if self.tables.library.find(source) or not (source == DEMO or parse_hub_id(source)):
            return ""  # a stranger's link opens no file of this machine
        return source

    @guarded
    def follow(self, opened: str, query_string: object, session: Session) -> Filling:
        """What the address asks for, once its source was opened; nothing where there was none."""
        if not opened:
            return nothing_new()
        decoded = decode_for_browse(query_string)
        view, notes = self._fitting(replace(decoded.view, source=opened))
        return self.shown(self._scene(view), session, (*decoded.dropped, *notes))

    @guarded
    def act(self, event: gr.EventData, session: Session) -> Filling:
        """What is shown after one act."""
        name, sent = act_of(event)
        seen = session.seen(View)
        try:
            now = next_scene(seen, self.tables.of(seen), name, sent)
        except KnownError as error:
            if name != "search":
                raise
            return self._not_searched(seen, str(error))
        return self.shown(now, session, before=seen)

    @guarded
    def count(self, wanted: object, session: Session) -> Iterator[tuple[str, str]]:
        """Count tokens: how far it is, and at last the tokenizer."""
        table = self.tables.of(session.seen(View))
        yield from telling(self.tables.counter.count(table, wanted))

    @guarded
    def count_in(self, tokenizer: str, session: Session) -> Filling:
        """Draw lengths in the tokens of a tokenizer."""
        seen = session.seen(View)
        chart = replace(seen.chart, unit="tokens", tokenizer=tokenizer)
        return self.shown(self._scene(replace(seen, chart=chart)), session)

    @guarded
    def export(self, form: object, session: Session) -> Iterator[tuple[str, Any]]:
        """Write what is filtered to a file."""
        yield from exporting(self._scene(session.seen(View)), form)

    @guarded
    def turn_to(self, source: str, session: Session) -> Filling:
        """Another table in the same tab; nothing where none was opened."""
        if not source:
            return nothing_new()
        return self.shown(self._scene(session.seen(View).on(source)), session)

    def _not_searched(self, seen: View, why: str) -> Filling:
        """Why a search cannot be used, beside what is shown still: nobody types without slips."""
        bar = bar_html(self._scene(seen), (), self.settings.link_base)
        return {self.parts.bar: bar + note(why, "wrong")}

    def _scene(self, view: View) -> Scene:
        return scene(view, self.tables.of(view))

    def shown(
        self,
        now: Scene,
        session: Session,
        notes: tuple[str, ...] = (),
        before: View | None = None,
    ) -> Filling:
        """What a scene changes on the page, and from now on the session sees.

        before: what is on screen already, so that what stays is not sent again; None for nothing.
        """
        view, parts = now.view, self.parts
        session.show(view)
        filled: Filling = {
            parts.table_id: view.source,
            parts.address: PAIRS_LINK.encode(view),
            parts.bar: bar_html(now, notes, self.settings.link_base),
            **lengths_shown(parts.lengths, now, self.tables.counter),
        }
        if before is None or (before.source, before.filters) != (view.source, view.filters):
            filled[parts.facets] = facets_html(now.table, view.filters, now.selection)
        if before is None or before.panel != view.panel:
            filled[parts.panels] = _panels_html(view)
            for panel, column in parts.columns.items():
                filled[column] = gr.Column(visible=panel == view.panel)
        if view.panel == "pairs":
            filled[parts.pairs] = pairs_html(now)
            filled[parts.reader_bar] = reader_bar(now.listed, view.reading)
            filled[parts.pair] = open_pair_html(now)
        if view.panel == "export":
            filled[parts.export.snippet] = snippet_html(now)
        return filled

    def _fitting(self, view: View) -> tuple[View, tuple[str, ...]]:
        """The view as far as it can be shown here, and what of it cannot."""
        library, counter = self.tables.library, self.tables.counter
        table = library.find(view.source)
        notes = [] if table or not view.source else [_missing(view.source)]
        table = table or library.here("")
        fitted, dropped = fitting(view, table, lambda name: counter.known(table, name))
        return fitted, (*notes, *dropped)


def _missing(source: str) -> str:
    return text("filter.no_source", source=source[:120])


def _panels_html(view: View) -> str:
    words: dict[str, str] = {panel: text(f"panel.{panel}") for panel in PANELS}
    return segments(text("panel.label"), "panel", words, view.panel)


def wire_browse(browse: Browse, session: gr.State) -> None:
    """Connect the components. The page fills the tab when it is opened, by `Browse.open`."""
    parts = browse.parts
    lengths, export = parts.lengths, parts.export
    wire_part(parts.part, browse.act, session, parts.outputs, parts.address)
    counting = lengths.count.click(
        browse.count, [lengths.tokenizer, session], [lengths.status, parts.counted], **EVENT
    )
    counting.failure(nothing_to_tell, None, lengths.status, **EVENT)
    drawn = counting.success(browse.count_in, [parts.counted, session], parts.outputs, **EVENT)
    drawn.then(None, parts.address, None, js=wrote(parts.part))
    lengths.stop.click(None, cancels=counting)
    writing = [
        button.click(partial(browse.export, form), session, [export.status, export.file], **EVENT)
        for form, button in export.buttons.items()
    ]
    for each in writing:
        each.failure(nothing_to_tell, None, export.status, **EVENT)
    export.stop.click(None, cancels=writing)
