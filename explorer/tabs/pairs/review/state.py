"""Review: a person goes through the pairs of a subset and marks each keep, drop or unsure.

A superset of upstream's `filter.py subset start`, which shows the pairs one by one in a terminal.
A `Review` is a value, each mark gives a new one; a browser keeps some as JSON (`KeptReviews`).
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, get_args

import numpy as np

from explorer.core.text import text
from explorer.core.validation import one_of, repaired
from explorer.data.table import PairTable, Rows
from scoring.errors import KnownError, counted, shown
from scoring.hub.access import first_line

Verdict = Literal["keep", "drop", "unsure"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
LONGEST_REVIEW_NOTE = 2_000
LONGEST_FIELD = 1_000
"""Characters that a key, a subset or a source may have."""
MOST_DECISIONS = 50_000
LAST_SECOND = 253_402_300_799
"""The end of the year 9999."""
LONGEST_JSON = 5_000_000
"""Characters that a stored review may have."""
MOST_REVIEWS = 5
FILTERED = "*"
"""In place of a subset: the pairs that are listed, in the list's order, whichever they are then."""
_MOST_STORED_BYTES = 3_000_000
"""Of all reviews together; a browser's storage takes about 5 MB, and what is in it grows by 4/3."""

NO_ROWS = np.zeros(0, np.int64)

_HASH = re.compile("[0-9a-f]{16}")
_VERSION = 1


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
        note: object,
        at: object,
        *,
        source: str,
    ) -> Self:
        """A decision from values that anybody may have sent.

        Raises:
            KnownError: a value of the wrong type, out of range or too long.
        """
        if not isinstance(text_hash, str) or not _HASH.fullmatch(text_hash):
            raise KnownError(
                f"A pair's text_hash is 16 hex digits, not {shown(text_hash)}. Take it from the "
                "table of pairs."
            )
        marked = one_of("A verdict", VERDICTS, verdict)
        if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at <= LAST_SECOND:
            raise KnownError(
                f"A decision's time is in seconds from 1970 to the year 9999, not {shown(at)}."
            )
        return cls(checked_name("key", key), text_hash, marked, checked_note(note), int(at), source)


@dataclass(frozen=True)
class Review:
    """How far one person is with one subset; immutable.

    source: `PairTable.id` of the pairs.
    subset: of them, or `FILTERED`.
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
    def begin(
        cls, table: PairTable, subset: object, start: object = 0, listed: Rows = NO_ROWS
    ) -> Self:
        """A review without decisions. listed: as of `rows_under`.

        Raises:
            KnownError: no such subset, or it has no pair at `start`.
        """
        n = len(rows_under(table, subset, listed=listed))
        name = checked_name("subset", subset)
        left = len(rows_under(table, subset, start, listed))
        return cls(checked_name("source", table.id), name, n - left)

    @property
    def where(self) -> tuple[str, str]:
        """Source and subset, which tell it from the others that are kept."""
        return self.source, self.subset

    @cached_property
    def standing(self) -> dict[str, Decision]:
        """Key -> the decision that holds, in the order in which pairs were first marked."""
        return {decision.key: decision for decision in self.decisions}

    @cached_property
    def version(self) -> str:
        """16 hex digits that tell these decisions from others."""
        return hashlib.sha256(repr(self.decisions).encode()).hexdigest()[:16]

    def mark(
        self, key: object, text_hash: object, verdict: object, note: object = "", *, at: float
    ) -> Self:
        """The review with one more decision, which replaces a former one of that pair.

        at: seconds since 1970.

        Raises:
            KnownError: a value that no decision can have, or the review is full.
        """
        _check_number(len(self.decisions) + 1)
        decision = Decision.of(key, text_hash, verdict, note, at, source=self.source)
        return replace(self.noted(decision.key, ""), decisions=(*self.decisions, decision))

    def noted(self, key: object, note: object) -> Self:
        """The review with another note on an unmarked pair; "" takes a note away.

        Raises:
            KnownError: a value that no decision can have, or they are too many.
        """
        notes = dict(self.notes) | {checked_name("key", key): checked_note(note)}
        left = tuple((each, words) for each, words in notes.items() if words)
        _check_number(len(left))
        return replace(self, notes=left)

    def undo(self) -> Self:
        """The review without its last decision; a decision that it had replaced holds again.

        Where there was none, its note stays with the pair.
        """
        former = replace(self, decisions=self.decisions[:-1])
        last = self.decisions[-1] if self.decisions else None
        if last is None or last.key in former.standing:
            return former
        return former.noted(last.key, last.note)

    def merged(self, other: "Review") -> Self:
        """The review with another's decisions in it, by their times; of one pair the latest holds.

        Raises:
            KnownError: together they are too many.
        """
        both = dict.fromkeys((*self.decisions, *other.decisions))
        _check_number(len(both))
        return replace(self, decisions=tuple(sorted(both, key=lambda each: each.at)))

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
        """
        begin = keys.index(after) + 1 if after in keys else 0
        ahead = (*keys[begin:], *keys[:begin])
        return next((key for key in ahead if key not in self.standing), None)


