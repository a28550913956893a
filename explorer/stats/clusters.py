"""Which pairs are not independent: those of one prompt, and one problem in several languages."""

import json
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from explorer.core.settings import ASSETS
from explorer.stats.matrix import is_reward_bench
from scoring.results.order import PairOrder

FIRST_IDS: dict[str, int] = {
    "hep-python": 3692,
    "hep-go": 3856,
    "hep-cpp": 4020,
    "hep-js": 4184,
    "hep-rust": 4348,
    "hep-java": 4512,
}
"""The id of the first of HumanEval's 164 problems in each language; the others follow in order."""
N_PROBLEMS = 164


def clusters_of(pairs: PairOrder) -> NDArray[np.intp]:
    """The cluster of each pair, from 0: pairs with the same number share a prompt.

    One HumanEval problem in six languages is one cluster, though its prompts differ. Prompts are
    compared where the texts are at hand; of RewardBench as a whole they are known without
    (assets/shared_prompts.json: a number for the prompt of each pair, by subset, in the order of
    ids). Else every pair is taken to have a prompt of its own.

    >>> clusters_of(PairOrder(("hep-go", "hep-js"), np.array([0, 0, 1]), ["3856", "3857", "4185"]))
    array([0, 1, 1])
    """
    found = np.arange(len(pairs))
    is_whole = is_reward_bench(pairs)
    if pairs.prompts is not None:
        found = pairs.prompts.astype(np.intp)
    elif is_whole:
        for subset, prompts in _shared_prompts().items():
            found[_in_order(pairs, subset)] = len(pairs) + np.array(prompts)
    beyond = found.max(initial=0) + 1
    for subset, first in FIRST_IDS.items():
        if is_whole:
            found[_in_order(pairs, subset)] = beyond + np.arange(N_PROBLEMS)
        elif subset in pairs.names:
            rows = np.flatnonzero(pairs.codes == pairs.names.index(subset))
            problems = _ids(pairs, rows) - first
            known = (problems >= 0) & (problems < N_PROBLEMS)
            found[rows[known]] = beyond + problems[known]
    return np.unique(found, return_inverse=True)[1].astype(np.intp)


def _in_order(pairs: PairOrder, subset: str) -> NDArray[np.intp]:
    """The rows of a subset in the order of their ids, where those are numbers."""
    rows = np.flatnonzero(pairs.codes == pairs.names.index(subset))
    return rows[np.argsort(_ids(pairs, rows), kind="stable")]


def _ids(pairs: PairOrder, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """The ids of rows as numbers; -1 for those that are none."""
    if pairs.ids is None:
        return np.full(len(rows), -1)
    written = [pairs.ids[row] for row in rows.tolist()]
    return np.array([int(each) if each.isdecimal() and len(each) < 10 else -1 for each in written])


@lru_cache(maxsize=1)
def _shared_prompts() -> dict[str, list[int]]:
    """Of the subsets in which a prompt occurs that some other pair of RewardBench has, too."""
    found: dict[str, list[int]] = json.loads((ASSETS / "shared_prompts.json").read_bytes())
    return found
