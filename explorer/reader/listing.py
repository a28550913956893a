"""A paged list above a reader, as HTML: of pairs, and of pairs that two models differ in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from explorer.core.html import note, tag
from explorer.core.parts import acting, button, segments, ticked
from explorer.core.text import text
from explorer.data.datacard import subset_card
from explorer.data.search import Query, first_hits
from explorer.reader.diffs import DIFFS
from explorer.reader.reading import PAGE_ROWS, ListedRows, Reading, n_pages

CELL_CHARS = 140
CELL_BYTES = 480
"""Of a cell's text as HTML, so that a page stays small whatever its texts are."""
BEFORE_HIT = 12
"""Characters of a cell before its first hit, which a narrow column must still show."""
MOST_MARKS = 6
"""Hits that are marked in a cell."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list.

    heading: its title.
    number: whether its cells are numbers, aligned to the right.
    sort: the act "sort" takes this, or this with "-" before it; "" where one cannot sort by it.
    css: class of its cells.
    """

    heading: str
    number: bool = False
    sort: str = ""
    css: str = ""


def cut(words: str) -> str:
    """A long text for one cell: its beginning on one line.

    >>> cut("a" + chr(10) + "  b")
    'a b'
    """
    line = " ".join(words[: 2 * CELL_CHARS].split())
    shown = _fitting(line)
    whole = shown == line and len(words) <= 2 * CELL_CHARS
    return line if whole else shown[: CELL_CHARS - 1] + "…"


def _fitting(words: str) -> str:
    """The beginning of a text for which a cell has room."""
    shown = words[:CELL_CHARS]
    if _size(shown) <= CELL_BYTES:
        return shown
    sizes = accumulate(_size(letter) for letter in shown)
    return shown[: sum(size <= CELL_BYTES for size in sizes)]


def _size(words: str) -> int:
    """Bytes of a text as HTML."""
    return len(escape(words, quote=False).encode(errors="replace"))


def excerpt(words: str, query: Query) -> str:
    """A long text for one cell, as HTML: about the first hit where there is one, hits marked.

    >>> excerpt("a <dog> and a dog", Query("dog"))
    'a &lt;<mark>dog</mark>&gt; and a <mark>dog</mark>'
    """
    found = first_hits(words, query)
    if not found:
        return escape(cut(words), quote=False)
    start = max(0, found[0][0] - BEFORE_HIT)
    stop = start + len(_fitting(words[start : start + CELL_CHARS]))
    written = ["…" if start else ""]
    for low, high in found[:MOST_MARKS]:
        if low >= stop:
            break
        hit = tag("mark", escape(words[low : min(high, stop)], quote=False))
        written.append(escape(words[start:low], quote=False) + hit)
        start = high
    rest = escape(words[start:stop], quote=False)
    return "".join(written) + rest + ("…" if stop < len(words) else "")


def harm_css(subset: str) -> str:
    """The class of what is hidden until a reader has seen the content warning.

    >>> harm_css("donotanswer"), harm_css("hep-go")
    ('may-harm', '')
    """
    card = subset_card(subset)
    return "may-harm" if card and card.may_harm else ""


def list_html(
    label: str,
    columns: Sequence[Column],
    listed: ListedRows,
    reading: Reading,
    cells: Callable[[int], Sequence[str]],
    *,
    sort: str = "",
    css: Callable[[int], str] = lambda _: "",
) -> str:
    """The page of a list that a reader is on, and its pager.

    Args:
        label: what the list is called.
        columns: all but the first, which holds the key.
        listed: all rows.
        reading: settled in `listed`.
        cells: place in the list, from 0 -> the row's cells as HTML, the key's left out.
        sort: the present order.
        css: place in the list -> class of the row.
    """
    start = (reading.page - 1) * PAGE_ROWS
    rows = [
        _row(listed.key(place), cells(place), columns, reading.key, css(place))
        for place in range(start, min(start + PAGE_ROWS, len(listed)))
    ]
    heads = [Column(text("list.key"), css="key"), *columns]
    # The roles are those that the elements have anyway: where the style sheet makes blocks of them,
    # on narrow screens, a browser would forget that they were a table.
    head = tag("tr", "".join(_head(column, sort) for column in heads), role="row")
    parts = [
        tag("caption", escape(label)),
        tag("thead", head, role="rowgroup"),
        tag("tbody", "".join(rows), role="rowgroup"),
    ]
    table = tag("table", "".join(parts), role="table")
    body = tag(
        "div", table, "list", tabindex="0", role="region", aria_label=label, data_keep_scroll=label
    )
    return body + _pager(reading.page, n_pages(len(listed)))


