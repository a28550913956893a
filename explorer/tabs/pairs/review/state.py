"""Review: a person goes through the pairs of a subset and marks each keep, drop or unsure.

A superset of upstream's `filter.py subset start`, which shows the pairs one by one in a terminal.
A `Review` is a value, each mark gives a new one. `explorer.tabs.pairs.review.stored` is how a
browser keeps it, `explorer.tabs.pairs.review.files` are its files, and in
`explorer.tabs.pairs.review.agreement` two people's decisions meet.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self, get_args

import numpy as np

from explorer.core.validation import repaired
from explorer.data.table import PairTable, Rows
from scoring.errors import KnownError, shown

Verdict = Literal["keep", "drop", "unsure"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
LONGEST_NOTE = 2_000
LONGEST_NAME = 1_000
"""Characters that a key, a subset or a source may have."""
MOST_DECISIONS = 50_000
LAST_SECOND = 253_402_300_799
"""The end of the year 9999."""

_HASH = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided on one pair.

    key, text_hash: the pair's, as in `scoring.spec`.
    at: whole seconds since 1970, UTC.
    source: the table it was made on (`PairTable.id`); "" where that is not known.
    """

    key: str
    text_hash: str
    verdict: Verdict
    note: str
    at: int
    source: str = ""

    @classmethod
    def of(
        cls,
        key: object,
        text_hash: object,
        verdict: object,
        *,
        note: object,
        at: object,
        source: str,
    ) -> Self:
        """A decision from values that anybody may have sent.

        Raises:
            KnownError: a value of the wrong type, out of range or too long.

        >>> Decision.of("hep-go:3", "0123456789abcdef", "keep", note=None, at=9.5, source="demo").at
        9
        """
        if not isinstance(text_hash, str) or not _HASH.fullmatch(text_hash):
            raise KnownError(
                f"A pair's text_hash is 16 hex digits, not {shown(text_hash)}. Take it from the "
                "table of pairs."
            )
        marked = next((known for known in VERDICTS if known == verdict), None)
        if marked is None:
            raise KnownError(f"A verdict is one of {', '.join(VERDICTS)}, not {shown(verdict)}.")
        if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at <= LAST_SECOND:
            raise KnownError(
                f"A decision's time is in seconds from 1970 to the year 9999, not {shown(at)}."
            )
        return cls(checked_name("key", key), text_hash, marked, checked_note(note), int(at), source)


