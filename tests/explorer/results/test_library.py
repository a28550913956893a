"""Which results are shown, and a visitor's files: what is read of them, and where they stand."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from explorer.core.settings import Settings
from explorer.data.sources import Candidate, Sources
from explorer.results import uploads
from explorer.results.library import ResultsLibrary, Upstream, results_sources
from explorer.results.published import Results, ResultsSource
from explorer.results.uploads import Uploaded, read_in_worker, read_result_files
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.limits import Limits
from scoring.results.accuracies import Aggregate
from tests.conftest import PATIENCE
from tests.explorer.conftest import COMMIT, PutInCache
from tests.support.files import write_json
from tests.support.upstream_files import leave

OF_A = {"model": "org/a", "hep-go": 0.5}
PAIRS = {"model": "org/b", "results": [1, 0], "subset": ["hep-go", "hep-go"]}


def write(folder: Path, files: Mapping[str, object]) -> dict[str, Path]:
    """Files by the names that a visitor gave them."""
    return {name: write_json(folder / name, values) for name, values in files.items()}


def upload(folder: Path, files: Mapping[str, object], limits: Limits | None = None) -> Uploaded:
    return read_result_files(write(folder, files), limits=limits or Limits())


def test_files_are_told_apart_by_what_they_hold_and_the_others_left_out(tmp_path: Path) -> None:
    files = {
        "a.json": OF_A,
        "old.json": {"model": "org/old", "hep-go": 0.5, "shp": 0.1},
        "p.json": {"model": "org/a", "shp": 0.5},
        "s.json": PAIRS,
        "three.json": PAIRS | {"results": [1] * 3, "subset": ["hep-go"] * 3},
        "x.json": [1],
        "y.json": {"model": "org/y", "mine": 1},
    }
    found = upload(tmp_path, files, Limits(rows=2))
    assert [(each.model, each.benchmark) for each in found.aggregates] == [
        ("org/a (uploaded)", "v1"),
        ("org/old (uploaded)", "v1"),
        ("org/a (uploaded)", "prior"),
    ]
    [pairs] = found.outcomes.results
    assert (found.outcomes.files, pairs.results.tolist()) == (("s.json",), [1, 0])
    assert found.models == ("org/a (uploaded)", "org/old (uploaded)", "org/b (uploaded)")
    left_out = {each.file: each.reason for each in found.left_out if each.whole}
    assert {*left_out} == {"three.json", "x.json", "y.json"}
    assert "3 rows; at most 2 are read" in left_out["three.json"]
    with pytest.raises(KnownError, match=r"None of these files holds results\. Left out: x\.json"):
        upload(tmp_path, {"x.json": [1]})


def test_what_upstreams_command_line_leaves_is_of_one_model(tmp_path: Path) -> None:
    """A browser sends names without folders, and only one of both files says whose it is."""
    files = leave(tmp_path)
    found = read_result_files({path.name: path for path in files})
    assert found.models == ("org/model (uploaded)",)
    [pairs] = found.outcomes.results
    assert (pairs.model, pairs.results.tolist()) == ("org/model (uploaded)", [1, 0, 0])
    assert read_result_files({files[1].name: files[1]}).models == ("model (uploaded)",)


def test_a_model_that_is_sent_again_replaces_the_one_before(tmp_path: Path) -> None:
    first = upload(tmp_path, {"a.json": OF_A, "b.json": PAIRS})
    later = {
        "b.json": PAIRS | {"results": [1, 1]},
        "c.json": [1],
        "d.json": PAIRS | {"model": "d"},
        "e.json": OF_A | {"hep-go": 0.25},
    }
    again = upload(tmp_path, later)
    both = first + again
    assert [each.accuracies for each in both.aggregates] == [{"hep-go": 0.25}]
    assert both.models == ("org/a (uploaded)", "org/b (uploaded)", "d (uploaded)")
    assert [each.results.tolist() for each in both.outcomes.results] == [[1, 1], [1, 0]]
    assert [each.file for each in both.left_out] == ["c.json"]
    assert len({first.token, again.token, both.token}) == 3 and len(both.token) == 32


def test_what_a_worker_read_is_the_same_and_what_needs_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "APART_BYTES", 0)
    rewards = {"scores_chosen": [1.5, None], "scores_rejected": [0.25, 2.0], "id": ["1", "2"]}
    several = {"results": [1], "subset": ["Focus"], "scores": [[0.1, 2]], "num_correct": [1]}
    files = {"a.json": OF_A, "s.json": PAIRS | rewards, "t.json": {"model": "org/t", **several},
             "x.json": {"model": "org/x", "mine": 1}}  # fmt: skip
    here = upload(tmp_path, files)
    there = read_in_worker({name: tmp_path / name for name in files})
    assert (there.aggregates, there.left_out) == (here.aggregates, here.left_out)
    assert there.outcomes.files == here.outcomes.files == ("s.json", "t.json")
    assert [*map(repr, there.outcomes.results)] == [*map(repr, here.outcomes.results)]
    monkeypatch.setattr(uploads, "READ_BYTES", 30_000_000)
    monkeypatch.setattr(uploads, "_BYTES_A_BYTE", 1)
    large = write(tmp_path, {"large.json": {**PAIRS, "more": [[]] * 1_000_000}})
    with pytest.raises(KnownError, match=r"Reading the results .* Choose fewer or smaller files"):
        read_in_worker(large)


@pytest.mark.parametrize(
    ("limit", "most", "said"),
    [("MOST_FILES", 2, "2 files of yours"), ("MOST_OUTCOMES", 5, "5 outcomes of pairs of yours")],
)
def test_what_is_sent_bit_by_bit_has_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, said: str
) -> None:
    monkeypatch.setattr(uploads, limit, most)
    one, two, three = (upload(tmp_path, {"a.json": PAIRS | {"model": each}}) for each in "abc")
    both = one + two
    assert len((both + two).models) == 2  # again is no more
    with pytest.raises(KnownError, match=f"{said} can stand beside the results, not "):
        both + three


# Where they stand.


def models(found: Results) -> list[str]:
    return [each.model for each in found.aggregates]


def test_files_stand_beside_what_is_looked_at_can_be_taken_away_and_go_along_with_newer_results(
    tmp_path: Path,
) -> None:
    of_a = (Aggregate("org/a", "DPO", {"hep-go": 0.25}, "v1"),)
    old, new = (
        Results(ResultsSource("folder", "made up", "", date), of_a) for date in ("2024", "2025")
    )
    sources = Sources([Candidate("made up", lambda: old, lambda: new)], Hub(offline=True))
    library = ResultsLibrary(sources, Limits())
    one, two = (write(tmp_path, {f"{each}.json": OF_A | {"model": each}}) for each in "bc")
    first = library.upload(None, one)
    assert models(first) == ["org/a", "b (uploaded)"]
    assert first.caption.endswith("With 1 model from files you uploaded.")
    both = library.upload(first.id, two)
    assert models(library.get(both.id)) == ["org/a", "b (uploaded)", "c (uploaded)"]
    assert library.get(first.id) is library.get(None)  # each page has room for one
    assert library.without(both.id) is library.get(None)

    sources.retry(again=True)
    sources.wait(PATIENCE)
    assert both.uploaded is not None
    newest_id = library.id_of_files(both.uploaded.token, "")
    newest = library.get(newest_id)
    assert (newest.source.date, models(newest)) == ("2025", models(both))
    assert library.id_of_files(both.uploaded.token, "") == newest_id
    assert library.id_of_files(both.uploaded.token, "browser:another") is None
    assert library.get(both.id).source.date == "2024"


# Which results are shown.


def test_the_owners_results_are_preferred_or_have_their_reason(tmp_path: Path) -> None:
    def shown_for(wanted: str) -> tuple[str, list[str]]:
        settings = Settings(home=tmp_path / "home", results=wanted)
        sources = results_sources(settings, Hub(offline=True))
        return sources.get(None).source.kind, [*sources.passed_over.values()]

    for wanted, reason in {
        "no such folder": "There is no folder",
        str(tmp_path): "has no results below eval-set/",
        "org/name": "is not on this machine",
    }.items():
        kind, told = shown_for(wanted)
        assert kind == "snapshot" and reason in told[0]
    write_json(tmp_path / "eval-set" / "m.json", OF_A)
    assert shown_for(str(tmp_path)) == ("folder", [])


FIRST, SECOND = "allenai/reward-bench-results", "allenai/reward-bench-2-results"


def test_both_of_upstreams_datasets_are_read_from_the_cache_and_stand_apart(
    put_in_cache: PutInCache, tmp_path: Path
) -> None:
    v1, prior, v2 = (
        json.dumps({"model": model, name: 0.5}).encode()
        for model, name in (("org/m", "hep-go"), ("org/m", "shp"), ("org/n", "Focus"))
    )
    put_in_cache(FIRST, {"eval-set/org/m.json": v1, "pref-sets/org/m.json": prior})
    alone = results_sources(Settings(home=tmp_path / "home"), Hub(offline=True)).get(None)
    assert (alone.source.kind, alone.source.name, alone.source.revision) == ("hub", FIRST, COMMIT)
    assert alone.benchmarks() == ("v1", "prior")
    assert "reward-bench-2-results is not on this machine" in alone.remarks[0]
    put_in_cache(SECOND, {"eval-set/org/n.json": v2, "eval-set/org/m.json": v1})
    both = Upstream(Hub(offline=True)).read(local_only=True)
    assert sorted((each.model, each.benchmark) for each in both.aggregates) == [
        ("org/m", "prior"), ("org/m", "v1"), ("org/n", "v2"),
    ]  # fmt: skip
    assert both.remarks == ()
    assert both.pairs is not None and both.second_pairs is not None
    assert both.pairs.id != both.second_pairs.id
