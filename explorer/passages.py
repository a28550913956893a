"""A text cut into the pieces that the reader marks: differences, search hits, white space."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from explorer.diffs import Span


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text; `changed` where the other side lacks it, `hit` where the search found it."""

    text: str
    changed: bool
    hit: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A piece of text with its white space made visible.

    sign: what to show instead of `text`; empty where it is shown as it stands.
    name: what Unicode calls a character that cannot be seen; empty for the others.
    """

    text: str
    sign: str = ""
    name: str = ""


_SIGNS = {" ": "·", "\t": "→\t", "\n": "¶\n"}
# Python calls these printable; they take no ink all the same.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code) for block in (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0)) for code in block
}


def pieces(
    text: str, spans: Sequence[Span] | None = None, hits: Sequence[tuple[int, int]] = ()
) -> list[Piece]:
    """A text cut where a difference or a hit begins or ends; joined the pieces give it back.

    Args:
        text: what is shown.
        spans: the text as `diff_spans` cut it; None marks no difference.
        hits: (start, end) in characters, in order, not overlapping, as `search.hits` gives them.

    >>> pieces("a red dog", [Span("a ", True), Span("red dog", False)], [(6, 9)])[1:]
    [Piece(text='red ', changed=True, hit=False), Piece(text='dog', changed=True, hit=True)]
    """
    changed = list(_changed(spans or ()))
    edges = sorted({0, len(text), *(edge for run in (*changed, *hits) for edge in run)})
    is_changed, is_hit = _inside(edges, changed), _inside(edges, hits)
    return [
        Piece(text[start:end], start in is_changed, start in is_hit)
        for start, end in pairwise(edges)
    ]


def visible(text: str) -> list[Shown]:
    r"""A text with signs for spaces, tabs, line ends and characters that cannot be seen.

    Spaces in a row are one piece. A line end keeps its break and a tab its width, after their
    signs; a character that takes no ink (control, direction, zero width, no-break space) is named.

    >>> visible("a  b")[1]
    Shown(text='  ', sign='··', name='')
    >>> visible("a\u200b")[1]
    Shown(text='\u200b', sign='U+200B', name='ZERO WIDTH SPACE')
    """
    return [shown for kind, run in groupby(text, _kind) for shown in _shown(kind, "".join(run))]


def _changed(spans: Sequence[Span]) -> Iterator[tuple[int, int]]:
    place = 0
    for span in spans:
        if not span.same:
            yield place, place + len(span.text)
        place += len(span.text)


def _inside(edges: Sequence[int], runs: Sequence[tuple[int, int]]) -> set[int]:
    """The edges at which a piece of one of the runs begins."""
    starts, ends = {start for start, _ in runs}, {end for _, end in runs}
    found: set[int] = set()
    inside = False
    for edge in edges:
        inside = edge in starts or (inside and edge not in ends)
        if inside:
            found.add(edge)
    return found


def _kind(character: str) -> str:
    """What is shown for a character: a sign of its own, "name", or "" for itself."""
    if character in _SIGNS:
        return character
    return "name" if character in _BLANK or not character.isprintable() else ""


def _shown(kind: str, run: str) -> Iterator[Shown]:
    if kind == "":
        yield Shown(run)
    elif kind == "name":
        for character in run:
            name = unicodedata.name(character, "")
            yield Shown(character, f"U+{ord(character):04X}", name)
    else:
        yield Shown(run, _SIGNS[kind] * len(run))
