"""The Models tab: what the server shows of an address, a board or models side by side."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

import gradio as gr

from explorer.core.address_view import NOTHING_SENT, Identify, Regions, Sent, View, build_view
from explorer.core.caches import LruCache
from explorer.core.files import File, written_file
from explorer.core.html import render
from explorer.core.links import as_dropped, ignored
from explorer.core.settings import Settings
from explorer.core.uploads import private_files, uploaded_files
from explorer.core.work import Jobs
from explorer.data.library import upload_name
from explorer.data.search import matching_names
from explorer.data.table import PairTable
from explorer.reader.scene import FILES_GONE
from explorer.results.boards import BoardMeasuring, Boards
from explorer.results.field import MAJORITY, Field
from explorer.results.fields import Fields
from explorer.results.published import UPLOADED
from explorer.runs.visitors import Visitor, check_known
from explorer.tabs.models.board_html import (
    about_html,
    bar_html,
    board_html,
    drawer_html,
    share_group,
    short_board_html,
    status_html,
)
from explorer.tabs.models.charts_html import chart_html
from explorer.tabs.models.compare_html import compare_bar_html, compared_html
from explorer.tabs.models.compared import Compared, comparable, compared
from explorer.tabs.models.exports import BOARD_FORMATS, BoardFormat, board_file_name, export_board
from explorer.tabs.models.ranked import Ranked, visible_rows
from explorer.tabs.models.state import ModelsState
from scoring.errors import KnownError
from scoring.limits import MEGABYTE, OnProgress, Step

_KEPT_HTML = 16 * MEGABYTE


@dataclass(frozen=True)
class ModelsView:
    """Callable from any thread.

    tables: gives the pairs whose texts are loaded.
    written: tables and charts as HTML, by what they show.
    uploads: by who sends files, the token under which the board shows them.
    """

    boards: Boards
    measuring: BoardMeasuring
    fields: Fields
    settings: Settings
    tables: Callable[[], Sequence[PairTable]] = list
    written: LruCache[str] = field(default_factory=lambda: LruCache[str](_KEPT_HTML, len))
    uploads: Jobs[Step, str] = field(default_factory=Jobs)

    def regions(
        self, query: str, visitor: Visitor, _sent: Sent = NOTHING_SENT
    ) -> tuple[str, Regions]:
        """The address as it is understood, and the regions of the tab."""
        state, dropped = ModelsState.parse(query)
        notes = ignored(dropped)
        if state.results and self._results_id(state, visitor) is None:
            notes.append(FILES_GONE)
            state = replace(state, results="")
        typed = state.search
        try:
            matching_names([], state.search)
        except KnownError as error:  # nobody types a search without slips
            notes.append(str(error))
            state = replace(state, search="")
        if state.compares:
            return self._comparison(state, visitor, notes)
        return self._board(state, visitor, notes, typed)

    def measure(self, query: str, visitor: Visitor, _sent: Sent = NOTHING_SENT) -> str:
        """Try again to read results and to measure the board. Gives the same address."""
        state, _ = ModelsState.parse(query)
        self.measuring.restart_measuring(self._results_id(state, visitor), state.ranking, visitor)
        return query

    def refresh(self, query: str, visitor: Visitor, _sent: Sent = NOTHING_SENT) -> str:
        """Look for newer results in the background. Gives the same address."""
        self.uploads.forget(visitor.owner)  # what was wrong with files is no answer to this
        self.boards.library.sources.retry(again=True)
        return query

    def upload(self, query: str, visitor: Visitor, sent: Sent) -> str:
        """Begin to read files, which stand beside the results then and are deleted. Gives the same
        address.

        Raises:
            KnownError: no file was uploaded, too much goes on, or nobody knows whose they are.
        """
        check_known(visitor, is_public=self.settings.public)
        files = uploaded_files(sent.get("value", ""))
        before = self._results_id(ModelsState.parse(query)[0], visitor)
        library = self.boards.library

        def read(tell: OnProgress) -> str:
            with private_files(files) as places:
                results = library.upload(before, files_by_name(places), tell, visitor.owner)
            return results.id.rpartition(UPLOADED)[2]

        self.uploads.forget(visitor.owner)
        self.uploads.begin(visitor.owner, read)
        return query

    def file(self, form: BoardFormat, query: str, visitor: Visitor, _sent: str) -> File:
        """The rows that an address shows, as a file.

        Raises:
            KnownError: it shows none.
        """
        state, _ = ModelsState.parse(query)
        now = self._ranked(state, visitor)
        name = board_file_name(now.board, state, form)
        return written_file(name, lambda path: export_board(now.board, state, now.rows, form, path))

    def as_view(self) -> View:
        """The tab as a view."""
        files = {f"board.{form}": partial(self.file, form) for form in BOARD_FORMATS}
        names = ("measure", "refresh", "upload")
        actions = {name: getattr(self, name) for name in names}
        return View(ModelsState.TAB, self.regions, actions, files)

    def _results_id(self, state: ModelsState, visitor: Visitor) -> str | None:
        return self.boards.library.id_of_files(state.results, visitor.owner)

    def _ranked(self, state: ModelsState, visitor: Visitor) -> Ranked:
        where = self._results_id(state, visitor), state.ranking
        # Asked first: what ends after it is seen by the next question.
        step = self.measuring.begin(*where, visitor)
        refused = "" if step else self.measuring.refused(where[1], where[0], visitor)
        seen = self.boards.seen(*where, visitor)
        rows = visible_rows(seen.board, state)
        return Ranked(state, seen, rows, lambda: [*seen.tables, *self.tables()], step, refused)

    def _board(
        self, state: ModelsState, visitor: Visitor, notes: Sequence[str], typed: str
    ) -> tuple[str, Regions]:
        now, gone = _without_gone(self._ranked(state, visitor))
        asked, said = replace(state, search=typed), [*notes, *gone]
        results = self.boards.library.get(self._results_id(state, visitor))
        fetching = self.boards.library.sources.fetching
        apart = [(name, run.id, run.status, run.n_scored) for name, run in now.seen.apart.items()]
        loaded = (now.seen.is_read, *(table.id for table in now.tables()))
        key = (now.seen.board, now.state, tuple(apart), *loaded)

        def once(region: str, write: Callable[[Ranked], str]) -> Callable[[], str]:
            return lambda: self.written.get_or_create_once((region, *key), lambda: write(now))

        return now.state.href()[1:], {
            "bar": lambda: bar_html(now, asked, results, said, self.settings.link_base),
            "status": lambda: status_html(now, is_fetching=fetching),
            "chart": once("chart", chart_html) if len(now.board.table) else lambda: "",
            "table": once("table", board_html),
            "drawer": lambda: drawer_html(now, self.settings.link_base),
            "below": once("below", about_html),
            "own": partial(self._own, asked, visitor),
        }

    def _comparison(
        self, state: ModelsState, visitor: Visitor, notes: Sequence[str]
    ) -> tuple[str, Regions]:
        where = (self._results_id(state, visitor), None, visitor)
        fields = self.fields.all(*where)
        results = self.boards.library.get(where[0])

        def field_of(model: str) -> Field:
            of_board = [each for each in fields if each.rule.benchmark.key == state.benchmark]
            if model:
                return self.fields.among(fields, model)
            largest = self.fields.largest(*where)
            return max(of_board, key=lambda each: each.n_models, default=largest)

        state, unclear = self._with_full_names(state, where)
        state, common, apart = comparable(state, field_of)
        state = replace(state, benchmark=common.rule.benchmark.key)
        now = compared(state, common)
        beside = cache(lambda: self._beside(now, visitor))
        said = [*notes, *unclear, *apart]
        return state.href()[1:], {
            "bar": lambda: compare_bar_html(now, fields, said, results, self.settings.link_base),
            "status": lambda: "",
            "chart": lambda: "",
            "table": lambda: compared_html(
                now,
                tied=(board := beside()) is not None and share_group(board.board, state.a, state.b),
            ),
            "drawer": lambda: short_board_html(board) if (board := beside()) else "",
            "below": lambda: "",
            "own": partial(self._own, state, visitor),
        }

    def _own(self, state: ModelsState, visitor: Visitor) -> str:
        """A visitor's files: how they are sent, and how far the reading of them is."""
        job = self.uploads.of(visitor.owner)
        token = job.result if job is not None else None
        opened = (
            ""
            if token in (None, state.results)
            else ModelsState(results=str(token), benchmark=state.benchmark).href()
        )
        sources = self.boards.library.sources
        asked = time.strftime("%H:%M:%S", time.gmtime(sources.asked)) if sources.asked else ""
        return render(
            "tabs/models/own.html",
            state=state,
            results=self.boards.library.get(self._results_id(state, visitor)),
            job=job,
            opened=opened,
            asked="" if sources.fetching else asked,
            refused=sources.refused,
        )

    def _with_full_names(
        self, state: ModelsState, where: tuple[str | None, None, Visitor]
    ) -> tuple[ModelsState, list[str]]:
        """The state with whole names, of which parts may have been typed, and what is unclear."""
        unclear, whole = [], []
        for name in (state.a, state.b, *state.more):
            try:
                whole.append(str(self.fields.meant(name, *where)))
            except KnownError as error:
                unclear.append(str(error))
                whole.append("")
        a, b, *more = whole
        return replace(state, a=a, b=b or MAJORITY, more=tuple(more)).settled()[0], unclear

    def _beside(self, now: Compared, visitor: Visitor) -> Ranked | None:
        """The board that is listed beside a comparison; None where none is."""
        state = now.state
        if state.panel == "ensembles" or (state.panel == "agreement" and state.a):
            return None
        return self._ranked(replace(state, sort=""), visitor)


