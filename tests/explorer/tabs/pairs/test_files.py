"""Outcomes and reviews as files: what stands in them, whatever texts hold, and what is refused."""

import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from explorer.core.files import METADATA
from explorer.data.export import UPSTREAM_COLUMNS
from explorer.reader.scene import Scene, ScenePairs, scene
from explorer.reader.state import PairsState
from explorer.results.field import Field
from explorer.tabs.pairs.exports import FailFormat, export_fails, fail_file_name
from explorer.tabs.pairs.fail_report import LONGEST_TEXT
from explorer.tabs.pairs.notes import LONGEST_NOTE, MOST_NOTES, PairNotes, mark_of
from explorer.tabs.pairs.view import PairsView
from scoring.errors import KnownError
from tests.support.board_data import matrix_of
from tests.support.browsing import NOBODY, pairs_view_on
from tests.support.fields import MODEL, small_field
from tests.support.golden_files import check_golden
from tests.support.tables import row, small_table

FILES = Path(__file__).parent / "exports"
NONE = PairNotes()
FIELD, TEXTLESS = small_field(), small_field(has_texts=False)


def lost(**columns: object) -> Field:
    """A field in which a model, "m", loses this pair."""
    table = small_table(row(**columns))
    return Field(table, matrix_of({"m": [0.0]}, [*table.subset_counts]), {}, ())


def shown_of(model: str = MODEL, kind: Any = "losses", field: Field = FIELD, **asked: Any) -> Scene:
    kinds = {"kind": kind} if model else {"field_kind": kind}
    return scene(PairsState(model=model, **kinds, **asked), ScenePairs(field.table, field))


def written(now: Scene, form: FailFormat, folder: Path, notes: PairNotes = NONE) -> str:
    path = folder / fail_file_name(now, form)
    export_fails(now, form, path, notes)
    assert [each.name for each in folder.iterdir()] == [path.name]
    return path.read_bytes().decode()


TURNS = [{"role": role, "content": role} for role in ("user", "assistant", "user")]
SEVERAL = lost(prompt=TURNS, chosen=["good", "better"], rejected=["bad"], subset="Ties")
NOTES = {row: mark_of(FIELD.table, row) for row in (2, 3)}
KEY_ALONE = mark_of(TEXTLESS.table, 2, has_texts=False)
EXPORTS: Mapping[str, tuple[Scene, PairNotes]] = {
    "every pair.csv": (shown_of(kind="all"), PairNotes({NOTES[3]: "=wrong way round"})),
    "losses for TRL.jsonl": (shown_of(), PairNotes({NOTES[2]: "?"})),
    "a conversation with two right responses.jsonl": (shown_of("m", field=SEVERAL), NONE),
    "report of losses.md": (
        shown_of(subset=("hep-go", "Chat | `x`")), PairNotes({NOTES[2]: "a | b <b>"}),
    ),
    "report without texts.md": (shown_of(field=TEXTLESS), PairNotes({KEY_ALONE: "both right"})),
    "report on all models.md": (shown_of("", "every"), NONE),
}  # fmt: skip
"""File -> what is listed, and the notes of the browser."""


@pytest.mark.parametrize("name", EXPORTS)
def test_a_file_has_what_is_listed_and_hostile_text_stays_data(name: str, tmp_path: Path) -> None:
    form: Any = name.rpartition(".")[2]
    now, notes = EXPORTS[name]
    check_golden(FILES / name.replace(" ", "-"), written(now, form, tmp_path, notes))


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    refused = [
        ("csv", shown_of(), tmp_path / "nowhere" / "x", "cannot be written"),
        ("md", shown_of("half", "losses"), tmp_path / "x", "No pair matches"),
        ("jsonl", shown_of(field=TEXTLESS), tmp_path / "x", "texts of the pairs, which are not"),
    ]
    for form, now, path, words in refused:
        with pytest.raises(KnownError, match=words):
            export_fails(now, form, path, NONE)  # type: ignore[arg-type]
    assert not [*tmp_path.iterdir()]


def test_long_texts_are_cut_in_the_report_alone(tmp_path: Path) -> None:
    now = shown_of("m", field=lost(prompt="p" * (LONGEST_TEXT + 1)))
    report = written(now, "md", tmp_path)
    assert max(map(len, re.findall("p+", report))) == LONGEST_TEXT
    assert "first 4,000 of 4,001 characters" in report


# Notes and marks of a browser: the pairs of a review, and the file of those kept


KEYS = [f"{subset}:{number}" for subset, number in zip("aaabb", range(1, 6), strict=True)]
TABLE = small_table(*(row(prompt=key, subset=key[0], id=int(key[2])) for key in KEYS))


@pytest.fixture
def view() -> PairsView:
    return pairs_view_on(TABLE)


def kept(view: PairsView, sent: str) -> bytes:
    """The file of the pairs of a subset that were kept."""
    return b"".join(view.as_view().files["kept.parquet"]("?subset=a", NOBODY, sent).parts)


def test_kept_pairs_are_those_listed_with_these_keys_in_the_order_of_the_list(
    view: PairsView,
) -> None:
    sent = json.dumps({"marks": ["keep", "unsure"], "keys": [KEYS[2], KEYS[0], KEYS[4], "x", 1]})
    written = pq.read_table(io.BytesIO(kept(view, sent)))
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
        kept(view, sent)


def test_a_note_is_one_line_and_what_is_none_is_left() -> None:
    long = "x" * (LONGEST_NOTE + 1)
    sent = {"a": " wrong\nway <b> ", "b": " ", "c": 5, "": "x", "d": long}
    assert PairNotes.read_json(json.dumps(sent)).by_mark == {"a": "wrong way <b>"}
    assert len(PairNotes.read({str(at): "x" for at in range(MOST_NOTES + 1)}).by_mark) == MOST_NOTES
    for nonsense in ("", "[1]", "[" * 100_000):
        assert PairNotes.read_json(nonsense).by_mark == {}
