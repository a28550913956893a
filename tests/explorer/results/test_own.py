"""A run of one's own among results: under which name, with which score, wherever it is told."""

from pathlib import Path

import numpy as np
import pytest

from explorer.api.scoring import selection_score_json
from explorer.reader.reader import pair_html
from explorer.reader.reading import Display
from explorer.results.board import Board, Ranking, build_board
from explorer.results.field import Field
from explorer.results.own import outcomes_of, own_names
from explorer.runs.outcomes import summary_of
from explorer.runs.running import Rewarded
from explorer.runs.visitors import Visitor
from explorer.stats.matrix import Outcomes, laid_over, order_of, outcome_matrix, outcome_rows
from explorer.tabs.models.compared import compared, standings
from explorer.tabs.models.state import ModelsState
from explorer.tabs.pairs.fail_report import scores_of
from explorer.tabs.score.published_check import check_pairs
from scoring.command.report import report_json
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from scoring.results.accuracies import read_aggregates
from scoring.results.exports import write_results
from scoring.results.order import FILTERED, PairOrder
from scoring.results.pairs import PairResults, read_pair_results
from scoring.spec import RunFacts, ScoredPair
from scoring.sure import SequentialMonitor, SureRule
from tests.support.beginning import finished
from tests.support.board_data import NOTHING, own_run, with_runs
from tests.support.browsing import stores_of_rows
from tests.support.rewardbench2 import expected_scores, made_up_rows
from tests.support.run_facts import recorded_run
from tests.support.tables import row, small_table

REWARDS: dict[str, tuple[float | None, float | None]] = {
    "hep-go:1": (1.0, 0.5),
    "hep-go:2": (0.5, 0.5),
    "a:b:3": (None, 0.5),
    "donotanswer:4": (1e300, -1.0),
}


def test_runs_are_as_files_of_results_under_names_of_their_own(tmp_path: Path) -> None:
    """Of a matrix's pairs, of others beside them, of none of them, and one that is broken."""
    whole = own_run(tmp_path, REWARDS)
    beside = own_run(tmp_path, {"hep-go:1": (0.5, 1.0), "own:7": (1.0, 0.0)})
    elsewhere, broken = own_run(tmp_path, {"own:8": (1.0, 0.0)}), own_run(tmp_path, REWARDS)
    (broken.folder / "plan.json").write_text("{")
    names, codes = ("hep-go", "donotanswer", "a:b"), np.array([0, 1, 2, 0], np.int32)
    order = PairOrder(names, codes, ["2", "4", "3", "1"], dataset=FILTERED)
    values = np.array([0, 1, np.nan, 1], np.float32)
    result = PairResults("z", None, order, values, np.zeros(4, np.bool_), None, None)
    published = Outcomes(("z.json",), (result,))

    own = own_names([whole, beside, elsewhere, broken], published.models)
    assert all(name.startswith("org/<b>mine</b> (your run of ") for name in own)
    found = with_runs(published, own)
    assert [*own.values()] == [whole, beside, elsewhere, broken]
    assert found.models == ("z", *(name for name in own if own[name] != broken))
    [left_out] = found.left_out
    assert "cannot be read" in left_out.reason
    assert broken.id not in left_out.file  # who knows an id may read the run
    result = found.results[1]
    subsets = [result.order.names[code] for code in result.order.codes]
    assert subsets == ["hep-go", "hep-go", "a:b", "donotanswer"]
    assert result.order.ids == ["1", "2", "3", "4"]
    np.testing.assert_array_equal(result.results, [1, 0, np.nan, 1])
    assert result.equal.tolist() == [False, True, False, False]
    assert result.scores_chosen is not None
    np.testing.assert_array_equal(result.scores_chosen, [1, 0.5, np.nan, np.nan])

    rows = [outcome_rows(outcomes_of(run, name), order) for name, run in own.items()]
    laid, together = laid_over(outcome_matrix(published, order), rows), outcome_matrix(found, order)
    assert laid.models == together.models
    assert [run for name, run in own.items() if name in laid.models] == [whole, beside]
    for name in ("outcomes", "held", "known_equal", "chosen", "rejected"):
        np.testing.assert_array_equal(getattr(laid, name), getattr(together, name))
    assert sorted(map(str, laid.left_out)) == sorted(map(str, together.left_out))
    board = build_board(NOTHING, "v1", outcomes=laid, own=[*own])
    mine = board.rows[result.model]
    assert (mine["own"], mine["rank"], mine["url"], mine["Reasoning"]) == (True, None, None, 0.5)


