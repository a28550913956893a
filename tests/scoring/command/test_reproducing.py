"""A published number reproduced: what is published is found, and the run is held against it."""

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scoring.__main__ import main

NAME = "OpenAssistant/reward-model-deberta-v3-large-v2"
ON_CPU = ("--device", "cpu", "--dtype", "float32", "--limit", "8", "--offline")
DEMO = ("--model", "demo", "--pairs", "demo", *ON_CPU)


def test_a_part_of_the_published_pairs_is_held_against_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The demo model's results, in the name of a model whose settings upstream published."""
    published = str(tmp_path / "published")
    assert main([*DEMO, "--upstream-compatible", "--name", NAME, "--out", published]) == 0
    capsys.readouterr()
    asked = ("--reproduce", NAME, "--published", published, "--limit", "6")
    assert main([*DEMO, *asked, "--out", str(tmp_path / "again")]) == 0
    told = capsys.readouterr().out
    assert f"Beside what is published of {NAME}" in told
    assert "Equal: no pair changed." in told and re.search(r"^score +6 ", told, re.M)
    assert "template: own" not in told and "batch: 1 here, 4 there" in told


def test_results_of_the_real_pairs_are_held_against_no_relabelled_ones(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real = pq.read_table(shared_data / "reward-bench" / "filtered.parquet")[:8]
    sides = {"chosen": "rejected", "rejected": "chosen"}
    names = [sides.get(name, name) for name in real.column_names]
    for name, table, status in (("copy", real, 0), ("swapped", real.rename_columns(names), 1)):
        pq.write_table(table, path := tmp_path / f"{name}.parquet")
        asked = ("--published", str(shared_data / "reward-bench-results"), "--pairs", str(path))
        model = ("--reproduce", NAME, "--model", "demo", "--out", str(tmp_path / name))
        assert main([*ON_CPU, *model, *asked]) == status, capsys.readouterr().err
    assert "is not of this run's pairs" in capsys.readouterr().err
