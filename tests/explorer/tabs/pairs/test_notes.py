import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.tabs.pairs.notes import LONGEST_NOTE, MOST_NOTES, PairNotes, mark_of
from scoring.errors import KnownError
from tests.explorer.small_fields import small_field

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_a_note_is_of_its_pair_alone() -> None:
    field = small_field()
    notes = PairNotes().put(mark_of(field, 2), "both are right")
    assert [notes.of(field, row) for row in range(8)] == ["", "", "both are right", *[""] * 5]


def test_a_note_is_found_in_another_table_with_the_same_texts() -> None:
    notes = PairNotes().put(mark_of(small_field(), 2), "swapped")
    assert notes.of(small_field(), 2) == "swapped"
    textless = small_field(has_texts=False)
    assert [notes.of(textless, row) for row in range(8)] == [""] * 8


def test_without_texts_a_note_goes_by_the_key() -> None:
    field = small_field(has_texts=False)
    notes = PairNotes().put(mark_of(field, 5), "odd")
    assert [row for row in range(8) if notes.of(field, row)] == [5]


@given(st.dictionaries(st.text(min_size=1), st.text(max_size=LONGEST_NOTE), max_size=5))
def test_what_a_browser_keeps_is_read_again(written: dict[str, str]) -> None:
    notes = PairNotes()
    for mark, words in written.items():
        notes = notes.put(mark, words)
    stored = json.loads(json.dumps(notes.by_mark))
    assert PairNotes.read(stored) == notes
    for words in notes.by_mark.values():
        assert words and len(words.splitlines()) == 1 and words.encode()


@given(ANYTHING)
def test_a_browser_may_hold_anything(value: Any) -> None:
    notes = PairNotes.read(value)
    assert PairNotes.read(notes.by_mark) == notes
    assert len(notes.by_mark) <= MOST_NOTES


@pytest.mark.parametrize("value", [None, 5, True, ["x"], {}, "x" * (LONGEST_NOTE + 1)])
def test_what_is_no_note_is_refused(value: object) -> None:
    with pytest.raises(KnownError, match="A note"):
        PairNotes().put("a", value)


def test_there_is_room_for_so_many_and_none_is_dropped_for_another() -> None:
    full = PairNotes({str(number): "x" for number in range(MOST_NOTES)})
    with pytest.raises(KnownError, match=f"{MOST_NOTES} pairs"):
        full.put("one more", "x")
    assert full.put("7", "renewed").by_mark["7"] == "renewed"
    assert len(full.put("7", " ").by_mark) == MOST_NOTES - 1
    assert len(PairNotes.read({str(at): "x" for at in range(MOST_NOTES + 1)}).by_mark) == MOST_NOTES
