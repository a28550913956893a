"""In which order pairs are scored, and which sequences share a forward pass."""

import random
from collections.abc import Iterator, Sequence

from scoring.spec import Pair

PAIRS_A_PACK = 16
"""Pairs between two moments at which a run reports, is written down and can be stopped."""


def random_packs(pairs: Sequence[Pair], seed: int) -> list[list[Pair]]:
    """All pairs in a seeded random order, cut into packs.

    Whatever has been scored so far is then a random sample of the selection.

    >>> pairs = [Pair(f"s:{i}", "s", "", "", "") for i in range(40)]
    >>> [len(pack) for pack in random_packs(pairs, seed=0)]
    [16, 16, 8]
    """
    shuffled = list(pairs)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - an order, not a secret
    return [
        shuffled[start : start + PAIRS_A_PACK] for start in range(0, len(shuffled), PAIRS_A_PACK)
    ]


def padded_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Indices of sequences in batches of similar length, longest first.

    A batch holds at most `batch_tokens` tokens, padding counted, but always one sequence.

    >>> list(padded_batches([3, 9, 2, 8], batch_tokens=18))
    [[1, 3], [0, 2]]
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > batch_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
