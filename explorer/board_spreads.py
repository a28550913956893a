"""How hard each subset was for the models of a leaderboard."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.results.boards import Board, BoardRow


@dataclass(frozen=True, slots=True)
class SubsetSpread:
    """The accuracies of models in one subset, 0 to 1; there is at least one.

    section: None where the rule leaves the subset out.
    n: models of which it is known.
    q1, q3: quartiles; those that fall between two models are linear, as numpy's are by default.
    """

    subset: str
    section: str | None
    n: int
    mean: float
    low: float
    q1: float
    median: float
    q3: float
    high: float


def subset_spreads(board: Board, rows: Sequence[BoardRow]) -> list[SubsetSpread]:
    """The accuracies of some models in each subset, section by section in the benchmark's order.

    Subsets that no model knows are left out.

    >>> from explorer.results.boards import build_board
    >>> from explorer.results.outcomes import read_snapshot
    >>> board = build_board(read_snapshot(), "v1")
    >>> easiest = max(subset_spreads(board, board.rows), key=lambda spread: spread.mean)
    >>> easiest.subset, easiest.section
    ('alpacaeval-easy', 'Chat')
    """
    order = list(dict.fromkeys([*board.rule.subsets, *board.subsets]))
    spreads = []
    for subset in order:
        accuracies = [row.subsets.get(subset) for row in rows]
        known = [each for each in accuracies if each is not None]
        if known:
            ends = np.quantile(known, (0, 0.25, 0.5, 0.75, 1)).tolist()
            mean = sum(known) / len(known)
            section = board.rule.section_of(subset)
            spreads.append(SubsetSpread(subset, section, len(known), mean, *ends))
    return spreads
