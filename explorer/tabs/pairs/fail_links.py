"""What the Failures tab shows as the query string of a link, and back; a link may say anything.

    model=org/name&show=near&slice=longer:rejected&by=-surprise&subset=hep-rust&pair=hep-rust:7

A value that is the default is not written. Filters and the open pair are written as in links of
the Browse tab. `decode_fails(encode_fails(view)).view == view` for any view whose link is no longer
than `explorer.core.links.LONGEST_LINK`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from explorer.core.links import as_dropped, one_of, parts_of, told, written
from explorer.reader.links import decode, parts
from explorer.results.field import checked_model
from explorer.stats.duels import CELLS
from explorer.tabs.pairs.fail_state import (
    FIELD_KINDS,
    KINDS,
    ORDERS,
    PANELS,
    FailView,
    checked_slices,
)
from scoring.errors import KnownError, shown


@dataclass(frozen=True, slots=True)
class DecodedFails:
    """What a link asks for, and the parts of it that mean nothing, to be told."""

    view: FailView
    dropped: tuple[str, ...] = ()


def encode_fails(view: FailView) -> str:
    """The query string of a view, without "?".

    >>> encode_fails(FailView("org/m", "near", slices=("longer:rejected",)))
    'model=org/m&show=near&slice=longer:rejected'
    """
    return written([*_parts(view), *parts(view.view)])


def decode_fails(query_string: object) -> DecodedFails:
    """The view that a link asks for; what it says wrongly is dropped and named.

    query_string: with or without its "?".

    >>> decode_fails("?model=m&show=nothing&pair=a:1").dropped
    ('show=nothing',)
    """
    if not isinstance(query_string, str):
        return DecodedFails(FailView(), (shown(query_string),))
    named, dropped = parts_of(query_string)
    view, others = FailView(), []
    for name, value in named:
        try:
            if name in _READ:
                view = _READ[name](view, value)
            else:
                others.append((name, value))
        except (ValueError, KnownError):
            dropped.append(as_dropped(name, value))
    rest = decode(written(others))
    return DecodedFails(replace(view, view=rest.view), told([*dropped, *rest.dropped]))


def _parts(view: FailView) -> Iterator[tuple[str, str]]:
    usual = FailView()
    values = [
        ("model", view.model),
        ("show", "" if view.kind == usual.kind else view.kind),
        ("pairs", "" if view.field_kind == usual.field_kind else view.field_kind),
        *(("slice", each) for each in view.slices),
        ("by", view.order),
        ("against", view.against),
        ("cell", "" if view.cell == usual.cell else view.cell),
        ("part", "" if view.panel == usual.panel else view.panel),
    ]
    yield from ((name, value) for name, value in values if value)


_READ: dict[str, Callable[[FailView, str], FailView]] = {
    "model": lambda view, value: replace(view, model=checked_model(value)),
    "show": lambda view, value: replace(view, kind=one_of(KINDS, value)),
    "pairs": lambda view, value: replace(view, field_kind=one_of(FIELD_KINDS, value)),
    "slice": lambda view, value: replace(view, slices=checked_slices((*view.slices, value))),
    "by": lambda view, value: replace(view, order=one_of(ORDERS, value)),
    "against": lambda view, value: replace(view, against=checked_model(value)),
    "cell": lambda view, value: replace(view, cell=one_of(CELLS, value)),
    "part": lambda view, value: replace(view, panel=one_of(PANELS, value)),
}
