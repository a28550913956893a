"""Text search: which rows or names match, and where in a text the hits are.

All of it runs in RE2 (through Arrow), whose time grows with the length of the text alone, whatever
the pattern; a deadline bounds what is left.
"""

import os
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.validation import repaired
from explorer.data.facets import Mask, bytes_of_each
from scoring.errors import KnownError, first_line, shown
from scoring.results.files import printable

Where = Literal["all", "prompt", "chosen", "rejected"]
PLACES: tuple[Where, ...] = get_args(Where)
LONGEST_QUERY = 500
_LISTED = 8
"""Names that a refusal gives."""
_REGEX_SECONDS = 8.0
MOST_HITS = 2_000
"""Hits in one text that are marked; the rest are not."""
MOST_MARKED = 200_000
"""Characters of a text in which hits are marked; what comes after them has no mark."""
MOST_SOUGHT = 1_000_000
"""Characters of a text in which the first hit is looked for, to show a piece about it."""

_NEAR = (4_000, 100_000)
"""Characters from the first hit on in which more are looked for: the second where it is longer."""
_PIECE_BYTES = 2_000_000
"""Of a column that is searched at once: how late the deadline may be noticed."""
_PRIVATE = range(0xE000, 0xF900)
_COLUMNS: dict[str, tuple[str, ...]] = {
    "prompt": ("prompt",),
    "chosen": ("chosen", "more_chosen"),
    "rejected": ("rejected", "more_rejected"),
}


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for. An empty `words` finds everything.

    words: a text to find as it stands, or a pattern in RE2's syntax.
    where: the column that must hold it; "all" for any.
    regex: whether `words` is a pattern.
    case: whether upper and lower case differ.
    """

    words: str = ""
    where: Where = "all"
    regex: bool = False
    case: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are searched."""
        if self.where == "all":
            return tuple(name for names in _COLUMNS.values() for name in names)
        return _COLUMNS[self.where]

    def looks_at(self, side: str) -> bool:
        """Whether "prompt", "chosen" or "rejected" is searched."""
        return bool(self.words) and self.where in ("all", side)


EVERYTHING = Query()


def checked_query(words: object, where: object, regex: object, case: object) -> Query:
    """A query from values that anybody may have sent.

    Raises:
        KnownError: a value of the wrong type, a query that is too long, or a bad pattern.
    """
    found = _checked_words(words, is_stripped=not regex)
    place = next((known for known in PLACES if known == (where or "all")), None)
    if place is None:
        raise KnownError(f"A search is in {', '.join(PLACES)}, not {shown(where)}.")
    query = Query(found, place, bool(regex), bool(case))
    if query.words:
        _matches(pa.array([""], pa.large_string()), query)
    return query


def checked_search(value: object) -> str:
    """A search among names from a value that anybody may have sent.

    Whether its expressions can be used shows when names are matched.

    Raises:
        KnownError: no text, or too long.
    """
    return _checked_words(value, is_stripped=True)


def _checked_words(value: object, *, is_stripped: bool) -> str:
    if value is not None and not isinstance(value, str):
        raise KnownError(f"A search must be text, not {type(value).__name__}.")
    found = repaired(value or "")
    found = found.strip() if is_stripped else found
    if len(found) > LONGEST_QUERY:
        raise KnownError(
            f"A search may have {LONGEST_QUERY} characters; this one has {len(found):,}."
        )
    return found


class SeveralNamesError(KnownError):
    """A text is a part of several names; names: those, in order."""

    def __init__(self, typed: str, names: Sequence[str]) -> None:
        listed = ", ".join([*names[:_LISTED], *["…"] * (len(names) > _LISTED)])
        super().__init__(f"{len(names)} names match {shown(typed)}: {listed}. Type more of one.")
        self.names = tuple(names)


