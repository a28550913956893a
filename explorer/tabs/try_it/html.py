"""A pair that is tried out, as HTML: its rewards, and what each one-click edit does to them."""

from explorer.core.html import note, render, step_html
from explorer.core.text import text
from explorer.runs.progress import Progress
from explorer.tabs.try_it.counterfactuals import CHANGES, SIDES
from explorer.tabs.try_it.state import Trial


def numbers_html(trial: Trial) -> str:
    """Both rewards and the margin, and how far they moved since the start."""
    return render("tabs/try_it/numbers.html", trial=trial, sides=SIDES)


def status_html(trial: Trial) -> str:
    """By what the rewards are."""
    facts = trial.facts
    device = text("trial.device", dtype=facts.dtype, device=facts.device)
    words = [facts.model, facts.family, device if facts.dtype != "none" else "", facts.reading]
    return note(text("trial.scored", how=" · ".join(filter(None, words))))


def loading_html(waits: Progress) -> str:
    """How far the loading of the model is."""
    return note(text("trial.working")) if waits.step is None else step_html(waits.step)


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
