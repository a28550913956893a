from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.search import Query
from explorer.reader.diffs import DIFFS
from explorer.reader.reading import (
    FIRST_READING,
    PAGE_ROWS,
    READER_ACTS,
    ListedRows,
    Reading,
    n_pages,
    page_holding,
    read_on,
)
from scoring.errors import KnownError
from tests.explorer.tables import row, small_table

TABLE = small_table(*(row() for _ in range(60)), chunk_rows=7)
ALL = ListedRows(TABLE, np.arange(60))
REVERSED = ListedRows(TABLE, np.arange(60)[::-1])
EVEN = ListedRows(TABLE, np.arange(0, 60, 2))
NO_ROWS = ListedRows(TABLE, np.arange(0))
LISTS = [ALL, REVERSED, EVEN, NO_ROWS]


def at(number: int, page: int = 1) -> Reading:
    return Reading(f"mine:{number}", page)


# Lists.


@pytest.mark.parametrize("listed", [ALL, REVERSED, EVEN])
def test_a_key_stands_where_the_list_has_it(listed: ListedRows) -> None:
    for place in range(len(listed)):
        assert listed.place_of(listed.key(place)) == place
        assert listed.exists(listed.key(place))


@pytest.mark.parametrize("key", ["", "mine", "mine:60", "\ud800", "\0", "x" * 10**6])
def test_a_key_that_is_nowhere_has_no_place(key: str) -> None:
    assert [listed.place_of(key) for listed in LISTS] == [None] * len(LISTS)
    assert not any(listed.exists(key) for listed in LISTS)


def test_rows_outside_a_list_can_be_opened() -> None:
    assert EVEN.place_of("mine:1") is None
    assert EVEN.exists("mine:1")
    assert NO_ROWS.exists("mine:1")


@pytest.mark.parametrize("place", [0, 24, 25, 49, 50, 59])
def test_a_place_is_on_the_page_that_shows_it(place: int) -> None:
    page = page_holding(place)
    assert (page - 1) * PAGE_ROWS <= place < page * PAGE_ROWS
    assert 1 <= page <= n_pages(60) == 3


# Settling.


@pytest.mark.parametrize(
    ("listed", "reading", "settled"),
    [
        (ALL, FIRST_READING, at(0)),
        (ALL, Reading(page=2), at(25, 2)),
        (ALL, Reading(page=3), at(50, 3)),
        (ALL, Reading(page=4), at(50, 3)),
        (ALL, Reading(page=10**9), at(50, 3)),
        (ALL, Reading(page=0), at(0)),
        (ALL, Reading(page=-(10**9)), at(0)),
        (ALL, at(3, 2), at(3, 2)),
        (ALL, Reading("no:such", 2), at(25, 2)),
        (REVERSED, Reading(page=3), at(9, 3)),
        (EVEN, Reading(page=2), at(50, 2)),
        (EVEN, at(1, 9), at(1, 2)),
        (NO_ROWS, Reading(page=7), FIRST_READING),
        (NO_ROWS, at(3, 7), at(3)),
        (NO_ROWS, Reading("no:such"), FIRST_READING),
    ],
)
def test_a_reading_settles_on_the_nearest_there_is(
    listed: ListedRows, reading: Reading, settled: Reading
) -> None:
    assert reading.settled(listed) == settled
    assert settled.settled(listed) == settled


@pytest.mark.parametrize(
    ("listed", "reading", "anew"),
    [
        (EVEN, at(50, 3), at(50, 2)),
        (EVEN, at(48, 2), at(48, 1)),
        (EVEN, at(1, 2), at(0)),
        (EVEN, Reading(page=2), at(0)),
        (REVERSED, at(0), at(0, 3)),
        (NO_ROWS, at(4, 2), FIRST_READING),
    ],
)
def test_in_another_list_the_pair_stays_where_it_can(
    listed: ListedRows, reading: Reading, anew: Reading
) -> None:
    assert reading.anew(listed) == anew


