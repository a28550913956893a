"""The Score tab: choose a model and pairs, watch the run, see what it and all others came to."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.files import download_folder
from explorer.core.html import note, render
from explorer.core.parts import (
    EVENT,
    Filling,
    Posted,
    act_of,
    again,
    components,
    fetching,
    guarded,
    nothing_new,
    saying,
    wire_part,
    wrote,
)
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.data.table import PairTable, Rows
from explorer.reader.filter_html import listed_and_why
from explorer.reader.links import compare_query, failures_query
from explorer.reader.scene import Scenes
from explorer.reader.session import Session
from explorer.results.board import Ranking
from explorer.results.boards import Boards
from explorer.results.own import own_names
from explorer.runs.cards import card_of, pairs_of
from explorer.runs.estimates import forecast
from explorer.runs.facts import run_facts
from explorer.runs.live import LiveRun, Steps
from explorer.runs.progress import Stream
from explorer.runs.running import Runs
from explorer.runs.selections import SELECTION_WAYS, Selection
from explorer.runs.visitors import Visitor
from explorer.tabs.score.before_view import known_size, model_card_html, selected_html
from explorer.tabs.score.exports import export_run
from explorer.tabs.score.published_check import check_run, published_html
from explorer.tabs.score.run_view import Followed, run_shown
from explorer.tabs.score.state import (
    SCORE_LINK,
    ScoreState,
    decode_score,
    move,
    run_line,
    runs_scene,
)
from explorer.tabs.score.view import ScoreParts, looking_html, panels_html, ways
from scoring.errors import KnownError
from scoring.record import Run

FIRST_SECONDS = 2.0
"""How long a page waits for the first word of its run."""


@dataclass(frozen=True)
class ScoreTab:
    """The tab's callbacks. `posted` is what all its fields hold, and the session."""

    scenes: Scenes
    runs: Runs
    boards: Boards
    settings: Settings
    parts: ScoreParts
    session: gr.State

    def open(self, query_string: object, session: Session) -> Filling:
        """What a link asks for; a run that is not here any more is told."""
        state, wrong = decode_score(query_string), ""
        if state.run_id:
            try:
                self.runs.store.open(state.run_id, session.visitor)
            except KnownError as error:
                wrong, state = str(error), state.of("")
        session.show(state)
        return self._shown(session, wrong=wrong)

    def turn_back(self, session: Session) -> Filling:
        """After the tab was opened: the list, or the run where it went on elsewhere."""
        state = session.get(ScoreState)
        if state is not None and state.panel == "runs":
            return self._listed(session)
        if state is None:
            filled = self.open("", session)
        else:
            seen = None if session.seen(Followed).live_id else self._looked_at(session)
            if not isinstance(seen, LiveRun) or seen.ended.is_set():
                return nothing_new()
            filled = self._reported(seen, session)
        # Who turned to the list meanwhile stays there.
        return nothing_new() if session.seen(ScoreState).panel == "runs" else filled

    @guarded
    def act(self, event: gr.EventData, session: Session) -> Filling:
        """What is shown after one act."""
        name, sent = act_of(event)
        if name == "turned":
            return self.turn_back(session)
        if name == "again":
            return self._further(session)
        session.check_open()
        who, state = session.visitor, session.seen(ScoreState)
        if name in ("report", "resume"):
            run_id = str(sent.get("id"))
            seen = self._resumed(who, run_id) if name == "resume" else self._of_id(who, run_id)
            is_live = isinstance(seen, LiveRun) and seen.run_id is None
            session.show(replace(state, panel="new").of("" if is_live else run_id))
            return self._shown(session, seen)
        session.show(move(state, self.runs.store, who, name, sent))
        if name == "find":
            return {self.parts.report.latest: self._latest(session)}
        return self._shown(session)

    @guarded
    def start(self, posted: Posted) -> Filling:
        """Let a run begin, for this page to follow."""
        parts, session = self.parts, posted[self.session]
        session.check_open()

        def steps() -> Stream:
            asked = parts.order.order(posted), self.chosen(posted), parts.sure.rule(posted)
            return self.runs.start(session.visitor, *asked)

        live = self._begun(session.visitor, str(posted[parts.order.model]), steps)
        session.show(session.seen(ScoreState).of(""))
        return self._reported(live, session)

    def stop(self, session: Session) -> None:
        """End the run that the page follows after its present pack, wherever it was begun."""
        live = self.runs.live.get(session.visitor, session.seen(Followed).live_id)
        if live is not None:
            live.stop.set()

    @guarded
    def export(self, form: str, ended: tuple[str, str], session: Session) -> Iterator[Any]:
        """A file of the open run, or of the one that ended last where none is."""
        with download_folder() as folder:
            run_id = session.seen(ScoreState).run_id or ended[0]
            run = self.runs.store.open(run_id, session.visitor)
            yield gr.update(value=str(export_run(run, form, folder)))

    @guarded
    def check(self, ended: tuple[str, str], session: Session) -> Any:
        """What is published of the model of the run that ended, beside it; "" where nothing is.

        All stays where none began.
        """
        run_id, _ = ended
        if not run_id:
            return gr.skip()
        name = self.scenes.fields.name_of(run_id, *session.where)
        if not name:
            return ""
        field = self.scenes.fields.of(name, *session.where)
        board = self.boards.board(session.results_id, Ranking(own=False))
        run = self.runs.store.open(run_id, session.visitor)
        return published_html(check_run(run, field, board))

    @guarded
    def count(self, posted: Posted) -> Filling:
        """How many pairs are chosen, and how many the Pairs tab lists."""
        choice, filled = self.parts.choice, dict[gr.blocks.Block, Any]()
        try:
            now = self.scenes.now(posted[self.session])
            filled[choice.which] = gr.Radio(ways(len(now.listed), len(now.table)))
            selection = self.chosen(posted)
            self.runs.check_pairs(selection.n_pairs)
        except KnownError as error:
            return filled | {choice.selected: note(str(error), "wrong")}
        return filled | {choice.selected: selected_html(selection)}

    @guarded
    def describe(self, posted: Posted) -> Iterator[str]:
        """The card of the model: what it is, whether it fits, how long it will take.

        Before it, that the model is looked at, where it was not.
        """
        try:
            selection = self.chosen(posted)
        except KnownError:
            selection = None
        parts, models = self.parts.order, self.runs.scorers.models
        visitor = posted[self.session].visitor
        try:
            order = parts.order(posted)
            if not models.is_previewed(visitor, order):
                yield looking_html()
            yield model_card_html(forecast(self.runs, visitor, order, selection))
        except KnownError as error:
            yield note(str(error), "wrong") + known_size(posted[parts.model], models.device())

    @guarded
    def show_way(self, which: object, session: Session) -> Filling:
        """Show what the way to choose pairs needs: keys that there are, models with failures."""
        choice = self.parts.choice
        filled: Filling = {
            each: gr.update(visible=way == which)
            for way, needed in choice.needed.items()
            for each in needed
        }
        with suppress(KnownError):  # the pairs are not here any more
            keys = self.scenes.now(session).table.example_keys
            placeholder = text("score.keys_placeholder", keys=keys)
            filled[choice.keys] = gr.update(visible=which == "keys", placeholder=placeholder)
        if which == SELECTION_WAYS[2]:
            models = self.scenes.fields.largest(*session.where).matrix.models
            filled[choice.failed] = gr.update(choices=[*models], visible=True)
        return filled

    def chosen(self, posted: Posted) -> Selection:
        """What is to be scored.

        Raises:
            KnownError: pairs that are not here any more, or have further responses; a number that
                is none, or too small or large.
        """
        session = posted[self.session]
        return self.parts.choice.choice(posted).of(
            partial(self.scenes.with_texts, session),
            lambda: listed_and_why(self.scenes.now(session)),
            partial(self._lost, session),
            self.scenes.library.typed,
        )

    def _lost(self, session: Session, model: object) -> tuple[PairTable, Rows]:
        field = self.scenes.fields.of(model, *session.where)
        return field.table, field.lost(str(model))

    def _begun(self, who: Visitor, model: str, steps: Steps) -> LiveRun:
        live = self.runs.live.begin(who, model, steps)
        live.has_begun.wait(FIRST_SECONDS)
        return live

    def _resumed(self, who: Visitor, run_id: str) -> LiveRun:
        """A stored run that goes on from now, or does already."""
        live = self.runs.live.get(who, run_id)
        if live is not None and not live.ended.is_set():
            return live
        table_of = partial(pairs_of, library=self.scenes.library)
        return self._begun(who, "", partial(self.runs.resume, who, run_id, table_of))

    def _of_id(self, who: Visitor, run_id: str) -> LiveRun | Run:
        """A run while it goes on; where it ended, with why if this server saw it."""
        live = self.runs.live.get(who, run_id)
        if live is not None and not live.ended.is_set():
            return live
        run = self.runs.store.open(run_id, who)
        return live if live is not None and live.progress.stage == run.status else run

    def _looked_at(self, session: Session) -> LiveRun | Run | None:
        """The run that is followed until its end was drawn, else the open one, else the one of this
        person that goes on, else their last one.
        """
        who, run_id = session.visitor, session.seen(ScoreState).run_id
        followed = self.runs.live.get(who, session.seen(Followed).live_id)
        if followed is not None:
            return followed
        if run_id:
            with suppress(KnownError):  # removed on another page
                return self._of_id(who, run_id)
        for live in self.runs.live.of(who):
            return live
        own = (run.id for run in self.runs.store.own(who) if card_of(run).owner == who.owner)
        return next((self._of_id(who, each) for each in own), None)

    def _further(self, session: Session) -> Filling:
        """How far the run is that the page follows, where it is further and is to be drawn."""
        seen = session.seen(Followed)
        if not seen.live_id or session.seen(ScoreState).panel == "runs":
            return nothing_new()  # what a poll asks for may come after the list was turned to
        live = self.runs.live.get(session.visitor, seen.live_id)
        goes_on = live is not None and not live.ended.is_set()
        if live and goes_on and (live.n_updates <= seen.n_updates or time.monotonic() < seen.due):
            return nothing_new()
        return self._of_run(session, live)

    def _shown(
        self, session: Session, seen: LiveRun | Run | None = None, wrong: str = ""
    ) -> Filling:
        """All that the state says.

        seen: the run to report of; None for the one looked at. wrong: why there is none to show.
        """
        parts, panel = self.parts, session.seen(ScoreState).panel
        if panel == "runs":
            filled = self._listed(session, wrong)
        else:
            filled = self._none(session, wrong) if wrong else self._of_run(session, seen)
        columns = {each: gr.update(visible=name == panel) for name, each in parts.columns.items()}
        return {**filled, **columns, parts.panels: self._panels(session)}

    def _panels(self, session: Session) -> str:
        return panels_html(session.seen(ScoreState), self.settings.link_base)

    def _of_run(self, session: Session, seen: LiveRun | Run | None) -> Filling:
        """The report of a run, None for the one looked at; where it cannot be read, why."""
        try:
            return self._reported(seen or self._looked_at(session), session)
        except KnownError as error:
            return self._none(session, str(error))

    def _none(self, session: Session, why: str) -> Filling:
        """In place of a report, why there is none."""
        return self._reported(None, session) | {self.parts.report.status: note(why, "wrong")}

    def _reported(self, seen: LiveRun | Run | None, session: Session) -> Filling:
        """The report of a run, whether it goes on or is stored; None for none."""

        def name_of(run: Run) -> str:
            names = own_names(self.runs.store.visible(session.visitor), ())
            return next((name for name, each in names.items() if each.id == run.id), "")

        def can_go_on(run: Run) -> bool:
            stored = self.runs.store.open(run.id, session.visitor)
            return run_line(stored, self.runs.store, session.visitor).can_go_on

        filled = run_shown(self.parts.report, session, seen, name_of, can_go_on)
        return {
            **filled,
            self.parts.report.latest: self._latest(session),
            self.parts.address: SCORE_LINK.encode(session.seen(ScoreState)),
        }

    def _latest(self, session: Session) -> str:
        """The runs that began last, beside the report of one of them."""
        who, state = session.visitor, session.seen(ScoreState)
        watched = session.seen(Followed).live_id
        return render(
            "tabs/score/latest.html",
            now=runs_scene(self.runs.store, who, open_id=state.run_id, search=state.search),
            search=state.search,
            waiting=[live for live in self._waiting(who) if live.id != watched],
            query=lambda run: SCORE_LINK.encode(ScoreState(run_id=run.id)),
        )

    def _waiting(self, who: Visitor) -> list[LiveRun]:
        return [live for live in self.runs.live.of(who) if live.run_id is None]

    def _listed(self, session: Session, wrong: str = "") -> Filling:
        """The list of runs, and the one that is open. wrong: why the one asked for is not."""
        who, state = session.visitor, session.seen(ScoreState)
        now = runs_scene(self.runs.store, who, state.page, state.run_id)
        state = replace(state, page=now.page).of(now.open.run.id if now.open else "")
        session.show(state)
        name = now.open and self.scenes.fields.name_of(now.open.run.id, *session.where)
        listed = render(
            "tabs/score/runs.html",
            now=now,
            wrong=wrong,
            waiting=self._waiting(who),
            kept=self.settings.runs_last,
            facts=now.open and run_facts(now.open.run),
            failures=name and failures_query(name),
            compare=name and compare_query(name),
            deleting=state.deleting,
        )
        return {
            self.parts.runs.listed: listed,
            self.parts.report.box: gr.Column(visible=now.open is not None),
            self.parts.report.timer: gr.update(active=False),
            self.parts.address: SCORE_LINK.encode(state),
        }


