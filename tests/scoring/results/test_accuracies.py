"""Published accuracies: every variant of a file is read, or listed with what is wrong.

The files of the real models are read for `tests/golden/real`.
"""

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from scoring.benchmark import V2_COUNTS
from scoring.results.accuracies import SetKind, read_aggregates
from scoring.results.files import Omission
from tests.support.refusals import by_sentence
from tests.support.upstream_files import leave

GOOD = {"model": "org/model", "model_type": "Seq. Classifier", "hep-js": 0.5, "chat_template": None}


def write(folder: Path, name: str, content: str, kind: SetKind = "eval-set") -> None:
    path = folder / kind / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


HALF = {"hep-js": 0.5}
ODD = {"model_beaker": "01HX", "xstest": 0.4, "own": 50, "far": math.nan}
OLDER = {"factuality": 0, "precise_if": 0.1, "MATH": 0.2, "safety": 0.3, "Focus": 0.4, " Ties ": 1}
PRIOR = {"shp": 0.5, "anthropic_hhh": None, "summarize": 1, "anthropic": 0}
READ: dict[str, tuple[dict[str, Any], str, dict[str, float], list[str]]] = {
    "not measured": ({**HALF, "hep-go": None, "hep-cpp": math.nan}, "v1", HALF, []),
    "no subsets": ({**HALF, **ODD}, "v1", HALF, ["xstest", "own"]),
    "older names": (OLDER, "v2", dict(zip(V2_COUNTS, OLDER.values(), strict=True)), []),
    "ties below 0": ({"Focus": 1, "ties": -0.01}, "v2", {"Focus": 1, "Ties": -0.01}, []),
    "ties above 1": ({"Focus": 1, "ties": 1.01}, "v2", {"Focus": 1, "Ties": 1.01}, []),
    "prior sets": (PRIOR, "prior", {"shp": 0.5, "summarize": 1}, ["anthropic"]),
}
"""What a file has -> of which benchmark it is, its accuracies, and what is no subset."""


@pytest.mark.parametrize(
    ("numbers", "benchmark", "accuracies", "others"), READ.values(), ids=[*READ]
)
def test_accuracies_are_read_and_what_is_no_subset_is_kept_aside_and_listed(
    numbers: dict[str, Any],
    benchmark: str,
    accuracies: dict[str, float],
    others: list[str],
    tmp_path: Path,
) -> None:
    kind: SetKind = "pref-sets" if benchmark == "prior" else "eval-set"
    content = {"model": "org/m", "model_type": ["DPO"], **numbers}
    write(tmp_path, "org/m.json", json.dumps(content), kind)
    [result], left_out = read_aggregates(tmp_path, kind)
    assert (result.model, result.model_type, result.benchmark) == ("org/m", None, benchmark)
    assert (result.accuracies, [*result.extra]) == (accuracies, others)
    said = f"no subsets of the benchmark: {', '.join(others)}"
    assert [(each.reason, each.whole) for each in left_out] == [(said, False)] * bool(others)


@pytest.mark.parametrize(
    ("content", "said"),
    by_sentence(
        ("[]", "not an object of accuracies"),
        ("{}", "it names no model"),
        ('{"model": "m", "hep-js": "0.5"}', "hep-js is no number"),
        ('{"model": "m", "hep-js": true}', "hep-js is no number"),
        ('{"model": "m", "hep-js": 50.0}', "hep-js is 50.0, not between 0 and 1"),
        ('{"model": "m", "hep-js": -0.1}', "hep-js is -0.1, not between 0 and 1"),
        ('{"model": "m", "Ties": -0.02}', "Ties is -0.02, not between -0.01 and 1.01"),
        ('{"model": "m", "Focus": 1, "ties": 1.02}', "Ties is 1.02, not between"),
        ('{"model": "m", "shp": 0.5}', "it has none of RewardBench's subsets"),
        (f'{{"model": "m", "hep-js": 1{"0" * 5000}}}', ""),
        ("", "it is not complete JSON: Expecting value: line 1 column 1 (char 0)"),
        ('{"model": "m", "hep-js": 0.1, "hep-js": 0.2}', "'hep-js' stands there twice"),
        ('{"model": "m", "results": [1, 0]}', "it holds per-pair results"),
        (json.dumps({**GOOD, "model": "x" * 10_001}), "name has 10,001 characters"),
        (json.dumps({**GOOD, "more": "x" * 6_000_000}), "has at most 5 MB here"),
    ),
)
def test_a_file_that_is_left_out_is_named_and_the_others_stay(
    content: str, said: str, tmp_path: Path
) -> None:
    write(tmp_path, "a/bad.json", content)
    write(tmp_path, "b/good.json", json.dumps(GOOD))
    results, left_out = read_aggregates(tmp_path)
    assert [result.file for result in results] == ["eval-set/b/good.json"]
    [item] = left_out
    assert (item.file, item.whole) == ("eval-set/a/bad.json", True)
    assert said in item.reason


