"""Which pairs of a table are in view: a value, and the rows it keeps."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow.compute as pc

from explorer.table import PairTable, Rows
from scoring.benchmark import section_of
from scoring.errors import KnownError
from scoring.pairs import TEXT_COLUMNS

LONGEST_QUERY = 500
MOST_NAMES = 500


@dataclass(frozen=True, slots=True)
class Filters:
    """What to keep. An empty field keeps everything; fields are joined by "and".

    sections, subsets: names to keep; a name that the table lacks keeps nothing.
    query: text that prompt, chosen or rejected must hold, upper and lower case alike.
    """

    sections: frozenset[str] = frozenset()
    subsets: frozenset[str] = frozenset()
    query: str = ""

    @classmethod
    def of(cls, sections: object, subsets: object, query: object) -> Self:
        """Filters from values that anybody may have sent.

        Raises:
            KnownError: a value of the wrong type, or a query that is too long.

        >>> Filters.of(["Chat"], None, " dog ").query
        'dog'
        """
        if query is not None and not isinstance(query, str):
            raise KnownError(f"A search must be text, not {type(query).__name__}.")
        # A lone surrogate, which JSON lets through, is in no text that was loaded.
        query = (query or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()
        if len(query) > LONGEST_QUERY:
            raise KnownError(
                f"A search may have {LONGEST_QUERY} characters; this one has {len(query):,}."
            )
        return cls(_names(sections), _names(subsets), query)


def _names(value: object) -> frozenset[str]:
    value = [] if value is None else value
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise KnownError(f"Sections and subsets must be lists of names, not {str(value)[:80]!r}.")
    if len(value) > MOST_NAMES:
        raise KnownError(f"At most {MOST_NAMES} names can be asked for, not {len(value):,}.")
    return frozenset(value)


def matching_rows(table: PairTable, filters: Filters) -> Rows:
    """The rows that pass, in table order."""
    keep = np.ones(len(table), dtype=bool)
    if filters.sections or filters.subsets:
        names = [
            subset
            for subset in table.subset_counts
            if (not filters.sections or section_of(subset) in filters.sections)
            and (not filters.subsets or subset in filters.subsets)
        ]
        keep &= np.isin(table.subset_of_row, names)
    if filters.query:
        found = np.zeros(len(table), dtype=bool)
        for column in TEXT_COLUMNS:
            matches = pc.match_substring(
                table.arrow.column(column), filters.query, ignore_case=True
            )
            found |= matches.to_numpy()
        keep &= found
    return np.flatnonzero(keep)


def rows_per_subset(table: PairTable, per_subset: int, seed: int) -> Rows:
    """A seeded random sample of each subset, in table order.

    per_subset: pairs to take from each; a smaller subset is taken whole.
    """
    generator = np.random.default_rng(seed)
    taken = []
    for subset in table.subset_counts:
        rows = np.flatnonzero(table.subset_of_row == subset)
        taken.append(generator.permutation(rows)[: max(0, per_subset)])
    return np.sort(np.concatenate(taken))
