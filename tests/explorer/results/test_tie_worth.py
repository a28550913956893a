"""What a tie counts is one thing: a run has the same score wherever it is told."""

from pathlib import Path

import pytest

from explorer.api.scoring import selection_score_json
from explorer.results.board import build_board
from explorer.results.field import Field
from explorer.results.own import own_names
from explorer.runs.outcomes import summary_of
from explorer.runs.running import Rewarded
from explorer.stats.matrix import Outcomes, order_of, outcome_matrix
from explorer.tabs.models.compared import compared, standings
from explorer.tabs.pairs.fail_report import scores_of
from explorer.tabs.score.published_check import check_pairs
from scoring.command.report import report_json
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from scoring.results.accuracies import read_aggregates
from scoring.results.exports import write_results
from scoring.results.pairs import read_pair_results
from scoring.spec import RunFacts, ScoredPair
from scoring.sure import SequentialMonitor, SureRule
from tests.support.board_data import NOTHING, with_runs
from tests.support.boards import comparing
from tests.support.run_facts import recorded_run
from tests.support.tables import row, small_table

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
    *_, by_rule = standings(compared(comparing(own, MODEL), field))
    told |= dict(zip("AB", by_rule.scores, strict=True))
    check = check_pairs(field, own, MODEL)
    assert (check.verdict, len(check.parts)) == ("same", 2)
    for part in check.parts:
        told |= {f"check {part.section}": part.here, f"published {part.section}": part.there}
    assert {name: float(each) for name, each in told.items()} == dict.fromkeys(told, score)  # type: ignore[arg-type]
