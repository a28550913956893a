"""What a run looks like at a moment: its status, its report, its newest rows."""

from html import escape
from typing import Any, NamedTuple

import gradio as gr
import numpy as np

from explorer.margins import margin_histogram
from explorer.reading import PAGE_ROWS
from explorer.reward_figures import margins_figure
from explorer.runs import Progress
from explorer.text import text
from explorer.ui.grids import Column, Grid, grid
from explorer.ui.markup import signed, tag
from explorer.ui.report import facts_html, report_html, sections_html
from explorer.ui.theme import painted
from scoring.record import Run
from scoring.summary import summarise

MOST_RUNS = 200
"""Runs that a browser remembers."""


class RunShown(NamedTuple):
    """What a run looks like at a moment, in the order of `ScoreView.outputs`."""

    status: str
    start: Any
    stop: Any
    cards: str
    sections: str
    margins: Any
    rows: Any
    facts: str
    inspect: Any
    run_id: str | None
    own_runs: list[str]


def reopened(run: Run) -> Progress:
    """A stored run as its own last progress."""
    stage: Any = "left" if run.status == "running" else run.status
    return Progress(stage, run.facts.n_pairs, run, tuple(run.rows()), run.seconds)


def shown(progress: Progress, model: str, own: object) -> RunShown:
    """A run at a moment. own: the runs this browser had before; the present one is added."""
    if not progress.scored or progress.run is None:
        return only_status(progress, model, own)
    summary = summarise(progress.scored)
    lost = summary.total.lost
    chosen = np.array([pair.chosen_reward for pair in progress.scored], np.float64)
    rejected = np.array([pair.rejected_reward for pair in progress.scored], np.float64)
    return RunShown(
        _status(progress, model),
        *_buttons(progress),
        report_html(progress.run, summary, progress.scored),
        sections_html(summary),
        gr.update(value=painted(margins_figure(margin_histogram(chosen, rejected))), visible=True),
        gr.update(value=_newest(progress), visible=True),
        facts_html(progress.run),
        gr.update(value=text("score.inspect", n=f"{lost:,}"), visible=lost > 0),
        progress.run.id,
        _with(own, progress.run.id),
    )


def only_status(progress: Progress, model: str = "", own: object = None) -> RunShown:
    """A word on what happens, leaving the report of an earlier run where it is."""
    skip: Any = gr.skip()
    ids = (skip, skip) if progress.run is None else (progress.run.id, _with(own, progress.run.id))
    report = [skip] * (len(RunShown._fields) - 5)
    return RunShown(_status(progress, model), *_buttons(progress), *report, *ids)


def _buttons(progress: Progress) -> tuple[Any, Any]:
    """Score can be pressed while nothing runs, Stop while something does."""
    busy = progress.stage in ("loading", "running")
    return gr.update(interactive=not busy), gr.update(interactive=busy)


def _with(own: object, run_id: str) -> list[str]:
    """The ids that a browser remembers, newest first, at most `MOST_RUNS`."""
    known = [known for known in own if known != run_id] if isinstance(own, list) else []
    return [run_id, *known][:MOST_RUNS]


def _newest(progress: Progress) -> Grid:
    newest = reversed(progress.scored[-PAGE_ROWS:])
    rows = [
        [pair.key, pair.outcome, pair.margin, pair.chosen_reward, pair.rejected_reward]
        for pair in newest
    ]
    return grid(_columns(), rows)


def _status(progress: Progress, model: str) -> str:
    done, total, seconds = len(progress.scored), progress.total, progress.seconds
    rate = done / seconds if seconds else 0.0
    words = text(
        f"score.{progress.stage}",
        **{
            "model": model[:200],
            "done": f"{done:,}",
            "total": f"{total:,}",
            "seconds": f"{seconds:.1f}",
            "rate": f"{rate:.1f}",
            "left": _duration((total - done) / rate) if rate else "–",
            "message": progress.message,
        },
    )
    share = 100 * done / total if total else 0.0
    bar = tag(
        "div",
        tag("i", style=f"width:{share:.1f}%"),
        css="progress",
        role="progressbar",
        aria_valuenow=f"{share:.0f}",
        aria_valuemin="0",
        aria_valuemax="100",
        aria_label=text("score.title"),
    )
    return tag(
        "div", tag("div", escape(words)) + bar, css=f"status {progress.stage}", role="status"
    )


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
        Column(text("list.chosen_reward"), signed),
        Column(text("list.rejected_reward"), signed),
    ]
