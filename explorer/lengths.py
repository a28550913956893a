"""Lengths of responses in characters, binned on the server."""

from dataclasses import dataclass

import numpy as np

from explorer.table import PairTable, Rows

BINS = 40
"""Bins a histogram has at most."""


@dataclass(frozen=True, slots=True)
class LengthHistogram:
    """How many responses have each length.

    edges: characters, one more than there are bins; the last bin holds all that is longer too.
    chosen, rejected: responses a bin; empty where there are no rows.
    longest: characters of the longest response.
    """

    edges: list[int]
    chosen: list[int]
    rejected: list[int]
    longest: int


def length_histogram(table: PairTable, rows: Rows) -> LengthHistogram:
    """Bin the lengths of chosen and rejected alike, by bins of a round width.

    The bins reach the 99th percentile, so that one very long response does not flatten the rest.
    """
    if not len(rows):
        return LengthHistogram([], [], [], 0)
    chosen_chars, rejected_chars = table.chars["chosen"][rows], table.chars["rejected"][rows]
    both = np.concatenate([chosen_chars, rejected_chars])
    reach = float(np.percentile(both, 99))
    width = round_width(reach / BINS)
    edges = width * np.arange(max(1, -(-int(reach) // width)) + 1)
    counts = [
        np.histogram(np.minimum(chars, edges[-1] - 1), edges)[0].tolist()
        for chars in (chosen_chars, rejected_chars)
    ]
    return LengthHistogram(edges.tolist(), counts[0], counts[1], int(both.max()))


def round_width(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... that is not below `least`.

    >>> round_width(0), round_width(31.4), round_width(50)
    (1, 50, 50)
    """
    width = 1
    while width < least:
        width = width * 5 // 2 if str(width).startswith("2") else width * 2
    return width
