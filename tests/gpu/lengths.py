"""Pairs as long as those of the benchmark, of words of the demo pairs.

lengths.csv has a line for each of the 2,985 pairs, in their order: tokens of the prompt, of what
both responses begin with, and of the rest of chosen and of rejected, by the demo model's tokenizer.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scoring.spec import Pair

TABLE = Path(__file__).parent / "lengths.csv"


def pairs_as_long(tokenizer: Any, texts: Sequence[str]) -> list[Pair]:
    """All pairs. texts: from which their words are."""
    words = list(dict.fromkeys(word for text in texts for word in text.split() if word.isascii()))
    sizes = [len(ids) for ids in tokenizer([f" {word}" for word in words]).input_ids]
    source = itertools.cycle(zip(words, sizes, strict=True))
    rows, pairs = np.loadtxt(TABLE, int, delimiter=",", skiprows=1).tolist(), []
    for place, (prompt, both, chosen, rejected) in enumerate(rows):
        asked, begun, *rest = (_text(source, n) for n in (prompt, both, chosen, rejected))
        first, second = (f"{begun} {text}".strip() for text in rest)
        pairs.append(Pair(f"length:{place}", "length", asked, first, second))
    return pairs


def _text(source: Iterator[tuple[str, int]], n_tokens: int) -> str:
    taken: list[str] = []
    while n_tokens > 0:
        word, size = next(source)
        taken.append(word)
        n_tokens -= size
    return " ".join(taken)
