"""What a panel shows of models beside each other: words, or the figure of their margins."""

import gradio as gr

from explorer.core.html import note
from explorer.core.parts import Filling
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.results.field import MAJORITY
from explorer.tabs.models.compare_ensembles import ensembles_html
from explorer.tabs.models.compare_head import likeness_html
from explorer.tabs.models.compare_table import table_html
from explorer.tabs.models.compared import MarginPoints, margin_points
from explorer.tabs.models.figures import margins_figure
from explorer.tabs.models.scene import Compared

_WORDS = {"compare": table_html, "agreement": likeness_html, "ensembles": ensembles_html}


def compared_shown(words: gr.HTML, plot: gr.Plot, now: Compared) -> Filling:
    """The panel that a state asks for; nothing where nothing is compared."""
    hidden = gr.update(visible=False)
    if not now.state.a:
        return {words: "", plot: hidden}
    if now.state.panel != "scatter":
        return {words: _WORDS[now.state.panel](now), plot: hidden}
    found = margin_points(now)
    said = _margins_words(now, found)
    if found is None or not found.n:
        return {words: said, plot: hidden}
    keys = [now.field.table.key_of(row) for row in found.rows.tolist()]
    figure = painted(margins_figure(found, keys), 520)
    return {words: said, plot: gr.update(value=figure, visible=True)}


def _margins_words(now: Compared, found: MarginPoints | None) -> str:
    """What is drawn, or why nothing is. found: of the scene."""
    if now.state.b == MAJORITY:
        return note(text("compare.scatter_majority"))
    if found is None:
        without = [each for each in now.state.named[:2] if not now.field.has_rewards(each)]
        return note(text("compare.scatter_missing", models=", ".join(without)))
    if not found.n:
        return note(text("compare.scatter_none"))
    html = note(text("compare.scatter_about"))
    if len(found.rows) < found.n:
        n, of = f"{len(found.rows):,}", f"{found.n:,}"
        html += note(text("compare.scatter_cut", n=n, of=of))
    return html
