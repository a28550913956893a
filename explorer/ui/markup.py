"""The small pieces of HTML that views are made of. Every text that goes in is escaped here."""

from collections.abc import Sequence
from html import escape

from explorer.text import text

MOST_LINES = 100
"""Of a list that opens."""


def tag(name: str, content: str = "", css: str = "", **attributes: str) -> str:
    """An element around content that is HTML already.

    >>> tag("b", escape("<x>"), css="warn", aria_label='"quoted"')
    '<b class="warn" aria-label="&quot;quoted&quot;">&lt;x&gt;</b>'
    """
    if css:
        attributes = {"class": css, **attributes}
    written = "".join(
        f' {key.replace("_", "-")}="{escape(value)}"' for key, value in attributes.items()
    )
    return f"<{name}{written}>{content}</{name}>"


def chip(words: str, css: str = "") -> str:
    """A small rounded label."""
    return tag("span", escape(words), css=f"chip {css}".strip())


def note(words: str, css: str = "") -> str:
    """A line of quiet text."""
    return tag("div", escape(words), css=f"note {css}".strip())


def listing(title: str, lines: Sequence[str], most: int = MOST_LINES) -> str:
    """A title that opens a list; nothing where there are no lines.

    most: lines that are written; the others are counted.
    """
    more = len(lines) - most
    cut = [text("list.more_lines", n=f"{more:,}")] if more > 0 else []
    items = "".join(tag("li", escape(line)) for line in [*lines[:most], *cut])
    return tag("details", tag("summary", escape(title)) + tag("ul", items)) if items else ""


def percent(share: float | None, digits: int = 1) -> str:
    """A share of 0 to 1 in percent; an en dash where it is unknown.

    >>> percent(0.46), percent(None)
    ('46.0 %', '–')
    """
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def signed(value: float | None) -> str:
    """A reward or margin with its sign; an en dash where it is missing.

    >>> signed(-0.25), signed(0.0), signed(-0.00002), signed(None)
    ('−0.250', '0.000', '−2e−05', '–')
    """
    if value is None:
        return "–"
    if value == 0:
        return "0.000"
    written = f"{value:+.3f}" if abs(value) >= 0.0005 else f"{value:+.0e}"
    return written.replace("-", "−")


def points(difference: float | None) -> str:
    """A difference of shares in points of a percent, with its sign; an en dash where it is unknown.

    >>> points(-0.012), points(0.25), points(None)
    ('−1.2', '+25.0', '–')
    """
    return "–" if difference is None else f"{100 * difference:+.1f}".replace("-", "−")


def p_words(p: float) -> str:
    """A p-value for a reader.

    >>> p_words(0.2), p_words(0.00001)
    ('0.20', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
