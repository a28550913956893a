"""What differs between chosen and rejected, as spans of words or of characters."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
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


@dataclass(frozen=True, slots=True)
class _Step:
    """What both sides have at one place: the same text, or what stands for each other."""

    chosen: str
    rejected: str
    same: bool


def diff_spans(chosen: str, rejected: str, mode: Diff, subset: str = "") -> Sides | None:
    """The spans of both sides; None where they are not compared or too long for it.

    Args:
        chosen: the one text.
        rejected: the other.
        mode: what to compare; "auto" takes what `automatic` says, and words where the characters
            are too many.
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
    """The spans of both sides, word by word; joined they give the texts back.

    What is the same is a longest common subsequence of words.

    Returns None where the texts are too long to compare, see `MOST_WORDS`.

    >>> word_diff("a red dog", "a dog")[0]
    [Span(text='a ', same=True), Span(text='red ', same=False), Span(text='dog', same=True)]
    """
    chosen_words, rejected_words = _WORD.findall(chosen), _WORD.findall(rejected)
    if len(chosen_words) + len(rejected_words) > MOST_WORDS:
        return None
    return _sides(_steps(chosen_words, rejected_words))


def char_diff(chosen: str, rejected: str) -> Sides | None:
    """The spans of both sides, character by character; joined they give the texts back.

    A letter and its accents are one character here. A few characters in common between two
    changes count as changed, see `SHORTEST_SAME`: shreds cannot be read.

    Returns None where the texts are too long to compare, see `MOST_CHARACTERS`.

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
        first, last = run[0], run[-1]
        yield _Step(
            "".join(chosen[first.src_start : last.src_end]),
            "".join(rejected[first.dest_start : last.dest_end]),
            same,
        )


def _without_shreds(steps: Sequence[_Step]) -> Iterator[_Step]:
    """The steps with what is too short to be read as the same joined to the changes around it."""
    ends = (0, len(steps) - 1)
    for same, run in groupby(
        enumerate(steps),
        lambda step: step[1].same and (step[0] in ends or len(step[1].chosen) >= SHORTEST_SAME),
    ):
        joined = [step for _, step in run]
        yield _Step(
            "".join(step.chosen for step in joined),
            "".join(step.rejected for step in joined),
            same,
        )


def _sides(steps: Iterable[_Step]) -> Sides:
    taken = list(steps)
    return (
        [Span(step.chosen, step.same) for step in taken if step.chosen],
        [Span(step.rejected, step.same) for step in taken if step.rejected],
    )
