"""Result files of each pair are read once, kept, and put into one matrix."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.results import outcome_files
from explorer.results.outcome_files import read_source
from explorer.results.sources import FolderSource, HubSource, Source
from explorer.stats.aggregate import composites
from explorer.stats.matrix import Outcomes, outcome_matrix
from scoring.hub.access import Hub, HubId
from scoring.limits import Step
from scoring.results.pairs import PairResults, read_pair_results
from tests.support.hub_server import Repo
from tests.support.stepping import told_by

SUBSETS = ["a", "a", "b", "b"]


def result_file(model: str, results: list[float | None] | None = None, **other: Any) -> bytes:
    """A small file as upstream writes them; a key with None is left out."""
    values = {
        "model": model,
        "model_type": "DPO",
        "subset": SUBSETS,
        "id": [1, 2, 1, 2],
        "results": results or [1, 0, 1, 0],
        "scores_chosen": [[1.0], [2.0], [3.0], [4.0]],
        "scores_rejected": [0.0, 3.0, 2.0, 4.0],
        "text_chosen": ["long text"] * 4,
        **other,
    }
    return json.dumps({key: value for key, value in values.items() if value is not None}).encode()


def put(root: Path, files: Mapping[str, bytes]) -> FolderSource:
    for name, content in files.items():
        path = root / "eval-set-scores" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return FolderSource(root)


def finished(home: Path, source: Source) -> tuple[Outcomes, list[Any]]:
    """What was read, and the steps that were told."""
    return told_by(lambda tell: read_source(source, home, tell))


def models(found: Outcomes) -> list[str]:
    return [result.model for result in found.results]


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were really read."""
    names: list[str] = []

    def read(path: Path, name: str) -> PairResults:
        names.append(name)
        return read_pair_results(path, name)

    monkeypatch.setattr(outcome_files, "read_pair_results", read)
    return names


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


ABC = {name: result_file(name.removesuffix(".json")) for name in ("a.json", "b.json", "c.json")}


# Reading and keeping.


def test_files_are_read_one_by_one_and_the_second_time_not_at_all(
    tmp_path: Path, home: Path, read_files: list[str]
) -> None:
    found, steps = finished(home, put(tmp_path, ABC))
    assert steps == [Step("reading", number, 3) for number in range(3)]
    assert models(found) == ["a", "b", "c"]
    again, steps = finished(home, FolderSource(tmp_path))
    assert steps == []
    assert read_files == [f"eval-set-scores/{name}" for name in ABC]
    assert repr(again.results) == repr(found.results)


def test_only_a_file_that_changed_is_read_again_and_what_cannot_be_read_is_listed(
    tmp_path: Path, home: Path, read_files: list[str]
) -> None:
    bad = {"x.json": b"{", "y.json": result_file("y", [2, 0, 0, 0]), "z.png": b""}
    finished(home, put(tmp_path, {**ABC, **bad}))
    newer = put(tmp_path, {"b.json": result_file("b", [0, 0, 0, 0.5])})
    (tmp_path / "eval-set-scores" / "c.json").unlink()
    for _ in range(2):
        found, _ = finished(home, newer)
        assert models(found) == ["a", "b"]
        assert found.results[1].results.tolist() == [0, 0, 0, 0.5]
        assert [str(item)[:54] for item in found.left_out] == [
            "eval-set-scores/x.json: it is not complete JSON: Expec",
            "eval-set-scores/y.json: results, row 1: 2, not between",
            "eval-set-scores/z.png: no JSON file",
        ]
    assert len(read_files) == 6


