"""Code side by side: lines that stand beside each other, and what differs within them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Any

from rapidfuzz.distance import Indel

from explorer.reader.diffs import CHARACTER, WORD, Diff, Piece, Sides, Span, sides_of, steps_of

MOST_LINES = 5_000
"""Lines both sides may have together; more are not set beside each other."""
MOST_WORK = 10**8
"""Of all comparisons of changed lines: characters of one side times those of the other, and as
much as `_CELL` characters for two lines that may belong together. What is beyond is not compared:
its lines are marked whole."""
_CELL = 10_000
LINE_ALIKE = 0.5
"""The share of their characters from which two lines are taken for one that was changed."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_TOKENS: dict[Diff, re.Pattern[str]] = {"words": WORD, "characters": CHARACTER}

_Beside = tuple[int | None, int | None, bool]
"""Lines that stand beside each other, of chosen and rejected, and whether one was changed into the
other."""


@dataclass(frozen=True, slots=True)
class Place:
    """A row of a side. line: its number, from 1; None for a gap. difference: 0 where none is."""

    line: int | None
    difference: int = 0


@dataclass(frozen=True, slots=True)
class Aligned:
    """Two texts line by line.

    spans: of chosen and of rejected. rows: of either, as many; where one has a line that the other
        lacks, the other has a gap.
    is_complete: whether all changed lines were compared in themselves, too.
    """

    spans: Sides
    rows: tuple[list[Place], list[Place]]
    is_complete: bool


def aligned(chosen: str, rejected: str, mode: Diff) -> Aligned | None:
    r"""Two texts, line beside line. Lines that follow each other are one difference.

    mode: what is compared within changed lines; "auto" takes names, numbers and signs.

    None where they have more than `MOST_LINES`.

    >>> [row.line for row in aligned("a b\nc\n", "a d\nx\nc\n", "auto").rows[0]]
    [1, None, 2]
    """
    sides = _LINE.findall(chosen), _LINE.findall(rejected)
    if sum(map(len, sides)) > MOST_LINES:
        return None
    made = Aligned(([], []), ([], []), True)
    budget, number = MOST_WORK, 0
    for same, codes in groupby(Indel.opcodes(*sides), lambda code: code.tag == "equal"):
        run = list(codes)
        starts = run[0].src_start, run[0].dest_start
        blocks = (sides[0][starts[0] : run[-1].src_end], sides[1][starts[1] : run[-1].dest_end])
        if same:
            for side, block in enumerate(blocks):
                made.spans[side].append(Span("".join(block)))
                made.rows[side].extend(Place(starts[side] + n) for n in range(1, len(block) + 1))
            continue
        number += 1
        if (work := _work(*blocks)) > budget:
            beside = _in_order(range(len(blocks[0])), range(len(blocks[1])))
            made = Aligned(made.spans, made.rows, False)
        else:
            budget -= work
            beside = _beside(*blocks)
        for *places, is_alike in beside:
            lines = [
                "" if place is None else block[place]
                for place, block in zip(places, blocks, strict=True)
            ]
            inner = _within(lines[0], lines[1], mode, number) if is_alike else None
            for side, place in enumerate(places):
                line = None if place is None else starts[side] + place + 1
                made.rows[side].append(Place(line, number))
                if inner:
                    made.spans[side].extend(inner[side])
                elif place is not None:  # else a gap says that it is missing
                    made.spans[side].append(Span(lines[side], number))
    return made


def by_line(found: Sequence[Piece], starts: Sequence[int]) -> list[list[Piece]]:
    """The pieces of a text, line by line. starts: of the lines, in characters, at each a cut."""
    lines: list[list[Piece]] = [[] for _ in starts]
    at, place = -1, 0
    for piece in found:
        if at + 1 < len(starts) and place == starts[at + 1]:
            at += 1
        lines[at].append(piece)
        place += len(piece.text)
    return lines


def line_starts(words: str) -> list[int]:
    r"""Where the lines of a text begin, in characters.

    >>> line_starts("a\n\nb")
    [0, 2, 3]
    """
    return [each.start() for each in _LINE.finditer(words)]


def _work(chosen: Sequence[str], rejected: Sequence[str]) -> int:
    characters = sum(map(len, chosen)) * sum(map(len, rejected))
    return characters + _CELL * len(chosen) * len(rejected)


def _beside(chosen: Sequence[str], rejected: Sequence[str]) -> list[_Beside]:
    """Which of some lines stand beside which of others, the alike ones first of all."""
    rows: list[_Beside] = []
    ends = 0, 0
    for one, other in [*_alike(chosen, rejected), (len(chosen), len(rejected))]:
        rows += _in_order(range(ends[0], one), range(ends[1], other))
        if one < len(chosen):
            rows.append((one, other, True))
        ends = one + 1, other + 1
    return rows


def _in_order(chosen: range, rejected: range) -> list[_Beside]:
    return [(one, other, False) for one, other in zip_longest(chosen, rejected)]


def _alike(chosen: Sequence[str], rejected: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of alike lines in order, as alike as can be in sum."""
    from rapidfuzz.process import cdist

    if not chosen or not rejected:
        return
    alike: Any = cdist(chosen, rejected, scorer=Indel.normalized_similarity)
    gain = alike * (alike >= LINE_ALIKE)
    best = [[0.0] * (len(rejected) + 1) for _ in range(len(chosen) + 1)]
    for one in reversed(range(len(chosen))):
        for other in reversed(range(len(rejected))):
            here = float(gain[one, other])
            best[one][other] = max(
                best[one + 1][other],
                best[one][other + 1],
                here + best[one + 1][other + 1] if here else 0.0,
            )
    one = other = 0
    while one < len(chosen) and other < len(rejected):
        if best[one][other] == best[one + 1][other]:
            one += 1
        elif best[one][other] == best[one][other + 1]:
            other += 1
        else:
            yield one, other
            one, other = one + 1, other + 1


def _within(chosen: str, rejected: str, mode: Diff, number: int) -> Sides:
    """What differs within a changed line. number: that all of it has."""
    tokens = _TOKENS.get(mode, _TOKEN)
    steps = steps_of(tokens.findall(chosen), tokens.findall(rejected), shreds=mode == "words")
    return sides_of(steps, number)
