"""What differs between chosen and rejected, as spans of words or of characters."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Literal, get_args

from rapidfuzz.distance import Indel

from explorer.data.datacard import subset_card

Diff = Literal["auto", "off", "words", "characters"]
DIFFS: tuple[Diff, ...] = get_args(Diff)

MOST_WORDS = 20_000
"""Words both sides may have together; more are not compared."""
MOST_CHARACTERS = 20_000
"""Characters both sides may have together; more are not compared."""
FEW = 0.15
"""The share of differing characters up to which a reader sees more in characters than in words."""
SHORTEST_SAME = 3
"""Fewer characters in common than these, between two changes, count as changed with them."""

_WORD = re.compile(r"\S+\s*|\s+")
# What is drawn as one: a letter with its accents, an emoji of several, a line end of two.
_CHARACTER = re.compile(
    "\r\n|.(?:[\u0300-\u036f\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]|\u200d.)*", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text; `same` says whether the other side has it too."""

    text: str
    same: bool


Sides = tuple[list[Span], list[Span]]
"""The spans of chosen and of rejected; joined they give the texts back."""


_Step = tuple[str, str, bool]
"""What chosen and rejected have at one place, and whether it is the same text."""


def diff_spans(chosen: str, rejected: str, mode: Diff, subset: str = "") -> Sides | None:
    """The spans of both sides; None where they are not compared or too long for it.

    mode: what to compare; "auto" takes what `automatic` says, and words where the characters are
        too many.
    subset: the pair's, which only "auto" looks at.
    """
    if mode == "off":
        return None
    compared = automatic(chosen, rejected, subset) if mode == "auto" else mode
    spans = char_diff(chosen, rejected) if compared == "characters" else None
    return word_diff(chosen, rejected) if spans is None and mode != "characters" else spans


def automatic(chosen: str, rejected: str, subset: str) -> Literal["words", "characters"]:
    """What shows best how two texts differ: characters in code and where few differ, else words.

    >>> automatic("Paris is the capital.", "Rome, as far as I know.", "my-own")
    'words'
    >>> automatic("return x + 1", "return x - 1", "my-own"), automatic("a", "b", "hep-go")
    ('characters', 'characters')
    """
    card = subset_card(subset)
    if card is not None and card.language is not None:
        return "characters"
    if len(chosen) + len(rejected) > MOST_CHARACTERS:
        return "words"
    share = Indel.normalized_distance(chosen, rejected, score_cutoff=FEW)
    return "characters" if share <= FEW else "words"


def word_diff(chosen: str, rejected: str) -> Sides | None:
    """The spans of both sides, word by word: what is the same is a longest common subsequence.

    None where the texts have more than `MOST_WORDS`.

    >>> word_diff("a red dog", "a dog")[0]
    [Span(text='a ', same=True), Span(text='red ', same=False), Span(text='dog', same=True)]
    """
    chosen_words, rejected_words = _WORD.findall(chosen), _WORD.findall(rejected)
    if len(chosen_words) + len(rejected_words) > MOST_WORDS:
        return None
    return _sides(_steps(chosen_words, rejected_words))


def char_diff(chosen: str, rejected: str) -> Sides | None:
    """The spans of both sides, character by character, a letter with its accents being one.

    A few characters in common between two changes count as changed, see `SHORTEST_SAME`: shreds
    cannot be read. None where the texts have more than `MOST_CHARACTERS`.

    >>> char_diff("if x < 10:", "if x <= 10:")[1]
    [Span(text='if x <', same=True), Span(text='=', same=False), Span(text=' 10:', same=True)]
    """
    if len(chosen) + len(rejected) > MOST_CHARACTERS:
        return None
    steps = _steps(_CHARACTER.findall(chosen), _CHARACTER.findall(rejected))
    return _sides(_without_shreds(list(steps)))


def _steps(chosen: Sequence[str], rejected: Sequence[str]) -> Iterator[_Step]:
    """A longest common subsequence as steps; the same and the different take turns."""
    for same, codes in groupby(Indel.opcodes(chosen, rejected), lambda code: code.tag == "equal"):
        run = list(codes)
        one = chosen[run[0].src_start : run[-1].src_end]
        other = rejected[run[0].dest_start : run[-1].dest_end]
        yield "".join(one), "".join(other), same


def _without_shreds(steps: Sequence[_Step]) -> Iterator[_Step]:
    """The steps with what is too short to be read as the same joined to the changes around it."""
    ends = (0, len(steps) - 1)

    def is_same(numbered: tuple[int, _Step]) -> bool:
        number, (chosen, _, same) = numbered
        return same and (number in ends or len(chosen) >= SHORTEST_SAME)

    for same, run in groupby(enumerate(steps), is_same):
        joined = [step for _, step in run]
        yield "".join(each[0] for each in joined), "".join(each[1] for each in joined), same


def _sides(steps: Iterable[_Step]) -> Sides:
    taken = list(steps)
    return (
        [Span(chosen, same) for chosen, _, same in taken if chosen],
        [Span(rejected, same) for _, rejected, same in taken if rejected],
    )


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text; `changed` where the other side lacks it, `hit` where the search found it."""

    text: str
    changed: bool
    hit: bool


@dataclass(frozen=True, slots=True)
class VisibleSpace:
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

    spans: the text as `diff_spans` cut it; None marks no difference.
    hits: (start, end) in characters, in order, not overlapping, as `search.hits` gives them.

    >>> pieces("a red dog", [Span("a ", True), Span("red dog", False)], [(6, 9)])[1:]
    [Piece(text='red ', changed=True, hit=False), Piece(text='dog', changed=True, hit=True)]
    """
    ends = list(accumulate((len(span.text) for span in spans or ()), initial=0))
    changed = [run for span, run in zip(spans or (), pairwise(ends), strict=True) if not span.same]
    edges = sorted({0, len(text), *(edge for run in (*changed, *hits) for edge in run)})
    is_changed, is_hit = _inside(edges, changed), _inside(edges, hits)
    return [
        Piece(text[start:end], start in is_changed, start in is_hit)
        for start, end in pairwise(edges)
    ]


def visible(text: str) -> list[VisibleSpace]:
    r"""A text with signs for spaces, tabs, line ends and characters that cannot be seen.

    Spaces in a row are one piece. A line end keeps its break and a tab its width, after their
    signs; a character that takes no ink (control, direction, zero width, no-break space) is named.

    >>> visible("a  b")[1]
    VisibleSpace(text='  ', sign='··', name='')
    >>> visible("a\u200b")[1]
    VisibleSpace(text='\u200b', sign='U+200B', name='ZERO WIDTH SPACE')
    """
    return [shown for kind, run in groupby(text, _kind) for shown in _shown(kind, "".join(run))]


def _inside(edges: Sequence[int], runs: Sequence[tuple[int, int]]) -> set[int]:
    """The edges at which a piece of one of the runs begins."""
    starts, ends = {start for start, _ in runs}, {end for _, end in runs}
    found, inside = set[int](), False
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


def _shown(kind: str, run: str) -> Iterator[VisibleSpace]:
    if kind == "":
        yield VisibleSpace(run)
    elif kind == "name":
        for each in run:
            yield VisibleSpace(each, f"U+{ord(each):04X}", unicodedata.name(each, ""))
    else:
        yield VisibleSpace(run, _SIGNS[kind] * len(run))
