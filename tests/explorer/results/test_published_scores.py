"""Every published number follows from what it was made of, by the rules as documented."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from explorer.data.facets import Coded
from explorer.stats.aggregate import accuracies_of, aggregate, aggregate_counted, overall
from explorer.stats.rules import PRIOR, RULES, V1, V2
from scoring.benchmark import COUNTS

ROUNDED_MEAN = 1e-4
"""A rounded mean of rounded figures."""
TENTH_OF_A_POINT = 0.1 + 1e-9
PUBLISHED_PRIOR = "Prior Sets (0.5 weight)"

Rows = list[dict[str, str]]


def table(path: Path) -> Rows:
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def v1(shared_data: Path) -> Rows:
    return table(shared_data / "published_v1.csv")


def numbers(row: Mapping[str, str]) -> dict[str, float]:
    return {name: float(words) for name, words in row.items() if words and name[:5] != "model"}


def report(what: str, differences: Mapping[str, float]) -> float:
    """Print the largest difference, and give it."""
    worst = max(differences, key=lambda name: differences[name])
    print(f"{what}: {len(differences)} compared, at most {differences[worst]:.2e} ({worst})")
    return differences[worst]


def test_scores_of_the_board_follow_from_its_sections(v1: Rows) -> None:
    differences = {}
    for place, row in enumerate(v1):
        values = numbers(row)
        values[PRIOR] = values.pop(PUBLISHED_PRIOR, float("nan"))
        score = overall(RULES["v1_prior"], values)
        assert score is not None, row["model"]
        differences[f"{place}: {row['model']}"] = abs(score - values["Score"])
    assert report("published_v1.csv", differences) < ROUNDED_MEAN
    assert len(differences) == len(v1) > 100


def test_scores_of_the_second_board_follow_from_its_subsets(shared_data: Path) -> None:
    rows = table(shared_data / "published_v2.csv")
    differences = {}
    for row in rows:
        values = numbers(row)
        found = aggregate(V2, values)
        assert None not in found.accuracies.values() and found.score is not None, row["model"]
        differences[row["model"]] = abs(found.score - values["Score"])
    assert report("published_v2.csv", differences) < ROUNDED_MEAN
    assert len(differences) == len(rows) > 100


def test_the_papers_table_of_prior_sets_is_the_mean_of_all_seven(shared_data: Path) -> None:
    differences = {}
    for row in table(shared_data / "paper_v2_prior_sets.csv"):
        values = numbers(row)
        score = aggregate(RULES["prior_all"], values).score
        assert score is not None
        differences[row["model"]] = abs(score - values["Avg"])
        four = [values[each] for each in RULES["prior"].subsets if each in values]
        assert aggregate(RULES["prior"], values).score == pytest.approx(sum(four) / len(four))
    assert report("paper's prior sets, in points", differences) < TENTH_OF_A_POINT


def folder_of_results(shared_data: Path, name: str) -> Iterator[tuple[str, dict[str, object]]]:
    """(model, content) of each file, the one without a name too."""
    for path in sorted((shared_data / "reward-bench-results" / name).rglob("*")):
        if path.is_file():
            content = json.loads(path.read_text(encoding="utf-8"))
            yield content["model"], content


def test_stored_accuracies_follow_from_the_outcomes_of_single_pairs(shared_data: Path) -> None:
    found, stored = {}, {}
    for model, content in folder_of_results(shared_data, "eval-set-scores"):
        names, codes = np.unique(np.array(content["subset"]), return_inverse=True)
        outcomes = np.array(content["results"], dtype=np.float32)
        counted = accuracies_of(outcomes, Coded(names.tolist(), codes.astype(np.int32)))
        assert {name: each.n for name, each in counted.items()} == COUNTS
        found[model] = aggregate_counted(V1, counted)
    for model, content in folder_of_results(shared_data, "eval-set"):
        stored.update(
            {
                f"{model}, {subset}": abs((accuracy or 0) - float(str(content[subset])))
                for subset, accuracy in found[model].accuracies.items()
            }
        )
    assert len(found) == 66
    assert report("eval-set-scores against eval-set", stored) < 1e-9
