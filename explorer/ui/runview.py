"""What a run looks like at a moment: its status, its report, its newest rows."""

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any, NamedTuple

import gradio as gr
import numpy as np

from explorer.margins import margin_histogram
from explorer.pacing import paced
from explorer.progress import Progress
from explorer.reading import PAGE_ROWS
from explorer.run_cards import card_of
from explorer.run_sections import sections_now
from explorer.text import text
from explorer.ui.grids import Column, Grid, grid
from explorer.ui.livebars import bars_html, margins_html
from explorer.ui.markup import note, signed, tag
from explorer.ui.progress import progress_html, step_html
from explorer.ui.relay import unchanged
from explorer.ui.report import facts_html, report_html, sections_html
from explorer.ui.surewords import sure_words
from explorer.ui.worsthtml import worst_html
from scoring.record import Run
from scoring.summary import summarise


class RunShown(NamedTuple):
    """What a run looks like at a moment, in the order of `ReportView.outputs`."""

    status: str
    start: Any
    stop: Any
    cards: str
    sections: str
    margins: str
    rows: Any
    facts: str
    inspect: Any
    run_id: str | None


def reopened(run: Run) -> Progress:
    """A stored run as its own last progress."""
    stage: Any = "left" if run.status == "running" else run.status
    rows, sure = tuple(run.rows()), card_of(run).sure
    return Progress(stage, run.facts.n_pairs, run, rows, len(rows), run.seconds, sure=sure)


def drawn(progresses: Iterable[Progress], model: str = "") -> Iterator[RunShown]:
    """A run as it goes on, so often that drawing does not hold it up; its end always."""
    return paced(
        progresses,
        lambda progress: shown(progress, model),
        lambda progress: progress.stage == "running",
    )


def shown(progress: Progress, model: str = "") -> RunShown:
    """A run at a moment. model: what was typed, for as long as there is no run."""
    if not progress.scored or progress.run is None:
        return only_status(progress, model)
    summary = summarise(progress.scored, progress.run.facts.family)
    lost = summary.total.lost
    chosen = np.array([pair.chosen_reward for pair in progress.scored], np.float64)
    rejected = np.array([pair.rejected_reward for pair in progress.scored], np.float64)
    return RunShown(
        _status(progress, model),
        *_buttons(progress),
        report_html(progress.run, summary, progress.scored),
        bars_html(sections_now(summary)) + sections_html(summary),
        margins_html(margin_histogram(chosen, rejected)) + _worst(progress),
        gr.update(value=_newest(progress), visible=True),
        facts_html(progress.run),
        gr.update(value=text("score.inspect", n=f"{lost:,}"), visible=lost > 0),
        progress.run.id,
    )


def only_status(progress: Progress, model: str = "") -> RunShown:
    """A word on what happens, leaving the report of an earlier run where it is."""
    start, stop = _buttons(progress)
    told = unchanged(RunShown, status=_status(progress, model), start=start, stop=stop)
    if progress.stage in ("waiting", "loading"):  # what stands there is another run's
        hidden: Any = gr.update(visible=False)
        told = told._replace(
            cards="", sections="", margins="", rows=hidden, facts="", inspect=hidden
        )
    return told if progress.run is None else told._replace(run_id=progress.run.id)


def _buttons(progress: Progress) -> tuple[Any, Any]:
    """Score can be pressed while nothing runs, Stop while something does."""
    busy = progress.stage in ("waiting", "loading", "running")
    # An update of a tab that was not opened yet takes the words away unless it has them.
    return (
        gr.update(value=text("score.start"), interactive=not busy),
        gr.update(value=text("score.stop"), interactive=busy),
    )


def _newest(progress: Progress) -> Grid:
    newest = reversed(progress.scored[-PAGE_ROWS:])
    rows = [
        [pair.key, pair.outcome, pair.margin, pair.chosen_reward, pair.rejected_reward]
        for pair in newest
    ]
    return grid(_columns(), rows)


def _worst(progress: Progress) -> str:
    """The clearest failures, to be opened."""
    if progress.run is None:
        return ""
    return worst_html(progress.run, progress.scored)


def _status(progress: Progress, model: str) -> str:
    done, total, wait = len(progress.scored), progress.total, progress.wait_seconds
    left = progress.seconds_left
    words = text(
        f"score.{progress.stage}",
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
    if progress.stage == "stopped" and progress.message:
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
