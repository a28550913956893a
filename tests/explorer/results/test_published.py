"""Every published number follows from what it was made of, by the rules as documented."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.data.facets import Coded
from explorer.results.published import fetch_results, model_url
from explorer.stats.aggregate import accuracies_of, aggregate, aggregate_counted, overall
from explorer.stats.rules import PRIOR, RULES, V1, V2
from scoring.benchmark import COUNTS
from scoring.hub.access import Hub, HubId
from scoring.results.accuracies import MOST_SCORES_BYTES
from tests.support.board_data import real_results
from tests.support.hub_server import Repo

ROUNDED_MEAN = 1e-4
"""A rounded mean of rounded figures."""


def published(path: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """(model, numbers) of each row of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            numbers = {name: words for name, words in row.items() if name[:5] != "model"}
            yield row["model"], {name: float(words) for name, words in numbers.items() if words}


def test_scores_of_both_boards_follow_from_their_sections_and_the_papers_from_its_prior_sets(
    shared_data: Path,
) -> None:
    first = [*published(shared_data / "published_v1.csv")]
    second = [*published(shared_data / "published_v2.csv")]
    assert (len(first), len(second)) == (138, 140)
    for model, values in first:
        values[PRIOR] = values.pop("Prior Sets (0.5 weight)", float("nan"))
        found = overall(RULES["v1_prior"], values)
        assert found == pytest.approx(values["Score"], abs=ROUNDED_MEAN), model
    for model, values in second:
        of_subsets = aggregate(V2, values)
        assert None not in of_subsets.accuracies.values()
        assert of_subsets.score == pytest.approx(values["Score"], abs=ROUNDED_MEAN), model
    for model, values in published(shared_data / "paper_v2_prior_sets.csv"):
        mean = aggregate(RULES["prior_all"], values).score
        assert mean == pytest.approx(values["Avg"], abs=0.1 + 1e-9), model


def test_accuracies_and_sections_follow_from_the_outcomes_of_single_pairs(
    shared_data: Path,
) -> None:
    results, _, matrix = real_results(shared_data)
    subsets, found = Coded([*matrix.pairs.names], matrix.pairs.codes), {}
    for model, outcomes in zip(matrix.models, matrix.outcomes, strict=True):
        counted = accuracies_of(outcomes, subsets)
        assert {name: each.n for name, each in counted.items()} == COUNTS
        found[model] = aggregate_counted(V1, counted)
    assert len(found) == 66
    accuracies = [each for each in results.aggregates if each.benchmark == "v1"]
    assert {each.model for each in accuracies} == {*found}
    for each in accuracies:
        assert each.accuracies.keys() == COUNTS.keys()
        assert found[each.model].accuracies == pytest.approx(each.accuracies, abs=1e-9)
    board = dict(published(shared_data / "published_v1.csv"))
    common = {*found} & {*board}
    for model in common:
        for section, score in found[model].sections.items():
            if section in board[model]:
                assert score == pytest.approx(board[model][section], abs=ROUNDED_MEAN), model
    assert len(common) == 50


@pytest.mark.parametrize(
    "name",
    [
        *["", "random", "openai/gpt-4o-2024-05-13", "OpenAI/gpt-4o", "google/gemini-1.5-pro-0514"],
        *["my_model/", "a/b/c", "../b"],
        *["a/..", "a/b?x=1", "a/b\n", "a/ b", "a/<script>alert(1)</script>"],
        *["javascript:alert(1)//a/b", 'a/b" onclick="alert(1)', "a/b)](https://example.org"],
    ],
)
def test_what_is_no_hub_id_has_no_page(name: str) -> None:
    assert model_url(name) is None


def test_of_a_dataset_what_is_no_result_or_too_large_is_listed_and_not_fetched(
    hub_repos: dict[str, Repo], tmp_path: Path
) -> None:
    good = json.dumps({"model": "org/m", "hep-go": 0.5}).encode()
    files = {"eval-set/org/m.json": good, "eval-set/org/notes.txt": b"stray"}
    files["pref-sets/org/huge.json"] = b" " * (MOST_SCORES_BYTES + 1)
    hub_repos["datasets/org/results"] = Repo(files)
    assert fetch_results(HubId("org/results"), Hub()).remarks == (
        "eval-set/org/notes.txt: no JSON file",
        "pref-sets/org/huge.json: it is 5.0 MB large; accuracies have at most 5 MB here",
    )
    fetched = [path.read_bytes() for path in (tmp_path / "hub").rglob("blobs/*") if path.is_file()]
    assert fetched == [good]
