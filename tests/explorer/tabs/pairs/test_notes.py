import json

import pytest

from explorer.tabs.pairs.notes import LONGEST_NOTE, MOST_NOTES, PairNotes, mark_of
from tests.support.fields import small_field


@pytest.mark.parametrize("has_texts", [True, False])
def test_a_note_is_of_its_pair_alone_by_its_texts_or_else_its_key(has_texts: bool) -> None:
    field = small_field(has_texts=has_texts)
    notes = PairNotes({mark_of(field.table, 2, has_texts=has_texts): "both are right"})
    assert [notes.of(field, row) for row in range(8)] == ["", "", "both are right", *[""] * 5]


def test_a_note_is_one_line_and_what_is_none_is_left() -> None:
    long = "x" * (LONGEST_NOTE + 1)
    kept = PairNotes.read({"a": " wrong\nway <b> ", "b": " ", "c": 5, "": "x", "d": long})
    assert kept.by_mark == {"a": "wrong way <b>"}
    assert len(PairNotes.read({str(at): "x" for at in range(MOST_NOTES + 1)}).by_mark) == MOST_NOTES


@pytest.mark.parametrize("written", ["", "[1]", "[" * 100_000, '{"a": "\ud800"}'])
def test_whatever_a_browser_sends_along_is_read(written: str) -> None:
    assert {*PairNotes.read_json(written).by_mark} <= {"a"}
    assert PairNotes.read_json(json.dumps({"a": "b"})).by_mark == {"a": "b"}
