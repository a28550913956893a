"""The Browse tab: facets and search, and by them a list with its reader, lengths and exports."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import gradio as gr

from explorer.core.html import note, nothing_to_tell
from explorer.core.parts import (
    EVENT,
    Part,
    act_of,
    build_part,
    guarded,
    segments,
    telling,
    unchanged,
    wire_part,
    wrote,
)
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.data.library import Library
from explorer.data.sources import DEMO
from explorer.data.table import PairTable
from explorer.data.tokens import TokenCounter
from explorer.reader.facetpanel import facets_html
from explorer.reader.links import decode_for_browse
from explorer.reader.listing import reader_bar
from explorer.reader.searchbar import bar_html, search_html
from explorer.reader.state import (
    PAIRS_LINK,
    PANELS,
    Scene,
    Tables,
    View,
    fitting,
    next_scene,
    scene,
)
from explorer.tabs.pairs.export_view import ExportPanelView, build_export, exporting, snippet_html
from explorer.tabs.pairs.lengths_view import (
    LengthPanelView,
    LengthsShown,
    build_lengths,
    lengths_shown,
)
from explorer.tabs.pairs.list_view import open_pair_html, pairs_html
from explorer.tabs.pairs.review.view import Remembered, ReviewView, build_review
from scoring.errors import KnownError
from scoring.hub.access import parse_hub_id

PART = "browse"


@dataclass(frozen=True)
class BrowseView:
    """The tab's components, and what a session remembers of it.

    seen: a `View`; table_id: its source.
    address: its query string.
    counted: the tokenizer whose tokens were counted last.
    """

    part: Part
    facets: gr.HTML
    bar: gr.HTML
    panels: gr.HTML
    columns: dict[str, gr.Column]
    pairs: gr.HTML
    reader_bar: gr.HTML
    pair: gr.HTML
    lengths: LengthPanelView
    review: ReviewView
    export: ExportPanelView
    seen: gr.State
    table_id: gr.State
    address: gr.Textbox
    counted: gr.State

    @property
    def outputs(self) -> list[gr.components.Component]:
        """The components that a `Shown` fills."""
        return [
            self.seen,
            self.table_id,
            self.address,
            self.facets,
            self.bar,
            self.panels,
            *self.columns.values(),
            self.pairs,
            self.reader_bar,
            self.pair,
            *self.lengths.outputs,
            self.export.snippet,
        ]


class Shown(NamedTuple):
    """What the tab shows, in the order of `BrowseView.outputs`; the columns one each."""

    seen: View
    table_id: str
    address: str
    facets: Any
    bar: str
    panels: Any
    columns: list[Any]
    pairs: Any
    reader_bar: Any
    pair: Any
    lengths: LengthsShown
    snippet: Any

    @property
    def values(self) -> tuple[Any, ...]:
        """One for each output."""
        flat: list[Any] = []
        for name, value in self._asdict().items():
            flat += value if name in ("columns", "lengths") else [value]
        return tuple(flat)

    @classmethod
    def only(cls, **changed: Any) -> tuple[Any, ...]:
        """What leaves everything else as it is."""
        columns = [gr.skip() for _ in PANELS]
        return unchanged(cls, columns=columns, lengths=unchanged(LengthsShown), **changed).values


def build_browse(counter: TokenCounter, reviews: Remembered) -> BrowseView:
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
    columns = {
        "pairs": pairs_column,
        "lengths": lengths_column,
        "review": review_column,
        "export": export_column,
    }
    return BrowseView(
        part, facets, bar, panels,
        columns,
        pairs, reader, pair, lengths, review, exports,
        gr.State(View()), gr.State(""), gr.Textbox(visible=False), gr.State(""),
    )  # fmt: skip


@dataclass(frozen=True)
class Browse:
    """The tab's callbacks."""

    library: Library
    counter: TokenCounter
    settings: Settings

    @guarded
    def open(self, query_string: object) -> tuple[Any, ...]:
        """What the address asks for, as far as it is here."""
        decoded = decode_for_browse(query_string)
        view, notes = self._fitting(decoded.view)
        return self.shown(scene(view, self._table(view)), (*decoded.dropped, *notes))

    @guarded
    def missing(self, query_string: object) -> str:
        """The source that the address asks for, where it is not here; else nothing."""
        source = decode_for_browse(query_string).view.source
        if self.library.find(source) or not (source == DEMO or parse_hub_id(source)):
            return ""  # a stranger's link opens no file of this machine
        return source

    @guarded
    def follow(self, opened: str, query_string: object) -> tuple[Any, ...]:
        """What the address asks for, once its source was opened; nothing where there was none."""
        if not opened:
            return Shown.only()
        decoded = decode_for_browse(query_string)
        view, notes = self._fitting(replace(decoded.view, source=opened))
        return self.shown(scene(view, self.library.here(opened)), (*decoded.dropped, *notes))

    @guarded
    def act(self, event: gr.EventData, seen: View) -> tuple[Any, ...]:
        """What is shown after one act."""
        name, sent = act_of(event)
        try:
            now = next_scene(seen, self._table(seen), name, sent)
        except KnownError as error:
            if name != "search":
                raise
            return self._not_searched(seen, str(error))
        return self.shown(now, before=seen)

    @guarded
    def count(self, wanted: object, seen: View) -> Iterator[tuple[str, str]]:
        """Count tokens: how far it is, and at last the tokenizer."""
        yield from telling(self.counter.count(self._table(seen), wanted))

    @guarded
    def count_in(self, tokenizer: str, seen: View) -> tuple[Any, ...]:
        """Draw lengths in the tokens of a tokenizer."""
        chart = replace(seen.chart, unit="tokens", tokenizer=tokenizer)
        return self.shown(scene(replace(seen, chart=chart), self._table(seen)))

    @guarded
    def export(self, form: object, seen: View) -> Iterator[tuple[str, Any]]:
        """Write what is filtered to a file."""
        yield from exporting(scene(seen, self._table(seen)), form)

    @guarded
    def turn_to(self, source: str, seen: View) -> tuple[Any, ...]:
        """Another table in the same tab; nothing where none was opened."""
        if not source:
            return Shown.only()
        return self.shown(scene(seen.on(source), self.library.here(source)))

    def _not_searched(self, seen: View, why: str) -> tuple[Any, ...]:
        """Why a search cannot be used, beside what is shown still: nobody types without slips."""
        bar = bar_html(scene(seen, self._table(seen)), (), self.settings.link_base)
        return Shown.only(bar=bar + note(why, "wrong"))

    def _table(self, view: View) -> PairTable:
        return Tables(self.library, self.counter).of(view)

    def shown(
        self, now: Scene, notes: tuple[str, ...] = (), before: View | None = None
    ) -> tuple[Any, ...]:
        """A scene as values for `BrowseView.outputs`.

        before: what is on screen already, so that what stays is not sent again; None for nothing.
        """
        view = now.view
        same = before is not None and (before.source, before.filters) == (view.source, view.filters)
        turned = before is None or before.panel != view.panel
        read = view.panel == "pairs"
        return Shown(
            seen=view,
            table_id=view.source,
            address=PAIRS_LINK.encode(view),
            facets=gr.skip() if same else facets_html(now.table, view.filters, now.selection),
            bar=bar_html(now, notes, self.settings.link_base),
            panels=_panels_html(view) if turned else gr.skip(),
            columns=[
                gr.Column(visible=panel == view.panel) if turned else gr.skip() for panel in PANELS
            ],
            pairs=pairs_html(now) if read else gr.skip(),
            reader_bar=reader_bar(now.listed, view.reading) if read else gr.skip(),
            pair=open_pair_html(now) if read else gr.skip(),
            lengths=lengths_shown(now, self.counter),
            snippet=snippet_html(now),
        ).values

    def _fitting(self, view: View) -> tuple[View, tuple[str, ...]]:
        """The view as far as it can be shown here, and what of it cannot."""
        table = self.library.find(view.source)
        notes = [] if table or not view.source else [_missing(view.source)]
        table = table or self.library.here("")
        fitted, dropped = fitting(view, table, lambda name: self.counter.known(table, name))
        return fitted, (*notes, *dropped)


def _missing(source: str) -> str:
    return text("filter.no_source", source=source[:120])


def _panels_html(view: View) -> str:
    words: dict[str, str] = {panel: text(f"panel.{panel}") for panel in PANELS}
    return segments(text("panel.label"), "panel", words, view.panel)


def wire_browse(view: BrowseView, browse: Browse) -> None:
    """Connect the components. The page fills the tab when it is opened, by `Browse.open`."""
    lengths, export = view.lengths, view.export
    wire_part(view.part, browse.act, view.seen, view.outputs, view.address)
    counting = lengths.count.click(
        browse.count, [lengths.tokenizer, view.seen], [lengths.status, view.counted], **EVENT
    )
    counting.failure(nothing_to_tell, None, lengths.status, **EVENT)
    drawn = counting.success(browse.count_in, [view.counted, view.seen], view.outputs, **EVENT)
    drawn.then(None, view.address, None, js=wrote(view.part))
    lengths.stop.click(None, cancels=counting)
    writing = [
        button.click(partial(browse.export, form), view.seen, [export.status, export.file], **EVENT)
        for form, button in export.buttons.items()
    ]
    for each in writing:
        each.failure(nothing_to_tell, None, export.status, **EVENT)
    export.stop.click(None, cancels=writing)
