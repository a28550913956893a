"""The Score tab: choose a model and pairs, watch the run, see what it came to."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from explorer.field import Field
from explorer.fields import Fields
from explorer.orders import LARGEST
from explorer.progress import Progress
from explorer.run_cards import card_of
from explorer.runs import Runs
from explorer.selections import WAYS, Choice, Selection
from explorer.text import text
from explorer.ui.beforerun import card_html, selected_html
from explorer.ui.browse import Browse, BrowseView
from explorer.ui.errors import guarded
from explorer.ui.markup import note
from explorer.ui.relay import EVENT, saying, unchanged
from explorer.ui.runchecked import RunChecked
from explorer.ui.runview import RunShown, drawn, only_status, reopened, shown
from explorer.ui.scoreview import ScoreView, order_of
from explorer.ui.searchbar import filter_words
from explorer.visitors import Visitor
from scoring.errors import KnownError
from scoring.errors import shown as shown_value
from scoring.sure import SureRule

PARTS = {"subset": (0, 1), "keys": (2,), "failed": (3,), "typed": (4,)}
"""Way to choose pairs -> which of `ChoiceView.parts` it needs."""
N_PARTS = sum(map(len, PARTS.values()))

logger = logging.getLogger(__name__)


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

    `where` is (results id, table id, visitor), as of `explorer.ui.failures.Failures`; `choice` is
    (what the Browse tab shows, and the fields of `Choice`).
    """

    browse: Browse
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

    def start(self, *posted: Any) -> Iterator[RunShown]:
        """Score, showing each pack as it comes; whatever goes wrong ends in a word on the page."""
        order, sure, where, choice = posted[:7], posted[7:10], posted[10:13], posted[13:]
        yield from _told(
            str(posted[0]),
            lambda: self.runs.start(
                where[2], order_of(*order), self.chosen(where, *choice), sure_of(*sure)
            ),
        )

    def resume(self, asked: Any, who: Visitor) -> Iterator[RunShown]:
        """Go on with a run, or show what it came to, as the Runs tab asks."""
        act, run_id = asked[:2] if asked else ("", "")
        if act == "report":
            yield self._report(run_id, who)
        elif act:
            table_of = self.browse.library.of_run
            yield from _told("", lambda: self.runs.resume(who, run_id, table_of))

    @guarded
    def _report(self, run_id: object, who: Visitor) -> RunShown:
        """What a stored run came to."""
        return shown(reopened(self.runs.open(run_id, who)))

    def stop(self, who: Visitor) -> None:
        """End this page's run after its present pack."""
        self.runs.stop(who, "run")

    def leave(self, request: gr.Request) -> None:
        """End the run of a session whose page was closed; what it scored is kept."""
        self.runs.stop(Visitor(session=request.session_hash or ""))

    @guarded
    def reopen(self, who: Visitor) -> RunShown:
        """After the page was opened: the last run of this person, as it stands."""
        for run in self.runs.shelf.own(who):
            if card_of(run).owner == who.owner:
                return shown(reopened(run))
        return unchanged(RunShown)

    def chosen(self, where: Any, *choice: Any) -> Selection:
        """What is to be scored.

        Raises:
            KnownError: pairs that are not here any more, or have further responses; a number that
                is none, or too small or large.
        """
        seen = choice[0]
        words, table = ", ".join(filter_words(seen.filters)), self.browse.table(seen)
        field_of, typed = partial(self._field_of, where=where), self.browse.library.typed
        return Choice(*choice[1:]).of(table, seen.filters, words, field_of, typed)

    def _field_of(self, model: object, where: Any) -> Field:
        return self.fields.of(model, *where)


def _told(model: str, begin: Any) -> Iterator[RunShown]:
    """What a run shows while it goes on; whatever goes wrong ends in a word on the page."""
    try:
        yield from drawn(begin(), model)
    except KnownError as error:
        yield only_status(Progress("refused", 0, message=str(error)))
    except Exception:
        logger.exception("a run failed")
        yield only_status(Progress("refused", 0, message=text("error.bug")))


def wire_score(
    view: ScoreView,
    score: Score,
    browse: BrowseView,
    check: RunChecked,
    where: list[gr.components.Component],
    *,
    tab: gr.Tab,
) -> None:
    """Connect the components. where: as of `Score`."""
    choice, report = [browse.seen, *view.choice.inputs], view.report
    counted = {"fn": score.count, "inputs": [*where, *choice], "outputs": view.choice.selected}
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
    for part in view.order.inputs:
        # What is typed is looked up when it is left, not at each key.
        typed = isinstance(part, gr.Textbox | gr.Number)
        for changed in (part.blur, part.submit) if typed else (part.change,):
            changed(**looked, trigger_mode="always_last", **EVENT)
    view.choice.which.input(score.turn, [view.choice.which, *where], view.choice.parts, **EVENT)
    started = report.start.click(
        score.start,
        [*view.order.inputs, *view.sure.inputs, *where, *choice],
        report.outputs,
        trigger_mode="once",
        concurrency_limit=None,
        **EVENT,
    )
    checked(started, view, check, where)
    started.then(**looked, **EVENT)
    report.start.click(None, None, view.check, js="() => ''", **EVENT)
    said = saying("#status .status > div", text("score.stopping"))
    report.stop.click(score.stop, where[2], None, js=said, queue=False, **EVENT)


def checked(
    event: gr.events.Dependency, view: ScoreView, check: RunChecked, where: list[Any]
) -> None:
    """After an event that showed a run, show it beside what is published of its model."""
    event.then(check.check, [view.report.run_id, *where], view.check, **EVENT)
