"""What the data is; and choosing other pairs: offered ones, a Hub dataset, a file of one's own."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import gradio as gr

from explorer.core.html import note, render
from explorer.core.parts import (
    EVENT,
    Filling,
    guarded,
    telling,
    told,
    uploaded_file,
    wire_stop,
)
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.core.work import stepping
from explorer.data.datacard import data_card
from explorer.data.library import Library, offers
from explorer.data.rebuilding.provenance import coverage
from explorer.data.rebuilding.recipes import untraced
from explorer.data.sources import DEMO_ID
from explorer.data.table import PairTable
from scoring.benchmark import SECTIONS
from scoring.errors import Stopped
from scoring.limits import Step, Tell
from scoring.pairs.rows import SUFFIXES

SUBSET_COLUMNS = (
    "subset",
    "description",
    "pairs",
    "raw",
    "collected",
    "weight",
    "length",
    "found",
    "origin",
)
"""Of the table of subsets; how each is headed stands in about.*."""
START = "start"
"""Chooses what everybody sees first."""


def about_html() -> str:
    """The data card, the same for everybody."""
    card = data_card()
    sections = {name: [each for each in card.subsets if each.section == name] for name in SECTIONS}
    return render(
        "tabs/about/about.html",
        card=card,
        columns=SUBSET_COLUMNS,
        sections=sections,
        found=coverage(),
        lacking=untraced(),
    )


@dataclass(frozen=True)
class ChooserParts:
    """The chooser's components.

    opened: the id of the table that was opened last.
    """

    offer: gr.Dropdown
    about: gr.HTML
    wanted: gr.Textbox
    open: gr.Button
    upload: gr.UploadButton
    stop: gr.Button
    status: gr.HTML
    opened: gr.Textbox

    @property
    def filled(self) -> list[gr.blocks.Block]:
        """The components that opening pairs fills."""
        return [self.status, self.opened, self.stop, self.open, self.upload]


def build_chooser(settings: Settings) -> ChooserParts:
    """Lay the chooser out where it is called."""
    limits, free = settings.limits, text("chooser.any")
    rows = free if limits.rows is None else f"{limits.rows:,}"
    megabytes = free if limits.megabytes is None else f"{limits.megabytes:g}"
    offered = [(text("chooser.start"), START)]
    for each in offers():
        n = "?" if each.rows is None else f"{each.rows:,}"
        offered.append((text("chooser.offer", group=each.group, name=each.label, n=n), each.wanted))
    with gr.Row(equal_height=False):
        with gr.Column(min_width=280):
            offer = gr.Dropdown(
                offered, value=None, label=text("chooser.offered"), elem_id="offer",
                filterable=False,
            )  # fmt: skip
            about = gr.HTML()
        with gr.Column(min_width=280):
            wanted = gr.Textbox(
                label=text("chooser.wanted"), info=text("chooser.wanted_info"),
                placeholder="org/name:split@revision", elem_id="wanted", max_lines=1,
            )  # fmt: skip
            with gr.Row():
                open_button = gr.Button(
                    text("chooser.open"), variant="primary", elem_id="open-wanted", min_width=90
                )
                upload = gr.UploadButton(
                    text("chooser.upload"), file_types=list(SUFFIXES), elem_id="upload",
                    min_width=130,
                )  # fmt: skip
                stop = gr.Button(
                    text("score.stop"), scale=0, min_width=80, interactive=False,
                    elem_id="open-stop",
                )  # fmt: skip
    gr.HTML(note(text("chooser.limits", rows=rows, megabytes=megabytes)))
    status = gr.HTML(elem_id="chooser-status")
    return ChooserParts(
        offer, about, wanted, open_button, upload, stop, status, gr.Textbox(visible=False)
    )


def offer_of(table: PairTable, best: str) -> str | None:
    """The value of the menu of offered sets where a table is open; None where it is none of them.

    best: the id of the table that the page begins with.
    """
    source = table.source
    name = DEMO_ID if source.kind == "demo" else f"{source.name}:{source.split}"
    known = (each.wanted for each in offers() if each.wanted == name)
    return next(known, START if table.id == best else None)


@dataclass(frozen=True)
class Chooser:
    """The chooser's callbacks."""

    library: Library
    parts: ChooserParts

    @guarded
    def about(self, wanted: object) -> str:
        """What an offered set is."""
        return "".join(note(each.about) for each in offers() if each.wanted == wanted)

    @guarded
    def open(self, wanted: object) -> Iterator[Filling]:
        """Open what was typed or chosen: how far it is, and at last the table's id."""
        if wanted:
            asked = self.library.sources.best if wanted == START else wanted
            yield from self._opening(lambda tell: self.library.open(asked, tell))
        else:
            yield {self.parts.status: "", self.parts.opened: ""}

    @guarded
    def fetch(self, event: gr.EventData) -> Iterator[Filling]:
        """Open what an address asks for."""
        sent = event._data if isinstance(event._data, dict) else {}
        yield from self.open(sent.get("value"))

    def unchosen(self) -> Filling:
        """Nothing of the offered sets is what is shown."""
        return {self.parts.status: "", self.parts.offer: None, self.parts.about: ""}

    @guarded
    def upload(self, path: object) -> Iterator[Filling]:
        """Open an uploaded file; it is read and then deleted."""
        file = uploaded_file(path)
        yield from self._opening(lambda tell: _read_once(self.library, file, tell))

    def _opening(self, load: Callable[[Tell], PairTable]) -> Iterator[Filling]:
        stop, parts = Event(), self.parts

        def work(tell: Tell) -> str:
            def tell_on(step: Step) -> None:
                if stop.is_set():
                    raise Stopped(text("chooser.stopped"))
                tell(step)

            return load(tell_on).id

        steps = telling(stepping(work, stop))
        yield from told(steps, parts.status, parts.opened, parts.stop, parts.open, parts.upload)


def _read_once(library: Library, file: Path, tell: Tell) -> PairTable:
    try:
        return library.upload(file, file.name, tell)
    finally:
        with suppress(OSError):
            file.unlink()


FOLLOW = """(id) => {
  if (id) window.explorer.follow(`?${new URLSearchParams({ tab: "pairs", source: id })}`);
}"""
"""Script that shows the pairs that were opened."""


def wire_chooser(view: ChooserParts, chooser: Chooser, pairs: gr.HTML) -> None:
    """Connect the components. pairs: asks for what an address names and is not here."""
    view.offer.input(chooser.about, view.offer, view.about, **EVENT)
    opening = [
        view.offer.input(chooser.open, view.offer, view.filled, **EVENT),
        view.open.click(chooser.open, view.wanted, view.filled, **EVENT),
        view.wanted.submit(chooser.open, view.wanted, view.filled, **EVENT),
        view.upload.upload(chooser.upload, view.upload, view.filled, **EVENT),
        pairs.fetch(chooser.fetch, None, view.filled, **EVENT),
    ]
    for event in opening:
        event.failure(chooser.unchosen, None, [view.status, view.offer, view.about], **EVENT)
    wire_stop(view.stop, view.status, opening, view.open, view.upload)
    for event in opening[1:]:
        event.success(chooser.unchosen, None, [view.status, view.offer, view.about], **EVENT)
    for event in opening:
        event.success(None, view.opened, None, js=FOLLOW)
