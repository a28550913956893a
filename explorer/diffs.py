"""What differs between chosen and rejected, as spans of words."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_WORDS = 3000
"""Words both sides may have together. More are not compared: the time grows with the square."""

_WORD = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text; `same` says whether the other side has it too."""

    text: str
    same: bool


def word_diff(chosen: str, rejected: str) -> tuple[list[Span], list[Span]] | None:
    """The spans of both sides, word by word; joined they give the texts back.

    Returns None where the texts are too long to compare, see `MOST_WORDS`.

    >>> word_diff("a red dog", "a dog")[0]
    [Span(text='a ', same=True), Span(text='red ', same=False), Span(text='dog', same=True)]
    """
    chosen_words, rejected_words = _WORD.findall(chosen), _WORD.findall(rejected)
    if len(chosen_words) + len(rejected_words) > MOST_WORDS:
        return None
    chosen_spans: list[Span] = []
    rejected_spans: list[Span] = []
    matcher = SequenceMatcher(None, chosen_words, rejected_words, autojunk=False)
    for tag, chosen_from, chosen_to, rejected_from, rejected_to in matcher.get_opcodes():
        same = tag == "equal"
        if chosen_to > chosen_from:
            chosen_spans.append(Span("".join(chosen_words[chosen_from:chosen_to]), same))
        if rejected_to > rejected_from:
            rejected_spans.append(Span("".join(rejected_words[rejected_from:rejected_to]), same))
    return chosen_spans, rejected_spans
