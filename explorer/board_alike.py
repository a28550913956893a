"""How alike the models of a leaderboard win and lose, those that are alike side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.stats.aggregate import Ties, settled
from explorer.stats.difficulty import correlations, leaf_order
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import Rule
from explorer.stats.strata import Floats
from explorer.stats.uncertainty import COMPOSITES, subsets_by


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """The correlation of the outcomes of each two models.

    models: those that are alike stand together.
    correlation: (models, models), as `explorer.stats.difficulty.correlations` gives it.
    """

    models: tuple[str, ...]
    correlation: Floats


def alike(
    matrix: OutcomeMatrix, models: Sequence[str], rule: Rule, ties: Ties = "official"
) -> Alike:
    """How alike some models win and lose, over the pairs that are known of both.

    Pairs count alike, and those of composites (`explorer.stats.uncertainty.COMPOSITES`), whose
    outcomes say nothing, not at all.

    Args:
        matrix: the outcomes.
        models: those to compare; what the matrix does not have is left out.
        rule: of the benchmark that the pairs are of.
        ties: as of `explorer.stats.aggregate.settled`.
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
