"""A wide table in a part of the page that scrolls by itself."""

from collections.abc import Sequence
from html import escape

from explorer.ui.markup import tag


def scroll_table(label: str, heads: Sequence[str], rows: str, keep: str = "") -> str:
    """A table whose first column is words and whose others are numbers.

    Args:
        label: what it is called.
        heads: words above each column.
        rows: HTML.
        keep: a name, under which the browser remembers how far it was scrolled.
    """
    cells = "".join(
        tag("th", escape(words), css="number" if place else "", scope="col")
        for place, words in enumerate(heads)
    )
    table = tag("table", tag("thead", tag("tr", cells)) + tag("tbody", rows))
    kept = {"data_keep_scroll": keep} if keep else {}
    return tag("div", table, "slices", tabindex="0", role="region", aria_label=label, **kept)


def table_row(name: str, *cells: str, **attributes: str) -> str:
    """A row of such a table. name: HTML of its first cell. cells: plain text."""
    written = "".join(tag("td", escape(cell), "number") for cell in cells)
    return tag("tr", tag("th", name, scope="row") + written, **attributes)