def test_a_broken_cache_is_ignored_and_made_anew(
    tmp_path: Path, home: Path, read_files: list[str]
) -> None:
    source = put(tmp_path, ABC)
    finished(home, source)
    (part,) = (home / "outcomes").rglob("*.parquet")
    content = part.read_bytes()
    flipped = content[:40] + bytes([content[40] ^ 255]) + content[41:]
    for at, damaged in enumerate((content[: len(content) // 2], b"", flipped, b"PAR1 no PAR1")):
        part.write_bytes(damaged)
        for _ in range(2):
            assert models(finished(home, source)[0]) == ["a", "b", "c"]
        assert len(read_files) == 6 + 3 * at


# From the Hub.


def test_a_dataset_of_the_hub_is_fetched_file_by_file_and_what_was_read_is_kept(
    tmp_path: Path, hub_repos: dict[str, Repo], home: Path, read_files: list[str]
) -> None:
    """Also where a reading of a newer version breaks off; only outcomes stay."""
    name = "eval-set-scores/org/{}.json".format

    def on_hub(files: Mapping[str, bytes]) -> HubSource:
        hub_repos["datasets/org/results"] = Repo({name(each): files[each] for each in files})
        hub = Hub()
        return HubSource(hub.look(HubId("org/results"), "dataset", token=False), hub)

    files = {each: ABC[f"{each}.json"] for each in "abc"}
    found, _ = finished(home, on_hub(files))
    assert models(found) == ["a", "b", "c"]
    assert not [path for path in (tmp_path / "hub").rglob("blobs/*") if path.is_file()]

    newer = on_hub({**files, **{each: result_file(each, [0, 0, 0, 0]) for each in "ad"}})

    def stop(step: Step) -> None:
        if step.done == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        read_source(newer, home, stop)
    assert finished(home, newer)[1] == [Step("reading", 3, 4)]
    assert read_files == [name(each) for each in "abcad"]


# The matrix.


def test_models_are_rows_and_pairs_columns(tmp_path: Path, home: Path) -> None:
    other = {"subset": ["b", "b", "a", "a"], "id": [2, 1, 1, 2]}
    files = {
        "a.json": result_file("a"),
        "b.json": result_file(
            "b", [0.5, 1, None, 0], **other, scores_rejected=[1.0, 1.0, 2.0, 4.0]
        ),
        "c.json": result_file("c", id=None, scores_chosen=None),
    }
    matrix = outcome_matrix(finished(home, put(tmp_path, files))[0])
    assert (matrix.models, matrix.model_types) == (("a", "b", "c"), ("DPO",) * 3)
    assert matrix.outcomes.dtype == np.float32
    np.testing.assert_array_equal(
        matrix.outcomes, [[1, 0, 1, 0], [np.nan, 0, 1, 0.5], [1, 0, 1, 0]]
    )
    assert matrix.known_equal.tolist() == [[False, False, False, True], [False, True, False, True],
                                           [False] * 4]  # fmt: skip
    assert matrix.chosen[0].tolist() == [1, 2, 3, 4]
    assert np.isnan(matrix.chosen[2]).all()
    assert [str(item) for item in matrix.left_out] == [
        "eval-set-scores/b.json: 1 of its outcomes is missing, not lost"
    ]


def test_files_of_other_pairs_and_second_files_are_listed(tmp_path: Path, home: Path) -> None:
    none = dict.fromkeys(["scores_chosen", "scores_rejected", "text_chosen"])
    part = {"subset": ["a"], "id": [1], **none}
    files = {
        "a.json": result_file("a"),
        "again.json": result_file("a"),
        "other.json": result_file("other", subset=["x"] * 4),
        "part.json": result_file("part", [1], **part),
        "z-part.json": result_file("a", [1], **part),
    }
    matrix = outcome_matrix(finished(home, put(tmp_path, files))[0])
    assert matrix.models == ("a", "part")
    np.testing.assert_array_equal(matrix.outcomes[1], [1, np.nan, np.nan, np.nan])
    reasons = {item.file.rpartition("/")[2]: (item.reason, item.whole) for item in matrix.left_out}
    assert reasons["again.json"][0].startswith("also of a; eval-set-scores/a.json is taken")
    assert reasons["other.json"][0].startswith("4 outcomes, and not in the order of the 4 pairs")
    assert reasons["part.json"] == ("3 of 4 pairs have no outcome", False)
    assert reasons["z-part.json"][0].endswith("is taken, which holds more")


def test_ties_are_scored_from_a_files_scores_and_ids_new_or_kept(
    tmp_path: Path, home: Path
) -> None:
    rows = {
        "id": ["7", "ref:1", "tied:1"],
        "scores": [[1.0, 0.0, 0.0, 0.0], [2, 0.5, 0.1], [2, 1.8, 1.9, 0.5, 0.1]],
        "num_correct": [1, 1, 3],
        **dict.fromkeys(["scores_chosen", "scores_rejected", "text_chosen"]),
    }
    files = {
        name: result_file(name, [1, 1, 0], **{**rows, "subset": ["Focus", ties, ties], **ids})
        for name, ties, ids in (("a", "Ties", {}), ("b", "ties", {}), ("c", "Ties", {"id": None}))
    }
    source = put(tmp_path, {f"{name}.json": content for name, content in files.items()})
    for _ in range(2):
        found = composites(finished(home, source)[0])
        assert found == {"a": found["a"], "b": found["a"]}
        ties_of_a = found["a"]["Ties"]
        # what upstream's code gives of these rows
        assert (ties_of_a.accuracy, ties_of_a.n, ties_of_a.wins) == (1.009999665971563, 2, 2)
