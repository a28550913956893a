"""The Try tab: a pair that is typed, its rewards, one-click edits, and the bias probe."""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any

import gradio as gr
from markupsafe import Markup

from explorer.core.address_view import Identify, Regions, Sent, View, build_view, wire_event
from explorer.core.caches import LruCache
from explorer.core.files import File, written_file
from explorer.core.html import note, part, render, step_html
from explorer.core.links import ignored
from explorer.core.settings import Settings
from explorer.core.validation import integer_if_numeric
from explorer.core.work import TRIAL_STOPPED, Job, Jobs, Latest
from explorer.data.typed import Texts, longest_text, typed_pair, typed_texts, written_conversation
from explorer.reader.filter_html import listed_and_why
from explorer.reader.links import read_pairs
from explorer.reader.scene import Scene, Scenes
from explorer.reader.tokens_view import READING_TOKENS, TokenView, typed_tokens
from explorer.runs.estimates import model_seconds, work_of
from explorer.runs.model_list import offered_models
from explorer.runs.orders import ModelOrder
from explorer.runs.progress import Progress
from explorer.runs.queue import DeviceBusyError
from explorer.runs.running import NO_PAIRS, Rewarded, Runs, press_to_load
from explorer.runs.selections import Selection, selected_as_listed, selected_per_subset
from explorer.runs.visitors import Visitor, check_known
from explorer.tabs.try_it.probe import (
    PROBE_FORMS,
    Probe,
    ProbeForm,
    bought,
    probing,
    write_probe,
)
from explorer.tabs.try_it.probe_html import ProbeStage, probe_html, probe_status_html
from explorer.tabs.try_it.state import TryState
from explorer.tabs.try_it.trial import (
    CHANGES,
    EDIT_NAMES,
    EDITS_SECONDS,
    SIDES,
    Trial,
    trying,
    with_edit,
)
from scoring.errors import KnownError, Stopped
from scoring.hub.access import Hub
from scoring.limits import Step
from scoring.pairs.opening import as_pairs
from scoring.spec import Pair

_MOST_PEOPLE = 200
"""Whose last trials and probes are remembered."""
_STOP_SECONDS = 1.0
"""After which the scoring of a typed text can be stopped."""
_APPLIES = 0.6
"""Share of pairs that an edit changes, in RewardBench."""
TEXTS = ("prompt", "chosen", "rejected")
"""Fields with what is typed."""
_part = partial(part, of="tabs/try_it/form.html")


@dataclass
class Tried:
    """How far the trial is that a person asked for last.

    order: of the model; None before any was asked for. trial: what is shown; None for nothing.
    asked: "press", "rest" or "typed", as in `score`. started: when, by the clock. step: of loading.
    refused: why it came to no end; "" otherwise. is_busy: whether it may be asked once more.
    """

    order: ModelOrder | None = None
    trial: Trial | None = None
    asked: str = "typed"
    started: float = field(default_factory=time.monotonic)
    step: Step | None = None
    refused: str = ""
    is_busy: bool = False
    is_over: bool = True

    @property
    def can_stop(self) -> bool:
        """Whether it goes on. What was typed has a moment, so that no button flickers."""
        is_late = time.monotonic() > self.started + _STOP_SECONDS
        return not self.is_over and (self.asked != "typed" or is_late)


