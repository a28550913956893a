"""A leaderboard's view as the query string of a link, and back; what a link says may be anything.

    board=v2&models=llama,8b&type=DPO&by=-Chat&pin=org/name&digits=2

A value that is the default is not written. `decode_board(encode_board(view)).view == view` for any
view whose link is no longer than `explorer.core.links.LONGEST_LINK`. No name is one of a link of
the Browse tab, so that one address can hold both.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from explorer.core.links import IGNORED, as_dropped, one_of, parts_of, told, written, yes
from explorer.core.validation import some_of
from explorer.data.name_search import checked_search
from explorer.tabs.models.state import (
    BENCHMARKS,
    CHARTS,
    COLUMNS,
    DIGITS,
    HIDEABLE,
    MISSING,
    MODEL_TYPES,
    NUMBERS,
    RULE_OPTIONS,
    TABLES,
    TIES,
    BoardView,
    checked_pins,
    in_order,
)
from scoring.errors import KnownError, shown


@dataclass(frozen=True, slots=True)
class DecodedBoard:
    """What a link asks for, and the parts of it that mean nothing, to be told."""

    view: BoardView
    dropped: tuple[str, ...] = ()


def encode_board(view: BoardView) -> str:
    """The query string of a view, without "?".

    >>> encode_board(BoardView("v2", search="llama,8b", sort="Focus", digits=2))
    'board=v2&models=llama%2C8b&by=-Focus&digits=2'
    """
    return written(_parts(view))


def decode_board(query_string: object, others: Collection[str] = ()) -> DecodedBoard:
    """The view that a link asks for; what it says wrongly is dropped and named.

    Args:
        query_string: with or without its "?".
        others: names of parts that are somebody else's, and neither read nor told.

    >>> decode_board("?board=v2&by=Chat&digits=9").dropped
    ('digits=9',)
    """
    if not isinstance(query_string, str):
        return DecodedBoard(BoardView(), (shown(query_string),))
    parts, dropped = parts_of(query_string)
    view = BoardView()
    for name, value in parts:
        if name in IGNORED or name in others:
            continue
        try:
            view = _READ[name](view, value)
        except (KeyError, ValueError, KnownError):
            dropped.append(as_dropped(name, value))
    return DecodedBoard(view, told(dropped))


def _parts(view: BoardView) -> Iterator[tuple[str, str]]:
    usual = BoardView()
    several: dict[str, tuple[str, ...]] = {
        "board": (view.benchmark,) if view.benchmark != usual.benchmark else (),
        "table": (view.table,) if view.table != usual.table else (),
        "models": (view.search,) if view.search else (),
        "type": view.types,
        "prior": ("1",) if view.prior_sets else (),
        "rule": (view.rule,) if view.rule != usual.rule else (),
        "ties": (view.ties,) if view.ties != usual.ties else (),
        "missing": (view.missing,) if view.missing != usual.missing else (),
        "by": (_order(view),) if view.sort else (),
        "hide": view.hidden,
        "pin": view.pins,
        "digits": (str(view.digits),) if view.digits != usual.digits else (),
        "without-own": () if view.own else ("1",),
        "plot": (view.chart,) if view.chart else (),
        "x": (view.x,) if view.x else (),
        "y": (view.y,) if view.y else (),
    }
    yield from ((name, value) for name, values in several.items() for value in values)


def _order(view: BoardView) -> str:
    """`-Chat` with the highest first, as lengths are written in links of the Browse tab."""
    return view.sort if view.ascending else f"-{view.sort}"


def _by(view: BoardView, value: str) -> BoardView:
    column = one_of(COLUMNS, value.removeprefix("-"))
    return replace(view, sort=column, ascending=not value.startswith("-"))


def _type(view: BoardView, value: str) -> BoardView:
    types = some_of("A type", MODEL_TYPES, (*view.types, value))
    return replace(view, types=types)


def _hide(view: BoardView, value: str) -> BoardView:
    return replace(view, hidden=in_order((*view.hidden, one_of(HIDEABLE, value))))


_READ: dict[str, Callable[[BoardView, str], BoardView]] = {
    "board": lambda view, value: replace(view, benchmark=one_of(BENCHMARKS, value)),
    "table": lambda view, value: replace(view, table=one_of(TABLES, value)),
    "models": lambda view, value: replace(view, search=checked_search(value)),
    "type": _type,
    "prior": lambda view, value: replace(view, prior_sets=yes(value)),
    "rule": lambda view, value: replace(view, rule=one_of(RULE_OPTIONS, value)),
    "ties": lambda view, value: replace(view, ties=one_of(TIES, value)),
    "missing": lambda view, value: replace(view, missing=one_of(MISSING, value)),
    "by": _by,
    "hide": _hide,
    "pin": lambda view, value: replace(view, pins=checked_pins((*view.pins, value))),
    "digits": lambda view, value: replace(view, digits=int(one_of(tuple(map(str, DIGITS)), value))),
    "without-own": lambda view, value: replace(view, own=not yes(value)),
    "plot": lambda view, value: replace(view, chart=one_of(CHARTS[1:], value)),
    "x": lambda view, value: replace(view, x=one_of(NUMBERS, value)),
    "y": lambda view, value: replace(view, y=one_of(NUMBERS, value)),
}
BOARD_NAMES = frozenset(_READ)
"""The parts of a leaderboard's link."""
