import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from explorer import uploaded_results
from explorer.uploaded_results import Uploaded, read_result_files
from scoring.errors import KnownError
from scoring.limits import Step

PAIRS = {"model": "org/b", "results": [1, 0], "subset": ["hep-go", "hep-go"]}


def upload(folder: Path, files: Mapping[str, object]) -> Uploaded:
    for name, values in files.items():
        (folder / name).write_text(json.dumps(values))
    return read_result_files({name: folder / name for name in files})


def test_files_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    found = upload(
        tmp_path,
        {
            "a.json": {"model": "org/a", "hep-go": 0.5},
            "old.json": {"model": "org/old", "hep-go": 0.5, "shp": 0.1},
            "p.json": {"model": "org/a", "shp": 0.5},
            "s.json": PAIRS,
            "x.json": [1],
            "y.json": {"model": "org/y", "mine": 1},
        },
    )
    assert [(each.model, each.benchmark) for each in found.aggregates] == [
        ("org/a (uploaded)", "v1"),
        ("org/old (uploaded)", "v1"),
        ("org/a (uploaded)", "prior"),
    ]
    assert [(each.model, each.results.tolist()) for each in found.outcomes.results] == [
        ("org/b (uploaded)", [1, 0])
    ]
    assert {each.file for each in found.left_out if each.whole} == {"x.json", "y.json"}
    assert found.models == ("org/a (uploaded)", "org/old (uploaded)", "org/b (uploaded)")


def test_files_without_any_result_are_refused_with_the_reasons(tmp_path: Path) -> None:
    with pytest.raises(KnownError, match=r"None of these files holds results\. Left out: x\.json"):
        upload(tmp_path, {"x.json": [1]})


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded_results, "MOST_FILES", 1)
    with pytest.raises(KnownError, match="1 files can be read at once, not 2"):
        upload(tmp_path, {"a.json": PAIRS, "b.json": PAIRS})


def test_each_file_is_told(tmp_path: Path) -> None:
    steps: list[Step] = []
    (tmp_path / "a.json").write_text(json.dumps(PAIRS))
    read_result_files({"a.json": tmp_path / "a.json"}, steps.append)
    assert steps == [Step("reading", 0, 1)]


def test_a_model_that_is_sent_again_replaces_the_one_before(tmp_path: Path) -> None:
    first = upload(tmp_path, {"a.json": {"model": "a", "hep-go": 0.5}, "b.json": PAIRS})
    later = {
        "b.json": PAIRS | {"results": [1, 1]},
        "c.json": [1],
        "d.json": PAIRS | {"model": "d"},
    }
    again = upload(tmp_path, later)
    both = first + again
    assert both.models == ("a (uploaded)", "org/b (uploaded)", "d (uploaded)")
    assert [each.results.tolist() for each in both.outcomes.results] == [[1, 1], [1, 0]]
    assert [each.file for each in both.left_out] == ["c.json"]


def test_the_digest_follows_what_was_read(tmp_path: Path) -> None:
    one, same, other = (
        upload(tmp_path, {"b.json": PAIRS | {"results": results}})
        for results in ([1, 0], [1, 0], [0, 1])
    )
    assert one.digest == same.digest != other.digest
