import json
from typing import Any

import pytest
from hypothesis import given

from explorer.tabs.pairs.notes import LONGEST_NOTE, MOST_NOTES, PairNotes, mark_of
from tests.support.fields import small_field
from tests.support.hostile import ANY_JSON


def test_a_note_is_of_its_pair_alone() -> None:
    field = small_field()
    notes = PairNotes({mark_of(field.table, 2): "both are right"})
    assert [notes.of(field, row) for row in range(8)] == ["", "", "both are right", *[""] * 5]


def test_without_texts_a_note_goes_by_the_key() -> None:
    field = small_field(has_texts=False)
    notes = PairNotes({mark_of(field.table, 5, has_texts=False): "odd"})
    assert [row for row in range(8) if notes.of(field, row)] == [5]


@given(ANY_JSON)
def test_a_browser_may_hold_anything(value: Any) -> None:
    notes = PairNotes.read(value)
    assert PairNotes.read(notes.by_mark) == notes
    assert len(notes.by_mark) <= MOST_NOTES


def test_a_note_is_one_line_and_what_is_none_is_left() -> None:
    long = "x" * (LONGEST_NOTE + 1)
    kept = PairNotes.read({"a": " wrong\nway <b> ", "b": " ", "c": 5, "": "x", "d": long})
    assert kept.by_mark == {"a": "wrong way <b>"}
    assert len(PairNotes.read({str(at): "x" for at in range(MOST_NOTES + 1)}).by_mark) == MOST_NOTES


@pytest.mark.parametrize("written", ["", "{", "[1]", "null", "[" * 100_000, '{"a": "\ud800"}'])
def test_whatever_a_browser_sends_along_is_read(written: str) -> None:
    assert {*PairNotes.read_json(written).by_mark} <= {"a"}
    assert PairNotes.read_json(json.dumps({"a": "b"})).by_mark == {"a": "b"}