def test_how_a_pair_is_shown_stays_wherever_one_goes() -> None:
    shown = Reading("mine:1", 1, "words", spaces=True, rendered=True)
    for after in (
        shown.settled(NO_ROWS),
        shown.anew(EVEN),
        read_on(shown, ALL, "step", 1),
        read_on(shown, ALL, "turn", 1),
        read_on(shown, NO_ROWS, "random", None),
    ):
        assert (after.diff, after.spaces, after.rendered) == ("words", True, True)
    display = shown.display(Query("dog"))
    assert (display.diff, display.query, display.spaces, display.rendered) == (
        "words",
        Query("dog"),
        True,
        True,
    )


# Steps.


@pytest.mark.parametrize(
    ("listed", "reading", "act", "value", "after"),
    [
        (ALL, at(0), "step", 1, at(1)),
        (ALL, at(24), "step", 1, at(25, 2)),
        (ALL, at(25, 2), "step", -1, at(24)),
        (ALL, at(59, 3), "step", 1, at(0)),
        (ALL, at(0), "step", -1, at(59, 3)),
        (ALL, at(7), "step", 60 * 10**6, at(7)),
        (ALL, at(7), "step", 0, at(7)),
        (REVERSED, at(1, 3), "step", 1, at(0, 3)),
        (EVEN, at(1), "step", 1, at(0)),
        (EVEN, at(48), "step", 1, at(50, 2)),
        (NO_ROWS, at(3), "step", 1, FIRST_READING),
        (NO_ROWS, at(3), "random", None, FIRST_READING),
        (ALL, at(3), "turn", 1, at(25, 2)),
        (ALL, at(30, 2), "turn", -1, at(0)),
        (ALL, at(50, 3), "turn", 1, at(50, 3)),
        (ALL, at(3), "turn", -1, at(0)),
        (ALL, at(3), "turn", 10**9, at(50, 3)),
        (NO_ROWS, FIRST_READING, "turn", 1, FIRST_READING),
        (ALL, at(3), "page", 2, at(25, 2)),
        (ALL, at(3), "page", -5, at(0)),
        (ALL, at(3), "open", "mine:30", at(30)),
        (ALL, at(3), "goto", "mine:30", at(30, 2)),
        (ALL, at(3), "goto", " mine:30\n", at(30, 2)),
        (EVEN, at(50, 2), "goto", "mine:1", at(1, 2)),
        (NO_ROWS, FIRST_READING, "goto", "mine:1", at(1)),
    ],
)
def test_one_step_further(
    listed: ListedRows, reading: Reading, act: str, value: object, after: Reading
) -> None:
    assert read_on(reading, listed, act, value) == after


def test_a_key_with_spaces_at_its_ends_can_be_opened() -> None:
    listed = ListedRows(
        small_table(row(subset=" a", id="1 "), row(subset="a", id="1")), np.arange(2)
    )
    assert read_on(FIRST_READING, listed, "goto", " a:1 ").key == " a:1 "
    assert read_on(FIRST_READING, listed, "goto", "  a:1 ").key == "a:1"


@pytest.mark.parametrize("listed", [ALL, EVEN])
def test_random_goes_to_another_pair_of_the_list(listed: ListedRows) -> None:
    reading, seen = FIRST_READING.settled(listed), set()
    for _ in range(300):
        after = read_on(reading, listed, "random", None)
        assert after.key != reading.key
        place = listed.place_of(after.key)
        assert place is not None
        assert after.page == page_holding(place)
        seen.add(after.key)
        reading = after
    assert len(seen) > 20


def test_random_from_outside_the_list_goes_anywhere_in_it() -> None:
    assert len({read_on(at(1), EVEN, "random", None).key for _ in range(100)}) > 5
    only = ListedRows(TABLE, np.array([2]))
    assert read_on(at(2), only, "random", None) == at(2)


