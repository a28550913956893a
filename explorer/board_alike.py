"""How alike the models of a leaderboard win and lose, those that are alike side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.aggregate import Ties, settled
from explorer.outcome_matrix import OutcomeMatrix
from explorer.patterns import correlations, leaf_order
from explorer.rules import Rule
from explorer.strata import Floats
from explorer.uncertainty import COMPOSITES, subsets_by


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """The correlation of the outcomes of each two models.

    models: those that are alike stand together.
    correlation: (models, models), as `explorer.patterns.correlations` gives it.
    """

    models: tuple[str, ...]
    correlation: Floats


def alike(
    matrix: OutcomeMatrix, models: Sequence[str], rule: Rule, ties: Ties = "official"
) -> Alike:
    """How alike some models win and lose, over the pairs that are known of both.

    Pairs count alike, and those of composites (`explorer.uncertainty.COMPOSITES`), whose outcomes
    say nothing, not at all.

    Args:
        matrix: the outcomes.
        models: those to compare; what the matrix does not have is left out.
        rule: of the benchmark that the pairs are of.
        ties: as of `explorer.aggregate.settled`.
    """
    place = {model: row for row, model in enumerate(matrix.models)}
    rows = [place[model] for model in models if model in place]
    subsets = subsets_by(rule, matrix.pairs)
    composite = [code for code, name in enumerate(subsets.names) if name in COMPOSITES]
    columns = np.flatnonzero(~np.isin(subsets.codes, composite))
    at = np.ix_(np.array(rows, np.intp), columns)
    found = correlations(settled(matrix.outcomes[at], matrix.known_equal[at], ties))
    order = leaf_order(found)
    return Alike(
        tuple(matrix.models[rows[row]] for row in order.tolist()), found[np.ix_(order, order)]
    )
