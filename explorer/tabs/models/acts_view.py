"""The Models tab: models on a board, or a few of them beside each other on the same pairs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import gradio as gr

from explorer.core.caches import LruCache
from explorer.core.files import download_folder
from explorer.core.html import note, step_html
from explorer.core.parts import (
    EVENT,
    Filling,
    act_of,
    again,
    fetching,
    guarded,
    wire_part,
)
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.data.table import PairTable
from explorer.reader.reading import FIRST_READING
from explorer.reader.session import Session
from explorer.results.boards import BoardMeasuring, Boards
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.tabs.models.board_html import (
    board_html,
    controls_html,
    counts_html,
    drawer_html,
    panels_html,
    rule_html,
    share_group,
    short_board_html,
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
    Compared,
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
from scoring.limits import MEGABYTE

_KEPT_TABLES = 16 * MEGABYTE


@dataclass(frozen=True)
class BoardInputs:
    """What others than acts change of a board: how many files are unread, its own models, and what
    it has (`Board.has`).
    """

    unread: int = 0
    own: tuple[str, ...] = ()
    has: frozenset[str] = frozenset()


@dataclass(frozen=True)
class LeftOut:
    """What of a link cannot be shown, which is told as long as the same models are compared."""

    named: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelsTab:
    """The tab's callbacks.

    tables: gives the pairs whose texts are at hand.
    tables_drawn: as HTML, by what they show.
    """

    boards: Boards
    measuring: BoardMeasuring
    fields: Fields
    settings: Settings
    parts: ModelsParts
    tables: Callable[[], Sequence[PairTable]] = list
    tables_drawn: LruCache[str] = field(default_factory=lambda: LruCache[str](_KEPT_TABLES, len))

    def open(self, query_string: object, session: Session) -> Filling:
        """What a link asks for."""
        decoded = decode_models(query_string, session.get(ModelsState))
        session.forget(LeftOut)
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
        return self._board_again(state, session)

    def _board_again(self, state: ModelsState, session: Session) -> Filling:
        """A board with what ended, was read or measured since; else how far that is."""
        now = self._ranked(session, state)
        if session.get(BoardInputs) in (None, _board_inputs(now)):
            return self._progress_shown(now)
        return self.shown(now, session)

    @guarded
    def act(self, event: gr.EventData, session: Session) -> Filling:
        """What is shown after one act."""
        name, sent = act_of(event)
        state = session.seen(ModelsState)
        if name == "turned":
            return self.turn_back(session)
        session.check_open()
        if name == "again":
            return (
                self._show(state, session) if state.compares else self._board_again(state, session)
            )
        try:
            if name in ("a", "b", "add"):
                sent = {**sent, "value": self.fields.meant(sent.get("value"), *session.where)}
            now = next_scene(state, self._models(session), name, sent)
        except KnownError as error:
            if name != "search":  # nobody types without slips: what is shown stays
                raise
            return {self.parts.told: note(str(error), "wrong")}
        return self.shown(now, session, before=state)

    @guarded
    def measure(self, session: Session) -> Filling:
        """Try once more to read each pair's results and to measure how sure the board is."""
        state = session.seen(ModelsState)
        self.measuring.begin_again(session.results_id, ranking_of(state), session.visitor)
        return self._show(state, session)

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
        return ModelsData(partial(self._ranked, session), self._field_of(session))

    def _ranked(self, session: Session, state: ModelsState) -> Ranked:
        where, visitor = (session.results_id, ranking_of(state)), session.visitor
        # Asked first: what ends after it is seen when the page asks again.
        step = self.measuring.begin(*where, visitor)
        refused = "" if step else self.measuring.refused(where[1], where[0], visitor)
        seen = self.boards.seen(*where, visitor)
        return Ranked(state, seen, shown_rows(seen.board, state), self.tables, step, refused)

    def _field_of(self, session: Session) -> Callable[[str], Field]:
        """Gives the field that a model is in; of none, the largest. Each as it is now."""
        where = session.where
        fields = cache(lambda: self.fields.all(*where))
        largest = cache(lambda: self.fields.largest(*where))
        return lambda model: self.fields.among(fields(), model) if model else largest()

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
        if dropped:
            session.show(LeftOut(state.named, dropped))
        read: Filling = {
            parts.reader_bar: differing_html(now),
            parts.pair: differing_pair_html(now),
            parts.timer: gr.Timer(active=any(map(now.field.is_running, state.named))),
        }
        if before is not None and replace(before, reading=FIRST_READING) == replace(
            state, reading=FIRST_READING
        ):
            return address | read
        left, beside = session.seen(LeftOut), self._beside(now, session)
        return {
            **address,
            **read,
            parts.panels: panels_html(state, self.settings.link_base),
            parts.head: compare_head_html(now, self.fields.all(*session.where)),
            parts.told: compare_bar_html(now, left.dropped if left.named == state.named else ()),
            parts.measure: gr.update(visible=False),
            parts.status: "",
            parts.below: gr.Column(visible=False),
            parts.about: "",
            parts.drawer: short_board_html(beside, state.named) if beside else "",
            **compared_shown(
                parts.table, parts.plot, now,
                tied=beside is not None and share_group(beside.board, state.a, state.b),
            ),
        }  # fmt: skip

    def _beside(self, now: Compared, session: Session) -> Ranked | None:
        """The board that is listed beside a comparison; None where none is."""
        if now.state.panel == "ensembles" or (now.state.panel == "agreement" and now.state.a):
            return None
        return self._ranked(session, replace(now.state, sort="", ascending=False))

    def _progress_shown(self, now: Ranked) -> Filling:
        """How far the measuring of the board is, or why it failed, and a button to try again."""
        parts, step, why = self.parts, now.step, now.refused
        words = step_html(step, text(f"board.{step.doing}")) if step else ""
        return {
            parts.status: words or (note(text("board.not_measured", reason=why)) if why else ""),
            parts.measure: gr.update(visible=bool(why)),
            parts.timer: gr.Timer(active=step is not None),
        }

    def _table(self, now: Ranked) -> str:
        """The table of a board, written once for all who look at the same."""
        seen, state = now.seen, replace(now.state, reading=FIRST_READING)
        return self.tables_drawn.get_or_create_once(
            (seen.board, state, tuple(seen.apart)),
            lambda: board_html(seen.board, state, now.rows, seen.apart),
        )

    def _ranked_shown(self, now: Ranked, session: Session, dropped: tuple[str, ...]) -> Filling:
        parts, state, board, rows = self.parts, now.state, now.board, now.rows
        gone = note(text("board.gone")) if self.boards.library.is_gone(session.results_id) else ""
        return {
            parts.panels: panels_html(state, self.settings.link_base),
            parts.head: controls_html(board, state),
            parts.told: counts_html(board, len(rows), dropped, now.unread, state.ticked) + gone,
            **self._progress_shown(now),
            parts.table: self._table(now),
            parts.drawer: drawer_html(now, self.settings.link_base),
            parts.below: gr.Column(visible=len(board.table) > 0),
            parts.about: rule_html(board, state, now.seen.left_out),
            **chart_shown(parts.chart, now),
            **dict.fromkeys((parts.reader_bar, parts.pair), ""),
            parts.plot: gr.update(visible=False),
        }


def _board_inputs(now: Ranked) -> BoardInputs:
    own = tuple(now.board.table.index[now.board.table["own"]])
    return BoardInputs(now.unread, own, now.board.has)


def wire_models(tab: ModelsTab, session: gr.State) -> None:
    """Connect the components; the page fills the tab, by `ModelsTab.open`."""
    parts = tab.parts
    wire_part(parts.part, tab.act, session, parts.outputs, parts.address)
    parts.measure.click(tab.measure, session, parts.outputs, **EVENT)
    for form, button in parts.exports.items():
        written = button.click(partial(tab.export, form), session, parts.file, **EVENT)
        written.success(None, None, None, js=fetching("board-file"))
    parts.timer.tick(None, None, None, js=again(parts.part))
