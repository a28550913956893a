from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from explorer.data.table import PairTable
from explorer.stats.clusters import clusters_of
from explorer.stats.matrix import order_of
from scoring.benchmark import COUNTS
from scoring.pairs.opening import read_pairs
from scoring.results.order import PairOrder


def partition(numbers: NDArray[np.intp]) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(numbers == each).tolist()) for each in set(numbers.tolist())}


@pytest.fixture(scope="module")
def real(shared_data: Path) -> tuple[PairOrder, set[frozenset[int]]]:
    """The real pairs, and which of them have one prompt or one HumanEval problem."""
    path = shared_data / "reward-bench" / "filtered.parquet"
    rows = pq.read_table(path, columns=["prompt", "subset"]).to_pylist()
    seen: dict[str, int] = {}
    keys: dict[object, list[int]] = {}
    for at, row in enumerate(rows):
        place = seen[row["subset"]] = seen.get(row["subset"], -1) + 1
        key = ("problem", place) if row["subset"].startswith("hep-") else row["prompt"]
        keys.setdefault(key, []).append(at)
    return order_of(PairTable(read_pairs(path, "file"))), set(map(frozenset, keys.values()))


def test_pairs_of_one_prompt_and_of_one_problem_are_a_cluster(
    real: tuple[PairOrder, set[frozenset[int]]],
) -> None:
    order, expected = real
    assert partition(clusters_of(order)) == expected
    assert len(expected) == 1913


def test_of_the_benchmark_they_are_known_without_texts_and_without_ids(
    real: tuple[PairOrder, set[frozenset[int]]],
) -> None:
    order, expected = real
    assert partition(clusters_of(replace(order, prompts=None))) == expected
    assert partition(clusters_of(replace(order, prompts=None, ids=None))) == expected


def test_ids_tell_which_pair_is_which_in_another_order(
    real: tuple[PairOrder, set[frozenset[int]]],
) -> None:
    order, expected = real
    turned = np.arange(len(order))[::-1]
    ids = [list(order.ids or ())[at] for at in turned]
    found = clusters_of(PairOrder(order.names, order.codes[turned], ids))
    assert partition(found[turned]) == expected


def test_of_a_part_of_the_benchmark_prompts_and_problems_are_told_by_texts_and_ids() -> None:
    order = PairOrder(
        ("own", "hep-go", "hep-js"),
        np.array([0, 0, 1, 1, 2], np.int32),
        ["a", "b", "3856", "3999", "4184"],
        prompts=np.array([0, 0, 1, 2, 3], np.int32),
    )
    assert partition(clusters_of(order)) == {frozenset({0, 1}), frozenset({2, 4}), frozenset({3})}


@pytest.mark.parametrize("ids", [None, ["x", "-3", "9" * 30], ["1", "2", "3"]])
def test_what_is_not_known_is_no_cluster(ids: list[str] | None) -> None:
    order = PairOrder(("hep-go", "own"), np.array([0, 0, 1], np.int32), ids)
    assert len(partition(clusters_of(order))) == 3
    assert clusters_of(PairOrder((), np.zeros(0, np.int32))).tolist() == []


def test_pairs_without_a_prompt_have_none_in_common(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"prompt": "", "chosen": "a", "rejected": "b"}\n' * 2)
    order = order_of(PairTable(read_pairs(path, "file")))
    assert len(partition(clusters_of(order))) == 2


def test_every_subset_has_as_many_prompts_as_pairs() -> None:
    codes = np.repeat(np.arange(len(COUNTS), dtype=np.int32), list(COUNTS.values()))
    assert len(clusters_of(PairOrder(tuple(COUNTS), codes))) == 2985
