"""Which pairs share a prompt, and so are won or lost together."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scoring.benchmark import COUNTS
from scoring.benchmarks import benchmark_of
from scoring.results.order import PairOrder

_SHARED_PROMPTS = Path(__file__).resolve().parents[1] / "assets" / "shared_prompts.json"


def is_reward_bench(order: PairOrder) -> bool:
    """Whether these are RewardBench's subsets with as many pairs as each has there."""
    return has_counts(order, COUNTS)


def has_counts(order: PairOrder, counts: Mapping[str, int]) -> bool:
    """Whether these are the named subsets with so many pairs each."""
    known = np.bincount(order.codes, minlength=len(order.names)).tolist()
    return dict(zip(order.names, known, strict=True)) == counts


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
    benchmark = benchmark_of(pairs.names, pairs.named_benchmark)
    for subset, first in benchmark.first_ids.items():
        if is_whole:
            found[_in_order(pairs, subset)] = beyond + np.arange(benchmark.n_problems)
        elif subset in pairs.names:
            rows = np.flatnonzero(pairs.codes == pairs.names.index(subset))
            problems = _ids(pairs, rows) - first
            known = (problems >= 0) & (problems < benchmark.n_problems)
            found[rows[known]] = beyond + problems[known]
    return np.unique(found, return_inverse=True)[1].astype(np.intp)


def _in_order(pairs: PairOrder, subset: str) -> NDArray[np.intp]:
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
    known: dict[str, list[int]] = json.loads(_SHARED_PROMPTS.read_bytes())
    return known
