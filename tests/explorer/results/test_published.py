import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.core.settings import SNAPSHOT
from explorer.results.board import Board, build_board
from explorer.results.published import (
    fetch_results,
    model_url,
    read_results_folder,
    read_snapshot,
    with_outcomes,
    with_second,
)
from scoring.benchmark import SECTIONS, WEIGHTS
from scoring.errors import KnownError
from scoring.hub.access import Hub, HubId
from scoring.results.accuracies import MOST_SCORES_BYTES, Aggregate
from tests.support.board_data import rows_in
from tests.support.hub_server import Repo

PRINTED = 0.0011
"""Subsets are printed with one decimal, and so are sections: 0.05 + 0.05 points, and a bit."""


@pytest.fixture(scope="module")
def snapshot() -> Board:
    return build_board(read_snapshot(), "v1")


def board_in(folder: Path) -> Board:
    return build_board(read_results_folder(folder), "v1")


@pytest.fixture(scope="module")
def printed() -> dict[str, dict[str, str]]:
    lines = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return {row["model"]: row for row in rows}


@pytest.fixture(scope="module")
def published(shared_data: Path) -> dict[str, dict[str, float]]:
    """Model -> section -> score, as the leaderboard has them, with 4 decimals."""
    with (shared_data / "published_v1.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["model"]: {section: float(row[section]) for section in SECTIONS}
            for row in csv.DictReader(file)
            if all(row[section] for section in SECTIONS)
        }


def distance(row: Any, scores: dict[str, float]) -> float:
    """The largest difference in any section."""
    found: float = max(abs((row.sections[name] or 0.0) - scores[name]) for name in SECTIONS)
    return found


# The bundled figures.


def test_the_snapshot_has_all_82_models_with_all_sections(snapshot: Board) -> None:
    assert len(rows_in(snapshot)) == len({row.model for row in rows_in(snapshot)}) == 82
    assert all(None not in row.sections.values() for row in rows_in(snapshot))
    types = {row.model: row.model_type for row in rows_in(snapshot)}
    assert types["sfairXC/FsfairX-LLaMA3-RM-v0.1"] == "Seq. Classifier"
    assert "" not in types.values()
    results = read_snapshot()
    [remark] = results.remarks
    assert "prior sets of PoLL/gpt-3.5-turbo" in remark
    assert results.source.kind == "snapshot"
    assert "82 models" in results.caption
    assert "2024-06-08" in results.caption


def test_rewardbench_2_has_published_figures_where_a_source_has_none_of_it() -> None:
    results = with_second(read_snapshot())
    board = build_board(results, "v2")
    assert len(rows_in(board)) == 140 and rows_in(board)[0].model.endswith("LMUnit-llama3.1-70b")
    assert rows_in(board)[0].score == pytest.approx(0.8054, abs=1e-4), "the leaderboard's own"
    assert "RewardBench 2 leaderboard" in board.source.name and board.source.revision
    assert "82 models" in results.caption, "those of the source that is looked at"
    assert build_board(results, "v1").source == read_snapshot().source
    own = Aggregate("org/m", None, {"Math": 0.5}, "v2")
    of_its_own = replace(read_snapshot(), aggregates=(own,))
    assert with_second(of_its_own) is of_its_own


def safety(row: dict[str, str], weights: dict[str, int]) -> float:
    subsets = SECTIONS["Safety"]
    total = sum(float(row[subset]) * weights[subset] for subset in subsets)
    return total / sum(weights[subset] for subset in subsets) / 100


def test_safety_uses_the_true_counts_and_the_paper_the_swapped_ones(
    snapshot: Board, printed: dict[str, dict[str, str]]
) -> None:
    true = WEIGHTS | {"xstest-should-refuse": 154, "xstest-should-respond": 250}
    swapped = WEIGHTS | {"xstest-should-refuse": 250, "xstest-should-respond": 154}
    differ = 0
    for row in rows_in(snapshot):
        paper = printed[row.model]
        assert row.sections["Safety"] == pytest.approx(safety(paper, true)), row.model
        expected = float(paper["printed_safety"]) / 100
        assert safety(paper, swapped) == pytest.approx(expected, abs=PRINTED), row.model
        differ += abs(safety(paper, true) - expected) > PRINTED
    assert differ > 40


def test_the_snapshot_agrees_with_the_leaderboard_but_for_one_model(
    snapshot: Board, published: dict[str, dict[str, float]]
) -> None:
    common = [row for row in rows_in(snapshot) if row.model in published]
    differing = {row.model for row in common if distance(row, published[row.model]) > PRINTED}
    assert len(common) == 47
    assert differing == {"OpenAssistant/reward-model-deberta-v3-large-v2"}


# Links.


def test_what_is_no_hub_id_has_no_page(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "", "random", "openai/gpt-4o-2024-05-13", "OpenAI/gpt-4o",
        "Anthropic/claude-3-opus-20240229", "google/gemini-1.5-pro-0514",
        "PoLL/gpt-3.5-turbo-0125 claude-3-sonnet-20240229...",
        "Ray2333/reward-model-Mistral-7B-instruct-Unified...", "my_model/", "a/b/c", "/a/b",
        "../b", "a/..", "a/b?x=1", "a/b#c", "a/b\n", "a/ b", "a/<script>alert(1)</script>",
        "javascript:alert(1)//a/b", 'a/b" onclick="alert(1)', "a/b)](https://example.org",
    ]  # fmt: skip
    for name in cases:
        with subtests.test(name=name):
            assert model_url(name) is None


