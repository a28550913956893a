"""What differs between chosen and rejected, as spans of words or of characters."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from types import MappingProxyType
from typing import Literal, TypeVar, get_args

from rapidfuzz.distance import Indel

from explorer.data.datacard import subset_card

Run = tuple[int, int]
"""Where a piece of a text begins and ends, in characters."""

Diff = Literal["auto", "off", "words", "characters"]
DIFFS: tuple[Diff, ...] = get_args(Diff)

MOST_WORDS = 20_000
"""Words both sides may have together; more are not compared."""
MOST_CHARACTERS = 20_000
"""Characters both sides may have together; more are not compared."""
FEW = 0.15
"""The share of differing characters up to which a reader sees more in characters than in words."""
LEAST_ALIKE = 0.3
"""The share of their words that two texts have in common, in the same order, below which "auto"
marks nothing: nearly all would be marked, and what is not would be "the" and "and"."""
SHORTEST_SAME = 3
"""Fewer characters in common than these, between two changes, count as changed with them."""

WORD = re.compile(r"\S+\s*|\s+")
# What is drawn as one: a letter with its accents, an emoji of several, a line end of two.
CHARACTER = re.compile(
    "\r\n|.(?:[\u0300-\u036f\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]|\u200d.)*", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text.

    difference: the number of the difference that it is one side of, from 1; 0 where the other side
        has it too. The text is "" where only the other side has some.
    """

    text: str
    difference: int = 0


Sides = tuple[list[Span], list[Span]]
"""The spans of chosen and of rejected, as many on either side; joined they give the texts back."""


_Value = TypeVar("_Value")
Step = tuple[str, str, bool]
"""What chosen and rejected have at one place, and whether it is the same text."""


def automatic(chosen: str, rejected: str, subset: str) -> Literal["off", "words", "characters"]:
    """What shows best how two texts differ: characters in code and where few differ, else words.

    Words where the characters are too many, and nothing where the texts are `unlike`.

    >>> automatic("Paris is the capital of it.", "Rome is the capital, of course.", "my-own")
    'words'
    >>> automatic("return x + 1", "return x - 1", "my-own"), automatic("a b", "a c", "hep-go")
    ('characters', 'characters')
    >>> automatic("Paris is the capital.", "Rome, as far as I know.", "my-own")
    'off'
    """
    is_short = len(chosen) + len(rejected) <= MOST_CHARACTERS
    if is_short and Indel.normalized_distance(chosen, rejected, score_cutoff=FEW) <= FEW:
        return "characters"
    if unlike(chosen, rejected):
        return "off"
    card = subset_card(subset)
    is_code = card is not None and card.language is not None
    return "characters" if is_code and is_short else "words"


def unlike(chosen: str, rejected: str) -> bool:
    """Whether two texts have so little in common that marks would show nothing: `LEAST_ALIKE`.

    Texts of more than `MOST_WORDS` are not compared, and so never unlike.
    """
    chosen_words, rejected_words = chosen.split(), rejected.split()
    if len(chosen_words) + len(rejected_words) > MOST_WORDS:
        return False
    return Indel.normalized_similarity(chosen_words, rejected_words) < LEAST_ALIKE


def word_diff(chosen: str, rejected: str) -> Sides | None:
    """The spans of both sides, word by word: what is the same is a longest common subsequence.

    None where the texts have more than `MOST_WORDS`.

    >>> word_diff("a red dog", "a dog")[0]
    [Span(text='a ', difference=0), Span(text='red ', difference=1), Span(text='dog', difference=0)]
    """
    chosen_words, rejected_words = WORD.findall(chosen), WORD.findall(rejected)
    if len(chosen_words) + len(rejected_words) > MOST_WORDS:
        return None
    return sides_of(steps_of(chosen_words, rejected_words, shreds=True))


def char_diff(chosen: str, rejected: str) -> Sides | None:
    """The spans of both sides, character by character, a letter with its accents being one.

    A few characters in common between two changes count as changed, see `SHORTEST_SAME`: shreds
    cannot be read. None where the texts have more than `MOST_CHARACTERS`.

    >>> [span.text for span in char_diff("if x < 10:", "if x <= 10:")[1]]
    ['if x <', '=', ' 10:']
    """
    if len(chosen) + len(rejected) > MOST_CHARACTERS:
        return None
    characters = CHARACTER.findall(chosen), CHARACTER.findall(rejected)
    return sides_of(steps_of(*characters, shreds=False))


