"""Which pairs of a table are to be scored, and in words how they were chosen."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.core.validation import checked_integer
from explorer.data.filters import rows_per_subset
from explorer.data.table import PairTable, Rows
from explorer.data.typed import Texts
from explorer.runs.orders import MOST_SEED
from scoring.errors import KnownError, counted, shown
from scoring.pairs.opening import n_responses

LONGEST_KEYS = 2_000_000
"""Characters of pasted keys."""
MOST_NAMED = 3
MOST_PER_SUBSET = 1000
SELECTION_WAYS = ("subset", "filter", "failed", "keys", "typed")
_BETWEEN = re.compile(r"[\n\r,;]+")


@dataclass(frozen=True)
class Selection:
    """Rows of a table, each a pair or of more responses, in table order.

    words: how they were chosen. typed: the texts of a pair that was typed; None for others.
    """

    table: PairTable
    rows: Rows
    words: str
    typed: Texts | None = None

    @property
    def n_pairs(self) -> int:
        """Pairs in it; a row of n responses is as much work as half as many pairs."""
        return int(((n_responses(self.table.arrow, self.rows) + 1) // 2).sum())

    @property
    def n_several(self) -> int:
        """Rows with more responses than two."""
        return int((n_responses(self.table.arrow, self.rows) > 2).sum())


def selected_as_listed(table: PairTable, rows: Rows, words: str) -> Selection:
    """The rows that the Pairs tab lists. words: by which filters; "" for none."""
    return Selection(table, np.sort(rows), words or "all pairs")


def selected_per_subset(table: PairTable, per_subset: object, seed: object) -> Selection:
    """So many rows of each subset, drawn with a seed.

    Raises:
        KnownError: a number that is none, too small or too large.
    """
    number = checked_integer("Seed", seed, 0, MOST_SEED)
    n = checked_integer("Pairs per subset", per_subset, 1, MOST_PER_SUBSET)
    words = f"{n} from each subset, seed {number}"
    return Selection(table, rows_per_subset(table, n, number), words)


def selected_by_typed_keys(table: PairTable, typed: str) -> Selection:
    """The rows whose keys were pasted, with line ends, commas or semicolons between them.

    Raises:
        KnownError: there is none, it is too long, or names pairs that are not in the table.
    """
    if not typed.strip():
        raise KnownError(
            f"No pairs are selected. Paste one or more keys, such as {table.example_keys}."
        )
    if len(typed) > LONGEST_KEYS:
        raise KnownError(
            f"Keys are text of at most {LONGEST_KEYS:,} characters, such as {table.example_keys}."
        )
    keys = (each.strip() for each in _BETWEEN.split(typed))
    return selected_by_keys(table, list(dict.fromkeys(filter(None, keys))))


def selected_by_keys(table: PairTable, keys: Sequence[str]) -> Selection:
    """The rows with these keys, in their order.

    Raises:
        KnownError: there are none of some.
    """
    found = [table.row_of(key) for key in keys]
    missing = [key for key, row in zip(keys, found, strict=True) if row is None]
    if missing:
        named = ", ".join(shown(key) for key in missing[:MOST_NAMED])
        more = f" and {len(missing) - MOST_NAMED:,} more" if len(missing) > MOST_NAMED else ""
        raise KnownError(
            f"Not found among these pairs ({table.source.name}): {named}{more}. "
            f"{_key_advice(table, missing[0])}"
        )
    rows = np.array([row for row in found if row is not None], np.int64)
    return Selection(table, rows, f"{counted(len(rows), 'pair', 'pairs')} by key")


def _key_advice(table: PairTable, key: str) -> str:
    """What a key could have been that no pair has."""
    subset = key.rpartition(":")[0]
    of_subset = [each for each in table.keys if subset and each.rpartition(":")[0] == subset]
    if of_subset:
        first, last = of_subset[0][:80], of_subset[-1][:80]
        return f"{subset[:80]} has the keys {first} to {last}."
    return f"A key is the subset and the id, such as {table.example_keys}."