def wire_score(tab: ScoreTab, opened: gr.Tab) -> None:
    """Connect the components; the tab is brought up to date when it is opened."""
    parts, session = tab.parts, tab.session
    report, outputs = parts.report, components(parts.report, parts.address)
    wire_part(parts.part, tab.act, session, parts.outputs, parts.address)
    choice = {session, *parts.choice.inputs}
    # One event each, whatever triggers it: a page waits for its answer and then asks once more for
    # what changed meanwhile, so an older answer never comes after a newer one.
    latest = {"trigger_mode": "always_last", **EVENT}
    changed = [opened.select, *(each.change for each in parts.choice.inputs)]
    counted = [parts.choice.which, parts.choice.selected]
    gr.on(changed, tab.count, choice, counted, **latest)
    # The card is looked up when what is typed is left, not at each key.
    left = [opened.select, report.ended.change, *(each.blur for each in parts.choice.texts)]
    left += [each.change for each in parts.choice.inputs if each not in parts.choice.texts]
    for part in parts.order.inputs:
        typed = isinstance(part, gr.Textbox | gr.Number)
        left += [part.blur, part.submit] if typed else [part.change]
    gr.on(left, tab.describe, {*choice, *parts.order.inputs}, parts.order.card, **latest)
    written = {"fn": None, "inputs": parts.address, "outputs": None, "js": wrote(parts.part)}
    needed = [each for inputs in parts.choice.needed.values() for each in inputs]
    which = parts.choice.which
    gr.on([which.input, opened.select], tab.show_way, [which, session], needed, **latest)
    report.start.click(
        tab.start,
        {*choice, *parts.order.inputs, *parts.sure.inputs},
        outputs,
        trigger_mode="once",
        **EVENT,
    ).then(**written)
    said = saying("#status .status > div", text("score.stopping"))
    report.stop.click(tab.stop, session, None, js=said, queue=False, **EVENT)
    report.timer.tick(None, None, None, js=again(parts.part))
    # What is published of the model of a run that ended stands beside it.
    report.ended.change(tab.check, [report.ended, session], report.check, **EVENT)
    for form, pressed in report.exports.items():
        made = pressed.click(
            partial(tab.export, form), [report.ended, session], report.file, **EVENT
        )
        made.success(None, None, None, js=fetching("run-file"))
