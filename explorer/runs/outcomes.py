"""The pairs of a run, and the same as results of pairs, as if it were a file of them."""

import re
from functools import lru_cache
from pathlib import Path

from explorer.core.caches import LruCache
from scoring.benchmarks import benchmark_of, benchmarks
from scoring.errors import KnownError
from scoring.record import Run
from scoring.results.pairs import PairResults, results_of_rows
from scoring.spec import ScoredPair
from scoring.summary import Summary, summarise_run

_FIRST_SUBSET = re.compile(r'\{"keys": \["([^":\\]*)')
_PEEKED = 200
"""Characters of a plan in which its first key stands."""
_SUMMARIES = LruCache[Summary | None](400)
_ROWS = LruCache[list[ScoredPair]](8)


def scored_rows(run: Run) -> list[ScoredPair]:
    """`Run.rows`, of the last few runs without reading them again; not to be changed.

    Raises:
        KnownError: of `Run.rows`.
    """
    return _ROWS.get_or_create((run.folder, run.n_bytes()), run.rows)


def summary_of(run: Run) -> Summary | None:
    """The summary of a run's pairs so far; None if they cannot be read."""
    return _SUMMARIES.get_or_create((run.folder, run.n_bytes()), lambda: _summary(run))


def _summary(run: Run) -> Summary | None:
    try:
        return summarise_run(scored_rows(run), run.facts)
    except KnownError:
        return None


def results_of(run: Run) -> PairResults:
    """A run as the results of a file, in the order of the pairs that it was given.

    A tie counts officially, as in files: half for a judge, nothing for others.

    Raises:
        KnownError: the run cannot be read, or has no pairs.
    """
    rows = _in_order(run)
    if not rows:
        raise KnownError("it has no outcomes yet")
    return results_of_rows(rows, run.facts)


def benchmark_of_run(run: Run) -> str:
    """The key of the benchmark whose rows a run is of, as it says or the subsets of its plan do."""
    if run.facts.benchmark:
        known = benchmarks().get(run.facts.benchmark)
        return known.key if known else run.facts.benchmark
    return _by_plan(run.folder)


@lru_cache(maxsize=4096)
def _by_plan(folder: Path) -> str:
    first = benchmark_of(()).key
    try:
        with (folder / "plan.json").open(encoding="utf-8") as file:
            begins = _FIRST_SUBSET.match(file.read(_PEEKED))
        # Of most runs that is enough to know.
        if begins is None or benchmark_of((begins[1],)).key == first:
            return first
        _, keys = Run.open(folder).plan()
    except (OSError, ValueError, KnownError):
        return first
    return benchmark_of({key.partition(":")[0] for key in keys}).key


def _in_order(run: Run) -> list[ScoredPair]:
    row_of = {row.key: row for row in scored_rows(run)}
    _, keys = run.plan()
    return [row_of[key] for key in keys if key in row_of]
