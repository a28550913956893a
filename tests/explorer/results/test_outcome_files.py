"""Result files of each pair are read once, kept, and put into one matrix."""

import json
from collections.abc import Mapping, Sequence
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


def result_file(model: str, results: Sequence[float | None] = (1, 0, 1, 0), **other: Any) -> bytes:
    """A small file as upstream writes them; a key with None is left out."""
    values = {
        "model": model,
        "model_type": "DPO",
        "subset": ["a", "a", "b", "b"],
        "id": [1, 2, 1, 2],
        "results": results,
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


def test_files_are_read_one_by_one_and_again_only_where_they_changed_and_others_listed(
    tmp_path: Path, home: Path, read_files: list[str]
) -> None:
    bad = {"x.json": b"{", "y.json": result_file("y", [2, 0, 0, 0]), "z.png": b""}
    found, steps = finished(home, put(tmp_path, {**ABC, **bad}))
    assert steps == [Step("reading", number, 5) for number in range(5)]
    assert models(found) == ["a", "b", "c"]
    assert read_files == [f"eval-set-scores/{name}.json" for name in "abcxy"]
    again, steps = finished(home, FolderSource(tmp_path))
    assert (repr(again.results), steps) == (repr(found.results), [])
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


def test_models_are_rows_and_pairs_columns_and_what_does_not_fit_is_listed(
    tmp_path: Path, home: Path
) -> None:
    other = {"subset": ["b", "b", "a", "a"], "id": [2, 1, 1, 2]}
    none = dict.fromkeys(["scores_chosen", "scores_rejected", "text_chosen"])
    part = {"subset": ["a"], "id": [1], **none}
    files = {
        "a.json": result_file("a"),
        "again.json": result_file("a"),
        "b.json": result_file(
            "b", [0.5, 1, None, 0], **other, scores_rejected=[1.0, 1.0, 2.0, 4.0]
        ),
        "c.json": result_file("c", id=None, scores_chosen=None),
        "other.json": result_file("other", subset=["x"] * 4),
        "part.json": result_file("part", [1], **part),
        "z-part.json": result_file("a", [1], **part),
    }
    matrix = outcome_matrix(finished(home, put(tmp_path, files))[0])
    assert (matrix.models, matrix.model_types) == (("a", "b", "c", "part"), ("DPO",) * 4)
    assert matrix.outcomes.dtype == np.float32
    outcomes = [[1, 0, 1, 0], [np.nan, 0, 1, 0.5], [1, 0, 1, 0], [1, *[np.nan] * 3]]
    np.testing.assert_array_equal(matrix.outcomes, outcomes)
    equal = [(0, 3), (1, 1), (1, 3)]  # (model, pair)
    assert [*zip(*(each.tolist() for each in matrix.known_equal.nonzero()), strict=True)] == equal
    assert matrix.chosen[0].tolist() == [1, 2, 3, 4]
    assert np.isnan(matrix.chosen[2]).all()
    reasons = {
        "again.json": "also of a; eval-set-scores/a.json is taken",
        "b.json": "1 of its outcomes is missing, not lost",
        "other.json": "4 outcomes, and not in the order of the 4 pairs",
        "part.json": "3 of 4 pairs have no outcome",
        "z-part.json": "also of a; eval-set-scores/a.json is taken, which holds more",
    }
    assert [item.file.rpartition("/")[2] for item in matrix.left_out] == [*reasons]
    for item, reason in zip(matrix.left_out, reasons.values(), strict=True):
        assert item.reason.startswith(reason)
    assert [item.whole for item in matrix.left_out] == [True, False, True, False, True]


def test_ties_are_scored_from_a_files_scores_and_ids_new_or_kept(
    tmp_path: Path, home: Path
) -> None:
    rows = {
        "scores": [[1.0, 0.0, 0.0, 0.0], [2, 0.5, 0.1], [2, 1.8, 1.9, 0.5, 0.1]],
        "num_correct": [1, 1, 3],
        **dict.fromkeys(["scores_chosen", "scores_rejected", "text_chosen"]),
    }
    ids = ["7", "ref:1", "tied:1"]
    files = {
        f"{name}.json": result_file(name, [1, 1, 0], subset=["Focus", ties, ties], id=of, **rows)
        for name, ties, of in (("a", "Ties", ids), ("b", "ties", ids), ("c", "Ties", None))
    }
    source = put(tmp_path, files)
    for _ in range(2):
        found = composites(finished(home, source)[0])
        assert found == {"a": found["a"], "b": found["a"]}
        ties_of_a = found["a"]["Ties"]
        # what upstream's code gives of these rows
        assert (ties_of_a.accuracy, ties_of_a.n, ties_of_a.wins) == (1.009999665971563, 2, 2)
