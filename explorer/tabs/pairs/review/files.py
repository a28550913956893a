"""The files of a review: decisions as JSONL, out and in, and the kept pairs as Parquet."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from explorer.core.files import jsonl_file
from explorer.core.parts import uploaded_file
from explorer.core.text import text
from explorer.data.export import export
from explorer.data.table import PairTable, Rows
from explorer.tabs.pairs.review.state import (
    FILTERED,
    MOST_DECISIONS,
    NO_ROWS,
    Decision,
    Review,
    checked_name,
    review_words,
    rows_under,
)
from scoring.errors import KnownError
from scoring.hub.access import first_line
from scoring.paths import is_file

Mark = Literal["keep", "drop", "unsure", "unmarked"]
MARKS: tuple[Mark, ...] = get_args(Mark)
ONLY_KEEP: frozenset[Mark] = frozenset({"keep"})
LARGEST_UPLOAD = 20_000_000
"""Bytes of a file of decisions."""
_LONGEST_LINE = 2**17
"""Bytes; more than a line of the longest names and note needs, every character escaped."""


def review_name(review: Review, ending: str) -> str:
    """What a file of a review is called, by its subset.

    >>> review_name(Review("demo", "../<b>"), "x.jsonl"), review_name(Review("demo", "日本"), "x")
    ('b-x.jsonl', 'review-x')
    """
    name = re.sub("[^A-Za-z0-9_-]+", "-", review.subset).strip("-")[:60] or "review"
    return f"{name}-{ending}"


def write_decisions(review: Review, path: Path, table: PairTable) -> None:
    """Write the decisions that hold as JSONL, in the order in which pairs were first marked.

    table: the review's.

    Raises:
        KnownError: the file cannot be written.
    """
    with jsonl_file(path) as write:
        for decision in review.standing.values():
            row = table.row_of(decision.key)
            line = {
                "source": review.source,
                "subset": review.subset if row is None else table.subset_of(row),
                "key": decision.key,
                "text_hash": decision.text_hash,
                "verdict": decision.verdict,
                "note": decision.note,
                "at": _iso(decision.at),
            }
            write(line)


def read_upload(upload: object) -> tuple[Decision, ...]:
    """The decisions of a file that was uploaded; it is deleted.

    upload: where Gradio says it lies; anybody may have sent it.

    Raises:
        KnownError: it lies elsewhere, is too large, or is no file of decisions.
    """
    try:
        path = uploaded_file(upload)
    except KnownError:
        path = Path()
    if path.suffix.lower() != ".jsonl":
        raise KnownError(text("review.no_upload"))
    try:
        if path.stat().st_size > LARGEST_UPLOAD:
            raise KnownError(text("review.large_upload", most=f"{LARGEST_UPLOAD / 1e6:g}"))
        return tuple(read_decisions(path))
    finally:
        path.unlink(missing_ok=True)


def read_decisions(path: Path) -> list[Decision]:
    """Read a colleague's decisions; of a pair marked twice in one source, the last holds.

    Raises:
        KnownError: naming the file and, where it applies, the line.
    """
    if not is_file(path):
        raise KnownError(f"There is no file {path}.")
    standing: dict[tuple[str, str], Decision] = {}
    number = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(_LONGEST_LINE + 1):
                number += 1
                if number > MOST_DECISIONS:
                    raise KnownError(f"a file may have {MOST_DECISIONS:,} lines. Split it.")
                if line.strip():
                    decision = _parse(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
                    standing[decision.source, decision.key] = decision
    except KnownError as error:
        raise KnownError(f"{path.name}, line {number}: {error}") from error
    except OSError as error:
        raise KnownError(f"{path} cannot be read: {first_line(error)}.") from error
    return list(standing.values())


def _parse(line: bytes) -> Decision:
    if len(line) > _LONGEST_LINE:
        raise KnownError(f"it is longer than the {_LONGEST_LINE:,} bytes that a decision may have.")
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise KnownError(f"not JSON in UTF-8 ({first_line(error)}).") from error
    if not isinstance(row, dict):
        raise KnownError("not an object with source, subset, key, text_hash, verdict, note and at.")
    checked_name("subset", row.get("subset"))
    return Decision.of(
        row.get("key"),
        row.get("text_hash"),
        row.get("verdict"),
        row.get("note"),
        _seconds(row.get("at")),
        source=checked_name("source", row.get("source")),
    )


def _iso(at: int) -> str:
    """A time of a decision as ISO 8601, UTC."""
    return datetime.fromtimestamp(at, UTC).replace(tzinfo=None).isoformat() + "Z"


def _seconds(value: object) -> float:
    """The seconds since 1970 of a time with its zone; a time without one could be any."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise KnownError(
            "at must be a time in ISO 8601 with its zone, such as 2026-01-31T12:00:00Z."
        )
    return time.timestamp()


def rows_kept(
    review: Review,
    table: PairTable,
    kept: Collection[Mark] = ONLY_KEEP,
    listed: Rows = NO_ROWS,
) -> Rows:
    """The rows of the review's subset that it keeps, in order.

    table: the review's. kept: the marks of those; pairs before the review's start are unmarked
        like any other. listed: as of `rows_under`.

    Raises:
        KnownError: there is no such mark, or the table has no such subset.
    """
    if not kept or not set(kept) <= set(MARKS):
        raise KnownError(f"What is kept must be one or more of {', '.join(MARKS)}.")
    rows = rows_under(table, review.subset, listed=listed)
    marks = [review.verdict_of(table.keys[row]) or "unmarked" for row in rows]
    return np.compress([mark in kept for mark in marks], rows)


def write_kept(
    review: Review,
    table: PairTable,
    path: Path,
    kept: Collection[Mark] = ONLY_KEEP,
    *,
    listed: Rows = NO_ROWS,
    why: Sequence[str] = (),
) -> None:
    """Write the rows of `rows_kept` as Parquet, as `explorer.data.export` does.

    why: by which filters they are listed, in words.

    Raises:
        KnownError: no pair is kept, or the file cannot be written.
    """
    of, rows = review_words(review.subset), rows_kept(review, table, kept, listed)
    if not len(rows):
        raise KnownError(
            f"No pair of {of} is kept: none is marked {' or '.join(kept)}. "
            "Mark some, or choose what else to keep."
        )
    selection = [*why, f"{of}: {' or '.join(sorted(kept))} in review"]
    for _ in export(table, rows, "parquet", path, selection):
        pass


def resumed(table: PairTable, decisions: Sequence[Decision]) -> tuple[Review, int]:
    """The review that decisions belong to: of the subset that all are on, else of `FILTERED`.

    Decisions made on this table are found by key, others by the texts of their pair.

    Returns:
        It, and how many are not part of it, as their pair is not here.

    Raises:
        KnownError: no decision is on a pair of the table.
    """
    row_of = {key: row for row, key in enumerate(table.keys)}
    found = [
        row_of.get(each.key) if each.source == table.id else table.row_of_hash.get(each.text_hash)
        for each in decisions
    ]
    subsets = {str(table.subset_of_row[row]) for row in found if row is not None}
    if not subsets:
        raise KnownError(
            f"None of the {len(decisions):,} decisions in this file is on one of these pairs. "
            "Show the pairs that they were made on, or choose another file."
        )
    subset = subsets.pop() if len(subsets) == 1 else FILTERED
    own = [
        replace(decision, key=table.keys[row], source=table.id)
        for row, decision in zip(found, decisions, strict=True)
        if row is not None
    ]
    review = Review(table.id, subset).merged(Review(table.id, subset, decisions=tuple(own)))
    return review, len(decisions) - len(own)
