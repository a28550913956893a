"""Margin against margin of two models: the figure, and the words above it."""

from typing import Any

import gradio as gr

from explorer.core.html import note
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.results.field import MAJORITY
from explorer.tabs.models.compare_state import CompareScene
from explorer.tabs.models.compared import MarginPoints, margin_points
from explorer.tabs.models.figures import margins_figure


def margins_words(now: CompareScene, found: MarginPoints | None) -> str:
    """What is drawn, or why nothing is. found: of the scene."""
    if now.view.b == MAJORITY:
        return note(text("compare.scatter_majority"))
    if found is None:
        without = [each for each in now.view.named[:2] if not now.field.has_rewards(each)]
        return note(text("compare.scatter_missing", models=", ".join(without)))
    if not found.n:
        return note(text("compare.scatter_none"))
    html = note(text("compare.scatter_about"))
    if len(found.rows) < found.n:
        n, of = f"{len(found.rows):,}", f"{found.n:,}"
        html += note(text("compare.scatter_cut", n=n, of=of))
    return html


def margins_shown(now: CompareScene) -> tuple[str, Any]:
    """The words and the figure of a scene; no figure where there is nothing to draw."""
    found = margin_points(now)
    words = margins_words(now, found)
    if found is None or not found.n:
        return words, gr.update(visible=False)
    keys = [now.field.table.key_of(row) for row in found.rows.tolist()]
    figure = painted(margins_figure(found, keys), 520)
    return words, gr.update(value=figure, visible=True)
