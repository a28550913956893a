"""The Score tab: choose a model and pairs, watch the run, see what it came to."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.html import note
from explorer.core.parts import EVENT, Filling, Posted, components, guarded, nothing_new, saying
from explorer.core.text import text
from explorer.data.table import PairTable, Rows
from explorer.reader.scene import Scenes
from explorer.reader.searchbar import listed_and_why
from explorer.reader.session import Session
from explorer.runs.cards import card_of, pairs_of
from explorer.runs.live import LiveRun
from explorer.runs.progress import Stream
from explorer.runs.running import Runs
from explorer.runs.selections import WAYS, Selection
from explorer.tabs.score.before_view import card_html, selected_html
from explorer.tabs.score.checked import RunChecked
from explorer.tabs.score.run_view import Followed, followed, reopened, shown
from explorer.tabs.score.view import ScoreParts
from scoring.errors import KnownError
from scoring.record import Run

FIRST_SECONDS = 2.0
"""How long a page waits for the first word of its run."""


@dataclass(frozen=True)
class Score:
    """The tab's callbacks. `posted` is what all its fields hold, and the session."""

    scenes: Scenes
    runs: Runs
    parts: ScoreParts
    session: gr.State

    @guarded
    def count(self, posted: Posted) -> str:
        """How many pairs are chosen, and from where."""
        try:
            selection = self.chosen(posted)
            self.runs.check_pairs(len(selection.rows))
        except KnownError as error:
            return note(str(error), "wrong")
        return selected_html(selection)

    @guarded
    def look(self, posted: Posted) -> str:
        """The card of the model: what it is, whether it fits, how long it will take."""
        try:
            selection = self.chosen(posted)
        except KnownError:
            selection = None
        visitor = posted[self.session].visitor
        return card_html(self.runs, visitor, self.parts.order, posted, selection)

    @guarded
    def turn(self, which: object, session: Session) -> Filling:
        """Show what the way to choose pairs needs, and the models whose failures can be taken."""
        choice = self.parts.choice
        filled: Filling = {
            each: gr.update(visible=way == which)
            for way, needed in choice.needed.items()
            for each in needed
        }
        if which == WAYS[2]:
            models = self.scenes.fields.largest(*session.where).matrix.models
            filled[choice.failed] = gr.update(choices=[*models], visible=True)
        return filled

    @guarded
    def start(self, posted: Posted) -> Filling:
        """Let a run begin, for this page to follow."""
        parts, session = self.parts, posted[self.session]

        def steps() -> Stream:
            asked = parts.order.order(posted), self.chosen(posted), parts.sure.rule(posted)
            return self.runs.start(session.visitor, *asked)

        model = str(posted[parts.order.model])
        return self._begun(self.runs.live.begin(session.visitor, model, steps), session)

    @guarded
    def resume(self, asked: Any, session: Session) -> Filling:
        """Go on with a run, follow it, or show what it came to, as the Runs tab asks."""
        act, run_id = asked[:2] if asked else ("", "")
        who = session.visitor
        live = self.runs.live.get(who, run_id)
        if live is not None and not live.ended.is_set():
            return followed(self.parts.report, live, session)
        if act == "report":
            return self._stored(self.runs.open(run_id, who), session)
        if act != "resume":
            return nothing_new()
        table_of = partial(pairs_of, library=self.scenes.tables.library)
        resumed = partial(self.runs.resume, who, run_id, table_of)
        return self._begun(self.runs.live.begin(who, "", resumed), session)

    @guarded
    def follow(self, session: Session) -> Filling:
        """How far the run is that the page follows."""
        seen = session.seen(Followed)
        if not seen.live_id:
            return nothing_new()
        live = self.runs.live.get(session.visitor, seen.live_id)
        if live is None:
            return self.reopen(session)
        is_further = live.n_told > seen.seen and time.monotonic() >= seen.due
        if not (is_further or live.ended.is_set()):
            return nothing_new()
        return followed(self.parts.report, live, session)

    @guarded
    def reopen(self, session: Session) -> Filling:
        """After the page was opened: the run of this person that goes on, else their last one."""
        who = session.visitor
        for live in self.runs.live.of(who):
            return followed(self.parts.report, live, session)
        for run in self.runs.store.own(who):
            if card_of(run).owner == who.owner:
                return self._stored(run, session)
        session.show(Followed())
        return {self.parts.report.timer: gr.update(active=False)}

    @guarded
    def rejoin(self, session: Session) -> Filling:
        """After the tab was opened: the run that it shows, where it went on elsewhere."""
        if session.seen(Followed).live_id:
            return nothing_new()
        live = self.runs.live.get(session.visitor, session.run_id)
        if live is None or live.ended.is_set():
            return nothing_new()
        return followed(self.parts.report, live, session)

    def _stored(self, run: Run, session: Session) -> Filling:
        """A stored run, with why it ended where this server saw it end."""
        live = self.runs.live.get(session.visitor, run.id)
        if live is not None and live.ended.is_set() and live.now.stage == run.status:
            return followed(self.parts.report, live, session)
        return shown(self.parts.report, reopened(run), session)

    def _begun(self, live: LiveRun, session: Session) -> Filling:
        live.told.wait(FIRST_SECONDS)
        return followed(self.parts.report, live, session)

    def stop(self, session: Session) -> None:
        """End the run that the page follows after its present pack, wherever it was begun."""
        live = self.runs.live.get(session.visitor, session.seen(Followed).live_id)
        if live is not None:
            live.stop.set()

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
            self.scenes.tables.library.typed,
        )

    def _lost(self, session: Session, model: object) -> tuple[PairTable, Rows]:
        field = self.scenes.fields.of(model, *session.where)
        return field.table, field.lost(str(model))


