"""The Try tab: a pair of one's own, whose rewards move as it is edited."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from explorer.core.html import note, render, step_html
from explorer.core.parts import (
    EVENT,
    Filling,
    act_of,
    components,
    guarded,
    saying,
    told,
    wire_stop,
)
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.core.work import Latest
from explorer.data.table import PairTable
from explorer.data.typed import (
    TYPED_KEY,
    Texts,
    longest_text,
    typed_pair,
    typed_texts,
    written_conversation,
)
from explorer.reader.scene import Scenes
from explorer.reader.session import Session
from explorer.reader.tokens_view import tokens_html, tokens_plot, tokens_working
from explorer.runs.orders import ModelOrder
from explorer.runs.progress import Progress
from explorer.runs.running import Rewarded, Runs
from explorer.tabs.try_it.probe_view import ProbePanel, wire_probe
from explorer.tabs.try_it.state import (
    CHANGES,
    EDITS_SECONDS,
    SIDES,
    Past,
    Trial,
    trying,
    with_edit,
)
from explorer.tabs.try_it.view import TrialParts
from scoring.errors import KnownError, shown
from scoring.limits import Step
from scoring.pairs.opening import as_pairs
from scoring.probing.side_rewards import TokenRewards
from scoring.spec import Pair


@dataclass(frozen=True)
class TrialTab:
    """The tab's callbacks.

    `texts` are the conversation and both responses as they are typed.
    """

    scenes: Scenes
    runs: Runs
    settings: Settings
    latest: Latest
    parts: TrialParts

    @guarded
    def press(self, session: Session, model: object, *texts: object) -> Iterator[Filling]:
        """Score what is typed; it is what later rewards are compared with."""
        yield self._working(None)
        yield from self._told(session, model, texts, None, loads=True)

    @guarded
    def typed(self, session: Session, model: object, *texts: object) -> Iterator[Filling]:
        """Score what is typed by the model that is warm."""
        trial = session.get(Trial)
        if not self._is_warm(session, model):
            yield {self.parts.status: _to_press(trial, model)}
            return
        yield from self._told(session, model, texts, trial)

    @guarded
    def anew(self, session: Session, model: object, *texts: object) -> Iterator[Filling]:
        """The same for another pair, whose rewards are compared with none before."""
        if self._is_warm(session, model):
            yield from self._told(session, model, texts, None)
            return
        session.forget(Trial)
        parts = self.parts
        yield {parts.status: _to_press(None, model), parts.numbers: "", parts.edits: ""}

    @guarded
    def rest(self, session: Session, model: object, *texts: object) -> Iterator[Filling]:
        """Score every edit, however long it takes."""
        trial = session.get(Trial)
        yield from self._told(session, model, texts, trial, seconds=None, loads=True)

    @guarded
    def stop(self, session: Session) -> None:
        """End what is being scored."""
        self.latest.stop(session.visitor.session)

    @guarded
    def act(self, event: gr.EventData, session: Session, *texts: Any) -> Filling:
        """Make an edit in the text areas."""
        name, sent = act_of(event)
        if name != "apply":
            raise KnownError(f"There is no act {shown(name)}.")
        now = self._checked(texts)
        return self._changed(session, now, with_edit(now, sent.get("change"), sent.get("side")))

    @guarded
    def undo(self, session: Session, *texts: Any) -> Filling:
        """Go back to the texts before the last edit, or the last pair that was taken."""
        former, rest = session.seen(Past).gone_back(self._checked(texts))
        session.show(rest)
        return self._typed_in(former, can_undo=bool(rest.texts))

    @guarded
    def opened(self, session: Session, *texts: Any) -> Filling:
        """The pair that is open on the Pairs tab."""
        table = self.scenes.with_texts(session)
        new = _texts_of(table, self.scenes.now(session).key)
        return self._changed(session, self._checked(texts), new)

    @guarded
    def tokens(self, session: Session, model: object, *texts: Any) -> Iterator[Filling]:
        """The rewards token by token of what is typed."""
        parts, pair = self.parts.tokens, self._pair(texts)
        steps = self.runs.token_rewards(session.visitor, ModelOrder.of({"model": model}), pair)
        yield from told(_tokens(steps), parts.words, parts.plot, parts.stop, parts.button)

    def _changed(self, session: Session, texts: Texts, new: Texts) -> Filling:
        session.show(session.seen(Past).remembering(texts))
        return self._typed_in(new, can_undo=True)

    def _typed_in(self, texts: Texts, *, can_undo: bool) -> Filling:
        filled: Filling = dict(zip(self.parts.texts, texts, strict=True))
        return filled | {self.parts.undo: gr.update(interactive=can_undo)}

    def _told(
        self,
        session: Session,
        model: object,
        texts: tuple[Any, ...],
        former: Trial | None,
        *,
        seconds: float | None = EDITS_SECONDS,
        loads: bool = False,
    ) -> Iterator[Filling]:
        """Try what is typed, step by step to its end, for as long as nothing newer is asked.

        loads: whether the model may be loaded for it; the others are as of `trying`.
        """
        parts, who = self.parts, session.visitor
        number = self.latest.ask(who.session)
        is_last = partial(self.latest.is_last, who.session, number)
        is_stopped = partial(self.latest.is_stopped, who.session, number)
        trial, status = None, None
        try:
            order = ModelOrder.of({"model": model})
            pair = self._pair(texts)

            def rewards(pairs: Sequence[Pair]) -> Rewarded:
                with self.latest.answering(who.session, number):
                    return self.runs.rewards(
                        who, order, pairs, only_warm=True, is_wanted=is_last, is_stopped=is_stopped
                    )

            def loading() -> Generator[Progress, None, Rewarded]:
                with self.latest.answering(who.session, number):
                    return (yield from self.runs.loading_rewards(who, order, [pair]))

            first = loading() if loads else None
            for step in trying(order, pair, rewards, first=first, former=former, seconds=seconds):
                if not is_last():
                    break
                if isinstance(step, Progress):
                    yield self._working(step.step)
                else:
                    trial = step
                    session.show(trial)
                    yield self._shown(trial)
        except KnownError as error:
            status = note(str(error), "wrong")
        if is_stopped():
            status = None if trial else note(text("trial.stopped"))
        elif not is_last():
            return
        if trial is not None:
            yield self._shown(trial, ended=True)
        if status is not None:
            yield {parts.status: status, parts.stop: gr.update(interactive=False)}

    def _working(self, step: Step | None) -> Filling:
        """Before there are rewards. step: of the loading; None where there is none to be told."""
        words = note(text("trial.working")) if step is None else step_html(step)
        return {self.parts.status: words, self.parts.stop: gr.update(interactive=True)}

    def _shown(self, trial: Trial, *, ended: bool = False) -> Filling:
        """A trial as far as it is. ended: whether no more edits are scored."""
        parts = self.parts
        filled: Filling = {
            parts.status: status_html(trial),
            parts.numbers: numbers_html(trial),
            parts.edits: edits_html(trial, ended=ended),
            parts.rest: gr.update(visible=ended and not trial.is_whole),
            parts.stop: gr.update(interactive=not ended),
        }
        if not (trial.effects or ended):  # token rewards of another text are of no use
            filled |= {parts.tokens.words: "", parts.tokens.plot: gr.update(visible=False)}
        return filled

    def _is_warm(self, session: Session, model: object) -> bool:
        """Whether what is shown is by the model that is chosen, and that is in memory still."""
        trial = session.get(Trial)
        if trial is None or not isinstance(model, str) or trial.order.model != model.strip():
            return False
        return self.runs.scorers.models.is_warm(session.visitor, trial.order)

    def _pair(self, texts: tuple[Any, ...]) -> Pair:
        return typed_pair(*texts, longest=longest_text(self.settings))

    def _checked(self, texts: tuple[Any, ...]) -> Texts:
        return typed_texts(*texts, longest=longest_text(self.settings))


def status_html(trial: Trial) -> str:
    """By what the rewards are."""
    facts = trial.facts
    device = text("trial.device", dtype=facts.dtype, device=facts.device)
    words = [facts.model, facts.family, device if facts.dtype != "none" else "", facts.reading]
    return note(text("trial.scored", how=" · ".join(filter(None, words))))


def numbers_html(trial: Trial) -> str:
    """Both rewards and the margin, and how far they moved since the start."""
    return render("tabs/try_it/numbers.html", trial=trial, sides=SIDES)


def edits_html(trial: Trial, *, ended: bool) -> str:
    """What each edit does to each response, and buttons to make it.

    ended: whether what is not known is not being scored any more.
    """
    return render(
        "tabs/try_it/edits.html",
        trial=trial,
        changes=CHANGES,
        sides=SIDES,
        waits="–" if ended else "…",
        is_cut_short=ended and not trial.is_whole,
    )


def _tokens(steps: Generator[Progress, None, TokenRewards]) -> Iterator[tuple[str, Any]]:
    rewards = yield from tokens_working(steps)
    yield tokens_html(rewards, text("trial.this"), TYPED_KEY), tokens_plot(rewards)


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


def wire_trial(tab: TrialTab, session: gr.State) -> None:
    """Connect the components."""
    parts = tab.parts
    asked = [session, parts.model, *parts.texts]
    changed = [*parts.texts, parts.undo]
    often = {"trigger_mode": "multiple", **EVENT}
    tokens = parts.tokens
    reading = tokens.button.click(tab.tokens, asked, components(tokens), **EVENT)
    wire_stop(tokens.stop, tokens.words, [reading], tokens.button)
    # Who loads a model holds nobody up, and no other model is loaded for them meanwhile.
    long = {"concurrency_limit": None, "cancels": [reading], **often}
    parts.score.click(tab.press, asked, parts.outputs, **long)
    parts.typed.typed(tab.typed, asked, parts.outputs, **often)
    acted = parts.part.relay.act(tab.act, [session, *parts.texts], changed, **often)
    parts.rest.click(tab.rest, asked, parts.outputs, **long)
    said = saying("#try-status .note, #try-status .status > div", text("score.stopping"))
    parts.stop.click(tab.stop, session, None, js=said, queue=False, **EVENT)
    undone = parts.undo.click(tab.undo, [session, *parts.texts], changed, **EVENT)
    taken = parts.opened.click(tab.opened, [session, *parts.texts], changed, **EVENT)
    for event in (acted, undone):
        event.success(tab.typed, asked, parts.outputs, **often)
    taken.success(tab.anew, asked, parts.outputs, **often)
    probe = ProbePanel(tab.scenes, tab.runs, tab.settings, Latest(), parts.probe)
    wire_probe(probe, parts.model, session)
