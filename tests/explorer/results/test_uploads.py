import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from explorer.results import uploads as uploaded_results
from explorer.results.uploads import Uploaded, read_in_worker, read_result_files
from scoring.errors import KnownError
from scoring.limits import Limits
from tests.support.upstream_files import leave

PAIRS = {"model": "org/b", "results": [1, 0], "subset": ["hep-go", "hep-go"]}


def upload(folder: Path, files: Mapping[str, object], **limits: int) -> Uploaded:
    for name, values in files.items():
        (folder / name).write_text(json.dumps(values))
    return read_result_files({name: folder / name for name in files}, limits=Limits(**limits))


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
    [pairs] = found.outcomes.results
    assert (pairs.model, pairs.results.tolist()) == ("org/b (uploaded)", [1, 0])
    assert {each.file for each in found.left_out if each.whole} == {"x.json", "y.json"}
    assert found.models == ("org/a (uploaded)", "org/old (uploaded)", "org/b (uploaded)")


def test_what_upstreams_command_line_leaves_is_of_one_model(tmp_path: Path) -> None:
    """A browser sends names without folders, and only one of both files says whose it is."""
    files = leave(tmp_path)
    found = read_result_files({path.name: path for path in files})
    assert found.models == ("org/model (uploaded)",)
    [pairs] = found.outcomes.results
    assert (pairs.model, pairs.results.tolist()) == ("org/model (uploaded)", [1, 0, 0])
    alone = read_result_files({files[1].name: files[1]})
    assert alone.models == ("model (uploaded)",)


def test_what_is_no_result_or_has_too_many_rows_is_left_out(tmp_path: Path) -> None:
    with pytest.raises(KnownError, match=r"None of these files holds results\. Left out: x\.json"):
        upload(tmp_path, {"x.json": [1]})
    three = PAIRS | {"results": [1] * 3, "subset": ["hep-go"] * 3}
    found = upload(tmp_path, {"two.json": PAIRS, "three.json": three}, rows=2)
    assert found.outcomes.files == ("two.json",)
    assert ["3 rows; at most 2 are read" in each.reason for each in found.left_out] == [True]


def test_a_model_that_is_sent_again_replaces_the_one_before(tmp_path: Path) -> None:
    first = upload(tmp_path, {"a.json": {"model": "a", "hep-go": 0.5}, "b.json": PAIRS})
    later = {
        "b.json": PAIRS | {"results": [1, 1]},
        "c.json": [1],
        "d.json": PAIRS | {"model": "d"},
        "e.json": {"model": "a", "hep-go": 0.25},
    }
    again = upload(tmp_path, later)
    both = first + again
    assert [each.accuracies for each in both.aggregates] == [{"hep-go": 0.25}]
    assert both.models == ("a (uploaded)", "org/b (uploaded)", "d (uploaded)")
    assert [each.results.tolist() for each in both.outcomes.results] == [[1, 1], [1, 0]]
    assert [each.file for each in both.left_out] == ["c.json"]
    assert len({first.token, again.token, both.token}) == 3 and len(both.token) == 32


def test_what_a_worker_read_is_the_same_and_what_needs_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploaded_results, "APART_BYTES", 0)
    rewards = {"scores_chosen": [1.5, None], "scores_rejected": [0.25, 2.0]}
    several = {"results": [1], "subset": ["Focus"], "scores": [[0.1, 2]], "num_correct": [1]}
    written: dict[str, dict[str, object]] = {
        "a.json": {"model": "org/a", "hep-go": 0.5},
        "s.json": PAIRS | rewards | {"id": ["1", "2"]},
        "t.json": {"model": "org/t", **several},
        "x.json": {"model": "org/x", "mine": 1},
    }
    here = upload(tmp_path, written)
    there = read_in_worker({name: tmp_path / name for name in written})
    assert (there.aggregates, there.left_out) == (here.aggregates, here.left_out)
    assert there.outcomes.files == here.outcomes.files == ("s.json", "t.json")
    for one, other in zip(there.outcomes.results, here.outcomes.results, strict=True):
        assert repr(one) == repr(other)
    monkeypatch.setattr(uploaded_results, "READ_BYTES", 30_000_000)
    monkeypatch.setattr(uploaded_results, "_BYTES_A_BYTE", 1)
    (tmp_path / "large.json").write_text(json.dumps({**PAIRS, "more": [[]] * 1_000_000}))
    with pytest.raises(KnownError, match=r"Reading the results .* Choose fewer or smaller files"):
        read_in_worker({"large.json": tmp_path / "large.json"})


@pytest.mark.parametrize(
    ("limit", "most", "said"),
    [("MOST_FILES", 2, "2 files of yours"), ("MOST_OUTCOMES", 5, "5 outcomes of pairs of yours")],
)
def test_what_is_sent_bit_by_bit_has_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, said: str
) -> None:
    monkeypatch.setattr(uploaded_results, limit, most)
    one, two, three = (upload(tmp_path, {"a.json": PAIRS | {"model": each}}) for each in "abc")
    both = one + two
    assert len((both + two).models) == 2  # again is no more
    with pytest.raises(KnownError, match=f"{said} can stand beside the results, not "):
        both + three
