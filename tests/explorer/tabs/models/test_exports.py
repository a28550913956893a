"""A board as a file: what stands in it, whatever models are called, and what is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from explorer.core.files import METADATA
from explorer.results.board import Board, build_board
from explorer.results.published import Results
from explorer.tabs.models.exports import BoardFormat, board_file_name, export_board
from explorer.tabs.models.ranked import visible_rows
from explorer.tabs.models.state import ModelsState
from scoring.benchmark import SUBSETS
from scoring.errors import KnownError
from scoring.results.accuracies import Aggregate
from tests.support.board_data import FOUR, NOTHING, SOURCE, matrix_of, results_of, rows_in
from tests.support.golden_files import check_golden

FILES = Path(__file__).parent / "exports"
NAMES = ["=1/gemma", "a|b", "<script>", "x_y & 50%", "a\n| b", "日本/語", "\\end{tabular}", 'a,"b"']


def board_of(*names: str) -> Board:
    """These models, the first the best, and one that lacks subsets."""
    aggregates = [
        Aggregate(name, "DPO", dict.fromkeys(SUBSETS, 1 / (3 + place)))
        for place, name in enumerate(names)
    ]
    part = Aggregate("part", None, {"hep-go": 1 / 7})
    return build_board(Results(SOURCE, (*aggregates, part)), "v1")


def written(board: Board, form: BoardFormat, folder: Path, **seen: Any) -> Path:
    path, state = folder / f"board.{form}", ModelsState(**seen)
    export_board(board, state, visible_rows(board, state), form, path)
    assert [each.name for each in folder.iterdir()] == [path.name]
    return path


HOSTILE = board_of(*NAMES)
OUTCOMES = build_board(NOTHING, "v1", outcomes=matrix_of({"a": [1, 0, 0, 0.5]}, FOUR))
MANY = build_board(results_of({f"m{at}": 0.5 for at in range(60)}), "v1")
EXPORTS: Mapping[str, tuple[Board, dict[str, Any]]] = {
    "sections.csv": (HOSTILE, {}),
    "subsets without the score, searched.csv": (
        HOSTILE, {"table": "subsets", "hidden": ("type", "score", "hep-go"), "search": "a"},
    ),
    "three decimals.md": (HOSTILE, {"digits": 3}),
    "failures.md": (OUTCOMES, {}),
    "two decimals without types.tex": (HOSTILE, {"digits": 2, "hidden": ("type",)}),
    "best in bold.tex": (build_board(results_of({"good": 0.9, "even": 0.9, "bad": 0.3}), "v1"), {}),
    "many rows over pages.tex": (MANY, {}),
    "a long name.tex": (board_of("L" * 500), {}),
}  # fmt: skip
"""File -> a board, and how it is shown."""


@pytest.mark.parametrize("name", EXPORTS)
def test_a_board_is_written_as_it_is_shown(name: str, tmp_path: Path) -> None:
    board, seen = EXPORTS[name]
    form: Any = name.rpartition(".")[2]
    path = written(board, form, tmp_path, **seen)
    check_golden(FILES / name.replace(" ", "-"), path.read_bytes().decode())


def test_parquet_has_types_and_says_where_it_is_from(tmp_path: Path) -> None:
    table = pq.read_table(written(HOSTILE, "parquet", tmp_path))
    assert table["model"].to_pylist() == [*NAMES, "part"]
    assert table["score"].to_pylist() == [row.score for row in rows_in(HOSTILE)]
    assert table["Chat"].to_pylist()[-1] is None
    types = {"rank": "int64", "score": "double", "own": "bool"}
    assert {name: str(table.schema.field(name).type) for name in types} == types
    about = json.loads(table.schema.metadata[METADATA])
    assert (about["rule"], about["source"]) == ("v1", "made up")


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    board = board_of("a")
    assert board_file_name(board, ModelsState(benchmark="v2"), "tex") == "made-up-v2-sections.tex"
    for words, rows, path in (
        ("no model to export", board.table.head(0), tmp_path / "x"),
        ("cannot be written", board.table, tmp_path / "nowhere" / "x"),
    ):
        with pytest.raises(KnownError, match=words):
            export_board(board, ModelsState(), rows, "csv", path)
    assert list(tmp_path.iterdir()) == []
