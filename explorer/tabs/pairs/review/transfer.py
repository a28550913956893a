"""The review's files on their way to and from a browser."""

import re

from explorer.core.parts import uploaded_file
from explorer.core.text import text
from explorer.tabs.pairs.review.files import read_decisions
from explorer.tabs.pairs.review.state import Decision, Review
from scoring.errors import KnownError

LARGEST_UPLOAD = 20_000_000
"""Bytes of a file of decisions."""


def export_name(review: Review, ending: str) -> str:
    """What the file of an export of a review is called."""
    return f"{plain(review.subset)}-{ending}"


def plain(name: str) -> str:
    """A subset as the beginning of a file's name.

    >>> plain("hep-go"), plain("../<b>"), plain("日本")
    ('hep-go', 'b', 'review')
    """
    return re.sub("[^A-Za-z0-9_-]+", "-", name).strip("-")[:60] or "review"


def read_upload(upload: object) -> tuple[Decision, ...]:
    """The decisions of a file that was uploaded; it is deleted.

    upload: where Gradio says it lies; anybody may have sent it.

    Raises:
        KnownError: it lies elsewhere, is too large, or is no file of decisions.
    """
    try:
        path = uploaded_file(upload)
    except KnownError:
        raise KnownError(text("review.no_upload")) from None
    if path.suffix.lower() != ".jsonl":
        raise KnownError(text("review.no_upload"))
    try:
        if path.stat().st_size > LARGEST_UPLOAD:
            raise KnownError(text("review.large_upload", most=f"{LARGEST_UPLOAD / 1e6:g}"))
        return tuple(read_decisions(path))
    finally:
        path.unlink(missing_ok=True)
