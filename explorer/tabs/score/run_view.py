"""What a run looks like at a moment: its status, its report, its newest rows."""

import heapq
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import gradio as gr
import numpy as np

from explorer.core.html import part, percent, step_html, time_words
from explorer.core.parts import Filling
from explorer.core.text import text
from explorer.reader.links import failures_query
from explorer.reader.reading import PAGE_ROWS
from explorer.reader.session import Session
from explorer.reader.state import PairsState, changed, every_pair
from explorer.results.own import own_name
from explorer.runs.cards import card_of
from explorer.runs.facts import facts_html, tie_words
from explorer.runs.live import LiveRun
from explorer.runs.progress import Progress
from explorer.runs.sections import RunIntervals, run_intervals, sections_now
from explorer.stats.margins import margin_histogram
from explorer.tabs.score.state import ScoreState
from explorer.tabs.score.view import ReportParts
from scoring.benchmark import SECTIONS, section_of
from scoring.errors import KnownError
from scoring.record import Run
from scoring.results.accuracies import v2_names
from scoring.spec import ScoredPair
from scoring.summary import Summary, summarise
from scoring.sure import SureInterval

WORST_SUBSETS = 5
"""Pairs that are lost most clearly, which are listed."""
_SHARE = 0.04
"""Of the time that passes between two drawings of a run, what the former may have taken."""
_part = partial(part, of="tabs/score/run.html")


@dataclass(frozen=True)
class Followed:
    """The run under way that a page follows.

    live_id: as of `LiveRun`; "" for none.
    n_updates: its `n_updates` when it was drawn last.
    due: when it may be drawn anew, by `time.monotonic`.
    """

    live_id: str = ""
    n_updates: int = 0
    due: float = 0.0


def run_shown(
    parts: ReportParts,
    session: Session,
    seen: LiveRun | Run | None,
    name_of: Callable[[Run], str] = own_name,
    can_go_on: Callable[[Run], bool] = lambda _: False,
) -> Filling:
    """What there is to see of a run; of one under way so often that drawing does not hold it up.

    The session follows it from then on as long as it goes on; its state says which run it is.

    seen: under way, or ended with why; a stored run of which no more is known; None for none.
    name_of: what a run is called among models. can_go_on: whether a stopped one can be resumed.

    Raises:
        KnownError: a stored run cannot be read.
    """
    began = time.monotonic()
    # Whether it ended comes before how far it is: what is told last is not missed then.
    live = seen if isinstance(seen, LiveRun) else None
    goes_on, n_updates = live is not None and not live.ended.is_set(), live.n_updates if live else 0
    progress = _progress(seen, goes_on=goes_on)
    filled = _drawn(parts, progress, live, name_of, can_go_on)
    run_id = progress.run.id if progress and progress.run else ""
    if seen is not None and not goes_on:
        filled[parts.ended] = (run_id, live.id if live else "")
    # Only after it was drawn: whoever presses Stop amid that means the run that was followed.
    ended = time.monotonic()
    due = ended + (ended - began) / _SHARE
    session.show(Followed(live.id, n_updates, due) if live and goes_on else Followed())
    if live is not None and run_id:
        session.show(session.seen(ScoreState).of(run_id))
    return filled | {parts.timer: gr.update(active=goes_on)}


def _progress(seen: LiveRun | Run | None, *, goes_on: bool) -> Progress | None:
    """How far a run is; of one that ended with its pairs, as far as they can be read."""
    if seen is None:
        return None
    if isinstance(seen, LiveRun):
        now = seen.progress
        if not goes_on and now.run is not None:
            with suppress(KnownError):
                return replace(now, scored=tuple(now.run.rows()))
        return now
    stage: Any = "left" if seen.status == "running" else seen.status
    rows, sure = tuple(seen.rows()), card_of(seen).sure
    return Progress(stage, seen.facts.n_pairs, seen, rows, seen.seconds, sure=sure)


def _drawn(
    parts: ReportParts,
    progress: Progress | None,
    live: LiveRun | None,
    name_of: Callable[[Run], str],
    can_go_on: Callable[[Run], bool],
) -> Filling:
    """A run at a moment; None for none."""
    if progress is None:
        return {parts.status: _part("idle"), **_buttons(parts, "")} | _emptied(parts)
    is_left = progress.stage in ("stopped", "failed") and (live is None or live.ended.is_set())
    resume = progress.run.id if progress.run and is_left and can_go_on(progress.run) else ""
    filled: Filling = {
        parts.status: _status(progress, live, resume),
        **_buttons(parts, progress.stage),
    }
    if not progress.scored or progress.run is None:
        return filled  # the report of an earlier run stays until another has pairs
    if live is not None and not live.ended.is_set():
        filled[parts.check] = ""
    run, scored, name = progress.run, progress.scored, name_of(progress.run)
    summary = summarise(scored, run.facts.family)
    intervals = run_intervals(scored, run.facts)
    chosen = np.array([pair.chosen_reward for pair in scored], np.float64)
    rejected = np.array([pair.rejected_reward for pair in scored], np.float64)
    known = [pair.margin for pair in scored if pair.margin is not None]
    margin, failures = median(known) if known else None, failures_query(name)
    bars = _part("bars", sections_now(summary, intervals))
    histogram = _part("margins", margin_histogram(chosen, rejected))
    return filled | {
        parts.cards: _part("report", run, summary, intervals, len(scored), margin, failures),
        parts.sections: bars + sections_html(name, summary, intervals),
        parts.margins: histogram + worst_html(name, scored),
        parts.rows: newest_html(name, scored),
        parts.box: gr.update(visible=True),
        parts.facts: facts_html(run),
    }