# What a tie counts is one thing.

TABLE = small_table(*(row(id=str(at), subset="hep-go", prompt=f"p{at}") for at in range(4)))
MARGINS = (1.0, 1.0, 0.0, 0.0)
"""Two wins and two ties."""
MODEL = "org/model"


def run_of(family: str, folder: Path) -> Run:
    facts = RunFacts(MODEL, "", family, "cpu", "float32", 9, "left", "own", TABLE.id, 4, 0)
    of_each = zip(TABLE.keys, MARGINS, strict=True)
    rows = [ScoredPair(key, "hep-go", "", margin, 0.0, 1, 1) for key, margin in of_each]
    return recorded_run(folder, facts, rows)


@pytest.mark.parametrize(("family", "score"), [("rater", 0.75), ("classifier", 0.5)])
def test_a_run_has_the_same_score_everywhere(family: str, score: float, tmp_path: Path) -> None:
    run = run_of(family, tmp_path / "runs")
    rows = run.rows()
    told: dict[str, object] = {}

    summary = summary_of(run)
    assert summary is not None
    told |= {"Runs": summary.total.accuracy, "section": summary.sections["Reasoning"]}
    *_, last = selection_score_json([Rewarded(tuple(rows), run.facts)], 4)
    told |= {"endpoint": last["accuracy"], "its score": last["score"]}
    command = report_json(run, [], [])
    told |= {"command line": command["total"]["accuracy"], "its sections": command["score"]}
    for number in ("accuracy", "score"):
        rule = SureRule(number, 0.05)
        watch = SequentialMonitor(dict.fromkeys(TABLE.keys, "hep-go"), 0, rule, summary.total.tie)
        told[f"sure {number}"] = watch.add(rows).estimate

    pairs = as_pairs(TABLE.arrow, range(4))
    _, of_pairs = write_results(tmp_path, MODEL, run.facts, pairs, rows)
    published = read_pair_results(of_pairs)
    told["file of each pair"] = float(published.results.mean())
    [aggregate], _ = read_aggregates(tmp_path)
    told["file"] = aggregate.accuracies["hep-go"]

    runs = own_names([run], [])
    [own] = runs
    found = with_runs(Outcomes(("a.json",), (published,)), runs)
    matrix = outcome_matrix(found, order_of(TABLE), lambda: TABLE.hashes)
    field = Field(TABLE, matrix, runs, ("ties",), own=frozenset(runs))
    board = build_board(NOTHING, "v1", outcomes=matrix, own=[own])
    half = build_board(NOTHING, "v1", outcomes=matrix, ties="half", own=[own])
    assert {each["Reasoning"] for each in half.rows.values()} == {0.75}
    told |= {f"board {model}": each["Reasoning"] for model, each in board.rows.items()}
    told["Failures"] = scores_of(field, own).sections["Reasoning"].score
    *_, by_rule = standings(compared(ModelsState("compare", a=own, b=MODEL), field))
    told |= dict(zip("AB", by_rule.scores, strict=True))
    check = check_pairs(field, own, MODEL)
    assert (check.verdict, len(check.parts)) == ("same", 2)
    for part in check.parts:
        told |= {f"check {part.section}": part.here, f"published {part.section}": part.there}
    assert {name: float(each) for name, each in told.items()} == dict.fromkeys(told, score)  # type: ignore[arg-type]


# A file of RewardBench 2's shape.

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
    assert f"{name}, a wrong response, has the highest reward, {wrong - right:.3f} above" in html
