"""A person's own runs beside published results: each as if it were one more file of a source.

What was published is put in order once for everybody; runs are laid over it (`OwnRows`), so that a
pack more of one of them makes nothing else anew.
"""

import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from explorer.core.caches import Kept
from explorer.core.text import text
from explorer.runs.cards import card_of
from explorer.runs.outcomes import results_of
from explorer.stats.matrix import (
    Hashes,
    OutcomeMatrix,
    OutcomeRow,
    Outcomes,
    laid_over,
    outcome_matrix,
    outcome_row,
)
from scoring.errors import KnownError
from scoring.record import Run
from scoring.results.files import LeftOut, printable
from scoring.results.order import PairOrder

KEPT_ROWS = 2048
"""Rows that stay in memory: of a run, one for each set of pairs that it was looked for among."""


class OwnRows:
    """Runs as rows of matrices: each is read and put in order once, as long as no pair is added.

    Callable from any thread.
    """

    def __init__(self) -> None:
        self._kept = Kept(KEPT_ROWS)

    def over(
        self,
        matrix: OutcomeMatrix,
        named: Mapping[str, Run],
        pairs_id: Hashable,
        hashes: Hashes = None,
    ) -> tuple[OutcomeMatrix, dict[str, Run]]:
        """A matrix with the runs that are of its pairs, and those runs.

        A run that is not, cannot be read or has no pair yet is listed among what was left out.

        Args:
            matrix: of others.
            named: model -> run, as `own_names` gives them.
            pairs_id: tells the pairs of the matrix from all others.
            hashes: as of `outcome_matrix`.
        """
        rows = {
            name: self._kept.once(
                (run.id, run.n_bytes(), pairs_id), partial(_row, run, matrix.pairs, hashes)
            )
            for name, run in named.items()
        }
        taken = {name: run for name, run in named.items() if rows[name].matrix.models}
        return laid_over(matrix, rows), taken


def _row(run: Run, pairs: PairOrder, hashes: Hashes) -> OutcomeRow:
    try:
        return outcome_row(_file(run), results_of(run), pairs, hashes)
    except KnownError as error:
        nothing = outcome_matrix(Outcomes(left_out=(LeftOut(_file(run), str(error)),)), pairs)
        return OutcomeRow(np.zeros(0, np.int64), nothing)


def _file(run: Run) -> str:
    """What stands for a run's file; not its whole id, as who knows that may read it."""
    return f"runs/{run.id[:15]}"


def own_names(runs: Sequence[Run], taken: Iterable[str]) -> dict[str, Run]:
    """Runs, newest first, by the names of their models. taken: names of others.

    A run keeps its name when another one begins in the same second.
    """
    others, named = set(taken), list[tuple[str, Run]]()
    for run in reversed(runs):
        name = own_name(run)
        number, unique = 2, name
        while unique in others:
            unique, number = f"{name} {number}", number + 1
        others.add(unique)
        named.append((unique, run))
    return dict(reversed(named))


def with_runs(found: Outcomes, runs: Mapping[str, Run]) -> tuple[Outcomes, dict[str, Run]]:
    """Outcomes with those of a person's runs, and these by the names of their models.

    A run that cannot be read, or has no pair yet, is listed among what was left out. This is for
    where nothing else says which pairs are looked at; else see `OwnRows`.
    """
    files, results, left_out = [], [], []
    named: dict[str, Run] = {}
    for name, run in runs.items():
        file = _file(run)
        try:
            results.append(replace(results_of(run), model=name))
        except KnownError as error:
            left_out.append(LeftOut(file, str(error)))
            continue
        named[name] = run
        files.append(file)
    added = replace(
        found,
        files=(*found.files, *files),
        results=(*found.results, *results),
        left_out=(*found.left_out, *left_out),
    )
    return added, named


def own_name(run: Run) -> str:
    """What a run is called beside published models, unless two began in the same second."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(run.started))
    called = card_of(run).title or run.facts.model
    return text("board.own_run", model=printable(called), when=when)
