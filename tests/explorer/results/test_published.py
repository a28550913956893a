import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.results.board import Board, build_board
from explorer.results.published import (
    fetch_results,
    model_url,
    read_results_folder,
    read_snapshot,
    with_outcomes,
    with_second,
)
from scoring.benchmark import SECTIONS
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


def test_rewardbench_2_has_published_figures_where_a_source_has_none_of_it() -> None:
    results = with_second(read_snapshot())
    assert build_board(results, "v2").source != build_board(results, "v1").source
    assert build_board(results, "v1").source == read_snapshot().source
    own = Aggregate("org/m", None, {"Math": 0.5}, "v2")
    of_its_own = replace(read_snapshot(), aggregates=(own,))
    assert with_second(of_its_own) is of_its_own


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
