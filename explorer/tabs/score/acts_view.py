"""The Score tab: choose a model and pairs, watch the run, see what it came to."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.html import note
from explorer.core.parts import EVENT, guarded, saying, unchanged
from explorer.core.text import text
from explorer.data.table import PairTable, Rows
from explorer.reader.searchbar import filter_words
from explorer.reader.state import Tables
from explorer.results.fields import Fields
from explorer.runs.cards import card_of, pairs_of
from explorer.runs.live import LiveRun
from explorer.runs.orders import LARGEST
from explorer.runs.progress import Stream
from explorer.runs.running import Runs
from explorer.runs.selections import WAYS, Choice, Selection
from explorer.runs.visitors import Visitor
from explorer.tabs.score.before_view import card_html, selected_html
from explorer.tabs.score.checked import RunChecked
from explorer.tabs.score.run_view import Followed, RunShown, followed, reopened, shown
from explorer.tabs.score.view import ScoreView, order_of
from scoring.errors import KnownError
from scoring.errors import shown as shown_value
from scoring.record import Run
from scoring.sure import SureRule

PARTS = {"subset": (0, 1), "keys": (2,), "failed": (3,), "typed": (4,)}
"""Way to choose pairs -> which of `ChoiceView.parts` it needs."""
N_PARTS = sum(map(len, PARTS.values()))
FIRST_SECONDS = 2.0
"""How long a page waits for the first word of its run."""


def sure_of(on: object, number: Any, width: Any) -> SureRule | None:
    """What a run is to be sure of; None where it is to score all pairs. width: in points.

    Raises:
        KnownError: of `SureRule`, or the width is no number.
    """
    if on is not True:
        return None
    is_number = isinstance(width, int | float) and not isinstance(width, bool)
    if not is_number or not -LARGEST <= width <= LARGEST:
        raise KnownError(f"{text('sure.width')} must be a number, not {shown_value(width)}.")
    return SureRule(number, width / 100)


@dataclass(frozen=True)
class Score:
    """The tab's callbacks.

    `where` is (results id, table id, visitor), as of `explorer.tabs.pairs.fails_view.Failures`;
    `choice` is (what the Browse tab shows, and the fields of `Choice`).
    """

    tables: Tables
    fields: Fields
    runs: Runs

    @guarded
    def count(self, *posted: Any) -> str:
        """How many pairs are chosen, and from where."""
        try:
            selection = self.chosen(posted[:3], *posted[3:])
            self.runs.check_pairs(len(selection.rows))
        except KnownError as error:
            return note(str(error), "wrong")
        return selected_html(selection)

    @guarded
    def look(self, *posted: Any) -> str:
        """The card of the model: what it is, whether it fits, how long it will take."""
        order, where, choice = posted[:7], posted[7:10], posted[10:]
        try:
            selection = self.chosen(where, *choice)
        except KnownError:
            selection = None
        return card_html(self.runs, where[2], order, selection)

    @guarded
    def turn(self, which: object, *where: object) -> tuple[Any, ...]:
        """Show what the way to choose pairs needs, and the models whose failures can be taken."""
        needed = PARTS.get(str(which), ())
        parts = [gr.update(visible=part in needed) for part in range(N_PARTS)]
        if which == WAYS[2]:
            field = self.fields.largest(*where)
            models = [] if field is None else [*field.matrix.models]
            parts[3] = gr.update(choices=models, visible=True)
        return tuple(parts)

    @guarded
    def start(self, *posted: Any) -> RunShown:
        """Let a run begin, for this page to follow."""
        order, sure, where, choice = posted[:7], posted[7:10], posted[10:13], posted[13:]
        who = where[2]

        def steps() -> Stream:
            asked = order_of(*order), self.chosen(where, *choice), sure_of(*sure)
            return self.runs.start(who, *asked)

        return _begun(self.runs.live.begin(who, str(posted[0]), steps))

    @guarded
    def resume(self, asked: Any, who: Visitor) -> RunShown:
        """Go on with a run, follow it, or show what it came to, as the Runs tab asks."""
        act, run_id = asked[:2] if asked else ("", "")
        live = self.runs.live.get(who, run_id)
        if live is not None and not live.ended.is_set():
            return followed(live)
        if act == "report":
            return self._stored(self.runs.open(run_id, who), who)
        if act != "resume":
            return unchanged(RunShown)
        table_of = partial(pairs_of, library=self.tables.library)
        resumed = partial(self.runs.resume, who, run_id, table_of)
        return _begun(self.runs.live.begin(who, "", resumed))

    @guarded
    def follow(self, seen: Followed, who: Visitor) -> RunShown:
        """How far the run is that the page follows."""
        if not seen.live_id:
            return unchanged(RunShown)
        live = self.runs.live.get(who, seen.live_id)
        if live is None:
            return self.reopen(who)
        is_further = live.n_told > seen.seen and time.monotonic() >= seen.due
        return followed(live) if is_further or live.ended.is_set() else unchanged(RunShown)

    @guarded
    def reopen(self, who: Visitor) -> RunShown:
        """After the page was opened: the run of this person that goes on, else their last one."""
        for live in self.runs.live.of(who):
            return followed(live)
        for run in self.runs.shelf.own(who):
            if card_of(run).owner == who.owner:
                return self._stored(run, who)
        return unchanged(RunShown, followed=Followed(), timer=gr.update(active=False))

    @guarded
    def rejoin(self, seen: Followed, run_id: object, who: Visitor) -> RunShown:
        """After the tab was opened: the run that it shows, where it went on elsewhere."""
        live = None if seen.live_id else self.runs.live.get(who, run_id)
        if live is None or live.ended.is_set():
            return unchanged(RunShown)
        return followed(live)

    def _stored(self, run: Run, who: Visitor) -> RunShown:
        """A stored run, with why it ended where this server saw it end."""
        live = self.runs.live.get(who, run.id)
        if live is not None and live.ended.is_set() and live.now.stage == run.status:
            return followed(live)
        return shown(reopened(run))

    def stop(self, who: Visitor, seen: Followed) -> None:
        """End the run that the page follows after its present pack, wherever it was begun."""
        live = self.runs.live.get(who, seen.live_id)
        if live is not None:
            live.stop.set()

    def leave(self, request: gr.Request) -> None:
        """End what a closed page loads to try it; its run goes on."""
        self.runs.stop(Visitor(session=request.session_hash or ""))

    def chosen(self, where: Any, *choice: Any) -> Selection:
        """What is to be scored.

        Raises:
            KnownError: pairs that are not here any more, or have further responses; a number that
                is none, or too small or large.
        """
        seen = choice[0]
        words, table = ", ".join(filter_words(seen.filters)), self.tables.of(seen)
        lost, typed = partial(self._lost, where=where), self.tables.library.typed
        return Choice(*choice[1:]).of(table, seen.filters, words, lost, typed)

    def _lost(self, model: object, where: Any) -> tuple[PairTable, Rows]:
        field = self.fields.of(model, *where)
        return field.table, field.lost(str(model))


def _begun(live: LiveRun) -> RunShown:
    live.told.wait(FIRST_SECONDS)
    return followed(live)


def wire_score(
    view: ScoreView,
    score: Score,
    browsed: gr.State,
    check: RunChecked,
    where: list[gr.components.Component],
    *,
    tab: gr.Tab,
) -> None:
    """Connect the components. where: as of `Score`."""
    choice, report = [browsed, *view.choice.inputs], view.report
    counted: dict[str, Any] = {
        "fn": score.count,
        "inputs": [*where, *choice],
        "outputs": view.choice.selected,
        "concurrency_id": "count",
        "concurrency_limit": 1,  # in turn: an older count never comes after a newer one
    }
    looked = {
        "fn": score.look,
        "inputs": [*view.order.inputs, *where, *choice],
        "outputs": view.order.card,
    }
    for part in view.choice.inputs:
        changed = part.change(**counted, trigger_mode="always_last", **EVENT)
        # The card is looked up when a text that is typed is left, not at each key.
        after = part.blur if part in view.choice.texts else changed.then
        after(**looked, trigger_mode="always_last", **EVENT)
    tab.select(**counted, **EVENT).then(**looked, **EVENT)
    shown_run = [report.followed, report.run_id, where[2]]
    tab.select(score.rejoin, shown_run, report.outputs, **EVENT)
    for part in view.order.inputs:
        # What is typed is looked up when it is left, not at each key.
        typed = isinstance(part, gr.Textbox | gr.Number)
        for changed in (part.blur, part.submit) if typed else (part.change,):
            changed(**looked, trigger_mode="always_last", **EVENT)
    view.choice.which.input(score.turn, [view.choice.which, *where], view.choice.parts, **EVENT)
    report.start.click(
        score.start,
        [*view.order.inputs, *view.sure.inputs, *where, *choice],
        report.outputs,
        trigger_mode="once",
        **EVENT,
    )
    report.start.click(None, None, view.check, js="() => ''", **EVENT)
    follows = [report.followed, where[2]]
    ticked = report.timer.tick(score.follow, follows, report.outputs, trigger_mode="once", **EVENT)
    ticked.failure(lambda: gr.update(active=False), None, report.timer, **EVENT)
    # What is published of the model of a run that ended stands beside it.
    ended = report.ended.change(check.check, [report.run_id, *where], view.check, **EVENT)
    ended.then(**looked, **EVENT)
    said = saying("#status .status > div", text("score.stopping"))
    report.stop.click(score.stop, [where[2], report.followed], None, js=said, queue=False, **EVENT)
