"""Notes and marks of a browser: the pairs of a review, and the file of those kept."""

import io
import json

import pyarrow.parquet as pq
import pytest

from explorer.core.files import METADATA
from explorer.data.export import UPSTREAM_COLUMNS
from explorer.tabs.pairs.notes import LONGEST_NOTE, MOST_NOTES, PairNotes, mark_of
from explorer.tabs.pairs.view import PairsView
from scoring.errors import KnownError
from scoring.pairs.opening import TEXT_COLUMNS
from scoring.spec import text_hash
from tests.support.browsing import NOBODY, pairs_view_on
from tests.support.fields import small_field
from tests.support.tables import row, small_table

KEYS = [f"{subset}:{number}" for subset, number in zip("aaabb", range(1, 6), strict=True)]
TABLE = small_table(*(row(prompt=key, subset=key[0], id=int(key[2])) for key in KEYS))


@pytest.fixture
def view() -> PairsView:
    return pairs_view_on(TABLE)


def content(view: PairsView, name: str, query: str, sent: str = "") -> bytes:
    return b"".join(view.as_view().files[name](query, NOBODY, sent).parts)


def test_the_listed_pairs_come_with_what_a_mark_is_kept_by(view: PairsView) -> None:
    found = json.loads(content(view, "review.keys", "?subset=b"))
    cells = [TABLE.cells(at) for at in (3, 4)]
    assert found == [
        [each["key"], text_hash(*(each[name] for name in TEXT_COLUMNS)), "b"] for each in cells
    ]
    assert json.loads(content(view, "review.keys", "?q=nobody")) == []


def test_kept_pairs_are_those_listed_with_these_keys_in_the_order_of_the_list(
    view: PairsView,
) -> None:
    sent = json.dumps({"marks": ["keep", "unsure"], "keys": [KEYS[2], KEYS[0], KEYS[4], "x", 1]})
    written = pq.read_table(io.BytesIO(content(view, "kept.parquet", "?subset=a", sent)))
    assert written.column_names == list(UPSTREAM_COLUMNS)
    assert written.column("prompt").to_pylist() == ["a:1", "a:3"]
    about = json.loads(written.schema.metadata[METADATA])
    assert about["selection"] == ["Subset: a", "keep or unsure in review"]


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ("[" * 100_000, "chosen by marks"),
        ('{"marks": ["odd"], "keys": []}', "chosen by marks"),
        ('{"marks": [[]], "keys": []}', "chosen by marks"),
        ('{"marks": ["keep", "drop"], "keys": ["b:4"]}', "No listed pair is keep or drop"),
    ],
    ids=["deeply nested", "no such mark", "a mark that is a list", "a pair that is not listed"],
)
def test_what_a_browser_sends_wrongly_or_keeps_nothing_of_is_told(
    sent: str, words: str, view: PairsView
) -> None:
    with pytest.raises(KnownError, match=words):
        content(view, "kept.parquet", "?subset=a", sent)


@pytest.mark.parametrize("has_texts", [True, False])
def test_a_note_is_of_its_pair_alone_by_its_texts_or_else_its_key(has_texts: bool) -> None:
    field = small_field(has_texts=has_texts)
    notes = PairNotes({mark_of(field.table, 2, has_texts=has_texts): "both are right"})
    assert [notes.of(field, row) for row in range(8)] == ["", "", "both are right", *[""] * 5]


def test_a_note_is_one_line_and_what_is_none_is_left() -> None:
    long = "x" * (LONGEST_NOTE + 1)
    sent = {"a": " wrong\nway <b> ", "b": " ", "c": 5, "": "x", "d": long}
    assert PairNotes.read_json(json.dumps(sent)).by_mark == {"a": "wrong way <b>"}
    assert len(PairNotes.read({str(at): "x" for at in range(MOST_NOTES + 1)}).by_mark) == MOST_NOTES
    for nonsense in ("", "[1]", "[" * 100_000):
        assert PairNotes.read_json(nonsense).by_mark == {}
