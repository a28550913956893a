"""The reviews that one browser keeps, each as the text of `explorer.review_json`."""

import json
from dataclasses import dataclass
from typing import Self

from explorer.review import Review
from explorer.review_json import from_json, to_json
from scoring.errors import KnownError

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
