"""The Leaderboard tab: models by a rule that is shown, each rank with its uncertainty."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import gradio as gr

from explorer.core.files import passing_folder
from explorer.core.html import note, refused_html, step_html
from explorer.core.parts import (
    EVENT,
    Part,
    act_of,
    build_part,
    copy_button,
    guarded,
    unchanged,
    wire_part,
)
from explorer.core.text import text
from explorer.data.table import PairTable
from explorer.reader.links import tab_of
from explorer.reader.source_view import SourceBarView, build_sourcebar
from explorer.results.boardroom import BoardRoom
from explorer.results.boards import Board
from explorer.stats.uncertainty import Measuring
from explorer.tabs.models.behind import behind_html
from explorer.tabs.models.chart_tables import ChartScene
from explorer.tabs.models.charts_view import BoardChartView, build_chart, chart_shown
from explorer.tabs.models.controls import controls_html, counts_html, rule_html, search_html
from explorer.tabs.models.exports import BOARD_FORMATS, BoardFormat, board_file_name, export_board
from explorer.tabs.models.source_view import BoardSourceView, build_boardsource
from explorer.tabs.models.state import BOARD_LINK, BoardView, move_board, ranking_of, shown_rows
from explorer.tabs.models.table import board_html
from scoring.errors import KnownError
from scoring.limits import Step

PART = "leaderboard"


@dataclass(frozen=True)
class LeaderboardView:
    """The tab's components, and what a session remembers of it.

    seen: a `BoardView`. board_id: of the results. address: the query string.
    known: as of `BoardShown`; None until the page has filled the tab.
    """

    bar: SourceBarView
    source: BoardSourceView
    part: Part
    controls: gr.HTML
    told: gr.HTML
    measure: gr.Button
    stop: gr.Button
    status: gr.HTML
    table: gr.HTML
    chart: BoardChartView
    behind: gr.HTML
    about: gr.HTML
    exports: dict[BoardFormat, gr.Button]
    file: gr.File
    seen: gr.State
    board_id: gr.State
    address: gr.Textbox
    known: gr.State

    @property
    def outputs(self) -> list[gr.components.Component]:
        """The components that a `BoardShown` fills."""
        return [
            self.seen, self.address, self.controls, self.told, self.measure, self.table,
            self.behind, self.about, self.chart.about, self.chart.plot, self.chart.table,
            self.known,
        ]  # fmt: skip


class BoardShown(NamedTuple):
    """What the tab shows, in the order of `LeaderboardView.outputs`.

    known: the person's own models, and how many files are unread: what others than acts change.
    """

    seen: Any
    address: Any
    controls: Any
    told: Any
    measure: Any
    table: Any
    behind: Any
    about: Any
    chart: Any
    plot: Any
    chart_table: Any
    known: Any


def build_leaderboard_tab() -> LeaderboardView:
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
        chart = BoardChartView(chart_about, plot, gr.HTML(elem_id="chart-table"))
        with gr.Row(elem_classes="export-buttons"):
            exports = {
                form: gr.Button(text(f"board.export_{form}"), size="md", min_width=100)
                for form in BOARD_FORMATS
            }
        file = gr.File(visible=False, label=text("export.file"), elem_id="board-file")
        about = gr.HTML(elem_classes="about")
    return LeaderboardView(
        bar, source, part, controls, told, measure, stop, status, table, chart, behind, about,
        exports, file, gr.State(BoardView()), gr.State(None), gr.Textbox(visible=False),
        gr.State(None),
    )  # fmt: skip


@dataclass(frozen=True)
class LeaderboardTab:
    """The tab's callbacks. `state` is (the results' id, the view, the browser's own runs).

    tables: gives the pairs whose texts are at hand.
    measuring: sessions that measure; one that is taken out stops.
    """

    room: BoardRoom
    tables: Callable[[], Sequence[PairTable]] = list
    measuring: set[str | None] = field(default_factory=set)

    @guarded
    def open(self, query_string: object, board_id: object, own: object) -> BoardShown:
        """What the address asks for."""
        asked = query_string if tab_of(query_string) == PART else ""
        decoded = BOARD_LINK.decode(asked)
        return self.shown(board_id, decoded.view, own, decoded.dropped)

    @guarded
    def show(self, board_id: object, view: BoardView, own: object) -> BoardShown:
        """The same of other results, or with what was measured since."""
        return self.shown(board_id, view, own)

    @guarded
    def turn_to(self, board_id: object, view: BoardView, own: object, known: object) -> BoardShown:
        """What ended or was read since the tab was left; where nothing did, all stays."""
        if known is None:
            return unchanged(BoardShown)
        ranking = ranking_of(view)
        now = _known(self.room.board(board_id, ranking, own), self.room.unread(board_id, ranking))
        if known == now:
            return unchanged(BoardShown)
        return self.shown(board_id, view, own)._replace(behind=gr.skip())

    @guarded
    def act(
        self, event: gr.EventData, board_id: object, view: BoardView, own: object
    ) -> BoardShown:
        """What is shown after one act."""
        name, sent = act_of(event)
        if name == "behind":
            board = self.room.board(board_id, ranking_of(view), own)
            return unchanged(BoardShown, behind=behind_html(board, sent))
        try:
            moved = move_board(view, name, sent)
        except KnownError as error:
            if name != "search":  # nobody types without slips: what is shown stays
                raise
            return unchanged(BoardShown, told=note(str(error), "wrong"))
        return self.shown(board_id, moved, own)

    @guarded
    def measure(
        self, board_id: object, view: BoardView, own: object, request: gr.Request
    ) -> Iterator[tuple[str, Any]]:
        """Read each pair's results and measure how sure the board is, telling how far it is."""
        session, ranking = request.session_hash, ranking_of(view)
        self.measuring.add(session)
        try:
            for step in self.room.measuring(board_id, ranking, own):
                if session not in self.measuring:
                    break
                yield _step_words(step), gr.update(visible=True)
        finally:
            self.measuring.discard(session)
        yield refused_html(self.room.refused(board_id, ranking)), gr.update(visible=False)

    def stop(self, request: gr.Request) -> None:
        """End this session's measuring after its present step; what was read is kept."""
        self.measuring.discard(request.session_hash)

    @guarded
    def export(
        self, form: BoardFormat, board_id: object, view: BoardView, own: object
    ) -> Iterator[Any]:
        """Write the rows that are shown to a file."""
        board = self.room.board(board_id, ranking_of(view), own)
        with passing_folder() as folder:
            path = folder / board_file_name(board, view, form)
            export_board(board, view, shown_rows(board, view), form, path)
            yield gr.update(value=str(path), visible=True)

    def shown(
        self, board_id: object, view: BoardView, own: object, dropped: tuple[str, ...] = ()
    ) -> BoardShown:
        """A view as values for `LeaderboardView.outputs`."""
        ranking = ranking_of(view)
        board, unread = self.room.board(board_id, ranking, own), self.room.unread(board_id, ranking)
        rows = shown_rows(board, view)
        # Of RewardBench 2, and with prior sets, sections alone are in groups.
        measured = any(row.tie_group or any(row.section_groups.values()) for row in board.rows)
        by_pairs = any(row.by_pairs for row in board.rows)
        outcomes = partial(self.room.outcomes, board_id, ranking, own)
        scene = ChartScene(view, board, rows, outcomes, self.tables, unread)
        can_measure = view.table != "prior" and (unread > 0 or (by_pairs and not measured))
        return BoardShown(
            view,
            BOARD_LINK.encode(view),
            controls_html(board, view, copy_button(text("filter.copy_link"), "link")),
            counts_html(board, rows, dropped, unread) + self._gone(board_id),
            gr.update(visible=can_measure),
            board_html(board, view, rows),
            "",
            rule_html(board, view, self.room.left_out(board_id, ranking, own)),
            *chart_shown(scene),
            _known(board, unread),
        )

    def _gone(self, board_id: object) -> str:
        """What is said where a visitor's files had to make room for others'."""
        return note(text("board.gone")) if self.room.library.is_gone(board_id) else ""


