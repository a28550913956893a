"""A file of RewardBench 2's shape in the app: scored, on its board, its failures, its files."""

from functools import partial
from pathlib import Path

import pytest

from explorer.data.table import PairTable
from explorer.reader.reader import pair_html
from explorer.reader.reading import Display
from explorer.results.board import Ranking
from explorer.runs.orders import ModelOrder
from explorer.runs.selections import selected_by_keys
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from scoring.results.exports import write_results
from tests.support.browsing import stores_of_rows
from tests.support.rewardbench2 import expected_scores, made_up_rows
from tests.support.stepping import stepwise

ROWS = made_up_rows()
V2 = Ranking(rule="v2")
WHO = Visitor()


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return stores_of_rows(tmp_path_factory.mktemp("second"), ROWS)


@pytest.fixture(scope="module")
def table(stores: Stores) -> PairTable:
    return stores.pairs.get(None)


@pytest.fixture(scope="module")
def run(stores: Stores, table: PairTable) -> Run:
    """All rows, scored on the server by the baseline that prefers the longer response."""
    every = selected_by_keys(table, table.keys)
    *_, last = stepwise(partial(stores.runs.start, WHO, ModelOrder("longer"), every))
    assert (last.stage, last.message, len(last.scored)) == ("finished", "", len(ROWS))
    assert last.run is not None
    run: Run = last.run
    return run


def test_it_stands_on_the_board_of_rewardbench_2_with_every_subset(
    stores: Stores, run: Run
) -> None:
    lengths = [[float(len(text)) for text in (*row["chosen"], *row["rejected"])] for row in ROWS]
    expected = expected_scores(ROWS, lengths)
    board = stores.boards.board(None, V2, WHO)
    (row,) = (each for each in board.table.to_dict("records") if each["own"])
    found = {name: row[name or "score"] for name in expected}
    assert found == pytest.approx(expected, abs=1e-12)
    assert len(board.table) > 100
    assert not stores.boards.board(None, Ranking(), WHO).table["own"].any()


def test_a_failure_says_which_wrong_response_won_and_by_how_much_also_of_a_file_that_was_sent(
    stores: Stores, table: PairTable, run: Run, tmp_path: Path
) -> None:
    pairs, sent = as_pairs(table.arrow, range(len(table))), "org/mine (uploaded)"
    files = write_results(tmp_path, "org/mine", run.facts, pairs, run.rows())
    uploaded = stores.results.upload(None, {f"{at}.json": path for at, path in enumerate(files)}).id
    assert stores.boards.board(uploaded, V2, WHO).table.loc[sent, "opens"]
    field = stores.fields.of(sent, uploaded, None, WHO)
    (mine,) = field.runs
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
    lengths = [len(text) for text in (*ROWS[at]["chosen"], *ROWS[at]["rejected"])]
    verdict = field.verdict(sent, at)
    assert list(verdict.rewards) == lengths
    assert verdict.margin == field.margins(sent)[at] == lengths[0] - max(lengths[1:]) < 0
    html = pair_html(table.cells(at), table.keys[at], Display(), [verdict])
    wrong = lengths.index(max(lengths[1:]), 1)
    name = ["Rejected", "Rejected 2", "Rejected 3"][wrong - 1]
    assert f"{name}, a wrong response, has the highest reward, {-verdict.margin:.3f} above" in html
