from pathlib import Path

import numpy as np

from explorer.results.board import build_board
from explorer.results.own import outcomes_of, own_names
from explorer.stats.matrix import Outcomes, laid_over, outcome_matrix, outcome_rows
from scoring.results.order import FILTERED, PairOrder
from scoring.results.pairs import PairResults
from tests.support.board_data import NOTHING, own_run, rows_in, with_runs

REWARDS: dict[str, tuple[float | None, float | None]] = {
    "hep-go:1": (1.0, 0.5),
    "hep-go:2": (0.5, 0.5),
    "a:b:3": (None, 0.5),
    "donotanswer:4": (1e300, -1.0),
}


def test_runs_laid_over_a_matrix_are_as_if_they_were_files_of_it(tmp_path: Path) -> None:
    """Some of its pairs, others beside them, none of them, and a run that cannot be read."""
    names, codes = ("hep-go", "donotanswer", "a:b"), np.array([0, 1, 2, 0], np.int32)
    order = PairOrder(names, codes, ["2", "4", "3", "1"], dataset=FILTERED)
    broken = own_run(tmp_path, REWARDS)
    (broken.folder / "plan.json").write_text("{")
    runs = [
        own_run(tmp_path, REWARDS),
        own_run(tmp_path, {"hep-go:1": (0.5, 1.0), "own:7": (1.0, 0.0)}),
        own_run(tmp_path, {"own:8": (1.0, 0.0)}),
        broken,
    ]
    values = np.array([0, 1, np.nan, 1], np.float32)
    result = PairResults("z", None, order, values, np.zeros(4, np.bool_), None, None)
    published = Outcomes(("z.json",), (result,))
    own = own_names(runs, published.models)
    rows = [outcome_rows(outcomes_of(run, name), order) for name, run in own.items()]
    laid = laid_over(outcome_matrix(published, order), rows)
    together = outcome_matrix(with_runs(published, own), order)
    assert laid.models == together.models
    for name in ("outcomes", "held", "known_equal", "chosen", "rejected"):
        np.testing.assert_array_equal(getattr(laid, name), getattr(together, name))
    assert sorted(map(str, laid.left_out)) == sorted(map(str, together.left_out))
    assert [run for name, run in own.items() if name in laid.models] == runs[:2]


def test_runs_are_as_files_of_results_under_names_of_their_own(tmp_path: Path) -> None:
    runs = [own_run(tmp_path, REWARDS) for _ in range(3)]
    broken = own_run(tmp_path, REWARDS)
    (broken.folder / "plan.json").write_text("{")
    own = own_names([*runs, broken], [])
    found = with_runs(Outcomes(), own)
    assert len(set(own)) == 4 and set(found.models) == {name for name in own if own[name] != broken}
    assert all(name.startswith("org/<b>mine</b> (your run of ") for name in own)
    result = found.results[0]
    names = [result.order.names[code] for code in result.order.codes]
    assert names == ["hep-go", "hep-go", "a:b", "donotanswer"]
    assert result.order.ids == ["1", "2", "3", "4"]
    np.testing.assert_array_equal(result.results, [1, 0, np.nan, 1])
    assert result.equal.tolist() == [False, True, False, False]
    assert result.scores_chosen is not None
    np.testing.assert_array_equal(result.scores_chosen, [1, 0.5, np.nan, np.nan])
    [left_out] = found.left_out
    assert "cannot be read" in left_out.reason
    assert broken.id not in left_out.file  # who knows an id may read the run
    board = build_board(NOTHING, "v1", outcomes=outcome_matrix(found), own=list(own))
    assert {row.model for row in rows_in(board)} == set(found.models)
    assert all(row.own and row.rank is None and row.url is None for row in rows_in(board))
    assert rows_in(board)[0].sections["Reasoning"] == 0.5
