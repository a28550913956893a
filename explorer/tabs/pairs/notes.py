"""Notes of a person on pairs, such as why a label may be wrong; their browser keeps them."""

import json
import re
from dataclasses import dataclass, field
from typing import Self

from explorer.core.validation import repaired
from explorer.data.table import PairTable
from explorer.results.field import Field
from scoring.pairs.opening import TEXT_COLUMNS
from scoring.spec import text_hash

LONGEST_NOTE = 2_000
"""Characters of a note, which is one line."""
MOST_NOTES = 2_000
_LONGEST_MARK = 1_500
_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class PairNotes:
    """What a person noted; immutable.

    by_mark: a pair's mark, as `mark_of` gives it -> the note, the oldest first; what a browser
        keeps.
    """

    by_mark: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read_json(cls, written: str) -> Self:
        """The notes in what a browser sent along, which may be anything."""
        try:
            return cls.read(json.loads(written))
        except (ValueError, RecursionError):
            return cls()

    @classmethod
    def read(cls, value: object) -> Self:
        """What a browser had stored, which may be anything; what is no note is left out."""
        notes: dict[str, str] = {}
        for mark, words in value.items() if isinstance(value, dict) else ():
            if len(notes) == MOST_NOTES:
                break
            if not isinstance(mark, str) or not 0 < len(mark) <= _LONGEST_MARK:
                continue
            if isinstance(words, str) and len(words) <= LONGEST_NOTE:
                # In one line, fit for any file.
                line = " ".join(_BREAKS.sub(" ", repaired(words)).split())
                notes |= {mark: line} if line else {}
        return cls(notes)

    def of(self, field: Field, row: int) -> str:
        """The note on a pair; "" where there is none."""
        if not self.by_mark:
            return ""
        return self.by_mark.get(mark_of(field.table, row, has_texts=field.has_texts), "")


def mark_of(table: PairTable, row: int, *, has_texts: bool = True) -> str:
    """What a note is kept by: the texts, so that it is found in other tables with the same pair.

    Where the texts are not at hand, the key and which pairs these are.
    """
    if not has_texts:
        return f"{table.id} {table.key_of(row)}"[:_LONGEST_MARK]
    return text_hash(*(table.arrow.column(name)[row].as_py() for name in TEXT_COLUMNS))
