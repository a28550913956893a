"""What a leaderboard is made of: files of one's own beside it, and a look for newer results."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.core.html import note
from explorer.core.parts import EVENT, guarded, telling, uploaded_file
from explorer.core.text import text
from explorer.core.work import stepping
from explorer.data.library import file_name
from explorer.results.library import ResultsLibrary
from explorer.results.outcomes import Results
from scoring.limits import Tell

REFRESH_SECONDS = 600
_WAIT_SECONDS = 0.5


@dataclass(frozen=True)
class BoardSourceView:
    """The components. often: whether newer results are looked for again and again."""

    upload: gr.UploadButton
    without: gr.Button
    refresh: gr.Button
    often: gr.Checkbox
    timer: gr.Timer
    status: gr.HTML


def build_boardsource() -> BoardSourceView:
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
            False, label=text("board.often", minutes=REFRESH_SECONDS // 60), container=False,
            elem_id="refresh-often", scale=0, min_width=170,
        )  # fmt: skip
    status = gr.HTML(elem_id="board-source-status")
    return BoardSourceView(
        upload, without, refresh, often, gr.Timer(REFRESH_SECONDS, active=False), status
    )


@dataclass(frozen=True)
class BoardSource:
    """The callbacks. Each gives what it says, the id of the results, and the button `without`."""

    library: ResultsLibrary

    @guarded
    def upload(self, board_id: object, paths: object) -> Iterator[tuple[str, Any, Any]]:
        """Put a visitor's files beside the results; they are read and then deleted."""
        sent = paths if isinstance(paths, list) and paths else [paths]
        files = [uploaded_file(path) for path in sent]
        load = _read_once(self.library, board_id, files)
        for words, results_id in telling(stepping(lambda tell: load(tell).id)):
            yield words, results_id, gr.update(visible=True)

    @guarded
    def without(self, board_id: object) -> tuple[str, str, Any]:
        """Take the visitor's files away."""
        return "", self.library.without(board_id).id, gr.update(visible=False)

    @guarded
    def refresh(self, board_id: object) -> Iterator[tuple[str, Any]]:
        """Look for newer results, and turn to them."""
        shelf = self.library.shelf
        before = shelf.best
        shelf.refresh()
        while shelf.fetching:
            yield note(text("board.refreshing")), gr.skip()
            shelf.wait(_WAIT_SECONDS)
        yield note(_found(shelf.refused, shelf.best != before)), self.library.newest(board_id).id

    def often(self, on: object) -> gr.Timer:
        """Whether to look again and again."""
        return gr.Timer(active=on is True)


def _read_once(
    library: ResultsLibrary, board_id: object, files: list[Path]
) -> Callable[[Tell], Results]:
    def load(tell: Tell) -> Results:
        try:
            return library.upload(board_id, _by_name(files), tell)
        finally:
            for file in files:
                with suppress(OSError):
                    file.unlink()

    return load


def _by_name(files: list[Path]) -> dict[str, Path]:
    """Files by the names that their sender gave them; of equal names each but one has a number."""
    named: dict[str, Path] = {}
    for number, file in enumerate(files, start=1):
        name = file_name(file.name, file.suffix)
        named[name if name not in named else f"{number} {name}"] = file
    return named


def _found(refused: str, newer: bool) -> str:
    if refused:
        return text("board.not_refreshed", reason=refused)
    return text("board.newer" if newer else "board.nothing_newer")


def wire_boardsource(
    view: BoardSourceView, source: BoardSource, board_id: gr.State
) -> list[gr.events.Dependency]:
    """Connect the components; gives the events after which `board_id` may have changed."""
    filled = [view.status, board_id, view.without]
    refreshed = [view.status, board_id]
    view.often.change(source.often, view.often, view.timer, **EVENT)
    return [
        view.upload.upload(source.upload, [board_id, view.upload], filled, **EVENT),
        view.without.click(source.without, board_id, filled, **EVENT),
        view.refresh.click(source.refresh, board_id, refreshed, **EVENT),
        view.timer.tick(source.refresh, board_id, refreshed, **EVENT),
    ]
