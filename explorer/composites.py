"""RewardBench 2's Ties of each model, from the scores in its file of results of each pair."""

import numpy as np

from explorer.aggregate import Counted, Missing
from explorer.outcome_matrix import Outcomes
from explorer.ties_subset import TiesRow, ties_score
from scoring.results.accuracies import plain_subset
from scoring.results.pairs import PairResults

TIES = "Ties"


def composites(found: Outcomes, missing: Missing = "left out") -> dict[str, dict[str, Counted]]:
    """Model -> subset -> its composite, of the models whose files have scores and ids.

    Ids of Ties say which prompt a row is of, and unlike those of other subsets no stored one is
    known to be wrong.
    """
    scores: dict[str, dict[str, Counted]] = {}
    for result in found.results:
        counted = _ties_of(result, missing)
        if counted is not None and counted.accuracy is not None:
            scores.setdefault(result.model, {TIES: counted})
    return scores


def _ties_of(result: PairResults, missing: Missing) -> Counted | None:
    order, scores, correct = result.order, result.scores, result.num_correct
    if scores is None or correct is None or order.ids is None:
        return None
    codes = [at for at, name in enumerate(order.names) if plain_subset(name) == plain_subset(TIES)]
    rows = [
        TiesRow(
            order.ids[row],
            int(correct[row]),
            [None if np.isnan(each) else float(each) for each in scores.row(row)],
        )
        for row in np.flatnonzero(np.isin(order.codes, codes)).tolist()
    ]
    return ties_score(rows, missing).counted if rows else None