@dataclass(frozen=True)
class TryView:
    """Callable from any thread. What is remembered, is by who asked.

    latest: numbers questions, whose trials stand in `tried`; lock: of both. tokens: rewards by
        token. probes: that go on, or ended last; probed: the last that found something.
    """

    scenes: Scenes
    runs: Runs
    hub: Hub
    settings: Settings
    latest: Latest = field(default_factory=Latest)
    lock: Lock = field(default_factory=Lock)
    tried: LruCache[Tried] = field(default_factory=lambda: LruCache(_MOST_PEOPLE))
    tokens: Jobs[str, TokenView] = field(default_factory=Jobs)
    probes: Jobs[Probe, None] = field(default_factory=Jobs)
    probed: LruCache[Probe] = field(default_factory=lambda: LruCache(_MOST_PEOPLE))

    def regions(self, query: str, visitor: Visitor, sent: Sent) -> tuple[str, Regions]:
        """The address as it is understood, and the regions of the tab."""
        state, dropped = TryState.parse(query)
        state = replace(state, pairs=self.scenes.unless_first(state.pairs))
        said = ignored(dropped)
        tried = self.tried.get(visitor.owner) or Tried()
        trial = tried.trial
        again = "" if tried.is_over else '<i data-refresh="200"></i>'
        base, longest = self.settings.link_base, longest_text(self.settings)
        tokens = self.tokens.of(visitor.owner)
        return state.href()[1:], {
            "bar": lambda: self._bar(state, said),
            "buttons": lambda: _part("buttons", tried.can_stop, base) + again,
            "status": lambda: self._status(state, tried, visitor, sent) + again,
            "pair": lambda: pair_html(trial, longest, not again, tokens) + again,
            "options": lambda: self._options(state, visitor),
            "probe": lambda: self._probe(visitor),
            "found": lambda: self._found(visitor),
        }

    def score(self, query: str, visitor: Visitor, sent: Sent) -> None:
        """Score what is typed, step by step to its end, for as long as nothing newer is asked.

        What is sent as "value" says what is asked: "press" for a new start with which later rewards
        are compared, "rest" for the edits that were left out; else the model is not loaded for it.
        """
        check_known(visitor, is_public=self.settings.public)
        state, asked = TryState.parse(query)[0], sent.get("value", "")
        before = self.tried.get(visitor.owner) or Tried()
        loads = asked in ("press", "rest")
        if not loads and not self._is_warm(state, before, visitor):
            return
        now = Tried(before.order, before.trial, asked if loads else "typed", is_over=False)
        with self.lock:
            number = self.latest.ask(visitor.owner)
            self.tried[visitor.owner] = now
        self.tokens.forget(visitor.owner)  # of another text they are of no use
        try:
            now.order = ModelOrder.of({"model": state.model})
            former = None if asked == "press" else before.trial
            seconds = None if asked == "rest" else EDITS_SECONDS
            self._try(now, now.order, visitor, sent, number, former, loads, seconds)
        except Stopped:
            pass
        except KnownError as error:
            now.refused, now.is_busy = str(error), isinstance(error, DeviceBusyError)
        finally:
            now.is_over = True
        if self.latest.is_stopped(visitor.owner, number):
            now.refused = "" if now.trial is not before.trial else TRIAL_STOPPED

    def stop(self, query: str, visitor: Visitor, _: Sent) -> str:
        """End what is being scored. Gives the same address."""
        self.latest.stop(visitor.owner)
        return query

    def edit(self, query: str, _: Visitor, sent: Sent) -> tuple[str, Sent]:
        """Make an edit, "change:side", in what is typed; gives the same address and the texts.

        Raises:
            KnownError: there is no such edit, it does not apply, or the texts are too long.
        """
        change, _colon, side = sent.get("value", "").partition(":")
        now = typed_texts(*map(sent.get, TEXTS), longest=longest_text(self.settings))
        return query, _as_sent(with_edit(now, change, side))

    def take(self, query: str, visitor: Visitor, sent: Sent) -> tuple[str, Sent]:
        """The texts of the pair that is open on the Pairs tab; their rewards are a new start.

        What is sent as "value" may be "random": for any pair of the list there.

        Raises:
            KnownError: there is none, or its texts are not here.
        """
        check_known(visitor, is_public=self.settings.public)
        now = self._scene(TryState.parse(query)[0], visitor)
        table, row = now.pairs.with_texts(), now.open_row
        if sent.get("value") == "random":
            rows = now.filtered.rows
            row = int(random.choice(rows)) if len(rows) else None  # noqa: S311 - no secret
        if row is None:
            raise KnownError("No pair is open in Pairs. Open one there first.")
        [pair] = as_pairs(table.arrow, [row])
        before = self.tried.get(visitor.owner) or Tried()
        self.latest.ask(visitor.owner)
        self.tried[visitor.owner] = Tried(before.order)
        self.tokens.forget(visitor.owner)
        return query, _as_sent((written_conversation(pair.messages), pair.chosen, pair.rejected))

    def show_tokens(self, query: str, visitor: Visitor, sent: Sent) -> None:
        """Have what is typed rewarded token by token, and wait for it.

        Raises:
            KnownError: it is no pair, the model cannot be, or too much goes on.
        """
        check_known(visitor, is_public=self.settings.public)
        order = ModelOrder.of({"model": TryState.parse(query)[0].model})
        work = partial(typed_tokens, self.runs, order, self._pair(sent), visitor)
        self.tokens.do(visitor.owner, work)

    def stop_tokens(self, query: str, visitor: Visitor, _: Sent) -> str:
        """End the same, or hide what it gave. Gives the same address."""
        self.tokens.forget(visitor.owner)
        return query

    def start_probe(self, query: str, visitor: Visitor, _: Sent) -> None:
        """Probe, and wait for it.

        Raises:
            KnownError: too much goes on.
        """
        check_known(visitor, is_public=self.settings.public)
        work = partial(self._probe_pairs, TryState.parse(query)[0], visitor)
        self.probes.do(visitor.owner, work)

    def stop_probe(self, query: str, visitor: Visitor, _: Sent) -> str:
        """End the probe after its present pack. Gives the same address."""
        self.probes.stop(visitor.owner)
        return query

    def file(self, form: ProbeForm, _query: str, visitor: Visitor, _sent: str) -> File:
        """What was probed last, as a file; raises as `write_probe`."""
        write = partial(write_probe, self._visible_probe(visitor), form)
        return written_file(f"bias-probe-{form}.csv", write)

    def as_view(self) -> View:
        """The tab as a view."""
        actions: dict[str, Any] = {
            name: getattr(self, name.replace("-", "_"))
            for name in ("stop", "edit", "take", "stop-tokens", "stop-probe")
        }
        files = {f"probe-{form}.csv": partial(self.file, form) for form in PROBE_FORMS}
        return View(TryState.TAB, self.regions, actions, files, ("score", "tokens", "probe"))

    def _try(  # noqa: PLR0917
        self,
        now: Tried,
        order: ModelOrder,
        visitor: Visitor,
        sent: Sent,
        number: int,
        former: Trial | None,
        loads: bool,
        seconds: float | None,
    ) -> None:
        """As `trying`. number: of the question. loads: whether the model may be loaded for it."""
        owner, pair = visitor.owner, self._pair(sent)

        def check(progress: Progress) -> None:
            is_last = self.latest.is_last(owner, number)
            # What scores already ends soon; to break it off may cost the warm model.
            is_late = progress.stage == "loading" and not is_last
            if is_late or self.latest.is_stopped(owner, number):
                raise Stopped(TRIAL_STOPPED)
            now.step = progress.step

        def rewards(pairs: Sequence[Pair], *, only_warm: bool = True) -> Rewarded:
            with self.latest.answering(owner, number):
                return self.runs.rewards(visitor, order, pairs, check, only_warm=only_warm)

        def show(trial: Trial) -> None:
            if not self.latest.is_last(owner, number):
                raise Stopped(TRIAL_STOPPED)
            now.trial, now.step = trial, None

        first = partial(rewards, only_warm=False) if loads else None
        trying(order, pair, rewards, show, first=first, former=former, seconds=seconds)

    def _probe_pairs(
        self, state: TryState, visitor: Visitor, tell: Callable[[Probe], None]
    ) -> None:
        order = ModelOrder.of({"model": state.model})
        if not state.changes:
            raise KnownError("No change is chosen. Tick at least one of them.")
        found = self._selection(state, visitor)
        if not len(found.rows):
            raise KnownError(NO_PAIRS)
        if found.n_several:
            rows = "row has" if found.n_several == 1 else "rows have"
            raise KnownError(
                f"The probe edits pairs, and {found.n_several:,} {rows} several chosen or several "
                "rejected responses: choose rows with one of each."
            )
        pairs = as_pairs(found.table.arrow, found.rows.tolist())
        rewarding = partial(self.runs.rewarding, visitor, order)

        def keep(probe: Probe) -> None:
            if any(probe.effects.values()):
                self.probed[visitor.owner] = probe
            tell(probe)

        probing(pairs, state.changes, rewarding, keep, most=self.settings.max_pairs)

    def _selection(self, state: TryState, visitor: Visitor) -> Selection:
        """The pairs that are probed; raises as `selected_per_subset`."""
        now = self._scene(state, visitor)
        table = now.pairs.with_texts()
        if state.which == "filter":
            return selected_as_listed(table, *listed_and_why(now))
        return selected_per_subset(table, *map(integer_if_numeric, (state.per_subset, state.seed)))

    def _options(self, state: TryState, visitor: Visitor) -> str:
        """What would be probed and how long that takes, by earlier runs of the model here."""
        n_pairs, seconds = None, None
        with suppress(KnownError):
            found = self._selection(state, visitor)
            n_pairs, runs = len(found.rows), self.runs.store.every()
            seconds = model_seconds(work_of(found.table, found.rows), state.model, runs)
            last = self.probed.get(visitor.owner)
            if seconds is None and last and last.facts and last.facts.model == state.model.strip():
                seconds = last.seconds / last.n_scored * n_pairs
        seconds = seconds and seconds * (1 + _APPLIES * len({*state.changes} - {"swap"}))
        return part("options", state, EDIT_NAMES, n_pairs, seconds, of="tabs/try_it/probe.html")

    def _bar(self, state: TryState, said: Sequence[str]) -> str:
        offered = {name: words for words, name in offered_models(self.settings, self.hub)}
        return _part("bar", state, offered, self.settings.public, said)

    def _status(self, state: TryState, tried: Tried, visitor: Visitor, sent: Sent) -> str:
        """How far the rewards are, by what they are, or what to do for those of what is typed."""
        if (job := self.tokens.of(visitor.owner)) is not None and not job.is_over:
            return note(job.step or READING_TOKENS) + '<i data-refresh="400"></i>'
        if not tried.is_over:
            return self._working(tried)
        if job is not None and job.refused:
            return note(job.refused, "wrong")
        if tried.refused:
            before = " The rewards below are of the pair scored last." if tried.trial else ""
            return _part("refused", tried.refused + before, tried.asked, tried.is_busy)
        if tried.order is None or tried.trial is None:
            return note("Click Score this pair. After that, rewards update as you type.")
        if self._has_changed(state, tried.trial, sent):
            if self._is_warm(state, tried, visitor):
                return note("The rewards are of other texts. Click Score this pair for these.")
            return note(press_to_load(state.model))
        has_fields = all(name in sent for name in TEXTS)
        # Else the texts of the page, which may be others, come with its next question.
        return status_html(tried.trial) + ("" if has_fields else '<i data-refresh="300"></i>')

    def _working(self, tried: Tried) -> str:
        if tried.step is not None:
            return step_html(tried.step)
        if tried.asked != "typed" or tried.trial is None:
            return note("Loading the model and scoring the pair…")
        return status_html(tried.trial)

    def _probe(self, visitor: Visitor) -> str:
        """Start and Stop, and how far the probe is."""
        job = self.probes.of(visitor.owner)
        goes_on = job is not None and not job.is_over
        status = ""
        if job is not None and job.refused:
            status = note(job.refused, "wrong")
        elif job is not None and goes_on and job.stop.is_set():
            status = note("Stopping…")
        elif job is not None and (goes_on or job.step is not None):
            is_whole = job.step is not None and job.step.is_whole
            ended: ProbeStage = "finished" if is_whole else "stopped"
            stage: ProbeStage = "running" if goes_on else ended
            status = probe_status_html(job.step, stage)
        return part("state", goes_on, Markup(status), of="tabs/try_it/probe.html")  # noqa: S704

    def _found(self, visitor: Visitor) -> str:
        """What the probe found so far, or one before it; files are offered at its end."""
        job, probe = self.probes.of(visitor.owner), self._visible_probe(visitor)
        goes_on = job is not None and not job.is_over
        again = '<i data-refresh="400"></i>' if goes_on else ""
        if probe is None:
            return again + part("empty", of="tabs/try_it/probe.html")
        return again + probe_html(probe, bought(probe), has_files=not goes_on)

    def _visible_probe(self, visitor: Visitor) -> Probe | None:
        """The last probe that has found something."""
        job = self.probes.of(visitor.owner)
        probe = job.step if job is not None else None
        if probe is None or not any(probe.effects.values()):
            return self.probed.get(visitor.owner)
        return probe

    def _scene(self, state: TryState, visitor: Visitor) -> Scene:
        return self.scenes.shown(read_pairs(f"?{state.pairs}")[0], visitor).scene

    def _is_warm(self, state: TryState, tried: Tried, visitor: Visitor) -> bool:
        """Whether the model that was asked for last is chosen, and still in memory."""
        order = tried.order
        if order is None or order.model != state.model.strip():
            return False
        return self.runs.scorers.models.is_warm(visitor, order)

    def _has_changed(self, state: TryState, trial: Trial, sent: Sent) -> bool:
        """Whether a trial is of another model than is chosen, or of other texts than are typed."""
        if not all(name in sent for name in TEXTS):  # the page has no fields yet
            return False
        with suppress(KnownError):
            return trial.order.model != state.model.strip() or trial.pair != self._pair(sent)
        return True

    def _pair(self, sent: Sent) -> Pair:
        return typed_pair(*map(sent.get, TEXTS), longest=longest_text(self.settings))