# A folder of results.

WriteResult = Callable[[str, object], Path]


@pytest.fixture
def write(tmp_path: Path) -> WriteResult:
    """Writes one file below eval-set: text as it is, anything else as JSON."""

    def write_file(name: str, values: object) -> Path:
        path = tmp_path / "eval-set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(values if isinstance(values, str) else json.dumps(values), "utf-8")
        return path

    return write_file


def test_the_real_results_folder_has_66_models(shared_data: Path) -> None:
    results = read_results_folder(shared_data / "reward-bench-results")
    board = build_board(results, "v1")
    assert len(rows_in(board)) == 66
    assert results.remarks == ()
    assert all(row.score is not None for row in rows_in(board))
    assert "my_model/" in {row.model for row in rows_in(board)}


def test_broken_files_are_left_out_with_a_reason_each(tmp_path: Path, write: WriteResult) -> None:
    write("org/good.json", {"model": "org/good", "model_type": "DPO", "hep-go": 0.5})
    bad: dict[str, object] = {
        "empty": "",
        "list": [1, 2],
        "nameless": {"hep-go": 0.5},
        "no-subset": {"model": "org/x", "shp": 0.5},
        "number": {"model": 5, "hep-go": 0.5},
        "percent": {"model": "org/x", "hep-go": 50.0},
        "text": {"model": "org/x", "hep-go": "0.5"},
        "true": {"model": "org/x", "hep-go": True},
        "infinite": '{"model": "org/x", "hep-go": Infinity}',
        "deep": "[" * 100_000,
    }
    for name, values in bad.items():
        write(f"org/{name}.json", values)
    (tmp_path / "eval-set" / "org" / "folder.json").mkdir()
    board = read_results_folder(tmp_path)
    assert [(each.model, each.model_type) for each in board.aggregates] == [("org/good", "DPO")]
    assert sorted(remark.split(":")[0] for remark in board.remarks) == sorted(
        f"eval-set/org/{name}.json" for name in [*bad, "folder"]
    )


def test_what_was_not_measured_is_not_zero(tmp_path: Path, write: WriteResult) -> None:
    write("org/m.json", '{"model": "org/m", "hep-go": NaN, "hep-js": null, "hep-cpp": 0.5}')
    assert rows_in(board_in(tmp_path))[0].sections["Reasoning"] == 0.5


@pytest.mark.parametrize("name", ["nothing", "empty", "file.txt"])
def test_a_folder_without_results_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty" / "eval-set").mkdir(parents=True)
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(KnownError, match=name):
        read_results_folder(tmp_path / name)


# What is in results besides.


def test_a_folder_has_all_benchmarks_and_says_where_its_pairs_are(tmp_path: Path) -> None:
    for name, values in {
        "eval-set/a.json": {"hep-go": 0.5},
        "eval-set/b.json": {"Focus": 0.25, "Ties": 0.5},
        "pref-sets/a.json": {"shp": 0.75},
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"model": "org/m", **values}))
    results = read_results_folder(tmp_path)
    assert results.benchmarks() == ("v1", "v2", "prior")
    assert results.of("prior")["org/m"].accuracies == {"shp": 0.75}
    assert not results.is_read
    read = with_outcomes(results, tmp_path / "home")
    assert read.is_read and read.outcomes_of("v1") is read.outcomes_of("v2")
    assert "1 model." in results.caption


def test_of_two_files_of_one_model_one_is_taken_and_the_other_listed(
    tmp_path: Path, write: WriteResult
) -> None:
    write("org/a.json", {"model": "org/m", "hep-go": 0.5})
    write("org/m.json", {"model": "org/m", "hep-go": 0.25})
    results = read_results_folder(tmp_path)
    assert results.of("v1")["org/m"].accuracies == {"hep-go": 0.25}
    assert [each.file for each in results.left_out] == ["eval-set/org/a.json"]


def test_of_a_dataset_what_is_no_result_or_too_large_is_listed_and_not_fetched(
    hub_repos: dict[str, Repo], tmp_path: Path
) -> None:
    good = json.dumps({"model": "org/m", "hep-go": 0.5}).encode()
    hub_repos["datasets/org/results"] = Repo(
        {
            "eval-set/org/m.json": good,
            "eval-set/org/notes.txt": b"stray",
            "eval-set-scores/org/chart.png": b"of the pairs",
            "pref-sets/org/huge.json": b" " * (MOST_SCORES_BYTES + 1),
        }
    )
    results = fetch_results(HubId("org/results"), Hub())
    assert results.remarks == (
        "eval-set/org/notes.txt: no JSON file",
        "pref-sets/org/huge.json: it is 5.0 MB large; accuracies have at most 5 MB here",
    )
    fetched = [path.read_bytes() for path in (tmp_path / "hub").rglob("blobs/*") if path.is_file()]
    assert fetched == [good]
