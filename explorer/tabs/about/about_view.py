"""The About tab: what the data is, from `explorer.data.datacard`; the same for every session."""

import gradio as gr

from explorer.core.html import render
from explorer.data.datacard import data_card
from scoring.benchmark import SECTIONS

COLUMNS = ("subset", "description", "pairs", "raw", "collected", "weight", "length", "origin")
"""Of the table of subsets; how each is headed stands in about.*."""


def build_about() -> None:
    """Lay the tab out where it is called."""
    gr.HTML(about_html())


def about_html() -> str:
    """The whole card: subsets, scores, known errors, sources, and where to ask."""
    card = data_card()
    sections = {name: [each for each in card.subsets if each.section == name] for name in SECTIONS}
    return render("tabs/about/about.html", card=card, columns=COLUMNS, sections=sections)
