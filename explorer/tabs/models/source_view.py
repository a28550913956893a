"""The results of a leaderboard: a visitor's own files, and a look for newer ones."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import gradio as gr

from explorer.core.parts import EVENT, Filling, guarded, telling, uploaded_file
from explorer.core.text import text
from explorer.core.work import stepping
from explorer.data.library import upload_name
from explorer.reader.session import Session
from explorer.results.library import ResultsLibrary
from explorer.results.published import UPLOADED
from scoring.limits import Tell

_OPEN = "(token) => window.explorer.follow(`?tab=models${token && `&results=${token}`}`)"
"""Script that shows the board with the visitor's files, or without them."""
_REFRESH = "() => window.explorerViews.get('models').act('refresh')"


@dataclass(frozen=True)
class BoardSourceParts:
    """The components. token: of the visitor's files; "" for none."""

    upload: gr.UploadButton
    without: gr.Button
    status: gr.HTML
    token: gr.Textbox


def build_boardsource() -> BoardSourceParts:
    """Lay the row out where it is called."""
    with gr.Row(elem_classes="board-source", equal_height=True):
        upload = gr.UploadButton(
            text("board.upload"), file_types=[".json", ".jsonl"], file_count="multiple",
            elem_id="upload-results", size="md", scale=0, min_width=190,
        )  # fmt: skip
        without = gr.Button(
            text("board.without"), size="md", scale=0, min_width=150, visible=False,
            elem_id="without-uploaded",
        )  # fmt: skip
        refresh = gr.Button(
            text("board.refresh"), size="md", scale=0, min_width=170, elem_id="refresh"
        )
        refresh.click(None, None, None, js=_REFRESH)
    status = gr.HTML(elem_id="board-source-status")
    return BoardSourceParts(upload, without, status, gr.Textbox(visible=False))


@dataclass(frozen=True)
class BoardSource:
    """The callbacks. Results that they turn to are those that the session sees from then on."""

    library: ResultsLibrary
    parts: BoardSourceParts

    @guarded
    def upload(self, session: Session, paths: object) -> Iterator[Filling]:
        """Put a visitor's files beside the results; they are read and then deleted."""
        sent = paths if isinstance(paths, list) and paths else [paths]
        files = [uploaded_file(path) for path in sent]
        before, owner = session.results_id, session.visitor.owner

        def load(tell: Tell) -> str:
            try:
                return self.library.upload(before, _by_name(files), tell, owner).id
            finally:
                for file in files:
                    with suppress(OSError):
                        file.unlink()

        for words, results_id in telling(stepping(load)):
            filled: Filling = {self.parts.status: words}
            if not words:
                session.results_id = results_id
                filled[self.parts.token] = results_id.rpartition(UPLOADED)[2]
            yield {**filled, self.parts.without: gr.update(visible=True)}

    @guarded
    def without(self, session: Session) -> Filling:
        """Take the visitor's files away."""
        session.results_id = None
        shown = {self.parts.status: "", self.parts.token: ""}
        return {**shown, self.parts.without: gr.update(visible=False)}


def _by_name(files: list[Path]) -> dict[str, Path]:
    """Files by the names that their sender gave them; of equal names each but one has a number."""
    named: dict[str, Path] = {}
    for number, file in enumerate(files, start=1):
        name = upload_name(file.name, file.suffix)
        named[name if name not in named else f"{number} {name}"] = file
    return named


def wire_boardsource(source: BoardSource, session: gr.State) -> list[gr.events.Dependency]:
    """Connect the components; gives the events after which other results are looked at."""
    parts = source.parts
    filled = [parts.status, parts.without, parts.token]
    events = [
        parts.upload.upload(source.upload, [session, parts.upload], filled, **EVENT),
        parts.without.click(source.without, session, filled, **EVENT),
    ]
    for each in events:
        each.success(None, parts.token, None, js=_OPEN)
    return events
