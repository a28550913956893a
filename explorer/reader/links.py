"""A view as the query string of a link, and back; what a link says may be anything.

    source=allenai/reward-bench:filtered@168d...&subset=hep-rust&q=unwrap&in=chosen&list-page=2

A value that is the default is not written. `decode(encode(view)).view == view` for any view whose
link is no longer than `LONGEST_LINK`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

from explorer.core.links import (
    IGNORED,
    LONGEST_LINK,
    as_dropped,
    one_of,
    parts_of,
    told,
    written,
    yes,
)
from explorer.data.facets import FACETS
from explorer.data.filters import LONGEST_NAME, LengthRange
from explorer.data.lengths import MEASURED
from explorer.data.search import PLACES, checked_query
from explorer.data.table import UNITS
from explorer.reader.diffs import DIFFS
from explorer.reader.state import PANELS, SORTS, View
from scoring.errors import KnownError, shown

MOST_PAGES = 10**7

TABS = ("browse", "score", "runs", "try", "failures", "compare", "leaderboard", "about")


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a link asks for, and the parts of it that mean nothing, to be told."""

    view: View
    dropped: tuple[str, ...] = ()


def encode(view: View) -> str:
    """The query string of a view, without "?".

    >>> from explorer.data.filters import Filters
    >>> encode(View(filters=Filters().picking("subset", ["hep-rust"]), sort="-chosen"))
    'subset=hep-rust&sort=-chosen'
    """
    return written(parts(view))


def parts(view: View) -> Iterator[tuple[str, str]]:
    """The parts of a link, by name, in their order."""
    filters, reading, chart = view.filters, view.reading, view.chart
    query = filters.query
    if view.source:
        yield "source", view.source
    yield from ((facet, name) for facet, names in filters.picked for name in names)
    values: list[tuple[str, object]] = [
        ("q", query.words),
        ("in", "" if query.where == "all" else query.where),
        ("regex", query.regex),
        ("case", query.case),
        *(("range", _range_written(each)) for each in filters.ranges),
        ("sort", view.sort),
        ("list-page", "" if reading.page == 1 else reading.page),
        ("pair", reading.key),
        ("diff", "" if reading.diff == "auto" else reading.diff),
        ("spaces", reading.spaces),
        ("markdown", reading.rendered),
        ("panel", "" if view.panel == "pairs" else view.panel),
        ("chart", "" if chart.shown == "responses" else chart.shown),
        ("unit", "" if chart.unit == "chars" else chart.unit),
        ("by-subset", chart.by_subset),
        ("tokenizer", chart.tokenizer),
    ]
    for name, value in values:
        if value is True:
            yield name, "1"
        elif value not in ("", False):
            yield name, str(value)


def _range_written(one: LengthRange) -> str:
    """`chosen.chars.10.200`, an open end empty, a tokenizer last."""
    ends = ["" if end is None else str(end) for end in (one.low, one.high)]
    return ".".join([one.measure, one.unit, *ends, *([one.tokenizer] if one.tokenizer else [])])


def _range_read(value: str) -> LengthRange:
    measure, unit, low, high, *tokenizer = value.split(".", 4)
    ends = (int(low) if low else None, int(high) if high else None)
    return LengthRange.of(measure, unit, *ends, tokenizer[0] if tokenizer else "")


def decode(query_string: object) -> Decoded:
    """The view that a link asks for; what it says wrongly is dropped and named.

    query_string: with or without its "?".

    >>> decode("?subset=hep-rust&list-page=2&nonsense=1&diff=sideways").dropped
    ('nonsense=1', 'diff=sideways')
    """
    if not isinstance(query_string, str):
        return Decoded(View(), (shown(query_string),))
    pairs, dropped = parts_of(query_string)
    names: dict[str, list[str]] = {}
    view = View()
    for name, value in pairs:
        try:
            if name in FACETS:
                names.setdefault(name, []).append(value)
                filters = view.filters.picking(name, names[name])
                view = replace(view, filters=filters)
            elif name not in IGNORED:
                view = _READ[name](view, value)
        except (KeyError, ValueError, TypeError, KnownError):
            names.get(name, [value]).pop()
            dropped.append(as_dropped(name, value))
    view = _with_checked_query(view, dropped)
    return Decoded(view, told(dropped))


def decode_for_browse(query_string: object) -> Decoded:
    """What a link asks of the Browse tab; of one of another tab, the source of the pairs alone.

    >>> decode_for_browse("?tab=failures&model=m&source=demo") == Decoded(View("demo"))
    True
    """
    decoded = decode(query_string)
    return decoded if tab_of(query_string) == TABS[0] else Decoded(View(decoded.view.source))


def tab_of(query_string: object) -> str:
    """The tab that a link opens.

    >>> tab_of("?tab=about"), tab_of("?tab=elsewhere")
    ('about', 'browse')
    """
    looked_at = query_string[:LONGEST_LINK] if isinstance(query_string, str) else ""
    asked = dict(parse_qsl(looked_at.removeprefix("?"), errors="replace")).get("tab")
    return asked if asked in TABS else TABS[0]


def _with_checked_query(view: View, dropped: list[str]) -> View:
    """The search is checked last: its parts may come in any order."""
    query = view.filters.query
    try:
        query = checked_query(query.words, query.where, query.regex, query.case)
    except KnownError:
        dropped.append(as_dropped("q", query.words))
        query = replace(query, words="")
    return replace(view, filters=replace(view.filters, query=query))


def _short(value: str) -> str:
    if len(value) > LONGEST_NAME:
        raise ValueError(value)
    return value


def _page(value: str) -> int:
    page = int(value)
    if not 1 <= page <= MOST_PAGES:
        raise ValueError(value)
    return page


def _query(view: View, **changed: Any) -> View:
    query = replace(view.filters.query, **changed)
    return replace(view, filters=replace(view.filters, query=query))


def _chart(view: View, **changed: Any) -> View:
    return replace(view, chart=replace(view.chart, **changed))


def _reading(view: View, **changed: Any) -> View:
    return replace(view, reading=replace(view.reading, **changed))


def _range(view: View, value: str) -> View:
    return replace(view, filters=view.filters.keeping(_range_read(value)))


_READ: dict[str, Callable[[View, str], View]] = {
    "source": lambda view, value: replace(view, source=_short(value)),
    "q": lambda view, value: _query(view, words=value),
    "in": lambda view, value: _query(view, where=one_of(PLACES, value)),
    "regex": lambda view, value: _query(view, regex=yes(value)),
    "case": lambda view, value: _query(view, case=yes(value)),
    "range": _range,
    "sort": lambda view, value: replace(view, sort=one_of(SORTS, value)),
    "list-page": lambda view, value: _reading(view, page=_page(value)),
    "pair": lambda view, value: _reading(view, key=_short(value)),
    "diff": lambda view, value: _reading(view, diff=one_of(DIFFS, value)),
    "spaces": lambda view, value: _reading(view, spaces=yes(value)),
    "markdown": lambda view, value: _reading(view, rendered=yes(value)),
    "panel": lambda view, value: replace(view, panel=one_of(PANELS, value)),
    "chart": lambda view, value: _chart(view, shown=one_of(MEASURED, value)),
    "unit": lambda view, value: _chart(view, unit=one_of(UNITS, value)),
    "by-subset": lambda view, value: _chart(view, by_subset=yes(value)),
    "tokenizer": lambda view, value: _chart(view, tokenizer=_short(value)),
}
