"""What goes by length alone, below a leaderboard."""

import re
from collections.abc import Sequence

import numpy as np

from explorer.core.html import percent
from explorer.data.table import PairTable
from explorer.results.board import Board, build_board
from explorer.results.boards import BoardView
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import V1
from explorer.tabs.models.board_html import board_html, drawer_html
from explorer.tabs.models.ranked import Ranked, visible_rows
from explorer.tabs.models.state import ModelsState
from scoring.benchmark import SUBSETS
from tests.support.board_data import NOTHING, coin_flips, matrix_of
from tests.support.tables import benchmark_table


def scene_of(
    state: ModelsState,
    matrix: OutcomeMatrix,
    board: Board | None = None,
    tables: Sequence[PairTable] = (),
) -> Ranked:
    board = board or build_board(NOTHING, "v1", outcomes=matrix)
    return Ranked(state, BoardView(board, matrix, True), visible_rows(board, state), lambda: tables)


def test_what_goes_by_length_alone_stands_below_the_board() -> None:
    """On the whole benchmark."""
    whole = benchmark_table()
    outcomes = {"org/m": coin_flips(0.8, len(whole))}
    matrix = matrix_of(outcomes, whole.subset_of_row.tolist(), dataset=whole.id)
    known = scene_of(ModelsState(open="org/m"), matrix, tables=[whole])
    html = board_html(scene_of(ModelsState(), matrix, tables=[whole]))
    rows = re.findall(r'scope="row">The \w+ response wins</th>(.*?)</tr>', html, re.DOTALL)
    marks = re.findall("; the longer response wins: (.*); the shorter response wins: (.*)\"><span",
                       drawer_html(known))  # fmt: skip
    chars = whole.lengths("difference", "chars")
    of_both = zip(*marks, strict=True)
    for row, of_subset, wins in zip(rows, of_both, (chars > 0, chars < 0), strict=True):
        shares = {name: wins[whole.subset_of_row == name].mean() for name in SUBSETS}
        assert [*of_subset] == [percent(shares[name]) for name in SUBSETS]
        weights = V1.sections["Chat"]
        of_chat = np.average([shares[name] for name in weights], weights=[*weights.values()])
        assert re.findall(r"([\d.]+)(?=<)", row)[1] == f"{100 * of_chat:.1f}"
    assert "response wins" not in board_html(scene_of(ModelsState(), matrix))
    prior = build_board(NOTHING, "prior", outcomes=matrix)
    assert "response wins" not in board_html(scene_of(ModelsState(), matrix, prior, [whole]))