def _row(key: str, cells: Sequence[str], columns: Sequence[Column], open_key: str, css: str) -> str:
    """A row that opens its pair. Its button is for the keyboard: what is pressed is the row."""
    opened = {"aria_current": "true"} if key == open_key else {}
    shown = key if len(key) <= CELL_CHARS else key[: CELL_CHARS - 1] + "…"
    opener = tag("button", escape(shown, quote=False), type="button")
    written = [tag("th", opener, css="key", scope="row", role="rowheader")]
    for column, cell in zip(columns, cells, strict=True):
        classes = f"{column.css}{' number' if column.number else ''}".strip()
        written.append(tag("td", cell, classes, role="cell", data_label=column.heading))
    sent = acting("open", {"value": key})
    return tag("tr", "".join(written), css=css, role="row", **sent, **opened)


def _head(column: Column, sort: str) -> str:
    words = escape(column.heading)
    attributes = {}
    if column.sort:
        down = sort == f"-{column.sort}"
        up = sort == column.sort
        attributes = {"aria_sort": "descending" if down else "ascending" if up else "none"}
        after = "" if up else column.sort if down else f"-{column.sort}"
        words = button(
            f"{column.heading} {'▼' if down else '▲' if up else '↕'}", "sort", {"value": after}
        )
    css = "number" if column.number else column.css
    return tag("th", words, css=css, scope="col", role="columnheader", **attributes)


def _pager(page: int, pages: int) -> str:
    if pages == 1:
        return ""
    field = tag(
        "input", type="number", min="1", max=str(pages), value=str(page), data_field="value",
        aria_label=text("pager.number"), **acting("page"),
    )  # fmt: skip
    words = text("pager.page", page="\0", pages=f"{pages:,}").split("\0")
    here = tag("span", escape(words[0]) + field + escape(words[1]))
    before = button(text("pager.previous"), "turn", {"value": -1}, "button") if page > 1 else ""
    after = button(text("pager.next"), "turn", {"value": 1}, "button") if page < pages else ""
    ends = [tag("span", each, css="end") for each in (before, after)]
    return tag("nav", ends[0] + here + ends[1], "pager", aria_label=text("pager.label"))


def reader_bar(listed: ListedRows, reading: Reading, more: str = "") -> str:
    """Steps from pair to pair, where the open one stands, and how it is shown.

    more: HTML of further buttons.
    """
    steps = "".join(
        button(text(f"reader.{name}"), act, sent, f"button reader-{name}")
        for name, act, sent in (
            ("previous", "step", {"value": -1}),
            ("next", "step", {"value": 1}),
            ("random", "random", {}),
        )
    )
    goto = tag(
        "input", type="text", placeholder=text("reader.goto"), aria_label=text("reader.goto"),
        data_field="value", maxlength="1000", css="goto-key", **acting("goto"),
    )  # fmt: skip
    marks = segments(
        text("reader.diff"),
        "diff",
        {diff: text(f"reader.diff_{diff}") for diff in DIFFS},
        reading.diff,
    )
    shows = ticked(text("reader.spaces"), "spaces", reading.spaces)
    shows += ticked(text("reader.rendered"), "rendered", reading.rendered)
    helps = button("?", "", css="button help-button", label=text("help.title"))
    first = tag("div", steps + _position(listed, reading) + goto + more + helps, css="line")
    second = tag("div", tag("span", escape(text("reader.diff")), "legend") + marks + shows, "line")
    return tag("div", first + second, css="reader-bar")


def _position(listed: ListedRows, reading: Reading) -> str:
    place = listed.place_of(reading.key) if reading.key else None
    if place is not None:
        where = text("reader.position", place=f"{place + 1:,}", n=f"{len(listed):,}")
    else:
        where = text("reader.outside", n=f"{len(listed):,}") if reading.key else ""
    return note(where, "position")
