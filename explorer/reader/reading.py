"""Where a person is in a list of pairs and how the open one is shown, and the steps from there."""

from dataclasses import dataclass, replace
from math import ceil
from random import randrange
from typing import Self

import numpy as np

from explorer.core.validation import one_of
from explorer.data.filters import LONGEST_NAME
from explorer.data.search import EVERYTHING, Query
from explorer.data.table import PairTable, Rows
from explorer.reader.diffs import DIFFS, Diff
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
READER_ACTS = ("open", "goto", "step", "random", "turn", "page", "diff", "spaces", "rendered")
"""What `read_on` understands."""


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

    def place_of(self, key: str) -> int | None:
        """Where a pair stands, from 0; None where it is not in the list."""
        row = self.table.row_of(key) if key else None
        if row is None:
            return None
        places = np.flatnonzero(self.rows == row)
        return int(places[0]) if len(places) else None

    def exists(self, key: str) -> bool:
        """Whether a pair can be opened, in the list or not."""
        return self.table.row_of(key) is not None


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a person is in a list, and how the open pair is shown.

    key: of the open pair; "" for the first of the page.
    page: from 1.
    diff, spaces, rendered: as of `Display`.
    """

    key: str = ""
    page: int = 1
    diff: Diff = "auto"
    spaces: bool = False
    rendered: bool = False

    def display(self, query: Query) -> Display:
        """How the reader shows the open pair, the hits of a search marked."""
        return Display(self.diff, query, self.spaces, self.rendered)

    def settled(self, listed: ListedRows) -> Self:
        """The nearest that the list has: a page that there is, a pair that can be opened."""
        page = min(max(1, self.page), n_pages(len(listed)))
        if self.key and listed.exists(self.key):
            return replace(self, page=page)
        first = (page - 1) * PAGE_ROWS
        return replace(self, page=page, key=listed.key(first) if len(listed) else "")

    def anew(self, listed: ListedRows) -> Self:
        """After the list changed: the same pair where it is still there, else the first."""
        place = listed.place_of(self.key)
        if place is None:
            return replace(self, key="", page=1).settled(listed)
        return replace(self, page=page_holding(place))


FIRST_READING = Reading()


_MOST_NAMED = 10
"""Keys that one message names."""


def n_pages(n_rows: int) -> int:
    """Pages of a list; one where it is empty.

    >>> n_pages(0), n_pages(25), n_pages(26)
    (1, 1, 2)
    """
    return max(1, ceil(n_rows / PAGE_ROWS))


def page_holding(place: int) -> int:
    """The page, from 1, on which the item at `place`, from 0, stands."""
    return place // PAGE_ROWS + 1


def read_on(reading: Reading, listed: ListedRows, act: str, value: object) -> Reading:
    """One step further.

    reading: settled in `listed`.
    act: "open" and "goto" a key, "step" so many pairs, "random", "turn" so many pages, "page" with
        that number, or one of the fields "diff", "spaces" and "rendered".
    value: what was sent with it, by anybody.

    Raises:
        KnownError: a key that is not there, or a value of the wrong type.
    """
    if act in ("open", "goto"):
        return _at_key(reading, listed, value, stay=act == "open")
    if act in ("step", "random"):
        if not len(listed):
            return replace(reading, key="", page=1)
        place = listed.place_of(reading.key)
        if act == "random":
            place = _any(listed, place)
        else:  # past the end at the beginning; the first where it was at none
            step = _whole(value)
            place = 0 if place is None else (place + step) % len(listed)
        return replace(reading, key=listed.key(place), page=page_holding(place))
    if act in ("turn", "page"):
        page = _whole(value) + (reading.page if act == "turn" else 0)
        return replace(reading, page=page, key="").settled(listed)
    if act == "diff":
        return replace(reading, diff=one_of("A way to show differences", DIFFS, value))
    if act == "spaces":
        return replace(reading, spaces=value is True)
    if act == "rendered":
        return replace(reading, rendered=value is True)
    raise KnownError(f"There is no act {shown(act)}; there are {', '.join(READER_ACTS)}.")


def _at_key(reading: Reading, listed: ListedRows, value: object, *, stay: bool) -> Reading:
    key = value if isinstance(value, str) else ""
    key = key if listed.exists(key) else key.strip()
    if not stay and not listed.exists(key) and 0 < len(key) <= LONGEST_NAME:
        found = [each for each in listed.table.keys if each.rpartition(":")[2] == key]
        if len(found) > 1:
            some = ", ".join(each[:80] for each in found[:_MOST_NAMED])
            more = ", …" if len(found) > _MOST_NAMED else ""
            raise KnownError(f"Several pairs have the id {shown(key)}: {some}{more}.")
        key = found[0] if found else key
    if not key or len(key) > LONGEST_NAME or not listed.exists(key):
        raise KnownError(
            f"There is no pair {shown(value)} here. A key is the subset and the id, as in "
            f"{listed.table.example_keys}."
        )
    place = None if stay else listed.place_of(key)
    return replace(reading, key=key, page=reading.page if place is None else page_holding(place))


def _any(listed: ListedRows, place: int | None) -> int:
    """Any place but this one, where there is another."""
    if place is None or len(listed) == 1:
        return randrange(len(listed))  # noqa: S311 - no secret
    return (place + randrange(1, len(listed))) % len(listed)  # noqa: S311 - no secret


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 10**9:
        raise KnownError(f"A step is a whole number, not {shown(value)}.")
    return value
