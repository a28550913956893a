"""Outcomes as a file: what stands in it, whatever texts hold, and what is refused."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.reader.scene import Scene, ScenePairs, scene
from explorer.reader.state import PairsState
from explorer.results.field import Field
from explorer.stats.matrix import OutcomeMatrix, order_of
from explorer.tabs.pairs.exports import FAIL_FORMATS, FailFormat, export_fails, fail_file_name
from explorer.tabs.pairs.fail_report import LONGEST_TEXT, fenced
from explorer.tabs.pairs.notes import PairNotes, mark_of
from scoring.errors import KnownError
from tests.support.fields import MODEL, small_field
from tests.support.golden_files import check_golden
from tests.support.tables import row, small_table

FILES = Path(__file__).parent / "exports"
NONE = PairNotes()
FIELD, TEXTLESS = small_field(), small_field(has_texts=False)


def field_of(*rows: dict[str, object]) -> Field:
    """A field in which a model, "m", loses each of these pairs."""
    table, nothing = small_table(*rows), np.zeros((1, len(rows)), np.float32)
    matrix = OutcomeMatrix(
        ("m",), (None,), ("1",), order_of(table), nothing, nothing == 0, nothing != 0,
        nothing * np.nan, nothing * np.nan,
    )  # fmt: skip
    return Field(table, matrix, {}, ())


def shown_of(model: str = MODEL, kind: Any = "losses", field: Field = FIELD, **asked: Any) -> Scene:
    kinds = {"kind": kind} if model else {"field_kind": kind}
    return scene(PairsState(model=model, **kinds, **asked), ScenePairs(field.table, field))


def written(now: Scene, form: FailFormat, folder: Path, notes: PairNotes = NONE) -> str:
    path = folder / fail_file_name(now, form)
    export_fails(now, form, path, notes)
    assert [each.name for each in folder.iterdir()] == [path.name]
    return path.read_bytes().decode()


TURNS = [{"role": role, "content": role} for role in ("user", "assistant", "user")]
SEVERAL = field_of(row(prompt=TURNS, chosen=["good", "better"], rejected=["bad"], subset="Ties"))
NOTES = {row: mark_of(FIELD.table, row) for row in (2, 3)}
EXPORTS: Mapping[str, tuple[Scene, PairNotes]] = {
    "every pair.csv": (shown_of(kind="all"), PairNotes({NOTES[3]: "=wrong way round"})),
    "without texts.csv": (shown_of(field=TEXTLESS), NONE),
    "losses for TRL.jsonl": (shown_of(), PairNotes({NOTES[2]: "?"})),
    "a conversation with two right responses.jsonl": (shown_of("m", field=SEVERAL), NONE),
    "report of losses.md": (
        shown_of(subset=("hep-go", "Chat | `x`")), PairNotes({NOTES[2]: "a | b <b>"}),
    ),
    "report without texts.md": (shown_of(field=TEXTLESS), NONE),
    "report of a model without rewards.md": (shown_of("b"), NONE),
    "report on all models.md": (shown_of("", "every"), NONE),
}  # fmt: skip
"""File -> what is listed, and the notes of the browser."""


@pytest.mark.parametrize("name", EXPORTS)
def test_a_file_has_what_is_listed_and_hostile_text_stays_data(name: str, tmp_path: Path) -> None:
    form: Any = name.rpartition(".")[2]
    now, notes = EXPORTS[name]
    check_golden(FILES / name.replace(" ", "-"), written(now, form, tmp_path, notes))


@pytest.mark.parametrize("form", FAIL_FORMATS)
def test_a_file_is_there_whole_or_not_at_all(form: FailFormat, tmp_path: Path) -> None:
    refusals = [
        (shown_of(), tmp_path / "nowhere" / "x", "cannot be written"),
        (shown_of("half", "losses"), tmp_path / "x", "No pair matches"),
    ]
    if form == "jsonl":
        textless = shown_of(field=TEXTLESS)
        refusals += [(textless, tmp_path / "x", "texts of the pairs, which are not loaded")]
    for now, path, words in refusals:
        with pytest.raises(KnownError, match=words):
            export_fails(now, form, path, NONE)
    assert not [*tmp_path.iterdir()]


def test_names_of_files_are_safe() -> None:
    assert fail_file_name(shown_of(), "csv") == "a-b_-script-losses-2-pairs.csv"
    assert fail_file_name(shown_of("", "every"), "md") == "all-models-every-8-pairs.md"


def blocks(report: str) -> tuple[str, list[str]]:
    """What a reader of CommonMark sees of a report: words, and what stands in fences."""
    words, inside, fence = [], list[list[str]](), ""
    for line in report.split("\n"):
        ticks = re.fullmatch(r"(`{3,})[^`]*", line)
        if fence:
            if re.fullmatch(r"`+", line) and len(line) >= len(fence):
                fence = ""
            else:
                inside[-1].append(line)
        elif ticks:
            fence = ticks[1]
            inside.append([])
        else:
            words.append(line)
    assert not fence
    return "\n".join(words), ["\n".join(each) for each in inside]


@pytest.mark.parametrize("words", ["", "a\n`````\nb", "```` x\n````"])
def test_no_text_ends_its_fence(words: str) -> None:
    assert blocks("\n".join(fenced(words))) == ("", [words])


def test_long_texts_are_cut_in_the_report_alone(tmp_path: Path) -> None:
    now = shown_of("m", field=field_of(row(prompt="p" * (LONGEST_TEXT + 1))))
    words, inside = blocks(written(now, "md", tmp_path))
    assert inside[0] == "p" * LONGEST_TEXT and "first 4,000 of 4,001 characters" in words
