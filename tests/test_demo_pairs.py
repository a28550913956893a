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
TEXTS = ("prompt", "chosen", "rejected")
CHECKS = lines_of(ROOT / "tests" / "data" / "hep_checks.jsonl")


def test_each_subset_has_at_least_six_pairs_of_ours_that_say_something_new() -> None:
    counts = Counter(row["subset"] for row in ROWS.values())
    assert set(counts) == set(SUBSETS)
    assert min(counts.values()) >= 6
    ids = [row["id"] for row in ROWS.values()]
    assert len(set(ids)) == len(ids) == len(lines_of(DEMO_PAIRS))
    assert min(ids) >= 900_001
    for key, row in ROWS.items():
        assert all(row[column].strip() for column in TEXTS), key
        assert row["chosen"] != row["rejected"], key
        assert {row["chosen_model"], row["rejected_model"]} == {"demo-author"}, key
    assert len({row["prompt"] for row in ROWS.values()}) == len(ROWS)


def test_no_text_is_copied_from_the_benchmark(shared_data: Path) -> None:
    real = pq.read_table(shared_data / "reward-bench" / "filtered.parquet")
    for column in TEXTS:
        theirs = {str(text).strip() for text in real[column].to_pylist()}
        assert [key for key, row in ROWS.items() if row[column].strip() in theirs] == []


def test_chosen_code_passes_its_check_and_rejected_fails(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    runnable = {key for key in ROWS if key.startswith(("hep-python:", "hep-js:"))}
    assert {check["key"] for check in CHECKS} == runnable
    for check in CHECKS:
        key, ending = check["key"], ".py" if check["key"].startswith("hep-python") else ".js"
        program = sys.executable if ending == ".py" else shutil.which("node")
        with subtests.test(key):
            if program is None:
                pytest.skip("JavaScript is not run: there is no node on the PATH")
            for side in ("chosen", "rejected"):
                path = (tmp_path / side).with_suffix(ending)
                path.write_text(check["before"] + ROWS[key][side] + check["check"], "utf-8")
                done = subprocess.run([program, str(path)], capture_output=True, check=False)
                assert (done.returncode == 0) is (side == "chosen"), done.stderr
                assert (b"AssertionError" in done.stderr) is (side == "rejected")
