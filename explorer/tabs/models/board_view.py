"""The Leaderboard tab: models by a rule that is shown, each rank with its uncertainty."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.files import download_folder
from explorer.core.html import note, refused_html, step_html
from explorer.core.parts import (
    EVENT,
    Filling,
    Part,
    act_of,
    build_part,
    components,
    copy_button,
    guarded,
    nothing_new,
    wire_part,
)
from explorer.core.text import text
from explorer.data.table import PairTable
from explorer.reader.links import tab_of
from explorer.reader.session import Session
from explorer.reader.source_view import SourceBarParts, build_sourcebar
from explorer.results.board import Board
from explorer.results.boards import Boards
from explorer.tabs.models.behind import behind_html
from explorer.tabs.models.chart_tables import ChartScene
from explorer.tabs.models.charts_view import BoardChartParts, build_chart, chart_shown
from explorer.tabs.models.controls import controls_html, counts_html, rule_html, search_html
from explorer.tabs.models.exports import BOARD_FORMATS, BoardFormat, board_file_name, export_board
from explorer.tabs.models.source_view import BoardSourceParts, build_boardsource
from explorer.tabs.models.state import BOARD_LINK, BoardState, move_board, ranking_of, shown_rows
from explorer.tabs.models.table import board_html
from scoring.errors import KnownError

PART = "leaderboard"


@dataclass(frozen=True)
class Known:
    """What others than acts change of a board: how many files are unread, and its own models."""

    unread: int = 0
    own: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeaderboardParts:
    """The tab's components. address: the query string."""

    bar: SourceBarParts
    source: BoardSourceParts
    part: Part
    controls: gr.HTML
    told: gr.HTML
    measure: gr.Button
    stop: gr.Button
    status: gr.HTML
    table: gr.HTML
    chart: BoardChartParts
    behind: gr.HTML
    about: gr.HTML
    exports: dict[BoardFormat, gr.Button]
    file: gr.File
    address: gr.Textbox

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """The components that `LeaderboardTab.shown` fills."""
        return components(
            self.address, self.controls, self.told, self.measure, self.table, self.behind,
            self.about, self.chart,
        )  # fmt: skip


def build_leaderboard_tab() -> LeaderboardParts:
    """Lay the tab out where it is called."""
    bar, source = build_sourcebar(text("source.show_board")), build_boardsource()
    with build_part(PART) as part:
        gr.HTML(search_html())
        controls = gr.HTML()
        with gr.Row(elem_classes="status-row"):
            told = gr.HTML()
            measure = gr.Button(
                text("board.measure"), variant="primary", size="md", scale=0, min_width=200,
                elem_id="measure", visible=False,
            )  # fmt: skip
            stop = gr.Button(text("score.stop"), size="md", scale=0, min_width=80, visible=False)
        status = gr.HTML(elem_id="measure-status")
        table = gr.HTML(elem_id="board")
        chart_about, plot = build_chart()
        behind = gr.HTML(elem_id="behind")
        chart = BoardChartParts(chart_about, plot, gr.HTML(elem_id="chart-table"))
        with gr.Row(elem_classes="export-buttons"):
            exports = {
                form: gr.Button(text(f"board.export_{form}"), size="md", min_width=100)
                for form in BOARD_FORMATS
            }
        file = gr.File(visible=False, label=text("export.file"), elem_id="board-file")
        about = gr.HTML(elem_classes="about")
    return LeaderboardParts(
        bar, source, part, controls, told, measure, stop, status, table, chart, behind, about,
        exports, file, gr.Textbox(visible=False),
    )  # fmt: skip


