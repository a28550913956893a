"""What differs between chosen and rejected, as spans of words."""

import re
from dataclasses import dataclass

from rapidfuzz.distance import Indel

MOST_WORDS = 20_000
"""Words both sides may have together; more are not compared."""

_WORD = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text; `same` says whether the other side has it too."""

    text: str
    same: bool


def word_diff(chosen: str, rejected: str) -> tuple[list[Span], list[Span]] | None:
    """The spans of both sides, word by word; joined they give the texts back.

    What is the same is a longest common subsequence of words.

    Returns None where the texts are too long to compare, see `MOST_WORDS`.

    >>> word_diff("a red dog", "a dog")[0]
    [Span(text='a ', same=True), Span(text='red ', same=False), Span(text='dog', same=True)]
    """
    chosen_words, rejected_words = _WORD.findall(chosen), _WORD.findall(rejected)
    if len(chosen_words) + len(rejected_words) > MOST_WORDS:
        return None
    chosen_spans: list[Span] = []
    rejected_spans: list[Span] = []
    for step in Indel.opcodes(chosen_words, rejected_words):
        same = step.tag == "equal"
        if step.src_end > step.src_start:
            words = chosen_words[step.src_start : step.src_end]
            chosen_spans.append(Span("".join(words), same))
        if step.dest_end > step.dest_start:
            words = rejected_words[step.dest_start : step.dest_end]
            rejected_spans.append(Span("".join(words), same))
    return chosen_spans, rejected_spans
