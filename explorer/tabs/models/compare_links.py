"""What the Compare tab shows as the query string of a link, and back; a link may say anything.

    a=org/new&b=org/old&with=org/third&section=Chat+Hard&part=scatter&pair=hep-rust:7

A value that is the default is not written. The pairs and the open one are written as in links of
the Browse tab. `decode_compare(encode_compare(view)).view == view` for any view whose link is no
longer than `explorer.core.links.LONGEST_LINK`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from explorer.core.links import IGNORED, as_dropped, one_of, parts_of, told, written
from explorer.reader.links import decode, parts
from explorer.reader.state import View
from explorer.results.ensembles import WAYS
from explorer.results.field import MAJORITY, checked_model
from explorer.tabs.models.compare_state import (
    PANELS,
    SECTIONS,
    CompareView,
    checked_members,
    distinct,
)
from scoring.errors import KnownError, shown

READING = ("source", "pair", "diff", "spaces", "markdown")
"""The parts that are written as in links of the Browse tab."""


@dataclass(frozen=True, slots=True)
class DecodedCompare:
    """What a link asks for, and the parts of it that mean nothing, to be told."""

    view: CompareView
    dropped: tuple[str, ...] = ()


def encode_compare(view: CompareView) -> str:
    """The query string of a view, without "?".

    >>> encode_compare(CompareView("org/new", "org/old", section="Chat Hard"))
    'a=org/new&b=org/old&section=Chat+Hard'
    """
    return written([*_parts(view), *parts(View(view.source, reading=view.reading))])


def decode_compare(query_string: object) -> DecodedCompare:
    """The view that a link asks for; what it says wrongly is dropped and named.

    query_string: with or without its "?".

    >>> decode_compare("?a=m&b=m&part=pie").dropped
    ('part=pie', 'b=m')
    """
    if not isinstance(query_string, str):
        return DecodedCompare(CompareView(), (shown(query_string),))
    named, dropped = parts_of(query_string)
    view, others, models = CompareView(), [], []
    for name, value in named:
        try:
            if name in _MODELS:
                models.append((name, checked_model(value)))
            elif name in READING:
                others.append((name, value))
            elif name not in IGNORED:
                view = _READ[name](view, value)
        except (KeyError, ValueError, KnownError):
            dropped.append(as_dropped(name, value))
    for name, model in sorted(models, key=lambda each: _MODELS.index(each[0])):
        try:
            view = _with_model(view, name, model)
        except KnownError:
            dropped.append(as_dropped(name, model))
    rest = decode(written(others))
    view = replace(view, source=rest.view.source, reading=rest.view.reading)
    return DecodedCompare(view, told([*dropped, *rest.dropped]))


def _parts(view: CompareView) -> Iterator[tuple[str, str]]:
    usual = CompareView()
    values = [
        ("a", view.a),
        ("b", "" if view.b == MAJORITY else view.b),
        *(("with", each) for each in view.more),
        ("section", view.section),
        ("part", "" if view.panel == usual.panel else view.panel),
        *(("member", each) for each in view.members),
        ("way", "" if view.way == usual.way else view.way),
    ]
    yield from ((name, value) for name, value in values if value)


_MODELS = ("a", "b", "with")
"""In the order in which they are chosen."""


def _with_model(view: CompareView, name: str, model: str) -> CompareView:
    if name == "with":
        return distinct(replace(view, more=(*view.more, model)))
    return distinct(replace(view, a=model) if name == "a" else replace(view, b=model))


_READ: dict[str, Callable[[CompareView, str], CompareView]] = {
    "section": lambda view, value: replace(view, section=one_of(SECTIONS, value)),
    "part": lambda view, value: replace(view, panel=one_of(PANELS, value)),
    "member": lambda view, value: replace(
        view, members=checked_members((*view.members, checked_model(value)))
    ),
    "way": lambda view, value: replace(view, way=one_of(WAYS, value)),
}
