import json
from pathlib import Path

import numpy as np

from explorer.results.outcome_files import read_source
from explorer.results.sources import FolderSource
from explorer.stats.aggregate import composites
from explorer.stats.matrix import Outcomes
from scoring.results.order import PairOrder
from scoring.results.pairs import PairResults, Ragged

ROWS = [("ref:1", 1, [2, 0.5, 0.1]), ("tied:1", 3, [2, 1.8, 1.9, 0.5, 0.1])]


FIXTURE_A = 1.009999665971563
"""What upstream's code gives of these rows."""


def result_of(model: str, name: str = "Ties", ids: list[str] | None = None) -> PairResults:
    """A pair of another subset, then the two rows of fixture A."""
    lists = [[1.0, 0.0, 0.0, 0.0], *(scores for _, _, scores in ROWS)]
    scores = Ragged(
        np.array([each for row in lists for each in row], np.float64),
        np.cumsum([0, *map(len, lists)], dtype=np.int64),
    )
    return PairResults(
        model=model,
        model_type=None,
        order=PairOrder(("Focus", name), np.array([0, 1, 1], np.int32), ids),
        results=np.array([1, 1, 0], np.float32),
        equal=np.zeros(3, np.bool_),
        scores=scores,
        num_correct=np.array([1, *(n for _, n, _ in ROWS)], np.int32),
    )


def test_ties_are_scored_from_a_files_scores() -> None:
    ids = ["7", *(row[0] for row in ROWS)]
    results = (result_of("a", ids=ids), result_of("b", "ties", ids), result_of("c"))
    found = composites(Outcomes(("a", "b", "c"), results))
    assert set(found) == {"a", "b"}
    assert found["a"]["Ties"].accuracy == FIXTURE_A
    assert found["a"] == found["b"]
    assert (found["a"]["Ties"].n, found["a"]["Ties"].wins) == (2, 2)


def test_of_a_file_that_was_kept_it_is_the_same_to_the_last_digit(tmp_path: Path) -> None:
    file = tmp_path / "source" / "eval-set-scores" / "a.json"
    values = {
        "model": "a",
        "results": [1, 0],
        "subset": ["Ties", "Ties"],
        "id": [each for each, _, _ in ROWS],
        "scores": [scores for _, _, scores in ROWS],
        "num_correct": [n for _, n, _ in ROWS],
    }
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(values))
    source = FolderSource(tmp_path / "source")
    _, kept = (read_source(source, tmp_path / "home") for _ in range(2))
    assert composites(kept)["a"]["Ties"].accuracy == FIXTURE_A
