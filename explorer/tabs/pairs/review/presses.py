"""Presses in a review, each on the pair that the one before it opened.

A person presses faster than a busy server answers. A browser therefore sends presses together, with
the `Place` that it was told last, and sends the same once more where no answer came: they count at
that place and at no other, so that none is lost and none counts twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self, get_args

from explorer.core.links import parts_of, written
from explorer.core.text import text
from explorer.core.validation import one_of
from explorer.data.table import PairTable, Rows
from explorer.tabs.pairs.review.state import (
    NO_ROWS,
    VERDICTS,
    Review,
    Verdict,
    checked_note,
    rows_under,
)
from scoring.errors import KnownError, shown
from scoring.pairs.opening import TEXT_COLUMNS
from scoring.spec import text_hash

Press = Verdict | Literal["note", "undo", "skip", "back", "forward"]
PRESSES: tuple[Press, ...] = (*VERDICTS, *get_args(get_args(Press)[-1]))
MOST_PRESSES = 1_000
"""That are sent together."""

_NAMES = ("source", "subset", "key", "version")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a person is in a review.

    source, subset, start: the review's.
    key: of the open pair.
    version: of the review's decisions.
    is_over: whether a mark or a skip found no further pair to open.
    listed: of a review of `FILTERED`, the link by which its pairs were listed.
    """

    source: str
    subset: str
    start: int
    key: str
    version: str
    is_over: bool = False
    listed: str = ""

    @classmethod
    def read(cls, query_string: object) -> Self:
        """What `written` wrote, though anybody may have sent it.

        Raises:
            KnownError: it is no place in a review.
        """
        parts = {"listed": ""}
        parts |= parts_of(query_string if isinstance(query_string, str) else "")[0]
        start = parts.get("start", "")
        if not parts.keys() >= {*cls.__slots__} or not start.isdecimal() or len(start) > 9:
            raise KnownError(text("review.none"))
        source, subset, key, version = (parts[name] for name in _NAMES)
        is_over = parts["is_over"] == "True"
        return cls(source, subset, int(start), key, version, is_over, parts["listed"])

    def written(self) -> str:
        """As a query string.

        >>> place = Place("demo", "hep-go", 0, "hep-go:3", "0123456789abcdef")
        >>> place.written()
        'source=demo&subset=hep-go&start=0&key=hep-go:3&version=0123456789abcdef&is_over=False'
        >>> Place.read(place.written()) == place
        True
        """
        named = ((name, str(getattr(self, name))) for name in self.__slots__)
        return written((name, value) for name, value in named if value or name != "listed")


class Opened(NamedTuple):
    """A review with one of its pairs open.

    told: what a person should know. is_over: as of `Place`.
    """

    review: Review
    key: str
    told: tuple[str, ...] = ()
    is_over: bool = False

    @property
    def place(self) -> Place:
        """Where the next press is made."""
        review = self.review
        return Place(*review.where, review.start, self.key, review.version, self.is_over)


def review_at(
    place: Place, table: PairTable, known: Sequence[Review], listed: Rows = NO_ROWS
) -> Review:
    """The first of the known reviews that is of a place's subset, else a new one.

    listed: as of `explorer.tabs.pairs.review.state.rows_under`, here and below.

    Raises:
        KnownError: the table has no such subset, or none of its pairs at the start.
    """
    fresh = Review.begin(table, place.subset, place.start, listed)
    same = (each for each in known if each.where == fresh.where)
    return replace(next(same, fresh), start=fresh.start)


def not_counted(presses: int) -> str:
    """That so many presses are lost, in words."""
    return text("review.not_counted", n=f"{presses:,}")


def keys_under(table: PairTable, review: Review, listed: Rows = NO_ROWS) -> list[str]:
    """The keys of the pairs under review, in order.

    Raises:
        KnownError: the table has no such subset, or no pair from the review's start on.
    """
    rows = rows_under(table, review.subset, review.start, listed)
    return [table.keys[row] for row in rows]


