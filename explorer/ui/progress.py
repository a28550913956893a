"""How far long work is, as HTML."""

from collections.abc import Generator, Iterator, Sequence
from html import escape
from typing import Any

import gradio as gr

from explorer.text import text
from explorer.ui.markup import note, tag
from scoring.limits import MEGABYTE, Step
from scoring.results.files import LeftOut


def progress_html(share: float, label: str) -> str:
    """A bar that a reader of screens is told of. share: 0 to 1 of all there is to do."""
    return tag(
        "div",
        tag("i", style=f"width:{100 * share:.1f}%"),
        css="progress",
        role="progressbar",
        aria_valuenow=f"{100 * share:.0f}",
        aria_valuemin="0",
        aria_valuemax="100",
        aria_label=label,
    )


def step_html(step: Step, what: str = "") -> str:
    """One step in words, with a bar where its end is known.

    what: what is being done, where that is no reading of rows.

    >>> "1,024 rows" in step_html(Step("reading", 1024))
    True
    """
    done, total = step.done, step.total
    if what:
        words = f"{what} {done:,} / {total:,}"
    elif step.doing == "fetching":
        words = text(
            "step.fetching",
            done=f"{done / MEGABYTE:,.1f}",
            total="?" if total is None else f"{total / MEGABYTE:,.1f}",
        )
    elif total is None:
        words = text(f"step.{step.doing}", done=f"{done:,}")
    else:
        words = text(f"step.{step.doing}_of", done=f"{done:,}", total=f"{total:,}")
    share = 100 * done / total if total else 0
    bar = tag("div", tag("i", style=f"width: {min(100, share):.0f}%"), "progress") if total else ""
    return tag("div", escape(words) + bar, css="note step", role="status")


def refused_html(refused: Sequence[LeftOut]) -> str:
    """What could not be had of what was asked for, why, and what to do; nothing where all was."""
    if not refused:
        return ""
    why = str(refused[0]).rstrip(".")
    return note(text("step.refused", n=f"{len(refused):,}", why=why), "refused")


def telling(steps: Generator[Step, None, str]) -> Iterator[tuple[str, Any]]:
    """Each step as HTML, and at last nothing beside the result."""
    while True:
        try:
            yield step_html(next(steps)), gr.skip()
        except StopIteration as ended:
            yield "", ended.value
            return


def nothing_to_tell() -> str:
    """What stands in place of a step when the work failed."""
    return ""