def rows_under(table: PairTable, subset: object, start: object = 0, listed: Rows = NO_ROWS) -> Rows:
    """The rows of one subset, from a place in it on (from 0), as upstream's filter.py takes them.

    listed: the rows that are taken of `FILTERED`.

    Raises:
        KnownError: no such subset, or it has no pair at `start`.
    """
    if subset == FILTERED:
        if not len(listed):
            raise KnownError(text("list.none"))
    elif not isinstance(subset, str) or subset not in table.subset_counts:
        names = ", ".join(name[:40] for name in list(table.subset_counts)[:30])
        raise KnownError(f"There is no subset {shown(subset)} here; choose one of {names}.")
    rows = listed if subset == FILTERED else np.flatnonzero(table.subset_of_row == subset)
    if isinstance(start, bool) or not isinstance(start, int) or not 0 <= start < len(rows):
        asked = shown(start + 1 if type(start) is int else start)  # as people count
        raise KnownError(
            f"{review_words(subset)}: {counted(len(rows), 'pair', 'pairs')}, so a review starts at "
            f"pair 1 to {len(rows):,}, not {asked}."
        )
    return rows[start:]


def review_words(subset: str) -> str:
    """What is reviewed, in words."""
    return text("review.filtered") if subset == FILTERED else subset[:80]


def checked_name(what: str, value: object) -> str:
    """A key, subset or source that anybody may have sent.

    Raises:
        KnownError: no text, or empty or too long.
    """
    name = repaired(value) if isinstance(value, str) else ""
    if not 0 < len(name) <= LONGEST_FIELD:
        raise KnownError(
            f"A {what} must be text of 1 to {LONGEST_FIELD:,} characters, not {shown(value)}."
        )
    return name


def checked_note(value: object) -> str:
    """A note that anybody may have sent; None is no note.

    Raises:
        KnownError: no text, or too long.
    """
    if value is not None and not isinstance(value, str):
        raise KnownError(f"A note must be text, not {shown(value)}.")
    note = repaired(value or "")
    if len(note) > LONGEST_REVIEW_NOTE:
        raise KnownError(
            f"A note may have {LONGEST_REVIEW_NOTE:,} characters; this one has {len(note):,}. "
            "Shorten it."
        )
    return note


def _check_number(decisions: int) -> None:
    """Raise a KnownError where a review may not have so many decisions."""
    if decisions > MOST_DECISIONS:
        raise KnownError(
            f"A review may have {MOST_DECISIONS:,} decisions; this would be {decisions:,}. "
            "Export them and begin a new one."
        )


def to_json(review: Review) -> str:
    """A review as text that `from_json` reads.

    Raises:
        KnownError: it is too long to be read again.
    """
    fields = {
        "version": _VERSION,
        "source": review.source,
        "subset": review.subset,
        "start": review.start,
        "decisions": [
            [each.key, each.text_hash, each.verdict, each.note, each.at]
            for each in review.decisions
        ],
        "notes": review.notes,
    }
    text = json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    _check_length(text)
    return text


