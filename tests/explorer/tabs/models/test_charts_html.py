"""The charts below a leaderboard: what is drawn of which models, what is said where nothing is."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

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


def outcomes_of(shares: Sequence[float], names: Sequence[str] = ()) -> OutcomeMatrix:
    """Outcomes on the whole benchmark, of models that win about such shares of the pairs."""
    table = benchmark_table()
    values = {
        (names[at] if names else f"org/m{at}-{at + 1}B"): coin_flips(share, len(table), at)
        for at, share in enumerate(shares)
    }
    return matrix_of(values, table.subset_of_row.tolist(), dataset=table.id)


def scene_of(
    state: ModelsState,
    matrix: OutcomeMatrix | None,
    board: Board | None = None,
    tables: Sequence[PairTable] = (),
    is_read: bool = True,
) -> Ranked:
    board = board or build_board(NOTHING, "v1", outcomes=matrix)
    rows = visible_rows(board, state)
    return Ranked(state, BoardView(board, matrix, is_read), rows, lambda: tables)


@pytest.fixture(scope="module")
def matrix() -> OutcomeMatrix:
    return outcomes_of([0.9, 0.8, 0.3])


@pytest.fixture(scope="module")
def whole() -> PairTable:
    return benchmark_table()


# Length bias.


# Results of each pair.


# By length alone, on the board.


def test_what_goes_by_length_alone_stands_below_the_board(
    matrix: OutcomeMatrix, whole: PairTable
) -> None:
    known = scene_of(ModelsState(open="org/m0-1B"), matrix, tables=[whole])
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