@dataclass(frozen=True)
class Review:
    """How far one person is with one subset; immutable.

    source: `PairTable.id` of the pairs.
    start: where in the subset the person began, counting from 0.
    decisions: all that were made, the oldest first; a later one replaces an earlier one of its key.
    notes: (key, note) of each unmarked pair that has one, until its mark takes it.
    """

    source: str
    subset: str
    start: int = 0
    decisions: tuple[Decision, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()

    @classmethod
    def begin(cls, table: PairTable, subset: object, start: object = 0) -> Self:
        """A review without decisions.

        Raises:
            KnownError: no such subset, or it has no pair at `start`.
        """
        rows = subset_rows(table, subset, start)
        name = checked_name("subset", subset)
        return cls(checked_name("source", table.id), name, table.subset_counts[name] - len(rows))

    @cached_property
    def standing(self) -> dict[str, Decision]:
        """Key -> the decision that holds, in the order in which pairs were first marked."""
        return {decision.key: decision for decision in self.decisions}

    @cached_property
    def version(self) -> str:
        """16 hex digits that tell these decisions from others.

        >>> Review("demo", "s").version == Review("demo", "s", start=3).version
        True
        """
        return hashlib.sha256(repr(self.decisions).encode()).hexdigest()[:16]

    @property
    def counts(self) -> dict[Verdict, int]:
        """Pairs of each verdict."""
        marked = [decision.verdict for decision in self.standing.values()]
        return {verdict: marked.count(verdict) for verdict in VERDICTS}

    def mark(
        self, key: object, text_hash: object, verdict: object, note: object = "", *, at: float
    ) -> Self:
        """The review with one more decision, which replaces a former one of that pair.

        at: seconds since 1970.

        Raises:
            KnownError: a value that no decision can have, or the review is full.
        """
        check_number(len(self.decisions) + 1)
        decision = Decision.of(key, text_hash, verdict, note=note, at=at, source=self.source)
        return replace(self.noted(decision.key, ""), decisions=(*self.decisions, decision))

    def noted(self, key: object, note: object) -> Self:
        """The review with another note on an unmarked pair; "" takes a note away.

        Raises:
            KnownError: a value that no decision can have, or they are too many.
        """
        notes = dict(self.notes) | {checked_name("key", key): checked_note(note)}
        left = tuple((each, words) for each, words in notes.items() if words)
        check_number(len(left))
        return replace(self, notes=left)

    def undo(self) -> Self:
        """The review without its last decision; a decision that it had replaced holds again.

        Where there was none, its note stays with the pair.

        >>> review = Review("demo", "hep-go").mark("hep-go:1", "0" * 16, "keep", at=0)
        >>> review.mark("hep-go:1", "0" * 16, "drop", at=1).undo() == review
        True
        """
        former = replace(self, decisions=self.decisions[:-1])
        last = self.decisions[-1] if self.decisions else None
        if last is None or last.key in former.standing:
            return former
        return former.noted(last.key, last.note)

    def note_of(self, key: str) -> str:
        """The note on a pair, marked or not; "" where there is none."""
        decision = self.standing.get(key)
        return decision.note if decision else dict(self.notes).get(key, "")

    def verdict_of(self, key: str) -> Verdict | None:
        """What holds for a pair; None where it is unmarked."""
        decision = self.standing.get(key)
        return decision.verdict if decision else None

    def next_unmarked(self, keys: Sequence[str], after: str | None = None) -> str | None:
        """The next pair to look at; None where all are marked.

        After the last key it goes on with the first, so that those passed over come again.

        keys: of the pairs under review, in order.
        after: the key to go on from; the first where it is None or not among them.

        >>> review = Review("demo", "s").mark("s:2", "0" * 16, "keep", at=0)
        >>> keys = ["s:1", "s:2", "s:3"]
        >>> review.next_unmarked(keys), review.next_unmarked(keys, "s:1")
        ('s:1', 's:3')
        >>> review.next_unmarked(keys, "s:3")
        's:1'
        """
        begin = keys.index(after) + 1 if after in keys else 0
        ahead = (*keys[begin:], *keys[:begin])
        return next((key for key in ahead if key not in self.standing), None)


def subset_rows(table: PairTable, subset: object, start: object = 0) -> Rows:
    """The rows of one subset, from a place in it on, as upstream's filter.py takes them.

    start: counts from 0.

    Raises:
        KnownError: no such subset, or it has no pair at `start`.
    """
    if not isinstance(subset, str) or subset not in table.subset_counts:
        listed = ", ".join(name[:40] for name in list(table.subset_counts)[:30])
        raise KnownError(f"There is no subset {shown(subset)} here; choose one of {listed}.")
    rows = np.flatnonzero(table.subset_of_row == subset)
    if isinstance(start, bool) or not isinstance(start, int) or not 0 <= start < len(rows):
        asked = shown(start + 1 if type(start) is int else start)  # as people count
        raise KnownError(
            f"{subset[:80]} has {len(rows):,} pairs, so a review starts at pair 1 to "
            f"{len(rows):,}, not {asked}."
        )
    return rows[start:]


def checked_name(what: str, value: object) -> str:
    """A key, subset or source that anybody may have sent.

    Raises:
        KnownError: no text, or empty or too long.

    >>> checked_name("key", "hep-go:3")
    'hep-go:3'
    """
    name = repaired(value) if isinstance(value, str) else ""
    if not 0 < len(name) <= LONGEST_NAME:
        raise KnownError(
            f"A {what} must be text of 1 to {LONGEST_NAME:,} characters, not {shown(value)}."
        )
    return name


def checked_note(value: object) -> str:
    """A note that anybody may have sent; None is no note.

    Raises:
        KnownError: no text, or too long.

    >>> checked_note("odd"), checked_note(None)
    ('odd', '')
    """
    if value is not None and not isinstance(value, str):
        raise KnownError(f"A note must be text, not {shown(value)}.")
    note = repaired(value or "")
    if len(note) > LONGEST_NOTE:
        raise KnownError(
            f"A note may have {LONGEST_NOTE:,} characters; this one has {len(note):,}. Shorten it."
        )
    return note


def check_number(decisions: int) -> None:
    """Whether a review may have so many decisions.

    Raises:
        KnownError: it may not.

    >>> check_number(50_000)
    """
    if decisions > MOST_DECISIONS:
        raise KnownError(
            f"A review may have {MOST_DECISIONS:,} decisions; this would be {decisions:,}. "
            "Export them and begin a new one."
        )