def _as_sent(texts: Texts) -> Sent:
    return dict(zip(TEXTS, texts, strict=True))


def status_html(trial: Trial) -> str:
    """By what the rewards are."""
    facts = trial.facts
    device = f"{facts.dtype} on {facts.device}" if facts.dtype != "none" else ""
    how = " · ".join(filter(None, [facts.model, facts.family, device, facts.reading]))
    return note(f"Scored by {how}")


def pair_html(
    trial: Trial | None, longest: int, is_over: bool, tokens: Job[str, TokenView] | None = None
) -> str:
    """The texts in their cards, with the rewards, and what each edit does to them.

    longest: characters of a text. is_over: nothing more is being scored. tokens: as asked for.
    """
    return render(
        "tabs/try_it/pair.html",
        trial=trial,
        longest=longest,
        changes=CHANGES,
        names=EDIT_NAMES,
        sides=SIDES,
        waits="–" if is_over else "…",
        is_cut_short=trial is not None and is_over and not trial.is_whole,
        tokens=tokens.result if tokens else None,
        reads=tokens is not None and not tokens.is_over,
    )


def build_try(view: TryView, identify: Identify) -> gr.HTML:
    """Lay the tab out: what needs a model goes through Gradio's queue, as ZeroGPU asks."""
    built = build_view(view.as_view(), render("tabs/try_it/panes.html"), identify)
    wire_event(built, TryState.TAB, "score", view.score, identify, often=True)
    wire_event(built, TryState.TAB, "tokens", view.show_tokens, identify, often=True)
    wire_event(built, TryState.TAB, "probe", view.start_probe, identify, often=True)
    return built
