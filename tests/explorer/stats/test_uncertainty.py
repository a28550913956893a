from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from explorer.data.table import PairTable
from explorer.stats import uncertainty
from explorer.stats.matrix import OutcomeMatrix, order_of
from explorer.stats.rules import COMPOSITES, RULES, V1
from explorer.stats.uncertainty import Uncertainties, Uncertainty, key_of, measure
from scoring.clusters import clusters_of
from scoring.errors import KnownError
from scoring.pairs.opening import read_pairs
from scoring.results.order import PairOrder
from tests.support.board_data import FOUR, matrix_of
from tests.support.files import write_jsonl
from tests.support.stepping import told_by

NAN = float("nan")


def random_matrix(n_models: int = 4, n_pairs: int = 80, seed: int = 0) -> OutcomeMatrix:
    rng = np.random.default_rng(seed)
    names = [f"org/m{n}: \u65e5" for n in range(n_models)]
    rows = {name: [*(rng.random(n_pairs) < 0.6).astype(float)] for name in names}
    return matrix_of(rows, [FOUR[place % 4] for place in range(n_pairs)])


def measured(matrix: OutcomeMatrix, rule: str = "v1", replicates: int = 300) -> Uncertainty:
    return measure(matrix, RULES[rule], replicates=replicates)


def test_a_section_without_pairs_and_ranks_of_models_that_cannot_be_compared_are_unknown() -> None:
    matrix = random_matrix()
    found = measure(matrix, V1, ranked=matrix.models[:3], replicates=200)
    assert not np.isnan([found.low[3], found.high[3], *found.section_low[:, 3]]).any()
    assert (found.best[3], found.worst[3], found.group[3]) == (0, 0, 0)
    assert not found.section_group[:, 3].any()
    found = measured(matrix_of({"a": [1, 0, 1, 1]}, ["hep-go"] * 4))
    assert found.sections[-1] == "Reasoning"
    assert np.isnan(found.section_score[:, 0]).tolist() == [True, True, True, False]
    assert np.isnan(found.section_low[:, 0]).tolist() == [True, True, True, False]
    assert found.section_group[:, 0].tolist() == [0, 0, 0, 1]


def test_of_a_composite_outcomes_say_nothing() -> None:
    matrix = matrix_of({"a": [1, 0, 0.5, 0.25]}, ["Focus", "Focus", "precise_if", "ties"])
    found = measured(matrix, "v2")
    assert np.isnan([found.score[0], found.low[0], found.high[0]]).all()
    assert found.group.tolist() == [0]
    scores = dict(zip(found.sections, found.section_score[:, 0].tolist(), strict=True))
    assert np.isnan(scores["Ties"])
    assert (scores["Focus"], scores["Precise IF"]) == (0.5, 0.5)
    assert {"Ties"} == COMPOSITES


def test_missing_outcomes_and_ties_count_as_asked() -> None:
    equal = np.zeros((1, 40), np.bool_)
    equal[0, 0] = True
    values = [0.0, NAN, *[1.0] * 38]
    matrix = matrix_of({"a": values}, ["hep-go"] * 40, equal)
    scores = [
        measure(matrix, V1, ties=ties, missing=missing, replicates=10).score[0]
        for ties in ("official", "half")
        for missing in ("left out", "loss")
    ]
    assert scores == pytest.approx([38 / 39, 38 / 40, 38.5 / 39, 38.5 / 40])


def test_more_pairs_than_can_be_measured_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncertainty, "MOST_PAIRS", 79)
    with pytest.raises(KnownError, match=r"79 pairs at most; the results here are of 80\."):
        measured(random_matrix())


# What is kept.


def test_what_was_measured_is_kept(tmp_path: Path) -> None:
    matrix = random_matrix()
    first = Uncertainties(tmp_path).measured(matrix, V1)
    fresh = Uncertainties(tmp_path)
    known = fresh.known(matrix, V1)
    assert repr(known) == repr(first)
    assert told_by(lambda tell: fresh.measured(matrix, V1, tell))[1] == []
    assert fresh.known(matrix, V1, missing="loss") is None
    assert fresh.known(matrix, RULES["paper"]) is None
    assert fresh.known(matrix, V1, ranked=matrix.models) is None
    assert fresh.known(random_matrix(seed=1), V1) is None
    other_ties = replace(matrix, known_equal=~matrix.known_equal)
    assert key_of(other_ties, V1) == key_of(matrix, V1)
    assert key_of(other_ties, V1, ties="half") != key_of(matrix, V1, ties="half")


def test_a_broken_file_is_ignored_and_written_anew(tmp_path: Path) -> None:
    matrix = random_matrix()
    Uncertainties(tmp_path).measured(matrix, V1)
    [path] = (tmp_path / "uncertainty").iterdir()
    whole = path.read_bytes()
    for broken in (b"", b"PK", b"\0" * 100, whole[: len(whole) // 2], whole[:-1]):
        path.write_bytes(broken)
        assert Uncertainties(tmp_path).known(matrix, V1) is None
    Uncertainties(tmp_path).measured(matrix, V1)
    assert Uncertainties(tmp_path).known(matrix, V1) is not None
    assert [*(tmp_path / "uncertainty").iterdir()] == [path]


# Which pairs go together


def partition(numbers: NDArray[np.intp]) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(numbers == each).tolist()) for each in set(numbers.tolist())}


def test_pairs_of_one_prompt_and_of_one_problem_are_a_cluster(shared_data: Path) -> None:
    """Of the real pairs; of the benchmark it is known without texts, without ids, and by ids."""
    path = shared_data / "reward-bench" / "filtered.parquet"
    seen = Counter[str]()
    keys: dict[object, list[int]] = {}
    for at, row in enumerate(pq.read_table(path, columns=["prompt", "subset"]).to_pylist()):
        subset = row["subset"]
        key = ("problem", seen[subset]) if subset.startswith("hep-") else row["prompt"]
        seen[subset] += 1
        keys.setdefault(key, []).append(at)
    expected = set(map(frozenset, keys.values()))
    assert len(expected) == 1913
    order = order_of(PairTable(read_pairs(path, "file")))
    for known in (order, replace(order, prompts=None), replace(order, prompts=None, ids=None)):
        assert partition(clusters_of(known)) == expected
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


def test_what_is_not_known_is_no_cluster(tmp_path: Path) -> None:
    for ids in (None, ["x", "-3", "9" * 30], ["1", "2", "3"]):
        order = PairOrder(("hep-go", "own"), np.array([0, 0, 1], np.int32), ids)
        assert len(partition(clusters_of(order))) == 3
    assert clusters_of(PairOrder((), np.zeros(0, np.int32))).tolist() == []
    without_prompts = {"prompt": "", "chosen": "a", "rejected": "b"}
    path = write_jsonl(tmp_path / "pairs.jsonl", [without_prompts] * 2)
    assert len(partition(clusters_of(order_of(PairTable(read_pairs(path, "file")))))) == 2
