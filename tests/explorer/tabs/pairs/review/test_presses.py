"""Presses in a review: on which pairs they count, and that they count once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.table import PairTable
from explorer.tabs.pairs.review.presses import (
    MOST_PRESSES,
    PRESSES,
    Opened,
    Place,
    Press,
    keys_under,
    onward,
    pressed,
    review_at,
)
from explorer.tabs.pairs.review.state import LONGEST_REVIEW_NOTE, Review, from_json, to_json
from scoring.errors import KnownError
from tests.explorer.tables import row, small_table

TABLE = small_table(*(row(prompt=f"p{number}") for number in range(5)))
ALL: tuple[Press, ...] = ("keep",) * 5
KEYS = keys_under(TABLE, Review.begin(TABLE, "mine"))


def first(table: PairTable = TABLE) -> Opened:
    review = Review.begin(table, "mine")
    return onward(review, keys_under(table, review), None)


def after(now: Opened, *names: Press, note: str | None = "", at: float = 0) -> Opened:
    """Presses made where a person is, the later ones before they see the next pair.

    note: on the first of their pairs; None where that one is not seen yet, either.
    """
    asked = [[name, None if place else note] for place, name in enumerate(names)]
    return pressed(TABLE, now.review, now.place, asked, at)


def marks(now: Opened) -> list[tuple[int, str, str]]:
    return [(KEYS.index(each.key), each.verdict, each.note) for each in now.review.decisions]


def test_each_press_is_on_the_pair_that_the_one_before_it_opened() -> None:
    now = after(first(), "drop", "skip", "keep", "back", "back", "unsure", note="odd")
    assert marks(now) == [(0, "drop", "odd"), (2, "keep", ""), (1, "unsure", "")]
    assert (now.key, now.told) == (KEYS[3], ())


def test_undo_amid_quick_marks_takes_back_the_one_before_it() -> None:
    now = after(first(), "keep", "drop", "undo", "unsure", "keep")
    assert marks(now) == [(0, "keep", ""), (1, "unsure", ""), (2, "keep", "")]


def test_nothing_to_undo_is_told_and_stops_nothing() -> None:
    assert "Nothing to undo" in after(first(), "undo").told[0]
    assert marks(after(first(), "undo", "keep")) == [(0, "keep", "")]


def test_a_mark_after_the_last_pair_leaves_those_that_were_made() -> None:
    now = after(first(), *ALL, "drop", "drop")
    assert marks(now) == [(place, "keep", "") for place in range(5)]
    assert "All pairs are marked" in now.told[0] and now.told[1].endswith("not counted: 2.")
    assert marks(after(now, "drop"))[-1] == (4, "drop", ""), "the pair that is open is marked anew"
    assert marks(after(first(), *ALL, "back", "drop"))[-1] == (3, "drop", "")


def test_quick_marks_after_the_last_pair_count_for_none_in_whatever_parts_they_are_sent() -> None:
    now = after(after(first(), *ALL), "drop", "drop", note=None)
    assert marks(now) == [(place, "keep", "") for place in range(5)]
    assert now.told[0].endswith("not counted: 2.")
    now = after(after(now, "back", note=None), "drop", note=None)
    assert marks(now)[5:] == [(3, "drop", "")], "a pair that was gone back to is marked anew"


def test_a_note_stands_until_another_one_is_typed() -> None:
    noted = after(first(), "keep", note="odd")
    assert marks(after(noted, "back", "drop"))[-1] == (0, "drop", "odd")
    assert marks(after(after(noted, "back"), "unsure", note=None))[-1] == (0, "unsure", "odd")
    assert marks(after(after(noted, "back"), "drop", note=""))[-1] == (0, "drop", "")


@pytest.mark.parametrize("left_by", ["note", "back", "forward", "skip"])
def test_a_note_is_kept_however_its_pair_is_left(left_by: Press) -> None:
    assert after(first(), left_by, note="odd").review.note_of(KEYS[0]) == "odd"
    marked = after(after(first(), "keep"), "back")
    assert marks(after(marked, left_by, note="odd")) == [(0, "keep", ""), (0, "keep", "odd")]
    assert marks(after(marked, left_by, note="")) == [(0, "keep", "")], "nothing was typed"


def test_a_note_waits_for_the_mark_of_its_pair_and_outlives_its_undoing() -> None:
    noted = after(after(first(), "forward", note="odd"), "back")
    assert from_json(to_json(noted.review)) == noted.review
    marked = after(noted, "drop", note=None)
    assert (marks(marked), marked.review.notes) == ([(0, "drop", "odd")], ())
    undone = after(marked, "undo")
    assert (marks(undone), undone.review.note_of(KEYS[0])) == ([], "odd")
    assert after(undone, "note").review.notes == (), "it was taken away"
    assert marks(after(first(), "note", "keep", note="odd")) == [(0, "keep", "odd")]


def test_a_note_on_the_last_pair_lets_no_quick_mark_through() -> None:
    now = after(after(first(), *ALL), "note", "drop", note="odd")
    assert marks(now)[5:] == [(4, "keep", "odd")]


def test_a_press_that_is_refused_ends_them_lest_others_count_for_its_pair() -> None:
    now = first()
    asked = [["keep", ""], ["drop", "x" * (LONGEST_REVIEW_NOTE + 1)], ["unsure", ""], ["keep", ""]]
    now = pressed(TABLE, now.review, now.place, asked, 0)
    assert marks(now) == [(0, "keep", "")] and now.key == KEYS[1]
    assert "2,000 characters" in now.told[0] and now.told[1].endswith("not counted: 3.")


def test_a_pair_that_is_not_here_is_not_marked_and_is_left_by_any_step() -> None:
    for name, expected in (("skip", 0), ("back", 0), ("forward", 0), ("keep", None)):
        review = Review.begin(TABLE, "mine")
        place = replace(first().place, key="elsewhere:1")
        now = pressed(TABLE, review, place, [[name, ""]], 0)
        if expected is None:
            assert "not under review" in now.told[0] and now.review == review
        else:
            assert now.key == KEYS[expected]


def run(cuts: Sequence[Sequence[Press]]) -> Opened:
    """Presses sent in these parts, each of which is sent again until it is answered."""
    now = first()
    for at, part in enumerate(cuts):
        place, asked = now.place, [[name, None] for name in part]
        now = pressed(TABLE, now.review, place, asked, at)
        again = pressed(TABLE, now.review, place, asked, at)
        assert again.review == now.review, "they were counted twice"
    return now


@given(st.lists(st.lists(st.sampled_from(PRESSES), max_size=4), max_size=6))
def test_presses_count_once_however_often_they_are_sent(cuts: list[list[Press]]) -> None:
    run(cuts)


@given(st.lists(st.lists(st.sampled_from(("keep", "undo", "skip")), max_size=2), max_size=2))
def test_presses_count_the_same_sent_together_or_one_by_one(cuts: list[list[Press]]) -> None:
    """With fewer presses than pairs, so that none is made after the last."""
    together, apart = run(cuts), run([[name] for part in cuts for name in part])
    assert marks(together) == marks(apart)
    assert together.key == apart.key


def test_a_place_outlives_the_server_that_told_it() -> None:
    now = after(first(), "keep", "drop", note="é \ud800 ${1}")
    place = Place.read(now.place.written())
    stored = from_json(to_json(now.review))
    assert review_at(place, TABLE, [Review("other", "mine"), stored]) == now.review
    asked = [["unsure", ""]]
    assert marks(pressed(TABLE, stored, place, asked, 0))[-1] == (2, "unsure", "")
    lost = review_at(place, TABLE, [])
    assert (
        lost.decisions == ()
        and "check what is marked" in pressed(TABLE, lost, place, asked, 0).told[0]
    )


@pytest.mark.parametrize(
    "query_string",
    [
        None,
        5,
        "",
        "source=demo",
        "source=a&subset=b&key=c&version=d",
        "source=a&subset=b&key=c&version=d&start=-1",
        "source=a&subset=b&key=c&version=d&start=²",
        "source=a&subset=b&key=c&version=d&start=" + "9" * 5000,
    ],
)
def test_what_is_no_place_is_refused(query_string: object) -> None:
    with pytest.raises(KnownError, match="No review in progress"):
        Place.read(query_string)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"subset": "x"}, "no subset"),
        ({"start": 5}, "mine: 5 pairs"),
    ],
)
def test_a_place_that_the_table_has_not_is_refused(changed: dict[str, Any], told: str) -> None:
    place = {"source": TABLE.id, "subset": "mine", "start": 0, "key": KEYS[0], "version": ""}
    with pytest.raises(KnownError, match=told):
        review_at(Place(**{**place, **changed}), TABLE, [])


@pytest.mark.parametrize(
    "presses",
    [None, 5, "keep", {}, [[]], ["keep"], [["keep"]], [["shout", ""]], [[["keep"], ""]],
     [["keep", ""]] * (MOST_PRESSES + 1)],
)  # fmt: skip
def test_what_are_no_presses_is_refused(presses: object) -> None:
    now = first()
    with pytest.raises(KnownError, match=r"[Pp]ress"):
        pressed(TABLE, now.review, now.place, presses, 0)