@dataclass(frozen=True)
class LeaderboardTab:
    """The tab's callbacks.

    tables: gives the pairs whose texts are at hand.
    measuring: sessions that measure; one that is taken out stops.
    """

    boards: Boards
    parts: LeaderboardParts
    tables: Callable[[], Sequence[PairTable]] = list
    measuring: set[str | None] = field(default_factory=set)

    @guarded
    def open(self, query_string: object, session: Session) -> Filling:
        """What the address asks for."""
        asked = query_string if tab_of(query_string) == PART else ""
        decoded = BOARD_LINK.decode(asked)
        return self.shown(decoded.view, session, decoded.dropped)

    @guarded
    def show(self, session: Session) -> Filling:
        """The same of other results, or with what was measured since."""
        return self.shown(session.seen(BoardState), session)

    @guarded
    def turn_to(self, session: Session) -> Filling:
        """What ended or was read since the tab was left; where nothing did, all stays."""
        view = session.seen(BoardState)
        now = self._known(self._board(view, session), view, session)
        if session.get(Known) in (None, now):
            return nothing_new()
        filled = self.shown(view, session)
        del filled[self.parts.behind]
        return filled

    @guarded
    def act(self, event: gr.EventData, session: Session) -> Filling:
        """What is shown after one act."""
        name, sent = act_of(event)
        view = session.seen(BoardState)
        if name == "behind":
            return {self.parts.behind: behind_html(self._board(view, session), sent)}
        try:
            moved = move_board(view, name, sent)
        except KnownError as error:
            if name != "search":  # nobody types without slips: what is shown stays
                raise
            return {self.parts.told: note(str(error), "wrong")}
        return self.shown(moved, session)

    @guarded
    def measure(self, session: Session, request: gr.Request) -> Iterator[tuple[str, Any]]:
        """Read each pair's results and measure how sure the board is, telling how far it is."""
        page, ranking = request.session_hash, ranking_of(session.seen(BoardState))
        results_id = session.results_id
        self.measuring.add(page)
        try:
            for step in self.boards.measuring(results_id, ranking, session.visitor):
                if page not in self.measuring:
                    break
                yield step_html(step, text(f"board.{step.doing}")), gr.update(visible=True)
        finally:
            self.measuring.discard(page)
        yield refused_html(self.boards.refused(results_id, ranking)), gr.update(visible=False)

    def stop(self, request: gr.Request) -> None:
        """End this session's measuring after its present step; what was read is kept."""
        self.measuring.discard(request.session_hash)

    @guarded
    def export(self, form: BoardFormat, session: Session) -> Iterator[Any]:
        """Write the rows that are shown to a file."""
        view = session.seen(BoardState)
        board = self._board(view, session)
        with download_folder() as folder:
            path = folder / board_file_name(board, view, form)
            export_board(board, view, shown_rows(board, view), form, path)
            yield gr.update(value=str(path), visible=True)

    def shown(self, view: BoardState, session: Session, dropped: tuple[str, ...] = ()) -> Filling:
        """What a view shows on the page, and from now on the session sees.

        dropped: what of a link cannot be shown.
        """
        parts, ranking = self.parts, ranking_of(view)
        where = session.results_id, ranking
        board, unread = self._board(view, session), self.boards.unread(*where)
        session.show(view)
        session.show(self._known(board, view, session))
        rows = shown_rows(board, view)
        # Of RewardBench 2, and with prior sets, sections alone are in groups.
        measured = any(row.tie_group or any(row.section_groups.values()) for row in board.rows)
        by_pairs = any(row.by_pairs for row in board.rows)
        outcomes = partial(self.boards.outcomes, *where, session.visitor)
        scene = ChartScene(view, board, rows, outcomes, self.tables, unread)
        can_measure = view.table != "prior" and (unread > 0 or (by_pairs and not measured))
        left_out = self.boards.left_out(*where, session.visitor)
        copy_link = copy_button(text("filter.copy_link"), "link")
        told = counts_html(board, rows, dropped, unread) + self._gone(session.results_id)
        return {
            parts.address: BOARD_LINK.encode(view),
            parts.controls: controls_html(board, view, copy_link),
            parts.told: told,
            parts.measure: gr.update(visible=can_measure),
            parts.table: board_html(board, view, rows),
            parts.behind: "",
            parts.about: rule_html(board, view, left_out),
            **chart_shown(parts.chart, scene),
        }

    def _board(self, view: BoardState, session: Session) -> Board:
        return self.boards.board(session.results_id, ranking_of(view), session.visitor)

    def _known(self, board: Board, view: BoardState, session: Session) -> Known:
        unread = self.boards.unread(session.results_id, ranking_of(view))
        return Known(unread, tuple(row.model for row in board.rows if row.own))

    def _gone(self, board_id: object) -> str:
        """What is said where a visitor's files had to make room for others'."""
        return note(text("board.gone")) if self.boards.library.is_gone(board_id) else ""


def wire_leaderboard(tab: LeaderboardTab, session: gr.State, opened: gr.Tab) -> None:
    """Connect the components; the page fills the tab, by `LeaderboardTab.open`."""
    parts = tab.parts
    opened.select(tab.turn_to, session, parts.outputs, **EVENT)
    wire_part(parts.part, tab.act, session, parts.outputs, parts.address)
    measuring = parts.measure.click(tab.measure, session, [parts.status, parts.stop], **EVENT)
    measuring.then(tab.show, session, parts.outputs, **EVENT)
    parts.stop.click(tab.stop, queue=False, **EVENT)
    for form, button in parts.exports.items():
        button.click(partial(tab.export, form), session, parts.file, **EVENT)
