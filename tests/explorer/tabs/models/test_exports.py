"""A board as a file: what stands in it, whatever models are called."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from explorer.results.board import Board, build_board
from explorer.results.published import Results
from explorer.tabs.models.exports import export_board
from explorer.tabs.models.ranked import visible_rows
from explorer.tabs.models.state import ModelsState
from scoring.benchmark import SUBSETS
from scoring.results.accuracies import Aggregate
from tests.support.board_data import FOUR, NOTHING, SOURCE, matrix_of, results_of
from tests.support.golden_files import check_golden

NAMES = ["=1/gemma", "a|b", "<script>", "x_y & 50%", "a\n| b", "日本/語", "\\end{tabular}", 'a,"b"']


def board_of(*names: str) -> Board:
    """These models, the first the best, and one that lacks subsets."""
    aggregates = [
        Aggregate(name, "DPO", dict.fromkeys(SUBSETS, 1 / (3 + place)))
        for place, name in enumerate(names)
    ]
    part = Aggregate("part", None, {"hep-go": 1 / 7})
    return build_board(Results(SOURCE, (*aggregates, part)), "v1")


HOSTILE = board_of(*NAMES)
OUTCOMES = build_board(NOTHING, "v1", outcomes=matrix_of({"a": [1, 0, 0, 0.5]}, FOUR))
MANY = build_board(results_of({f"m{at}": 0.5 for at in range(60)}), "v1")
EXPORTS: Mapping[str, tuple[Board, dict[str, Any]]] = {
    "sections.csv": (HOSTILE, {}),
    "three decimals.md": (HOSTILE, {"digits": 3}),
    "failures.md": (OUTCOMES, {}),
    "two decimals without types.tex": (HOSTILE, {"digits": 2, "hidden": ("type",)}),
    "best in bold.tex": (build_board(results_of({"good": 0.9, "even": 0.9, "bad": 0.3}), "v1"), {}),
    "many rows over pages.tex": (MANY, {}),
}
"""File -> a board, and how it is shown."""


@pytest.mark.parametrize("name", EXPORTS)
def test_a_board_is_written_as_it_is_shown(name: str, tmp_path: Path) -> None:
    board, seen = EXPORTS[name]
    form: Any = name.rpartition(".")[2]
    path, state = tmp_path / f"board.{form}", ModelsState(**seen)
    export_board(board, state, visible_rows(board, state), form, path)
    text = path.read_bytes().decode()
    check_golden(Path(__file__).parent / "exports" / name.replace(" ", "-"), text)