def resolve_name(typed: str, names: Collection[str]) -> str:
    """The one of the names that was typed, or has it as a part, upper or lower case; else as typed.

    Raises:
        SeveralNamesError: it is a part of several.

    >>> resolve_name("rm-8b", ["org/RM-8B", "org/judge"]), resolve_name("x", ["org/judge"])
    ('org/RM-8B', 'x')
    """
    part = typed.strip().casefold()
    if typed in names or not any(map(str.isalnum, part)):
        return typed
    found = [name for name in names if part in name.casefold()]
    found = [name for name in found if part == name.casefold()] or found
    if len(found) > 1:
        raise SeveralNamesError(typed, found)
    return found[0] if found else typed


def matching_names(names: Sequence[str], search: str) -> list[bool]:
    """Whether each name matches what is looked for, upper or lower case.

    Commas stand between alternatives; of one, all words must match, each a regular expression.
    An empty search matches all.

    Raises:
        KnownError: an expression that cannot be used, by name.
    """
    alternatives = [part.split() for part in search.split(",") if part.strip()]
    if not alternatives:
        return [True] * len(names)
    texts = [*map(printable, names), ""]  # an empty one refuses no expression
    array = pa.array(texts, pa.large_string())
    way_out = "Spaces and commas stand between expressions."
    found = {
        word: _found(array, f"(?:{word})", word, way_out)
        for words in alternatives
        for word in words
    }
    each = [np.all([found[word] for word in words], axis=0) for words in alternatives]
    matched: list[bool] = np.any(each, axis=0)[:-1].tolist()
    return matched


def found_by(arrow: pa.Table, query: Query) -> Mask:
    """Whether each row of a table of pairs holds what is looked for.

    Raises:
        KnownError: a bad pattern, or it takes longer than `_REGEX_SECONDS`.
    """
    found = np.zeros(arrow.num_rows, dtype=bool)
    deadline = time.monotonic() + _REGEX_SECONDS

    def look(start: int, chunk: "pa.Array[Any]") -> tuple[int, Mask]:
        if time.monotonic() > deadline:
            raise KnownError(
                f"This search takes longer than {_REGEX_SECONDS:g} seconds here. Look for a plain "
                "text or a simpler pattern."
            )
        return start, _rows_matching(chunk, query)

    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        jobs = [
            threads.submit(look, start, chunk)
            for column in query.columns
            for start, chunk in _in_pieces(arrow.column(column))
        ]
        try:
            for job in jobs:
                start, mask = job.result()
                found[start : start + len(mask)] |= mask
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
    return found


def hits(words: str, query: Query) -> list[tuple[int, int]]:
    """Where in a text the query matches: (start, end) in characters, in order, not overlapping.

    Matches of nothing are none; at most `MOST_HITS` are given, all within the first `MOST_MARKED`
    characters.

    >>> hits("a dog, a Dog", Query("dog")), hits("aab", Query("a*", regex=True))
    ([(2, 5), (9, 12)], [(0, 2)])
    """
    if not query.words or not words:
        return []
    looked = words[:MOST_MARKED]
    # RE2 tells Arrow no positions: each match is put between two characters that the text lacks.
    signs = _absent(looked)
    if signs is None:
        return []
    before, after = signs
    replacing = partial(pc.replace_substring_regex, replacement=f"{before}\\0{after}")
    try:
        marked = str(_applied(replacing, looked, query))
    except UnicodeError:  # a match cut a character in two (\C), or the text is none (surrogates)
        return []
    found, place = [], 0
    for piece in marked.split(before):
        inside, _, outside = piece.partition(after)
        if inside and len(piece) > len(inside):
            found.append((place, place + len(inside)))
        place += len(inside) + len(outside)
    if len(looked) < len(words):  # in the whole text, what ends here may go on
        found = [(start, end) for start, end in found if end < len(looked)]
    return found[:MOST_HITS]