def steps_of(chosen: Sequence[str], rejected: Sequence[str], *, shreds: bool) -> Iterator[Step]:
    """A longest common subsequence as steps; the same and the different take turns.

    shreds: whether what both have is the same however short it is, see `SHORTEST_SAME`.
    """
    steps = _steps(chosen, rejected)
    return steps if shreds else _without_shreds(list(steps))


def _steps(chosen: Sequence[str], rejected: Sequence[str]) -> Iterator[Step]:
    """A longest common subsequence as steps; the same and the different take turns."""
    for same, codes in groupby(Indel.opcodes(chosen, rejected), lambda code: code.tag == "equal"):
        run = list(codes)
        one = chosen[run[0].src_start : run[-1].src_end]
        other = rejected[run[0].dest_start : run[-1].dest_end]
        yield "".join(one), "".join(other), same


def _without_shreds(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps with what is too short to be read as the same joined to the changes around it."""
    ends = (0, len(steps) - 1)

    def is_same(numbered: tuple[int, Step]) -> bool:
        number, (chosen, _, same) = numbered
        return same and (number in ends or len(chosen) >= SHORTEST_SAME)

    for same, run in groupby(enumerate(steps), is_same):
        joined = [step for _, step in run]
        yield "".join(each[0] for each in joined), "".join(each[1] for each in joined), same


def sides_of(steps: Iterable[Step], difference: int | None = None) -> Sides:
    """The spans of steps. difference: the number that all have; None numbers them from 1."""
    chosen_spans, rejected_spans, n = [], [], 0
    for chosen, rejected, same in steps:
        n += not same
        number = 0 if same else n if difference is None else difference
        chosen_spans.append(Span(chosen, number))
        rejected_spans.append(Span(rejected, number))
    return chosen_spans, rejected_spans


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text.

    difference: as of its span. hit: the search found it. colour: what it is in its language.
    """

    text: str
    difference: int = 0
    hit: bool = False
    colour: str = ""


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
    text: str,
    spans: Sequence[Span] | None = None,
    hits: Sequence[Run] = (),
    colours: Mapping[Run, str] = MappingProxyType({}),
    cuts: Iterable[int] = (),
) -> list[Piece]:
    """A text cut where a difference, a hit or a colour begins or ends; joined they give it back.

    spans: the text as `word_diff` cuts it; None marks no difference.
    hits: (start, end) in characters, in order, not overlapping, as `search.hits` gives them.
    colours: runs, in order, not overlapping -> their colours. cuts: where to cut besides.

    >>> pieces("a red dog", [Span("a "), Span("red dog", 1)], [(6, 9)])[1:]
    [Piece(text='red ', difference=1, hit=False, colour=''), Piece(text='dog', difference=1, hit=True, colour='')]
    """  # noqa: E501 - a doctest has its line as it is
    ends = list(accumulate((len(span.text) for span in spans or ()), initial=0))
    changed = {
        run: span.difference
        for span, run in zip(spans or (), pairwise(ends), strict=True)
        if span.difference
    }
    runs = (*changed, *hits, *colours)
    edges = sorted({0, len(text), *cuts, *(edge for run in runs for edge in run)})
    difference, is_hit = _inside(edges, changed), _inside(edges, dict.fromkeys(hits, True))
    colour = _inside(edges, colours)
    missing = {start: number for (start, end), number in changed.items() if start == end}
    found = []
    for start, end in pairwise([*edges, len(text)]):
        if start in missing:
            found.append(Piece("", missing[start]))
        if start < end:
            words, number = text[start:end], difference.get(start, 0)
            found.append(Piece(words, number, start in is_hit, colour.get(start, "")))
    return found


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


def _inside(edges: Sequence[int], runs: Mapping[Run, _Value]) -> dict[int, _Value]:
    """The edges at which a piece of one of the runs begins -> what that run has."""
    found: dict[int, _Value] = {}
    for (start, end), value in runs.items():
        for edge in edges[bisect_left(edges, start) : bisect_left(edges, end)]:
            found[edge] = value
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
