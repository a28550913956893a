"""A review as JSON for the browser's storage, and the reviews that one browser keeps."""

import json
from dataclasses import dataclass
from typing import Self

from explorer.tabs.pairs.review.state import (
    Decision,
    Review,
    check_number,
    checked_name,
    checked_note,
)
from scoring.errors import KnownError, shown
from scoring.hub.access import first_line

LONGEST_JSON = 5_000_000
"""Characters that a stored review may have."""

_VERSION = 1


def to_json(review: Review) -> str:
    """A review as text that `from_json` reads.

    Raises:
        KnownError: it is too long to be read again.

    >>> to_json(Review("demo", "hep-go", 5))
    '{"version":1,"source":"demo","subset":"hep-go","start":5,"decisions":[],"notes":[]}'
    """
    fields = {
        "version": _VERSION,
        "source": review.source,
        "subset": review.subset,
        "start": review.start,
        "decisions": [
            [decision.key, decision.text_hash, decision.verdict, decision.note, decision.at]
            for decision in review.decisions
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
    start, decisions = fields.get("start"), fields.get("decisions")
    if isinstance(start, bool) or not isinstance(start, int) or start < 0:
        raise KnownError(f"A review's start is a whole number from 0 on, not {shown(start)}.")
    if not isinstance(decisions, list):
        raise KnownError(f"A review's decisions are a list, not {shown(decisions)}.")
    check_number(len(decisions))
    source = checked_name("source", fields.get("source"))
    return Review(
        source,
        checked_name("subset", fields.get("subset")),
        start,
        tuple(_decision(entry, number, source) for number, entry in enumerate(decisions, start=1)),
        _notes(fields.get("notes", [])),
    )


def _notes(entries: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(entries, list):
        raise KnownError(f"A review's notes are a list, not {shown(entries)}.")
    check_number(len(entries))
    if not all(isinstance(entry, list) and len(entry) == 2 for entry in entries):
        raise KnownError("A note on an unmarked pair is a list of key and note.")
    return tuple((checked_name("key", key), checked_note(note)) for key, note in entries)


def _decision(entry: object, number: int, source: str) -> Decision:
    if not isinstance(entry, list) or len(entry) != 5:
        raise KnownError(f"Decision {number} is no list of key, text_hash, verdict, note and time.")
    key, text_hash, verdict, note, at = entry
    try:
        return Decision.of(key, text_hash, verdict, note=note, at=at, source=source)
    except KnownError as error:
        raise KnownError(f"Decision {number}: {error}") from error


def _check_length(text: str) -> None:
    if len(text) > LONGEST_JSON:
        raise KnownError(
            f"A stored review may have {LONGEST_JSON:,} characters; this one has {len(text):,}. "
            "Export its decisions and begin a new one."
        )


MOST_REVIEWS = 5
MOST_BYTES = 3_000_000
"""Of all reviews together; a browser's storage takes about 5 MB, and what is in it grows by 4/3."""


@dataclass(frozen=True, slots=True)
class KeptReviews:
    """Reviews of different (source, subset), the one last worked on first.

    left_out: why each review that cannot be kept or read is missing, in words for the person.
    """

    reviews: tuple[Review, ...] = ()
    left_out: tuple[str, ...] = ()

    @classmethod
    def read(cls, value: object) -> Self:
        """What a browser had stored, which may be anything; what cannot be read is left out.

        value: None or a list of texts.

        >>> KeptReviews.read(None)
        KeptReviews(reviews=(), left_out=())
        >>> KeptReviews.read(["what"]).left_out[0][:31]
        'The stored review cannot be rea'
        """
        entries = value if isinstance(value, list) else []
        reviews, left_out = list[Review](), list[str]()
        for entry in entries[:MOST_REVIEWS]:
            try:
                reviews.append(from_json(entry))
            except KnownError as error:
                left_out.append(str(error))
        return cls(tuple(reviews), tuple(left_out))

    def of(self, source: str, subset: str) -> Review | None:
        """The review of one subset; None where there is none."""
        places = ((each.source, each.subset) for each in self.reviews)
        return dict(zip(places, self.reviews, strict=True)).get((source, subset))

    def put(self, review: Review) -> Self:
        """The same with one review new or renewed, and without the oldest if that is too much.

        >>> kept = KeptReviews()
        >>> for number in range(6):
        ...     kept = kept.put(Review("demo", f"s{number}"))
        >>> [each.subset for each in kept.reviews]
        ['s5', 's4', 's3', 's2', 's1']
        >>> kept.left_out
        ('The review of s0 is no longer kept in this browser, which has room for few.',)
        """
        others = (each for each in self.reviews if _place(each) != _place(review))
        kept, left_out, free = list[Review](), list[str](), MOST_BYTES
        for each in (review, *others):
            size = _size(each)
            if len(kept) < MOST_REVIEWS and size is not None and size <= free:
                kept.append(each)
                free -= size
            else:
                left_out.append(_no_room(each))
        return type(self)(tuple(kept), tuple(left_out))

    def texts(self) -> list[str]:
        """What `read` reads."""
        return [to_json(each) for each in self.reviews]


def _place(review: Review) -> tuple[str, str]:
    return review.source, review.subset


def _size(review: Review) -> int | None:
    """Bytes as JSON within JSON; None where it is too long for any."""
    try:
        return len(json.dumps(to_json(review), ensure_ascii=False).encode())
    except KnownError:
        return None


def _no_room(review: Review) -> str:
    return (
        f"The review of {review.subset[:80]} is no longer kept in this browser, "
        "which has room for few."
    )