def wire_score(score: Score, check: RunChecked, *, tab: gr.Tab) -> None:
    """Connect the components."""
    parts, session = score.parts, score.session
    report, outputs = parts.report, components(parts.report)
    choice = {session, *parts.choice.inputs}
    counted: dict[str, Any] = {
        "fn": score.count,
        "inputs": choice,
        "outputs": parts.choice.selected,
        "concurrency_id": "count",
        "concurrency_limit": 1,  # in turn: an older count never comes after a newer one
    }
    looked = {
        "fn": score.look,
        "inputs": {*choice, *parts.order.inputs},
        "outputs": parts.order.card,
    }
    for part in parts.choice.inputs:
        changed = part.change(**counted, trigger_mode="always_last", **EVENT)
        # The card is looked up when a text that is typed is left, not at each key.
        after = part.blur if part in parts.choice.texts else changed.then
        after(**looked, trigger_mode="always_last", **EVENT)
    tab.select(**counted, **EVENT).then(**looked, **EVENT)
    tab.select(score.rejoin, session, outputs, **EVENT)
    for part in parts.order.inputs:
        # What is typed is looked up when it is left, not at each key.
        typed = isinstance(part, gr.Textbox | gr.Number)
        for changed in (part.blur, part.submit) if typed else (part.change,):
            changed(**looked, trigger_mode="always_last", **EVENT)
    ways = [each for needed in parts.choice.needed.values() for each in needed]
    parts.choice.which.input(score.turn, [parts.choice.which, session], ways, **EVENT)
    report.start.click(
        score.start,
        {*choice, *parts.order.inputs, *parts.sure.inputs},
        outputs,
        trigger_mode="once",
        **EVENT,
    )
    report.start.click(None, None, parts.check, js="() => ''", **EVENT)
    ticked = report.timer.tick(score.follow, session, outputs, trigger_mode="once", **EVENT)
    ticked.failure(lambda: gr.update(active=False), None, report.timer, **EVENT)
    # What is published of the model of a run that ended stands beside it.
    ended = report.ended.change(check.check, session, parts.check, **EVENT)
    ended.then(**looked, **EVENT)
    said = saying("#status .status > div", text("score.stopping"))
    report.stop.click(score.stop, session, None, js=said, queue=False, **EVENT)
