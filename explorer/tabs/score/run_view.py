"""What a run looks like at a moment: its status, its report, its newest rows."""

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import gradio as gr
import numpy as np

from explorer.core.html import note, progress_html, signed, step_html, tag
from explorer.core.parts import Column, Filling, Grid, grid
from explorer.core.text import text
from explorer.reader.reading import PAGE_ROWS
from explorer.reader.session import Session
from explorer.runs.cards import card_of
from explorer.runs.facts import facts_html
from explorer.runs.live import LiveRun
from explorer.runs.progress import Progress
from explorer.runs.sections import run_intervals, sections_now
from explorer.stats.margins import margin_histogram
from explorer.tabs.score.live_html import bars_html, margins_html, sure_words, worst_html
from explorer.tabs.score.report import report_html, sections_html
from explorer.tabs.score.view import ReportParts
from scoring.errors import KnownError
from scoring.record import Run
from scoring.summary import summarise

SHARE = 0.04
"""Of the time that passes between two drawings of a run, what the former may have taken."""


@dataclass(frozen=True)
class Followed:
    """The run under way that a page follows.

    live_id: as of `LiveRun`; "" for none.
    seen: its `n_told` when it was drawn last.
    due: when it may be drawn anew, by `time.monotonic`.
    """

    live_id: str = ""
    seen: int = 0
    due: float = 0.0


def reopened(run: Run) -> Progress:
    """A stored run as its own last progress."""
    stage: Any = "left" if run.status == "running" else run.status
    rows, sure = tuple(run.rows()), card_of(run).sure
    return Progress(stage, run.facts.n_pairs, run, rows, run.seconds, sure=sure)


def followed(parts: ReportParts, live: LiveRun, session: Session) -> Filling:
    """A run under way, to be looked at again so often that drawing does not hold it up; its end."""
    began = time.monotonic()
    has_ended, seen, now = live.ended.is_set(), live.n_told, live.now
    if has_ended:
        with suppress(KnownError):
            now = replace(now, scored=tuple(now.run.rows()) if now.run else ())
        return shown(parts, now, session, live.model) | {parts.ended: live.id}
    drawn = _drawn(parts, now, live.model, is_stopping=live.stop.is_set())
    drawn.pop(parts.ended, None)
    ended = time.monotonic()
    _turn(session, now, Followed(live.id, seen, due=ended + (ended - began) / SHARE))
    return drawn | {parts.timer: gr.update(active=True)}


def shown(parts: ReportParts, progress: Progress, session: Session, model: str = "") -> Filling:
    """A run at a moment, which is not looked at again.

    model: what was typed, for as long as there is no run.
    """
    drawn = _drawn(parts, progress, model)
    _turn(session, progress, Followed())
    return drawn | {parts.timer: gr.update(active=False)}


def _turn(session: Session, progress: Progress, seen: Followed) -> None:
    """Only after it was drawn: whoever presses Stop amid that means the run that was followed."""
    session.show(seen)
    if progress.run is not None:
        session.run_id = progress.run.id


def _drawn(
    parts: ReportParts, progress: Progress, model: str, *, is_stopping: bool = False
) -> Filling:
    """A run at a moment. is_stopping: whether it ends after the present pack."""
    filled: Filling = {
        parts.status: _status(progress, model, is_stopping=is_stopping),
        **_buttons(parts, progress),
    }
    if not progress.scored or progress.run is None:
        # The report of an earlier run stays until another's begins.
        is_another = progress.stage in ("waiting", "loading")
        return filled | (_emptied(parts) if is_another else {})
    summary = summarise(progress.scored, progress.run.facts.family)
    intervals = run_intervals(progress.scored, progress.run.facts)
    lost = summary.total.lost
    chosen = np.array([pair.chosen_reward for pair in progress.scored], np.float64)
    rejected = np.array([pair.rejected_reward for pair in progress.scored], np.float64)
    bars = bars_html(sections_now(summary, intervals)) + sections_html(summary, intervals)
    worst = worst_html(progress.run, progress.scored)
    return filled | {
        parts.cards: report_html(progress.run, summary, intervals, progress.scored),
        parts.sections: bars,
        parts.margins: margins_html(margin_histogram(chosen, rejected)) + worst,
        parts.rows: gr.update(value=_newest(progress), visible=True),
        parts.facts: facts_html(progress.run),
        parts.inspect: gr.update(value=text("score.inspect", n=f"{lost:,}"), visible=lost > 0),
        parts.ended: progress.run.id,
    }


def _emptied(parts: ReportParts) -> Filling:
    words: Filling = dict.fromkeys((parts.cards, parts.sections, parts.margins, parts.facts), "")
    return words | dict.fromkeys((parts.rows, parts.inspect), gr.update(visible=False))


def _buttons(parts: ReportParts, progress: Progress) -> Filling:
    """Score can be pressed while nothing runs, Stop while something does."""
    busy = progress.stage in ("waiting", "loading", "running")
    # An update of a tab that was not opened yet takes the words away unless it has them.
    return {
        parts.start: gr.update(value=text("score.start"), interactive=not busy),
        parts.stop: gr.update(value=text("score.stop"), interactive=busy),
    }


def _newest(progress: Progress) -> Grid:
    newest = reversed(progress.scored[-PAGE_ROWS:])
    rows = [
        [pair.key, pair.outcome, pair.margin, pair.chosen_reward, pair.rejected_reward]
        for pair in newest
    ]
    return grid(_columns(), rows)


def _status(progress: Progress, model: str, *, is_stopping: bool) -> str:
    done, total, wait = len(progress.scored), progress.total, progress.wait_seconds
    left = progress.seconds_left
    stage = "finished_one" if (progress.stage, total) == ("finished", 1) else progress.stage
    words = text(
        f"score.{stage}",
        model=(progress.run.facts.model if progress.run else model)[:200],
        done=f"{done:,}",
        total=f"{total:,}",
        seconds=f"{progress.seconds:.1f}",
        rate=f"{progress.rate or 0:.1f}",
        left="–" if left is None else _duration(left),
        message=progress.message,
        ahead=progress.ahead,
        wait="" if wait is None else text("score.waiting_known", seconds=_duration(wait)),
    )
    if is_stopping:
        words = text("score.stopping")
    elif progress.stage == "stopped" and progress.message:
        words = f"{words} {progress.message}"
    step = progress.step
    if step is not None and progress.stage == "loading" and step.total is not None:
        return step_html(step)
    bar = progress_html(done / total if total else 0.0, text("score.title"))
    sure = note(sure_words(progress.sure, progress.stage == "stopped")) if progress.sure else ""
    html = tag("div", escape(words)) + bar + sure
    return tag("div", html, css=f"status {progress.stage}", role="status")


def _duration(seconds: float) -> str:
    """A time in a reader's units.

    >>> _duration(8.2), _duration(95)
    ('8 s', '1 min 35 s')
    """
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def _columns() -> list[Column]:
    return [
        Column(text("list.key")),
        Column(text("list.outcome"), lambda outcome: text(f"outcome.{outcome}")),
        Column(text("list.margin"), signed),
        Column(text("score.column_chosen"), signed),
        Column(text("score.column_rejected"), signed),
    ]
