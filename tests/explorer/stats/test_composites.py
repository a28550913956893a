import json
from pathlib import Path

from explorer.results.outcome_files import read_source
from explorer.results.sources import FolderSource
from explorer.stats.aggregate import composites

FIXTURE_A = 1.009999665971563
"""What upstream's code gives of these rows of Ties."""
ROWS = {
    "id": ["7", "ref:1", "tied:1"],
    "scores": [[1.0, 0.0, 0.0, 0.0], [2, 0.5, 0.1], [2, 1.8, 1.9, 0.5, 0.1]],
    "num_correct": [1, 1, 3],
    "results": [1, 1, 0],
}


def test_ties_are_scored_from_a_files_scores_and_ids_new_or_kept(tmp_path: Path) -> None:
    folder = tmp_path / "source" / "eval-set-scores"
    folder.mkdir(parents=True)
    for model, ties in {"a": "Ties", "b": "ties", "c": "Ties"}.items():
        values = ROWS | {"model": model, "subset": ["Focus", ties, ties]}
        if model == "c":
            del values["id"]
        (folder / f"{model}.json").write_text(json.dumps(values))
    for _ in range(2):
        found = composites(read_source(FolderSource(tmp_path / "source"), tmp_path / "home"))
        assert found == {"a": found["a"], "b": found["a"]}
        ties_of_a = found["a"]["Ties"]
        assert (ties_of_a.accuracy, ties_of_a.n, ties_of_a.wins) == (FIXTURE_A, 2, 2)