def from_json(text: object) -> Review:
    """A review from what a browser had stored, which may be anything.

    Raises:
        KnownError: it is no review of this version, or a value in it is none that can be.
    """
    if not isinstance(text, str):
        raise KnownError(f"A stored review must be text, not {shown(text)}. Begin a new one.")
    _check_length(text)
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise KnownError(
            f"The stored review cannot be read ({first_line(error)}). Begin a new one."
        ) from error
    version = fields.get("version") if isinstance(fields, dict) else None
    if isinstance(version, bool) or version != _VERSION:
        raise KnownError(
            f"The stored review has version {shown(version)}; only {_VERSION} can be read here. "
            "Begin a new one."
        )
    start, notes = fields.get("start"), _list("notes", fields.get("notes", []))
    if isinstance(start, bool) or not isinstance(start, int) or start < 0:
        raise KnownError(f"A review's start is a whole number from 0 on, not {shown(start)}.")
    source = checked_name("source", fields.get("source"))
    decisions = enumerate(_list("decisions", fields.get("decisions")), start=1)
    if not all(isinstance(entry, list) and len(entry) == 2 for entry in notes):
        raise KnownError("A note on an unmarked pair is a list of key and note.")
    return Review(
        source,
        checked_name("subset", fields.get("subset")),
        start,
        tuple(_decision(entry, number, source) for number, entry in decisions),
        tuple((checked_name("key", key), checked_note(note)) for key, note in notes),
    )


def _list(what: str, entries: object) -> list[Any]:
    if not isinstance(entries, list):
        raise KnownError(f"A review's {what} are a list, not {shown(entries)}.")
    _check_number(len(entries))
    return entries


def _decision(entry: object, number: int, source: str) -> Decision:
    if not isinstance(entry, list) or len(entry) != 5:
        raise KnownError(f"Decision {number} is no list of key, text_hash, verdict, note and time.")
    try:
        return Decision.of(*entry, source=source)
    except KnownError as error:
        raise KnownError(f"Decision {number}: {error}") from error


def _check_length(text: str) -> None:
    if len(text) > LONGEST_JSON:
        raise KnownError(
            f"A stored review may have {LONGEST_JSON:,} characters; this one has {len(text):,}. "
            "Export its decisions and begin a new one."
        )


@dataclass(frozen=True, slots=True)
class KeptReviews:
    """Reviews of different (source, subset) that one browser keeps, the one last worked on first.

    left_out: why each review that cannot be kept or read is missing, in words for the person.
    """

    reviews: tuple[Review, ...] = ()
    left_out: tuple[str, ...] = ()

    @classmethod
    def read(cls, value: object) -> Self:
        """What a browser had stored, which may be anything; what cannot be read is left out."""
        entries = value if isinstance(value, list) else []
        reviews, left_out = list[Review](), list[str]()
        for entry in entries[:MOST_REVIEWS]:
            try:
                reviews.append(from_json(entry))
            except KnownError as error:
                left_out.append(str(error))
        return cls(tuple(reviews), tuple(left_out))

    def of(self, where: tuple[str, str]) -> Review | None:
        """The review of a source's subset; None where there is none."""
        return {each.where: each for each in self.reviews}.get(where)

    def put(self, review: Review) -> Self:
        """The same with one review new or renewed, and without the oldest if that is too much."""
        others = (each for each in self.reviews if each.where != review.where)
        kept, left_out, free = list[Review](), list[str](), _MOST_STORED_BYTES
        for each in (review, *others):
            size = _size(each)
            if len(kept) < MOST_REVIEWS and size is not None and size <= free:
                kept.append(each)
                free -= size
            else:
                left_out.append(
                    f"The review of {review_words(each.subset)} is no longer kept in this browser, "
                    "which has room for few."
                )
        return type(self)(tuple(kept), tuple(left_out))

    def texts(self) -> list[str]:
        """What `read` reads."""
        return [to_json(each) for each in self.reviews]


def _size(review: Review) -> int | None:
    """Bytes as JSON within JSON; None where it is too long for any."""
    try:
        return len(json.dumps(to_json(review), ensure_ascii=False).encode())
    except KnownError:
        return None
