"""Every published number follows from what it was made of, by the rules as documented."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from explorer.data.facets import Coded
from explorer.stats.aggregate import (
    Aggregated,
    accuracies_of,
    aggregate,
    aggregate_counted,
    overall,
)
from explorer.stats.rules import (
    PAPER,
    PRIOR,
    PRIOR_ALL,
    PRIOR_ALONE,
    PRIOR_SCORED,
    V1,
    V1_PRIOR,
    V2,
)
from scoring.benchmark import COUNTS, SECTIONS

ROUNDING = 5e-5 + 1e-9
"""A figure printed with four decimals."""
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


@pytest.fixture(scope="module")
def paper(shared_data: Path) -> Rows:
    """The paper's tables, each row with its model's row of the table of prior sets."""
    of_model = {row["model"]: row for row in table(shared_data / "paper_v2_prior_sets.csv")}
    rows = table(shared_data / "paper_v2_tables.csv")
    # One judge of several is named otherwise there, and its Avg was printed without prior sets.
    return [{**of_model.get(row["model"], {}), **row} for row in rows]


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
        score = overall(V1_PRIOR, values)
        assert score is not None, row["model"]
        differences[f"{place}: {row['model']}"] = abs(score - values["Score"])
    assert report("published_v1.csv", differences) < ROUNDED_MEAN
    assert len(differences) == len(v1) > 100


def test_the_board_has_every_sort_of_row_that_the_rule_treats_apart(v1: Rows) -> None:
    zero = [row["model"] for row in v1 if row[PUBLISHED_PRIOR] in {"0", "0.0"}]
    assert len(zero) == 7
    assert all(name.startswith("allenai/") and name.endswith("-RM-RB2") for name in zero)
    without_reasoning = [row["model"] for row in v1 if not row["Reasoning"]]
    assert len(without_reasoning) == 15
    assert all(name.startswith("ai2/") for name in without_reasoning)


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


def test_the_papers_sections_and_averages_follow_with_its_swapped_counts(paper: Rows) -> None:
    differences = {}
    for row in paper:
        printed, found = numbers(row), aggregate(PAPER, numbers(row))
        columns = {**found.sections, "Avg": found.score}
        for column in [*SECTIONS, "Prior Sets", "Avg"]:
            mine = columns[column]
            assert (mine is None) == (column not in printed), (row["model"], column)
            if mine is not None:
                differences[f"{row['model']}, {column}"] = abs(mine - printed[column])
    assert len(paper) == 82
    assert report("paper, in points", differences) < TENTH_OF_A_POINT


def test_the_papers_safety_does_not_follow_with_the_true_counts(paper: Rows) -> None:
    off = [
        row["model"]
        for row in paper
        if abs((aggregate(V1, numbers(row)).sections["Safety"] or 0) - float(row["Safety"])) > 0.1
    ]
    assert len(off) > 60


def test_the_papers_table_of_prior_sets_is_the_mean_of_all_seven(shared_data: Path) -> None:
    differences = {}
    for row in table(shared_data / "paper_v2_prior_sets.csv"):
        values = numbers(row)
        score = aggregate(PRIOR_ALL, values).score
        assert score is not None
        differences[row["model"]] = abs(score - values["Avg"])
        four = [values[each] for each in PRIOR_SCORED if each in values]
        assert aggregate(PRIOR_ALONE, values).score == pytest.approx(sum(four) / len(four))
    assert report("paper's prior sets, in points", differences) < TENTH_OF_A_POINT


def test_with_the_true_counts_the_paper_agrees_with_the_board_but_for_one(
    paper: Rows, v1: Rows
) -> None:
    board = {row["model"]: float(row["Score"]) * 100 for row in v1}
    differences = {
        row["model"]: abs((aggregate(V1_PRIOR, numbers(row)).score or 0) - board[row["model"]])
        for row in paper
        if row["model"] in board
    }
    assert len(differences) == 47
    anew = "OpenAssistant/reward-model-deberta-v3-large-v2"
    assert {name for name, each in differences.items() if each > TENTH_OF_A_POINT} == {anew}
    others = {name: each for name, each in differences.items() if name != anew}
    report("paper against board, in points", others)


def folder_of_results(shared_data: Path, name: str) -> Iterator[tuple[str, dict[str, object]]]:
    """(model, content) of each file, the one without a name too."""
    for path in sorted((shared_data / "reward-bench-results" / name).rglob("*")):
        if path.is_file():
            content = json.loads(path.read_text(encoding="utf-8"))
            yield content["model"], content


def compared_with_board(found: Mapping[str, Aggregated], v1: Rows) -> dict[str, float]:
    """The difference of every section of every model that the board has too."""
    board = {row["model"]: row for row in v1}
    return {
        f"{model}, {section}": abs((score or 0) - float(board[model][section]))
        for model, aggregated in found.items()
        if model in board
        for section, score in aggregated.sections.items()
    }


def test_the_boards_sections_follow_from_stored_accuracies(shared_data: Path, v1: Rows) -> None:
    found = {
        model: aggregate(V1, {each: float(str(content[each])) for each in V1.subsets})
        for model, content in folder_of_results(shared_data, "eval-set")
    }
    differences = compared_with_board(found, v1)
    assert (len(found), len(differences)) == (66, 50 * 4)
    assert report("eval-set", differences) < ROUNDING


def test_the_boards_sections_follow_from_the_outcomes_of_single_pairs(
    shared_data: Path, v1: Rows
) -> None:
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
    assert report("eval-set-scores against eval-set", stored) < 1e-9
    differences = compared_with_board(found, v1)
    assert (len(found), len(differences)) == (66, 50 * 4)
    assert report("eval-set-scores", differences) < ROUNDING