def _known(board: Board, unread: int) -> tuple[int, list[str]]:
    return unread, [row.model for row in board.rows if row.own]


def _step_words(step: Step | Measuring) -> str:
    if isinstance(step, Measuring):
        step = Step("reading", step.done, step.total)
        return step_html(step, text("board.measuring"))
    return step_html(step, text("board.reading"))


def showing(view: LeaderboardView, tab: LeaderboardTab, who: gr.State) -> dict[str, Any]:
    """The event that shows the tab anew."""
    state = [view.board_id, view.seen, who]
    return {"fn": tab.show, "inputs": state, "outputs": view.outputs, **EVENT}


def wire_leaderboard(
    view: LeaderboardView, tab: LeaderboardTab, who: gr.State, opened: gr.Tab
) -> None:
    """Connect the components; the page fills the tab, by `LeaderboardTab.open`."""
    state = [view.board_id, view.seen, who]
    opened.select(tab.turn_to, [*state, view.known], view.outputs, **EVENT)
    wire_part(view.part, tab.act, state, view.outputs, view.address)
    measuring = view.measure.click(tab.measure, state, [view.status, view.stop], **EVENT)
    measuring.then(**showing(view, tab, who))
    view.stop.click(tab.stop, queue=False, **EVENT)
    for form, button in view.exports.items():
        button.click(partial(tab.export, form), state, view.file, **EVENT)
