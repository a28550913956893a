"""Result files of each pair are read once, kept, and put into one matrix."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.data.table import PairTable
from explorer.results import outcome_files
from explorer.results.outcome_files import read_source
from explorer.results.sources import FolderSource, HubSource, Source
from explorer.stats.matrix import Outcomes, order_of, outcome_matrix
from scoring.clusters import is_reward_bench
from scoring.hub.access import Hub, HubId
from scoring.limits import OnProgress, Step, ignore_progress
from scoring.results.pairs import PairResults, read_pair_results
from tests.support.hub_server import Repo

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
        "text_rejected": ["long text"] * 4,
        **other,
    }
    return json.dumps({key: value for key, value in values.items() if value is not None}).encode()


def put(root: Path, files: Mapping[str, bytes]) -> FolderSource:
    for name, content in files.items():
        path = root / "eval-set-scores" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return FolderSource(root)


@dataclass
class Done:
    found: Outcomes
    steps: list[Step]


def finished(home: Path, source: Source, tell: OnProgress = ignore_progress) -> Done:
    """tell: is told each step, too."""
    steps: list[Step] = []

    def told(step: Step) -> None:
        steps.append(step)
        tell(step)

    return Done(read_source(source, home, told), steps)


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


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "home" / "outcomes").rglob("*.parquet"))


ABC = {name: result_file(name.removesuffix(".json")) for name in ("a.json", "b.json", "c.json")}


# Reading and keeping.


def test_files_are_read_one_by_one_and_the_second_time_not_at_all(
    tmp_path: Path, home: Path, read_files: list[str]
) -> None:
    source = put(tmp_path, ABC)
    done = finished(home, source)
    assert done.steps == [Step("reading", number, 3) for number in range(3)]
    assert models(done.found) == ["a", "b", "c"]
    assert read_files == [f"eval-set-scores/{name}" for name in ABC]
    again = finished(home, FolderSource(tmp_path))
    assert again.steps == []
    assert len(read_files) == 3
    for old, new in zip(done.found.results, again.found.results, strict=True):
        assert (old.model, old.model_type, old.notes) == (new.model, new.model_type, new.notes)
        assert old.order.names == new.order.names
        assert old.order.ids == new.order.ids
        np.testing.assert_array_equal(old.order.codes, new.order.codes)
        for name in ("results", "equal", "scores_chosen", "scores_rejected"):
            np.testing.assert_array_equal(getattr(old, name), getattr(new, name))
            assert getattr(old, name).dtype == getattr(new, name).dtype


def test_only_a_file_that_changed_is_read_again(
    tmp_path: Path, home: Path, read_files: list[str]
) -> None:
    source = put(tmp_path, ABC)
    finished(home, source)
    newer = put(tmp_path, {"b.json": result_file("b", [0, 0, 0, 0.5])})
    (tmp_path / "eval-set-scores" / "c.json").unlink()
    source = newer
    for _ in range(2):
        found = finished(home, source).found
        assert models(found) == ["a", "b"]
        assert found.results[1].results.tolist() == [0, 0, 0, 0.5]
    assert len(read_files) == 4


def test_a_file_that_cannot_be_read_is_listed_and_not_read_again(
    tmp_path: Path, home: Path, read_files: list[str]
) -> None:
    bad = {"x.json": b"{", "y.json": result_file("y", [2, 0, 0, 0]), "z.png": b""}
    source = put(tmp_path, {**ABC, **bad})
    for _ in range(2):
        found = finished(home, source).found
        assert models(found) == ["a", "b", "c"]
        assert [str(item).partition(" (")[0][:80] for item in found.left_out] == [
            "eval-set-scores/x.json: it is not complete JSON: Expecting property name enclose",
            "eval-set-scores/y.json: results, row 1: 2, not between 0 and 1",
            "eval-set-scores/z.png: no JSON file",
        ]
    assert len(read_files) == 5


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "other"])
def test_a_broken_cache_is_ignored_and_made_anew(
    damage: str, tmp_path: Path, home: Path, read_files: list[str]
) -> None:
    source = put(tmp_path, ABC)
    finished(home, source)
    (part,) = kept(tmp_path)
    content = part.read_bytes()
    part.write_bytes(
        {
            "cut": content[: len(content) // 2],
            "empty": b"",
            "flipped": content[:40] + bytes([content[40] ^ 255]) + content[41:],
            "other": b"PAR1 no table PAR1",
        }[damage]
    )
    for _ in range(2):
        assert models(finished(home, source).found) == ["a", "b", "c"]
    assert len(read_files) == 6


# From the Hub.


@pytest.fixture
def repos(hub_repos: dict[str, Repo]) -> dict[str, Repo]:
    files = {f"eval-set-scores/org/{name}": content for name, content in ABC.items()}
    files |= {"eval-set/org/a.json": b"{}", "eval-set-scores/chart.png": b"png"}
    hub_repos["datasets/org/results"] = Repo(files)
    return hub_repos


def on_hub() -> HubSource:
    hub = Hub()
    return HubSource(hub.look(HubId("org/results"), "dataset", token=False), hub)


def blobs(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "hub").rglob("blobs/*") if path.is_file()]


def test_a_dataset_of_the_hub_is_fetched_file_by_file_and_only_outcomes_stay(
    tmp_path: Path, repos: dict[str, Repo], home: Path
) -> None:
    found = finished(home, on_hub()).found
    assert models(found) == ["a", "b", "c"]
    assert [str(item) for item in found.left_out] == ["eval-set-scores/chart.png: no JSON file"]
    assert blobs(tmp_path) == []
    again = finished(home, on_hub())
    assert (models(again.found), again.steps) == (["a", "b", "c"], [])


def test_a_reading_that_breaks_off_keeps_what_it_read_and_what_is_the_same_of_before(
    repos: dict[str, Repo], home: Path, read_files: list[str]
) -> None:
    finished(home, on_hub())
    name = "eval-set-scores/org/{}.json".format
    files = {name(each): ABC[f"{each}.json"] for each in "bc"}
    newer = {name(each): result_file(each, [0, 0, 0, 0]) for each in ("a", "d")}
    repos["datasets/org/results"] = Repo({**files, **newer})

    def stop(step: Step) -> None:
        if step.done == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        finished(home, on_hub(), stop)
    assert finished(home, on_hub()).steps == [Step("reading", 3, 4)]
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
    matrix = outcome_matrix(finished(home, put(tmp_path, files)).found)
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
    part = {"subset": ["a"], "id": [1], "scores_chosen": None, "scores_rejected": None,
            "text_chosen": None, "text_rejected": None}  # fmt: skip
    files = {
        "a.json": result_file("a"),
        "again.json": result_file("a"),
        "other.json": result_file("other", subset=["x"] * 4),
        "part.json": result_file("part", [1], **part),
        "z-part.json": result_file("a", [1], **part),
    }
    matrix = outcome_matrix(finished(home, put(tmp_path, files)).found)
    assert matrix.models == ("a", "part")
    np.testing.assert_array_equal(matrix.outcomes[1], [1, np.nan, np.nan, np.nan])
    reasons = {item.file.rpartition("/")[2]: (item.reason, item.whole) for item in matrix.left_out}
    assert reasons["again.json"][0].startswith("also of a; eval-set-scores/a.json is taken")
    assert reasons["other.json"][0].startswith("4 outcomes, and not in the order of the 4 pairs")
    assert reasons["part.json"] == ("3 of 4 pairs have no outcome", False)
    assert reasons["z-part.json"][0].endswith("is taken, which holds more")


def test_the_real_files_agree_with_the_real_table(
    shared_data: Path, real: PairTable, home: Path
) -> None:
    source = FolderSource(shared_data / "reward-bench-results")
    found = finished(home, source).found
    by_files = outcome_matrix(found)
    by_table = outcome_matrix(found, order_of(real), lambda: real.hashes)
    assert is_reward_bench(by_table.pairs)
    assert by_files.outcomes.shape == (66, 2985)
    assert (by_files.left_out, by_table.left_out) == ((), ())
    np.testing.assert_array_equal(by_files.outcomes, by_table.outcomes)