@pytest.mark.parametrize("diff", DIFFS)
def test_how_a_pair_is_looked_at_can_be_changed(diff: str) -> None:
    assert read_on(at(3), ALL, "diff", diff) == Reading("mine:3", diff=diff)  # type: ignore[arg-type]
    assert read_on(at(3), ALL, "spaces", True) == Reading("mine:3", spaces=True)
    assert read_on(at(3), ALL, "rendered", True) == Reading("mine:3", rendered=True)


# Values that anybody may have sent.

HOSTILE: list[Any] = [
    float("nan"),
    float("inf"),
    10**400,
    -(10**400),
    10**9 + 1,
    1.0,
    True,
    "1",
    "",
    [],
    [1],
    [[[]]],
    {},
    {"value": 1},
    None,
    b"1",
    "\ud800",
    "\0",
    "x" * 10**6,
]
SENT = st.sampled_from(HOSTILE) | st.integers() | st.integers(0, 60).map("mine:{}".format)


@pytest.mark.parametrize("act", ["step", "turn", "page"])
def test_a_step_that_is_no_whole_number_is_refused(act: str, subtests: pytest.Subtests) -> None:
    for value in HOSTILE:
        with subtests.test(value=repr(value)[:20]):
            with pytest.raises(KnownError, match="A step is a whole number, not ") as caught:
                read_on(at(3), ALL, act, value)
            assert len(str(caught.value)) < 100


def test_a_bare_id_opens_the_one_pair_that_has_it_and_of_several_names_all() -> None:
    assert read_on(at(3), ALL, "goto", " 30 ").key == "mine:30"
    twice = small_table(row(subset="a", id=7), row(subset="b", id=7))
    several = ListedRows(twice, np.arange(2))
    with pytest.raises(KnownError, match=r"Several pairs have the id .7.: a:7, b:7"):
        read_on(FIRST_READING.settled(several), several, "goto", "7")


@pytest.mark.parametrize("act", ["open", "goto"])
@pytest.mark.parametrize("listed", [ALL, NO_ROWS])
def test_a_key_that_is_not_there_is_refused(
    act: str, listed: ListedRows, subtests: pytest.Subtests
) -> None:
    said = r"There is no pair .* as in mine:0"
    for value in HOSTILE:
        if (act, value) == ("goto", "1"):
            continue  # an id that one pair has
        with subtests.test(value=repr(value)[:20]):
            with pytest.raises(KnownError, match=said) as caught:
                read_on(FIRST_READING.settled(listed), listed, act, value)
            assert len(str(caught.value)) < 200


def test_ticks_are_only_what_is_true_and_other_diffs_are_refused(subtests: pytest.Subtests) -> None:
    for value in HOSTILE:
        with subtests.test(value=repr(value)[:20]):
            assert read_on(at(3), ALL, "spaces", value).spaces == (value is True)
            assert read_on(at(3), ALL, "rendered", value).rendered == (value is True)
            if value is not None:
                with pytest.raises(KnownError, match="auto, off, words, characters, not"):
                    read_on(at(3), ALL, "diff", value)


def test_an_act_that_there_is_not_is_refused() -> None:
    with pytest.raises(KnownError, match="There is no act 'fly'; there are open, goto, step"):
        read_on(at(3), ALL, "fly", 1)


@given(
    st.sampled_from(LISTS),
    st.lists(
        st.tuples(st.sampled_from(READER_ACTS), st.sampled_from(HOSTILE) | st.integers()),
        max_size=6,
    ),
)
def test_whatever_is_sent_the_reading_stays_settled(
    listed: ListedRows, acts: list[tuple[str, object]]
) -> None:
    reading = FIRST_READING.settled(listed)
    for act, value in acts:
        try:
            reading = read_on(reading, listed, act, value)
        except KnownError:
            continue
        assert reading.settled(listed) == reading
        assert 1 <= reading.page <= n_pages(len(listed))
        assert reading.key or not len(listed)  # a pair outside an empty list may be open
