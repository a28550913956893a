"""The Try tab: a pair of one's own, whose rewards move as it is edited."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import gradio as gr

from explorer.core.html import note
from explorer.core.parts import EVENT, act_of, done, guarded, refused, unchanged
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.core.work import Latest
from explorer.data.table import PairTable
from explorer.data.typed import (
    KEY,
    Texts,
    longest_text,
    typed_pair,
    typed_texts,
    written_conversation,
)
from explorer.reader.state import Tables, View
from explorer.reader.tokens import token_figure, tokens_html
from explorer.results.fields import Fields
from explorer.runs.orders import ModelOrder
from explorer.runs.progress import Progress
from explorer.runs.running import Runs
from explorer.runs.visitors import Visitor
from explorer.tabs.try_it.html import edits_html, loading_html, numbers_html, status_html
from explorer.tabs.try_it.probe_acts_view import ProbePanel, wire_probe
from explorer.tabs.try_it.state import (
    EDITS_SECONDS,
    Past,
    Question,
    Trial,
    gone_back,
    remembered,
    trying,
    with_edit,
)
from explorer.tabs.try_it.view import TrialShown, TrialView
from scoring.errors import KnownError, shown
from scoring.pairs.opening import as_pairs

Shown = tuple[Any, ...]


class OfModel(Protocol):
    """What the Failures tab shows."""

    @property
    def model(self) -> str:
        """Whose outcomes; "" for those of all models."""

    @property
    def view(self) -> View:
        """Of which pairs."""


@dataclass(frozen=True)
class TrialTab:
    """The tab's callbacks.

    `who` is the visitor, `trial` what was shown last, `texts` the conversation and both responses
    as they are typed, `where` as of `explorer.tabs.pairs.fails_view.Failures`.
    """

    tables: Tables
    fields: Fields
    runs: Runs
    settings: Settings
    latest: Latest

    @guarded
    def press(self, who: Visitor, model: object, *texts: object) -> Iterator[TrialShown]:
        """Score what is typed; it is what later rewards are compared with."""
        yield unchanged(TrialShown, status=note(text("trial.working")))
        yield from self._told(who, model, texts, None, loads=True)

    @guarded
    def typed(
        self, who: Visitor, model: object, trial: Trial | None, *texts: object
    ) -> Iterator[TrialShown]:
        """Score what is typed by the model that is warm."""
        if not self._is_warm(who, trial, model):
            yield unchanged(TrialShown, status=_to_press(trial, model))
            return
        yield from self._told(who, model, texts, trial)

    @guarded
    def anew(
        self, who: Visitor, model: object, trial: Trial | None, *texts: object
    ) -> Iterator[TrialShown]:
        """The same for another pair, whose rewards are compared with none before."""
        if self._is_warm(who, trial, model):
            yield from self._told(who, model, texts, None)
            return
        status = _to_press(None, model)
        yield unchanged(TrialShown, status=status, numbers="", edits="", trial=None)

    @guarded
    def rest(
        self, who: Visitor, model: object, trial: Trial | None, *texts: object
    ) -> Iterator[TrialShown]:
        """Score every edit, however long it takes."""
        yield from self._told(who, model, texts, trial, seconds=None, loads=True)

    @guarded
    def act(self, event: gr.EventData, past: Past, *texts: Any) -> Shown:
        """Make an edit in the text areas."""
        name, sent = act_of(event)
        if name != "apply":
            raise KnownError(f"There is no act {shown(name)}.")
        now = self._checked(texts)
        return _changed(past, now, with_edit(now, sent.get("change"), sent.get("side")))

    @guarded
    def undo(self, past: Past, *texts: Any) -> Shown:
        """Go back to the texts before the last edit, or the last pair that was taken."""
        former, rest = gone_back(past, self._checked(texts))
        return (*former, rest, gr.update(interactive=bool(rest)))

    @guarded
    def browsed(self, seen: View, past: Past, *texts: Any) -> Shown:
        """The pair that is open on the Browse tab."""
        new = _texts_of(self.tables.of(seen), seen.reading.key)
        return _changed(past, self._checked(texts), new)

    @guarded
    def failed(self, seen: OfModel, past: Past, *posted: Any) -> Shown:
        """The pair that is open on the Failures tab."""
        texts, where = posted[:3], posted[3:]
        field = self.fields.of(seen.model, *where) if seen.model else self.fields.largest(*where)
        if not field.has_texts:
            raise KnownError(text("trial.no_texts"))
        new = _texts_of(field.table, seen.view.reading.key)
        return _changed(past, self._checked(texts), new)

    @guarded
    def tokens(self, who: Visitor, model: object, *texts: Any) -> Iterator[tuple[str, Any]]:
        """The rewards token by token of what is typed."""
        order = ModelOrder.of({"model": model})
        pair = typed_pair(*texts, longest=longest_text(self.settings))
        yield note(text("tokens.working")), gr.skip()
        rewards = self.runs.token_rewards(who, order, pair)
        figure = painted(token_figure(rewards), 300)
        yield tokens_html(rewards, text("trial.this"), KEY), gr.update(value=figure, visible=True)

    def _told(
        self,
        who: Visitor,
        model: object,
        texts: tuple[Any, ...],
        former: Trial | None,
        **how: Any,
    ) -> Iterator[TrialShown]:
        """A trial as it comes to be known, for as long as nothing newer is asked.

        how: as of `_trying`.
        """
        number = self.latest.ask(who.session)
        steps = self._trying(who, model, texts, former, number, **how)
        yield from trial_followed(steps, lambda: self.latest.is_last(who.session, number))

    def _trying(
        self,
        who: Visitor,
        model: object,
        texts: tuple[Any, ...],
        former: Trial | None,
        number: int,
        *,
        seconds: float | None = EDITS_SECONDS,
        loads: bool = False,
    ) -> Iterator[Progress | Trial]:
        """Try what is typed. loads: whether the model may be loaded for it."""
        order = ModelOrder.of({"model": model})
        pair = typed_pair(*texts, longest=longest_text(self.settings))
        asks = Question(self.runs, self.latest, who, order, number)
        yield from trying(
            order,
            pair,
            asks.rewards,
            first=asks.loading_rewards([pair]) if loads else None,
            former=former,
            seconds=seconds,
        )

    def _is_warm(self, who: Visitor, trial: Trial | None, model: object) -> bool:
        """Whether a trial is by the model that is chosen, and that is in memory still."""
        if trial is None or not isinstance(model, str) or trial.order.model != model.strip():
            return False
        return self.runs.scorers.models.is_warm(who, trial.order)

    def _checked(self, texts: tuple[Any, ...]) -> Texts:
        return typed_texts(*texts, longest=longest_text(self.settings))


def trial_followed(
    steps: Iterator[Progress | Trial], is_last: Callable[[], bool]
) -> Iterator[TrialShown]:
    """A trial step by step, and its end; nothing more once `is_last` says no."""
    trial, status = None, None
    try:
        for step in steps:
            if not is_last():
                return
            if isinstance(step, Progress):
                yield unchanged(TrialShown, status=loading_html(step))
            else:
                trial = step
                yield trial_shown(trial)
    except KnownError as error:
        status = note(str(error), "wrong")
    if not is_last():
        return
    if trial is not None:
        yield trial_shown(trial, ended=True)
    if status is not None:
        yield unchanged(TrialShown, status=status)


def trial_shown(trial: Trial, *, ended: bool = False) -> TrialShown:
    """A trial as far as it is. ended: whether no more edits are scored."""
    anew = not (trial.effects or ended)  # token rewards of another text are of no use
    return TrialShown(
        status_html(trial),
        numbers_html(trial),
        edits_html(trial, ended=ended),
        gr.update(visible=ended and not trial.is_whole),
        trial,
        "" if anew else gr.skip(),
        gr.update(visible=False) if anew else gr.skip(),
    )


def _changed(past: Past, texts: Texts, new: Texts) -> Shown:
    return (*new, remembered(past, texts), gr.update(interactive=True))


def _to_press(trial: Trial | None, model: object) -> str:
    """What to do where the model is not warm."""
    if trial is None:
        return note(text("trial.idle"))
    return note(text("trial.press", model=shown(model)))


def _texts_of(table: PairTable, key: str) -> Texts:
    row = table.row_of(key)
    if row is None:
        raise KnownError(text("trial.none_open"))
    [pair] = as_pairs(table.arrow, [row])
    return written_conversation(pair.messages), pair.chosen, pair.rejected


def wire_trial(
    view: TrialView,
    tab: TrialTab,
    *,
    who: gr.State,
    browsed: gr.State,
    failed: gr.State,
    where: list[gr.components.Component],
) -> None:
    """Connect the components.

    who: the visitor; browsed, failed: what the Browse and the Failures tab show; where: as of
    `explorer.tabs.pairs.fails_view.Failures`, without the notes.
    """
    asked = [who, view.model, *view.texts]
    going = [who, view.model, view.trial, *view.texts]
    changed = [*view.texts, view.past, view.undo]
    often = {"trigger_mode": "multiple", **EVENT}
    long = {"concurrency_limit": None, **often}  # who loads a model holds nobody up
    view.score.click(tab.press, asked, view.outputs, **long)
    view.typed.typed(tab.typed, going, view.outputs, **often)
    acted = view.part.relay.act(tab.act, [view.past, *view.texts], changed, **often)
    acted.success(None, None, None, js=done(view.part))
    acted.failure(None, None, None, js=refused(view.part))
    view.rest.click(tab.rest, going, view.outputs, **long)
    undone = view.undo.click(tab.undo, [view.past, *view.texts], changed, **EVENT)
    taken = [
        view.browsed.click(tab.browsed, [browsed, view.past, *view.texts], changed, **EVENT),
        view.failed.click(tab.failed, [failed, view.past, *view.texts, *where], changed, **EVENT),
    ]
    for event in (acted, undone):
        event.success(tab.typed, going, view.outputs, **often)
    for event in taken:
        event.success(tab.anew, going, view.outputs, **often)
    view.tokens.button.click(tab.tokens, asked, [view.tokens.words, view.tokens.plot], **EVENT)
    wire_probe(
        view.probe,
        ProbePanel(tab.tables, tab.runs, tab.settings, Latest()),
        who,
        view.model,
        browsed,
    )
