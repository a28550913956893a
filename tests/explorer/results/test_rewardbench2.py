"""A file of RewardBench 2's shape in the app: scored, on its board, its failures, its files."""

from pathlib import Path

import numpy as np
import pytest

from explorer.reader.reader import pair_html
from explorer.reader.reading import Display
from explorer.results.board import Board, Ranking
from explorer.runs.visitors import Visitor
from scoring.pairs.opening import as_pairs
from scoring.results.exports import write_results
from tests.support.beginning import finished
from tests.support.browsing import stores_of_rows
from tests.support.rewardbench2 import expected_scores, made_up_rows

ROWS = made_up_rows()
LENGTHS = [[float(len(text)) for text in (*row["chosen"], *row["rejected"])] for row in ROWS]
EXPECTED = expected_scores(ROWS, LENGTHS)
V2 = Ranking(rule="v2")
ME = Visitor("browser:me", session="me")


def check_scores(board: Board, model: str) -> None:
    """A model that prefers the longer response has every subset's score."""
    row = board.rows[model]
    found = {name: row[name or "score"] for name in EXPECTED}
    assert row["own"] and row["opens"] and found == pytest.approx(EXPECTED, abs=1e-12)


def test_a_run_and_its_files_stand_on_the_board_and_say_which_wrong_response_won_by_how_much(
    tmp_path: Path,
) -> None:
    stores = stores_of_rows(tmp_path, ROWS)
    table = stores.pairs.get(None)
    run = finished(stores.runs, "longer", table, np.arange(len(ROWS)))
    pairs, sent = as_pairs(table.arrow, range(len(table))), "org/mine (uploaded)"
    files = write_results(tmp_path, "org/mine", run.facts, pairs, run.rows())
    uploaded = stores.results.upload(None, {f"{at}.json": path for at, path in enumerate(files)}).id

    field = stores.fields.of(sent, uploaded, None, ME)
    (mine,) = field.runs
    board = stores.boards.board(uploaded, V2, ME)
    check_scores(board, mine)
    check_scores(board, sent)
    assert len(board.rows) > 100
    assert not any(row["own"] for row in stores.boards.board(None, Ranking(), ME).rows.values())

    assert field.table is table and field.has_texts
    lost = field.lost(sent).tolist()
    assert lost == field.lost(mine).tolist()
    for at in (0, *lost[::20], len(ROWS) - 1):
        own, theirs = field.verdict(mine, at), field.verdict(sent, at)
        assert (theirs.rewards, theirs.n_chosen) == (own.rewards, own.n_chosen)
        assert (theirs.margin, theirs.outcome) == (own.margin, own.outcome)

    at = next(
        at for at in lost if field.outcome(sent, at) == "loss" and ROWS[at]["subset"] == "Math"
    )
    verdict, right, wrong = field.verdict(sent, at), LENGTHS[at][0], max(LENGTHS[at][1:])
    assert list(verdict.rewards) == LENGTHS[at]
    assert verdict.margin == field.margins(sent)[at] == right - wrong < 0
    html = pair_html(table.cells(at), table.keys[at], Display(), [verdict])
    name = ["Rejected", "Rejected 2", "Rejected 3"][LENGTHS[at].index(wrong, 1) - 1]
    assert f"{name}, a wrong response, has the highest reward, {-verdict.margin:.3f} above" in html
