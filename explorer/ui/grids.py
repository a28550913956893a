"""Gradio's tables: numbers that sort as numbers, and how their cells are written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import gradio as gr

from explorer.text import text

Grid = dict[str, Any]
"""The value of a gr.Dataframe."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, how a value is written, and how its cell is styled."""

    heading: str
    write: Callable[[Any], str] = str
    style: Callable[[Any], str] = lambda _: ""


def build_grid(elem_id: str, widths: list[str], visible: bool = True) -> gr.Dataframe:
    """A read-only table of a few rows."""
    return gr.Dataframe(
        show_label=False,
        label=text("list.label"),
        interactive=False,
        max_height=396,
        column_widths=widths,
        elem_id=elem_id,
        elem_classes="grid paged",
        visible=visible,
        buttons=[],
    )


def grid(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> Grid:
    """The value of a gr.Dataframe."""
    styling = [
        [column.style(value) for column, value in zip(columns, row, strict=True)] for row in rows
    ]
    written = [
        [column.write(value) for column, value in zip(columns, row, strict=True)] for row in rows
    ]
    return {
        "headers": [column.heading for column in columns],
        "data": [list(row) for row in rows],
        "metadata": {"display_value": written, "styling": styling},
    }


def link(words: str, url: str | None) -> str:
    """Inert HTML for a cell of type "html": the words, leading to the url where there is one."""
    if url is None:
        return escape(words)
    return f'<a href="{escape(url)}" target="_blank" rel="noopener">{escape(words)}</a>'
