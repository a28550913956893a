"""The bundled pairs are ours, cover RewardBench's subsets, and their code is what they say."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from scoring.benchmark import SUBSETS
from tests.conftest import DEMO_PAIRS, ROOT


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


ROWS = {f"{row['subset']}:{row['id']}": row for row in lines_of(DEMO_PAIRS)}
CHECKS = lines_of(ROOT / "tests" / "data" / "hep_checks.jsonl")


def checks_of(subset: str) -> list[Any]:
    return [
        pytest.param(check, id=check["key"])
        for check in CHECKS
        if check["key"].startswith(f"{subset}:")
    ]


def run_code(command: list[str], code: str, path: Path) -> subprocess.CompletedProcess[str]:
    path.write_text(code, encoding="utf-8")
    return subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)


def test_each_subset_has_at_least_six_pairs() -> None:
    counts = Counter(row["subset"] for row in ROWS.values())
    assert set(counts) == set(SUBSETS)
    assert min(counts.values()) >= 6


def test_ids_are_distinct_and_none_of_the_benchmark() -> None:
    ids = [row["id"] for row in ROWS.values()]
    assert len(set(ids)) == len(ids) == len(lines_of(DEMO_PAIRS))
    assert min(ids) >= 900_001


def test_prompts_are_distinct() -> None:
    prompts = Counter(row["prompt"] for row in ROWS.values())
    assert [prompt for prompt, count in prompts.items() if count > 1] == []


def test_every_text_says_something_and_chosen_is_not_rejected() -> None:
    for key, row in ROWS.items():
        assert all(row[column].strip() for column in ("prompt", "chosen", "rejected")), key
        assert row["chosen"] != row["rejected"], key


def test_all_texts_are_by_the_demo_author() -> None:
    authors = {
        row[column] for row in ROWS.values() for column in ("chosen_model", "rejected_model")
    }
    assert authors == {"demo-author"}


def test_no_text_is_copied_from_the_benchmark(shared_data: Path) -> None:
    real = pq.read_table(shared_data / "reward-bench" / "filtered.parquet")
    for column in ("prompt", "chosen", "rejected"):
        theirs = {str(text).strip() for text in real[column].to_pylist()}
        assert [key for key, row in ROWS.items() if row[column].strip() in theirs] == []


def test_every_python_and_javascript_pair_has_a_check() -> None:
    runnable = {key for key in ROWS if key.startswith(("hep-python:", "hep-js:"))}
    assert {check["key"] for check in CHECKS} == runnable


@pytest.mark.parametrize("check", checks_of("hep-python"))
def test_chosen_python_passes_and_rejected_fails(check: dict[str, str], tmp_path: Path) -> None:
    row = ROWS[check["key"]]
    chosen, rejected = (
        run_code(
            [sys.executable],
            check["before"] + row[side] + check["check"],
            tmp_path / f"{side}.py",
        )
        for side in ("chosen", "rejected")
    )
    assert chosen.returncode == 0, chosen.stderr
    assert rejected.returncode != 0
    assert "AssertionError" in rejected.stderr


@pytest.mark.parametrize("check", checks_of("hep-js"))
def test_chosen_javascript_passes_and_rejected_fails(check: dict[str, str], tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("JavaScript is not run: there is no node on the PATH")
    row = ROWS[check["key"]]
    chosen, rejected = (
        run_code([node], check["before"] + row[side] + check["check"], tmp_path / f"{side}.js")
        for side in ("chosen", "rejected")
    )
    assert chosen.returncode == 0, chosen.stderr
    assert rejected.returncode != 0
    assert "AssertionError" in rejected.stderr
