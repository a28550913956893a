"""Which pairs of a table are to be scored, and in words how they were chosen."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.core.validation import checked_integer, one_of
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
Lost = Callable[[object], tuple[PairTable, Rows]]
"""Of a model: the pairs that its results are of, and the rows of those that it did not win."""
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


def selected_per_subset(table: PairTable, n: int, seed: int) -> Selection:
    """So many rows of each subset, drawn with a seed."""
    words = f"{n} from each subset, seed {seed}"
    return Selection(table, rows_per_subset(table, n, seed), words)


def _selected_failures(table: PairTable, lost: Lost, model: object) -> Selection:
    """The rows that a model did not win, ties included and missing ones not."""
    of, rows = lost(model)
    if of.id != table.id:
        raise KnownError(
            f"The results of {shown(model)} are not of the pairs that are open. Choose another "
            "model, or open its pairs on the Pairs tab."
        )
    return Selection(table, rows, f"failed by {model!s}")


def selected_by_typed_keys(table: PairTable, typed: object) -> Selection:
    """The rows whose keys were pasted, with line ends, commas or semicolons between them.

    Raises:
        KnownError: it is no text, too long, or names pairs that are not in the table.
    """
    if typed is None:
        return selected_by_keys(table, [])
    if not isinstance(typed, str) or len(typed) > LONGEST_KEYS:
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


@dataclass(frozen=True, slots=True)
class Choice:
    """How pairs are to be chosen, as it was posted: any of it may be anything.

    which: one of `SELECTION_WAYS`. per_subset, seed: for "subset". keys: for "keys".
    model: for "failed". conversation, chosen, rejected: for "typed".
    """

    which: object = "subset"
    per_subset: object = 4
    seed: object = 0
    keys: object = ""
    model: object = ""
    conversation: object = ""
    chosen: object = ""
    rejected: object = ""

    def of(
        self,
        opened: Callable[[], PairTable],
        listed: Callable[[], tuple[Rows, str]],
        lost: Lost,
        typed: Callable[[object, object, object], PairTable],
    ) -> Selection:
        """The pairs that are meant.

        Args:
            opened: gives the table that is open; not asked where a pair is typed.
            listed: gives the rows that the Pairs tab lists, and in words by which filters.
            lost: see `Lost`.
            typed: gives the table of a pair that was typed.

        Raises:
            KnownError: a number that is none, too small or too large; whatever the ways raise.
        """
        if self.which == "typed":
            own = typed(self.conversation, self.chosen, self.rejected)
            texts = (str(self.conversation), str(self.chosen), str(self.rejected))
            return Selection(own, np.arange(len(own)), "a typed pair", texts)
        if self.which == "failed" and not self.model:
            raise KnownError(
                "Choose the model whose failures to score. Published models are listed once their "
                "results are read on the Pairs tab."
            )
        table = opened()
        if self.which == "filter":
            return selected_as_listed(table, *listed())
        if self.which == "keys":
            if not str(self.keys).strip():
                raise KnownError(
                    f"No pairs are selected. Paste one or more keys, such as {table.example_keys}."
                )
            return selected_by_typed_keys(table, self.keys)
        if self.which == "failed":
            return _selected_failures(table, lost, self.model)
        one_of("way to choose pairs", SELECTION_WAYS, self.which)
        seed = checked_integer("Seed", self.seed, 0, MOST_SEED)
        n = checked_integer("Pairs per subset", self.per_subset, 1, MOST_PER_SUBSET)
        return selected_per_subset(table, n, seed)