def onward(
    review: Review, keys: Sequence[str], after: str | None, told: Sequence[str] = ()
) -> Opened:
    """A review with the next unmarked pair open; where all are marked, that is told.

    keys: of `keys_under`. after: the key to go on from; None for the first.
    """
    following = review.next_unmarked(keys, after)
    if following is not None:
        return Opened(review, following, (*told,))
    return Opened(review, after or keys[0], (*told, text("review.all_marked")), is_over=True)


def pressed(
    table: PairTable,
    review: Review,
    place: Place,
    presses: object,
    at: float,
    *,
    listed: Rows = NO_ROWS,
) -> Opened:
    """A review after presses that were made at a place in it, each on the pair that follows.

    Where its decisions are others than they were there, the presses were counted before. A quick
    mark that comes when no pair is left counts for none, rather than for the last pair once more.
    One that is refused ends them: those after it would count for other pairs than were meant.

    review: of `review_at`.
    presses: up to `MOST_PRESSES` lists of a `Press` and the note on its pair, which is kept
        whatever was pressed; None for a quick one whose pair was not on screen yet: its note
        stands. Anybody may have sent them.
    at: seconds since 1970.

    Raises:
        KnownError: they are no presses.
    """
    asked, keys = _read(presses), keys_under(table, review, listed)
    if review.version != place.version:
        last = review.decisions[-1].key if review.decisions else None
        return onward(review, keys, last, [text("review.counted_before")])
    now, surplus = Opened(review, place.key, is_over=place.is_over), 0
    for number, each in enumerate(asked):
        press, note = each
        if now.is_over and note is None and press in VERDICTS:
            surplus += 1
            continue
        try:
            now = _after(table, keys, now, each, at)
        except KnownError as error:
            return now._replace(told=(str(error), not_counted(len(asked) - number)))
    more = [text("review.surplus", n=f"{surplus:,}")] if surplus else []
    return now._replace(told=(*now.told, *more))


def _after(
    table: PairTable, keys: list[str], now: Opened, asked: tuple[Press, object], at: float
) -> Opened:
    (review, key, *_), (press, note) = now, asked
    if press in VERDICTS:
        words = review.note_of(key) if note is None else note
        return onward(review.mark(key, _hash_of(table, key), press, words, at=at), keys, key)
    if note is not None:
        review = _noted(table, review, key, note, at)
    if press == "note":
        return Opened(review, key, is_over=now.is_over)
    if press == "undo":
        if not review.decisions:
            return Opened(review, key, (text("review.nothing_to_undo"),))
        return Opened(review.undo(), review.decisions[-1].key)
    if press in ("back", "forward"):
        step = 1 if press == "forward" else -1
        place = keys.index(key) + step if key in keys else 0
        return Opened(review, keys[place % len(keys)])
    return onward(review, keys, key)


def _noted(table: PairTable, review: Review, key: str, note: object, at: float) -> Review:
    """A review with that note on a pair; of a marked one, by the same mark once more."""
    words, verdict = checked_note(note), review.verdict_of(key)
    if words == review.note_of(key):
        return review
    if verdict is None:
        return review.noted(key, words)
    return review.mark(key, _hash_of(table, key), verdict, words, at=at)


def _hash_of(table: PairTable, key: str) -> str:
    cells = table.find(key)
    if cells is None:
        raise KnownError(text("review.no_such_pair"))
    return text_hash(*(cells[name] for name in TEXT_COLUMNS))


def _read(presses: object) -> list[tuple[Press, object]]:
    if not isinstance(presses, list) or len(presses) > MOST_PRESSES:
        raise KnownError(f"Presses are a list of up to {MOST_PRESSES:,}, not {shown(presses)}.")
    wrong = [each for each in presses if not isinstance(each, list) or len(each) != 2]
    if wrong:
        raise KnownError(f"A press is what was pressed and a note, not {shown(wrong[0])}.")
    return [(one_of("A press", PRESSES, press), note) for press, note in presses]
