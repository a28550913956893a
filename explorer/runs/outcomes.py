"""The pairs of a run, and the same as results of pairs, as if it were a file of them."""

from collections.abc import Sequence

import numpy as np

from explorer.core.caches import LruCache
from scoring.errors import KnownError
from scoring.record import Run
from scoring.results.order import PairOrder
from scoring.results.pairs import PairResults
from scoring.spec import RunFacts, ScoredPair
from scoring.summary import credit_of, tie_worth

_ROWS = LruCache[list[ScoredPair]](8)


def scored_rows(run: Run) -> list[ScoredPair]:
    """`Run.rows`, of the last few runs without reading them again; not to be changed.

    Raises:
        KnownError: of `Run.rows`.
    """
    return _ROWS.get_or_create((run.folder, run.n_bytes()), run.rows)


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


def results_of_rows(rows: Sequence[ScoredPair], facts: RunFacts) -> PairResults:
    """The same of pairs in any order."""
    subsets = tuple(dict.fromkeys(row.subset for row in rows))
    place = {subset: at for at, subset in enumerate(subsets)}
    tie = tie_worth(facts.family)
    return PairResults(
        model=facts.model,
        model_type=None,
        order=PairOrder(
            subsets,
            np.array([place[row.subset] for row in rows], np.int32),
            [row.key.removeprefix(f"{row.subset}:") for row in rows],
            [row.text_hash for row in rows],
        ),
        results=np.array([credit_of(row.outcome, tie) for row in rows], np.float32),
        equal=np.array([row.outcome == "tie" for row in rows], np.bool_),
        scores_chosen=_rewards([row.chosen_reward for row in rows]),
        scores_rejected=_rewards([row.rejected_reward for row in rows]),
    )


def _in_order(run: Run) -> list[ScoredPair]:
    row_of = {row.key: row for row in scored_rows(run)}
    _, keys = run.plan()
    return [row_of[key] for key in keys if key in row_of]


def _rewards(rewards: list[float | None]) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    with np.errstate(over="ignore"):
        single = np.array([np.nan if each is None else each for each in rewards]).astype(np.float32)
    return np.where(np.isinf(single), np.float32(np.nan), single)
