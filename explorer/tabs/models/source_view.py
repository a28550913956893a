"""What a leaderboard is made of: files of one's own beside it, and a look for newer results."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import gradio as gr

from explorer.core.html import note
from explorer.core.parts import EVENT, Filling, guarded, telling, uploaded_file
from explorer.core.text import text
from explorer.core.work import stepping
from explorer.data.library import upload_name
from explorer.reader.session import Session
from explorer.results.library import ResultsLibrary
from scoring.limits import Tell

_REFRESH_SECONDS = 600
_WAIT_SECONDS = 0.5


@dataclass(frozen=True)
class BoardSourceParts:
    """The components. often: whether newer results are looked for again and again."""

    upload: gr.UploadButton
    without: gr.Button
    refresh: gr.Button
    often: gr.Checkbox
    timer: gr.Timer
    status: gr.HTML


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
        often = gr.Checkbox(
            False, label=text("board.often", minutes=_REFRESH_SECONDS // 60), container=False,
            elem_id="refresh-often", scale=0, min_width=170,
        )  # fmt: skip
    status = gr.HTML(elem_id="board-source-status")
    return BoardSourceParts(
        upload, without, refresh, often, gr.Timer(_REFRESH_SECONDS, active=False), status
    )


@dataclass(frozen=True)
class BoardSource:
    """The callbacks. Results that they turn to are those that the session sees from then on."""

    library: ResultsLibrary
    parts: BoardSourceParts

    @guarded
    def upload(self, session: Session, paths: object) -> Iterator[Filling]:
        """Put a visitor's files beside the results; they are read and then deleted."""
        sent = paths if isinstance(paths, list) and paths else [paths]
        files, before = [uploaded_file(path) for path in sent], session.results_id

        def load(tell: Tell) -> str:
            try:
                return self.library.upload(before, _by_name(files), tell).id
            finally:
                for file in files:
                    with suppress(OSError):
                        file.unlink()

        for words, results_id in telling(stepping(load)):
            if not words:
                session.results_id = results_id
            yield {self.parts.status: words, self.parts.without: gr.update(visible=True)}

    @guarded
    def without(self, session: Session) -> Filling:
        """Take the visitor's files away."""
        session.results_id = self.library.without(session.results_id).id
        return {self.parts.status: "", self.parts.without: gr.update(visible=False)}

    @guarded
    def refresh(self, session: Session) -> Iterator[str]:
        """Look for newer results, and turn to them."""
        sources = self.library.sources
        before = sources.best
        sources.retry(again=True)
        while sources.fetching:
            yield note(text("board.refreshing"))
            sources.wait(_WAIT_SECONDS)
        session.results_id = self.library.newest(session.results_id).id
        if sources.refused:
            yield note(text("board.not_refreshed", reason=sources.refused))
        else:
            newer = sources.best != before
            yield note(text("board.newer" if newer else "board.nothing_newer"))

    def often(self, on: object) -> gr.Timer:
        """Whether to look again and again."""
        return gr.Timer(active=on is True)


def _by_name(files: list[Path]) -> dict[str, Path]:
    """Files by the names that their sender gave them; of equal names each but one has a number."""
    named: dict[str, Path] = {}
    for number, file in enumerate(files, start=1):
        name = upload_name(file.name, file.suffix)
        named[name if name not in named else f"{number} {name}"] = file
    return named


def wire_boardsource(source: BoardSource, session: gr.State) -> list[gr.events.Dependency]:
    """Connect the components; gives the events after which other results may be looked at."""
    parts = source.parts
    filled = [parts.status, parts.without]
    parts.often.change(source.often, parts.often, parts.timer, **EVENT)
    return [
        parts.upload.upload(source.upload, [session, parts.upload], filled, **EVENT),
        parts.without.click(source.without, session, filled, **EVENT),
        parts.refresh.click(source.refresh, session, parts.status, **EVENT),
        parts.timer.tick(source.refresh, session, parts.status, **EVENT),
    ]
