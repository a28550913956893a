"""A review of the listed pairs: each is marked keep, drop or unsure, and the browser keeps that.

The server writes which pairs there are, and the file of those that are kept; assets/review.js does
all else.
"""

import json
from typing import Any

import numpy as np

from explorer.core.files import File, written_file
from explorer.core.html import render
from explorer.data.export import export, export_name
from explorer.reader.filter_html import listed_words
from explorer.reader.scene import NO_TEXTS, Scene
from explorer.reader.state import PairsState
from explorer.tabs.pairs.notes import LONGEST_NOTE, MOST_NOTES, mark_of
from scoring.errors import KnownError, shown

VERDICTS = ("keep", "drop", "unsure")
MARKS = (*VERDICTS, "unmarked")


def review_html(now: Scene) -> str:
    """The head of the list in a review: progress, counts by verdict, files."""
    if not now.pairs.has_texts:
        return f'<p class="note wrong">{NO_TEXTS}</p>'
    every = PairsState(source=now.table.id, results=now.state.results)
    return render(
        "tabs/pairs/review.html",
        source=now.table.id,
        query=f"?{now.state.listed_link}",
        every=every.href(),
        n=len(now.listed),
        verdicts=VERDICTS,
        marks=MARKS,
    )


def verdict_html(now: Scene) -> str:
    """The bar to mark the open pair with; nothing where none is open."""
    row = now.open_row
    if row is None or not now.pairs.has_texts:
        return ""
    return render(
        "tabs/pairs/verdict.html",
        source=now.table.id,
        key=now.key,
        mark=mark_of(now.table, row),
        verdicts=VERDICTS,
        longest=LONGEST_NOTE,
        most=MOST_NOTES,
    )


def keys_file(now: Scene) -> File:
    """A JSON list with key, text hash and subset of each listed pair, in the list's order.

    Raises:
        KnownError: the texts are not at hand.
    """
    if not now.pairs.has_texts:
        raise KnownError(NO_TEXTS)
    keys, hashes, subsets = now.table.keys, now.table.hashes, now.table.subset_of_row
    written = json.dumps([(keys[row], hashes[row], subsets[row]) for row in now.listed.rows])
    return File("review-keys.json", iter([written.encode()]))


def marked_pairs_file(now: Scene, sent: str) -> File:
    """The listed pairs with some marks as Parquet.

    sent: {"marks": some of `MARKS`, "keys": of the pairs that have them}, as JSON.

    Raises:
        KnownError: it is something else, no listed pair has these keys, or the file cannot be
            written.
    """
    marks, keys = _kept(sent)
    if not now.pairs.has_texts:
        raise KnownError(NO_TEXTS)
    table = now.table
    rows = now.listed.rows
    rows = rows[np.fromiter((table.keys[row] in keys for row in rows), np.bool_, len(rows))]
    words = " or ".join(marks)
    if not len(rows):
        raise KnownError(f"No listed pair is {words}. Mark some, or tick other marks to export.")
    selection = [*listed_words(now), f"{words} in review"]
    name = export_name(table, rows, "parquet")
    return written_file(name, lambda path: export(table, rows, "parquet", path, selection))


def _kept(sent: str) -> tuple[list[str], set[str]]:
    try:
        given: Any = json.loads(sent)
    except (ValueError, RecursionError):
        given = None
    given = given if isinstance(given, dict) else {}
    marks, keys = given.get("marks"), given.get("keys")
    is_known = isinstance(marks, list) and marks and all(each in MARKS for each in marks)
    if not is_known or not isinstance(keys, list):
        raise KnownError(
            f"Pairs to export are chosen by marks ({', '.join(MARKS)}) and keys, not "
            f"{shown(sent[:200])}. Tick which marks to export."
        )
    return marks, {each for each in keys if isinstance(each, str)}
