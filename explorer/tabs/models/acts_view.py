"""The Models tab: models on a board, or a few of them beside each other on the same pairs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.files import download_folder
from explorer.core.html import note, refused_html, step_html
from explorer.core.parts import (
    EVENT,
    Filling,
    act_of,
    again,
    guarded,
    nothing_new,
    wire_part,
)
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.data.table import PairTable
from explorer.reader.reading import FIRST_READING
from explorer.reader.session import Session
from explorer.results.boards import Boards
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.tabs.models.board_html import (
    behind_html,
    board_html,
    controls_html,
    counts_html,
    panels_html,
    rule_html,
)
from explorer.tabs.models.charts_view import chart_shown
from explorer.tabs.models.compare_view import (
    compare_bar_html,
    compare_head_html,
    compared_shown,
    differing_html,
    differing_pair_html,
)
from explorer.tabs.models.exports import BoardFormat, board_file_name, export_board
from explorer.tabs.models.scene import (
    ModelsData,
    ModelsScene,
    Ranked,
    next_scene,
    shown_again,
    shown_rows,
)
from explorer.tabs.models.state import MODELS_LINK, ModelsState, decode_models, ranking_of
from explorer.tabs.models.view import ModelsParts
from scoring.errors import KnownError


@dataclass(frozen=True)
class BoardInputs:
    """What others than acts change of a board: how many files are unread, and its own models."""

    unread: int = 0
    own: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelsTab:
    """The tab's callbacks.

    tables: gives the pairs whose texts are at hand.
    measuring: sessions that measure; one that is taken out stops.
    """

    boards: Boards
    fields: Fields
    settings: Settings
    parts: ModelsParts
    tables: Callable[[], Sequence[PairTable]] = list
    measuring: set[str | None] = field(default_factory=set)

    def open(self, query_string: object, session: Session) -> Filling:
        """What a link asks for."""
        decoded = decode_models(query_string, session.get(ModelsState))
        return self._show(decoded.state, session, decoded.dropped)

    @guarded
    def show(self, session: Session) -> Filling:
        """The same of other results, or with what was scored, read or measured since."""
        return self._show(session.seen(ModelsState), session)

    def turn_back(self, session: Session) -> Filling:
        """What ended or was read since the tab was left; where nothing did, all stays."""
        state = session.get(ModelsState)
        if state is None:
            return self.open("", session)
        if state.compares:
            return self._show(state, session)
        now = self._ranked(session, state)
        if session.get(BoardInputs) in (None, _board_inputs(now)):
            return nothing_new()
        filled = self.shown(now, session)
        del filled[self.parts.behind]
        return filled

    @guarded
    def act(self, event: gr.EventData, session: Session) -> Filling:
        """What is shown after one act."""
        name, sent = act_of(event)
        state = session.seen(ModelsState)
        if name == "turned":
            return self.turn_back(session)
        session.check_open()
        if name == "again":
            return self._show(state, session)
        if name == "behind" and not state.compares:
            return {self.parts.behind: behind_html(self._ranked(session, state).board, sent)}
        try:
            now = next_scene(state, self._models(session), name, sent)
        except KnownError as error:
            if name != "search":  # nobody types without slips: what is shown stays
                raise
            return {self.parts.told: note(str(error), "wrong")}
        return self.shown(now, session, before=state)

    @guarded
    def measure(self, session: Session, request: gr.Request) -> Iterator[Filling]:
        """Read each pair's results and measure how sure the board is, telling how far it is."""
        page, ranking = request.session_hash, ranking_of(session.seen(ModelsState))
        results_id, status, stop = session.results_id, self.parts.status, self.parts.stop
        self.measuring.add(page)
        try:
            for step in self.boards.measuring(results_id, ranking, session.visitor):
                if page not in self.measuring:
                    break
                words = step_html(step, text(f"board.{step.doing}"))
                yield {status: words, stop: gr.update(visible=True)}
        finally:
            self.measuring.discard(page)
        refused = refused_html(self.boards.refused(results_id, ranking))
        yield {status: refused, stop: gr.update(visible=False)}

    def stop(self, request: gr.Request) -> None:
        """End this session's measuring after its present step; what was read is kept."""
        self.measuring.discard(request.session_hash)

    @guarded
    def export(self, form: BoardFormat, session: Session) -> Iterator[Any]:
        """Write the rows that are shown to a file."""
        state = session.seen(ModelsState)
        now = self._ranked(session, state)
        with download_folder() as folder:
            path = folder / board_file_name(now.board, state, form)
            export_board(now.board, state, now.rows, form, path)
            yield gr.update(value=str(path), visible=True)

    def _show(self, state: ModelsState, session: Session, dropped: tuple[str, ...] = ()) -> Filling:
        now, left = shown_again(state, self._models(session))
        return self.shown(now, session, (*dropped, *left))

    def _models(self, session: Session) -> ModelsData:
        return ModelsData(partial(self._ranked, session), partial(self._field_of, session))

    def _ranked(self, session: Session, state: ModelsState) -> Ranked:
        where = session.results_id, ranking_of(state)
        board = self.boards.board(*where, session.visitor)
        return Ranked(
            state, board, shown_rows(board, state),
            partial(self.boards.outcomes, *where, session.visitor), self.tables,
            self.boards.unread(*where), self.boards.left_out(*where, session.visitor),
        )  # fmt: skip

    def _field_of(self, session: Session, model: str) -> Field:
        """The field that a model is in; of none, the largest."""
        if model:
            return self.fields.of(model, *session.where)
        return self.fields.largest(*session.where)

    def shown(
        self,
        now: ModelsScene,
        session: Session,
        dropped: tuple[str, ...] = (),
        before: ModelsState | None = None,
    ) -> Filling:
        """What a scene changes on the page, and from now on the session sees.

        dropped: what of a link cannot be shown. before: what is on screen already; None for
        nothing.
        """
        state, parts = now.state, self.parts
        session.show(state)
        address: Filling = {parts.address: MODELS_LINK.encode(state)}
        if isinstance(now, Ranked):
            session.show(_board_inputs(now))
            return address | self._ranked_shown(now, session, dropped)
        read: Filling = {
            parts.reader_bar: differing_html(now),
            parts.pair: differing_pair_html(now),
            parts.timer: gr.Timer(active=any(map(now.field.is_running, state.named))),
        }
        if before is not None and replace(before, reading=FIRST_READING) == replace(
            state, reading=FIRST_READING
        ):
            return address | read
        return {
            **address,
            **read,
            parts.panels: panels_html(state, self.settings.link_base),
            parts.head: compare_head_html(now, self.fields.all(*session.where)),
            parts.told: compare_bar_html(now, dropped),
            parts.measure: gr.update(visible=False),
            parts.below: gr.Column(visible=False),
            parts.about: "",
            **compared_shown(parts.table, parts.plot, now),
        }

    def _ranked_shown(self, now: Ranked, session: Session, dropped: tuple[str, ...]) -> Filling:
        parts, state, board, rows = self.parts, now.state, now.board, now.rows
        to_measure = "by pairs" in board.has and "groups" not in board.has
        can_measure = state.table != "prior" and (now.unread > 0 or to_measure)
        gone = note(text("board.gone")) if self.boards.library.is_gone(session.results_id) else ""
        return {
            parts.panels: panels_html(state, self.settings.link_base),
            parts.head: controls_html(board, state),
            parts.told: counts_html(board, len(rows), dropped, now.unread) + gone,
            parts.measure: gr.update(visible=can_measure),
            parts.table: board_html(board, state, rows),
            parts.below: gr.Column(visible=len(board.table) > 0),
            parts.behind: "",
            parts.about: rule_html(board, state, now.left_out),
            **chart_shown(parts.chart, now),
            **dict.fromkeys((parts.reader_bar, parts.pair), ""),
            parts.plot: gr.update(visible=False),
            parts.timer: gr.Timer(active=False),
        }


def _board_inputs(now: Ranked) -> BoardInputs:
    return BoardInputs(now.unread, tuple(now.board.table.index[now.board.table["own"]]))


def wire_models(tab: ModelsTab, session: gr.State) -> None:
    """Connect the components; the page fills the tab, by `ModelsTab.open`."""
    parts = tab.parts
    wire_part(parts.part, tab.act, session, parts.outputs, parts.address)
    measuring = parts.measure.click(tab.measure, session, [parts.status, parts.stop], **EVENT)
    measuring.then(tab.show, session, parts.outputs, **EVENT)
    parts.stop.click(tab.stop, queue=False, **EVENT)
    for form, button in parts.exports.items():
        button.click(partial(tab.export, form), session, parts.file, **EVENT)
    parts.timer.tick(None, None, None, js=again(parts.part))