def first_hits(words: str, query: Query) -> list[tuple[int, int]]:
    """The first hits of a text, as `hits` gives them: what a cell shows, and cheap in a long text.

    Of a long text the first hit is sought within `MOST_SOUGHT` characters; it may be given shorter
    than it is, and is not found where it is longer than 100,000.

    >>> first_hits("-" * 300_000 + "a dog", Query("dog"))
    [(300002, 300005)]
    """
    if not query.words or len(words) <= _NEAR[0]:
        return hits(words, query)
    first = _first(words[:MOST_SOUGHT], query)
    if first is None:
        return []
    start = max(0, first - 1)  # whether a word begins at the hit is told by what is before it
    for reach in _NEAR:
        near = hits(words[start : start + reach], query)
        found = [(start + low, start + high) for low, high in near if start + low >= first]
        if found:
            return found
    return []


def _first(words: str, query: Query) -> int | None:
    """Where the first match begins, in characters."""
    try:
        place = _applied(pc.find_substring_regex, words, query)
        return None if place < 0 else len(words.encode()[:place].decode())
    except UnicodeError:
        return None


def _applied(function: Any, words: str, query: Query) -> Any:
    """What a function of Arrow that takes a pattern gives for a text and a valid query."""
    text = pa.scalar(words, pa.large_string())
    pattern = ("" if query.case else "(?i)") + _pattern(query)
    try:
        return function(text, pattern=pattern).as_py()
    except pa.ArrowInvalid:  # Arrow puts the pattern in parentheses; \Q without \E takes one in
        return function(text, pattern=f"{pattern}\\E").as_py()


def _absent(words: str) -> tuple[str, str] | None:
    """Two characters for private use that a text does not have; None where it has them all."""
    taken = set(words)
    free = (chr(code) for code in _PRIVATE if chr(code) not in taken)
    before, after = next(free, ""), next(free, "")
    return (before, after) if after else None


def _pattern(query: Query) -> str:
    """In RE2's syntax; upper and lower case are the caller's to tell."""
    if query.regex:
        return query.words
    letters = (each if each.isalnum() else f"\\x{{{ord(each):x}}}" for each in query.words)
    return "".join(letters)


def _in_pieces(column: "pa.ChunkedArray[Any]") -> Iterator["tuple[int, pa.Array[Any]]"]:
    """A column in pieces of a few megabytes, at least a row each, and where each begins."""
    start = 0
    for chunk in column.chunks:
        if chunk.nbytes <= _PIECE_BYTES:
            yield start, chunk
        else:
            ends, first = np.cumsum(np.append(0, bytes_of_each(chunk))), 0
            while first < len(chunk):
                fitting = int(np.searchsorted(ends, ends[first] + _PIECE_BYTES, "right")) - 1
                stop = max(first + 1, fitting)
                yield start + first, chunk.slice(first, stop - first)
                first = stop
        start += len(chunk)


def _rows_matching(chunk: "pa.Array[Any]", query: Query) -> Mask:
    if not pa.types.is_large_list(chunk.type):
        return _matches(chunk, query)
    mask = np.zeros(len(chunk), dtype=bool)
    texts = pc.struct_field(pc.list_flatten(chunk), "text")
    if len(texts):
        mask[pc.list_parent_indices(chunk).to_numpy()[_matches(texts, query)]] = True
    return mask


def _matches(texts: Any, query: Query) -> Mask:
    # RE2 finds a text as it stands as well, and several times faster than `match_substring`.
    way_out = "Turn off “.*” to search for the literal text."
    return _found(texts, _pattern(query), query.words, way_out, case=query.case)


def _found(texts: Any, pattern: str, typed: str, way_out: str, *, case: bool = False) -> Mask:
    """Whether each text matches. typed, way_out: what is said where the pattern is none."""
    try:
        found: Any = pc.match_substring_regex(texts, pattern, ignore_case=not case)
        return np.asarray(found.to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid as error:
        reason = first_line(error).removeprefix("Invalid regular expression: ")
        raise KnownError(
            f"Invalid regex {typed[:80]!r}: {reason}. The syntax is RE2's, without lookahead and "
            f"backreferences. {way_out}"
        ) from error