def build_models(models: ModelsView, identify: Identify) -> gr.HTML:
    """Lay the tab out."""
    return build_view(models.as_view(), render("tabs/models/panes.html"), identify)


def _without_gone(now: Ranked) -> tuple[Ranked, list[str]]:
    """A board without what is open or ticked of models that it has not, and notes on that."""
    state, rows = now.state, now.board.rows
    gone = []
    if state.open and state.open not in rows:
        gone.append(as_dropped("model", state.open))
        state = replace(state, open="")
    if state.ticked and not (state.ticked in rows and rows[state.ticked]["opens"]):
        gone.append(as_dropped("chosen", state.ticked))
        state = replace(state, ticked="")
    return replace(now, state=state), ignored(gone)


def files_by_name(files: Sequence[Path]) -> dict[str, Path]:
    """Files by the names that their sender gave them; of equal names each but one has a number.

    >>> [*files_by_name([Path("a/2 x.json"), Path("b/x.json"), Path("c/x.json")])]
    ['2 x.json', 'x.json', '3 x.json']
    """
    named: dict[str, Path] = {}
    for file in files:
        name, number = upload_name(file.name, file.suffix), 2
        unique = name
        while unique in named:
            unique, number = f"{number} {name}", number + 1
        named[unique] = file
    return named