def reasons(left_out: list[Omission]) -> dict[str, str]:
    return {item.file: item.reason for item in left_out}


def test_what_upstreams_command_line_leaves_is_read(tmp_path: Path) -> None:
    leave(tmp_path)
    leave(tmp_path, "dpo", ref_model="org/base", chat_template="tulu")
    leave(tmp_path, "org/other-pairs", extra_results=None)
    (tmp_path / "run.json").write_text(json.dumps(GOOD))  # nothing of upstream's
    read, left_out = read_aggregates(tmp_path)
    assert [(each.model, each.model_type) for each in read] == [("dpo", "DPO"), ("org/model", None)]
    assert [each.accuracies for each in read] == [{"hep-go": 0.5, "donotanswer": 0.0}] * 2
    [other] = left_out
    assert other.file == "org/other-pairs.json"
    assert "does not say which they are" in other.reason


def test_what_else_lies_there_is_listed(tmp_path: Path) -> None:
    write(tmp_path, "org/m.json", json.dumps(GOOD))
    write(tmp_path, "README.md", "no result")
    (tmp_path / "eval-set" / "folder.json").mkdir()
    (tmp_path / "eval-set" / "latin.json").write_bytes('{"model": "ça"}'.encode("latin-1"))
    (tmp_path / "eval-set" / "elsewhere").symlink_to(tmp_path / "eval-set" / "org")
    (tmp_path / "eval-set" / "gone.json").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "eval-set" / "pipe.json")
    results, left_out = read_aggregates(tmp_path)
    assert [result.file for result in results] == ["eval-set/org/m.json"]
    found = reasons(left_out)
    assert "latin.json" not in found.pop("eval-set/latin.json")
    assert found == {
        "eval-set/README.md": "no JSON file",
        "eval-set/elsewhere": "a link to a folder, which is not followed",
        "eval-set/folder.json": "it is not a file",
        "eval-set/gone.json": "it cannot be opened: No such file or directory",
        "eval-set/pipe.json": "it is not a file",
    }


def test_of_two_files_of_a_model_the_fuller_is_taken_then_the_one_in_its_place(
    tmp_path: Path,
) -> None:
    """Another benchmark and scores without a reference model do not compete."""
    full = {**GOOD, "model": "org/full"}
    for name, content in {
        "a/copy.json": GOOD,
        "a_ref_free.json": GOOD,
        "b.json": {"model": "org/model", "Ties": 0.5},
        "org/full.json": full,
        "org/model.json": GOOD,
        "x.json": {**full, "hep-go": 1},
        "z.json": GOOD,
    }.items():
        write(tmp_path, name, json.dumps(content))
    results, left_out = read_aggregates(tmp_path)
    assert [(result.file, result.model, result.benchmark) for result in results] == [
        ("eval-set/a_ref_free.json", "org/model_ref_free", "v1"),
        ("eval-set/b.json", "org/model", "v2"),
        ("eval-set/org/model.json", "org/model", "v1"),
        ("eval-set/x.json", "org/full", "v1"),
    ]
    in_its_place = "also of org/model; eval-set/org/model.json is taken, which lies where the name"
    assert reasons(left_out) == {
        "eval-set/a/copy.json": f"{in_its_place} says",
        "eval-set/org/full.json": "also of org/full; eval-set/x.json is taken, which holds more",
        "eval-set/z.json": f"{in_its_place} says",
    }
    assert read_aggregates(tmp_path / "nowhere") == ([], [])
