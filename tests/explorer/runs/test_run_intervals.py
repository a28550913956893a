"""Sections of a run with intervals, against what the board and Pairs say of the same pairs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.results.field import Field
from explorer.results.own import own_names
from explorer.runs.listing import listed_runs
from explorer.runs.store import RunStore
from explorer.stats.matrix import Outcomes, order_of, outcome_matrix
from explorer.stats.rules import V1
from explorer.stats.uncertainty import measure
from explorer.tabs.pairs.fail_report import scores_of
from scoring.clusters import clusters_of
from scoring.record import Run, new_folder
from scoring.spec import Plan, ScoredPack, ScoredPair
from scoring.summary import summarise_run
from tests.support.board_data import filtered_texts, with_runs
from tests.support.run_facts import MADE_UP


def test_a_run_of_the_benchmark_is_as_sure_as_on_the_board_and_in_failures(
    real: PairTable, tmp_path: Path
) -> None:
    """Pairs of one prompt are won or lost together, which makes every interval wider."""
    wins = np.random.default_rng(0).random(len(real)) < 0.8
    rows = tuple(
        ScoredPair(key, subset, filtered_texts()[key], float(wins[cluster]), 0.5, 1, 1)
        for key, subset, cluster in zip(
            real.keys, real.subset_of_row, clusters_of(order_of(real)), strict=True
        )
    )
    settings = Settings(home=tmp_path)
    run = Run.create(
        new_folder(settings.runs), MADE_UP, Plan((tuple(range(len(rows))),)), real.keys
    )
    list(run.record([ScoredPack(0, rows, 1)]))
    own = own_names([run], [])
    matrix = outcome_matrix(with_runs(Outcomes(), own), order_of(real), lambda: real.hashes)
    [name] = own
    found = summarise_run(rows, MADE_UP).intervals

    board = measure(matrix, V1, replicates=1)
    overall = (board.low[0], board.high[0])
    ends = zip(board.section_low[:, 0], board.section_high[:, 0], strict=True)
    failures = scores_of(Field(real, matrix, own, ("run",)), name)
    assert failures.overall is not None and failures.overall.interval == overall
    assert found.score == pytest.approx(overall)
    [line] = listed_runs(RunStore(settings), None).lines
    assert line.interval == found.total
    assert found.sections == {"": None} | {
        section: pytest.approx(each) for section, each in zip(board.sections, ends, strict=True)
    }
    unlike = [replace(row, key=f"{row.subset}:x") for row in rows[1:]]
    apart = summarise_run(unlike, MADE_UP).intervals.total
    assert (
        found.total
        and apart
        and found.total.high - found.total.low > 1.2 * (apart.high - apart.low)
    )
