"""The pairs of a list: their places and pages, and which one is open."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from explorer.data.datacard import subset_card
from explorer.data.search import EVERYTHING, Query
from explorer.data.table import PairTable, Rows
from explorer.reader.diffs import Diff
from scoring.errors import KnownError, shown


@dataclass(frozen=True, slots=True)
class Display:
    """How the reader shows a pair.

    diff: what is compared to mark the differences.
    query: what was searched for; its hits are marked.
    spaces: whether white space and characters that cannot be seen are shown.
    rendered: whether texts are shown as the Markdown they may be, without any marks.
    """

    diff: Diff = "auto"
    query: Query = EVERYTHING
    spaces: bool = False
    rendered: bool = False


PAGE_ROWS = 25
_MOST_NAMED = 10
"""Keys that one message names."""


@dataclass(frozen=True, slots=True)
class ListedRows:
    """The pairs of a list. rows: of the table, in the order of the list."""

    table: PairTable
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def key(self, place: int) -> str:
        """The key of the pair at a place, from 0."""
        return self.table.key_of(int(self.rows[place]))

    def may_harm(self, place: int) -> bool:
        """As of the subset of the pair at a place."""
        return may_harm(self.table.subset_of(int(self.rows[place])))

    def place_of(self, key: str) -> int | None:
        """Where a pair stands, from 0; None where it is not in the list."""
        row = self.table.row_of(key) if key else None
        if row is None:
            return None
        places = np.flatnonzero(self.rows == row)
        return int(places[0]) if len(places) else None


def may_harm(subset: str) -> bool:
    """Whether texts of a subset are hidden until a reader has seen the content warning."""
    card = subset_card(subset)
    return card is not None and card.may_harm


def n_pages(n_rows: int) -> int:
    """Pages of a list; one where it is empty.

    >>> n_pages(0), n_pages(25), n_pages(26)
    (1, 1, 2)
    """
    return max(1, ceil(n_rows / PAGE_ROWS))


def page_holding(place: int) -> int:
    """The page, from 1, on which the item at `place`, from 0, stands."""
    return place // PAGE_ROWS + 1


def resolve_key(table: PairTable, typed: str) -> str:
    """The key of the pair that was typed: its key, or its id where no other pair has it.

    Raises:
        KnownError: there is no such pair, or several have this id.
    """
    for key in (typed, typed.strip()):
        if table.row_of(key) is not None:
            return key
    found = [each for each in table.keys if each.rpartition(":")[2] == typed.strip()]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(each[:80] for each in found[:_MOST_NAMED])
        more = ", …" if len(found) > _MOST_NAMED else ""
        raise KnownError(f"Several pairs have the id {shown(typed)}: {some}{more}.")
    raise KnownError(
        f"There is no pair {shown(typed)} here. A key is the subset and the id, as in "
        f"{table.example_keys}."
    )