def sections_html(name: str, summary: Summary, intervals: RunIntervals) -> str:
    """Each section's weighted mean and, below it, its subsets' accuracies, which open their pairs.

    name: what the run is called among models.
    """
    names: dict[str | None, list[str]] = {
        section: [name for name in summary.subsets if section_of(name) == section]
        for section in (*SECTIONS, None)
    }
    if summary.v2:
        names = {section: [name] for section, name in v2_names(summary.subsets).items()}

    def query(facet: str, value: str) -> str:
        return changed(every_pair(name), {facet: (value,)}).query_string

    return _part("sections", summary, intervals, names, tie_words(summary.total.tie), query)


def worst_html(name: str, scored: Sequence[ScoredPair]) -> str:
    """Links to the losses with the widest margins so far; nothing where none is lost.

    name: what the run is called among models.
    """
    margins = ((pair.margin, pair.key) for pair in scored)
    lost = ((margin, key) for margin, key in margins if margin is not None and margin < 0)
    worst = [
        (key, margin, failures_query(name, PairsState(key=key)))
        for margin, key in heapq.nsmallest(WORST_SUBSETS, lost)
    ]
    return _part("worst", worst)


def _emptied(parts: ReportParts) -> Filling:
    written = (
        parts.cards, parts.sections, parts.margins, parts.rows, parts.facts, parts.check,
    )  # fmt: skip
    return {**dict.fromkeys(written, ""), parts.box: gr.update(visible=False)}


def _buttons(parts: ReportParts, stage: str) -> Filling:
    """Score can be pressed while nothing runs, Stop while something does."""
    busy = stage in ("waiting", "loading", "running")
    # An update of a tab that was not opened yet takes the words away unless it has them.
    return {
        parts.start: gr.update(value=text("score.start"), interactive=not busy),
        parts.stop: gr.update(value=text("score.stop"), interactive=busy),
    }


def newest_html(name: str, scored: Sequence[ScoredPair]) -> str:
    """The pairs that were scored last, the newest first, each with a link to it.

    name: what the run is called among models.
    """
    every = every_pair(name)
    rows = [
        (
            pair.key,
            replace(every, key=pair.key).query_string,
            pair.outcome,
            (pair.margin, pair.chosen_reward, pair.rejected_reward),
        )
        for pair in reversed(scored[-PAGE_ROWS:])
    ]
    heads = (
        "list.key",
        "list.outcome",
        "list.margin",
        "score.column_chosen",
        "score.column_rejected",
    )
    return _part("newest", [*map(text, heads)], rows)


def _status(progress: Progress, live: LiveRun | None, resume: str) -> str:
    model = live.model if live else ""
    done, total, wait = len(progress.scored), progress.total, progress.wait_seconds
    left = progress.seconds_left
    words = text(
        f"score.{progress.stage}",
        model=(progress.run.facts.model if progress.run else model)[:200],
        done=f"{done:,}",
        total=f"{total:,}",
        seconds=f"{progress.seconds:.1f}",
        rate=f"{progress.rate or 0:.1f}",
        left="–" if left is None else time_words(left),
        message=progress.message,
        ahead=progress.ahead,
        wait="" if wait is None else text("score.waiting_known", seconds=time_words(wait)),
    )
    if live is not None and live.stop.is_set() and not live.ended.is_set():
        words = text("score.stopping")
    elif progress.stage == "stopped" and progress.message:
        words = f"{words} {progress.message}"
    step = progress.step
    if step is not None and progress.stage == "loading" and step.total is not None:
        return step_html(step)
    sure = sure_words(progress.sure, progress.stage == "stopped") if progress.sure else ""
    return _part("status", progress.stage, words, done / total if total else 0.0, sure, resume)


def sure_words(sure: SureInterval, ended: bool) -> str:
    """What is sure since the last look, what was asked, and when the next look is.

    ended: whether the run was stopped, be it because it is sure.
    """
    number = text(f"sure.{sure.rule.number}")
    if sure.estimate is None:
        return text("sure.waiting", number=number, n=f"{sure.following or 0:,}")
    words = text(
        "sure.now",
        number=number,
        estimate=percent(sure.estimate),
        low=percent(sure.low),
        high=percent(sure.high),
        width=f"{100 * sure.width:.1f}",
        wanted=f"{100 * sure.rule.width:.1f}",
        n=f"{sure.n:,}",
    )
    if sure.is_enough:
        return f"{text('sure.enough')} {words}" if ended else words
    if sure.following is None:
        return words
    return f"{words} " + text("sure.following", n=f"{sure.following:,}")
