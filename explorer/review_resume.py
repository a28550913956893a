"""Go on with a review from the file of its decisions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from explorer.data.table import PairTable
from explorer.review import Decision, Review, check_number
from scoring.errors import KnownError


class Resumed(NamedTuple):
    """A review made of decisions from a file.

    left_out: decisions that are not part of it, as their pair is not here or in another subset.
    """

    review: Review
    left_out: int


def resumed(table: PairTable, decisions: Sequence[Decision]) -> Resumed:
    """The review that decisions belong to: of the subset that most of them are on.

    Decisions made on this table are found by key, others by the texts of their pair.

    Raises:
        KnownError: no decision is on a pair of the table.
    """
    row_of = {key: row for row, key in enumerate(table.keys)}
    found = [
        row_of.get(each.key) if each.source == table.id else table.row_of_hash.get(each.text_hash)
        for each in decisions
    ]
    subsets = Counter(str(table.subset_of_row[row]) for row in found if row is not None)
    if not subsets:
        raise KnownError(
            f"None of the {len(decisions):,} decisions in this file is on one of these pairs. "
            "Show the pairs that they were made on, or choose another file."
        )
    subset = subsets.most_common(1)[0][0]
    own = [
        replace(decision, key=table.keys[row], source=table.id)
        for row, decision in zip(found, decisions, strict=True)
        if row is not None and table.subset_of_row[row] == subset
    ]
    review = merged(Review(table.id, subset), Review(table.id, subset, 0, tuple(own)))
    return Resumed(review, len(decisions) - len(own))


def merged(review: Review, other: Review) -> Review:
    """A review with another's decisions in it, by their times; of one pair the latest holds.

    Raises:
        KnownError: together they are too many.

    >>> mine = Review("demo", "s").mark("s:1", "0" * 16, "keep", at=5)
    >>> yours = Review("demo", "s").mark("s:1", "0" * 16, "drop", at=4)
    >>> merged(mine, yours).verdict_of("s:1"), merged(mine, mine) == mine
    ('keep', True)
    """
    both = dict.fromkeys((*review.decisions, *other.decisions))
    check_number(len(both))
    return replace(review, decisions=tuple(sorted(both, key=lambda each: each.at)))
