"""Which results are shown, and those with a visitor's files beside them."""

import json
from pathlib import Path

import pytest

from explorer.core.settings import Settings
from explorer.data.sources import Candidate, Sources
from explorer.results.library import ResultsLibrary, Upstream, results_sources
from explorer.results.published import Results, ResultsSource
from scoring.hub.access import Hub
from scoring.limits import Limits
from scoring.results.accuracies import Aggregate
from tests.conftest import PATIENCE
from tests.explorer.conftest import COMMIT, PutInCache


def results(date: str) -> Results:
    found = (Aggregate("org/a", "DPO", {"hep-go": 0.25}, "v1"),)
    return Results(ResultsSource("folder", "made up", "", date), found)


@pytest.fixture
def library() -> ResultsLibrary:
    """One that shows results of 2024; a look for newer ones finds those of 2025."""
    old, new = results("2024"), results("2025")
    sources = Sources([Candidate("made up", lambda: old, lambda: new)], Hub(offline=True))
    return ResultsLibrary(sources, Limits())


def sent(tmp_path: Path, model: str) -> dict[str, Path]:
    path = tmp_path / f"{model}.json"
    path.write_text(json.dumps({"model": model, "hep-go": 0.5}))
    return {path.name: path}


def models(found: Results) -> list[str]:
    return [each.model for each in found.aggregates]


def test_files_stand_beside_what_is_looked_at_and_can_be_taken_away(
    library: ResultsLibrary, tmp_path: Path
) -> None:
    first = library.upload(None, sent(tmp_path, "b"))
    assert models(first) == ["org/a", "b (uploaded)"]
    assert first.caption.endswith("With 1 model from files you uploaded.")
    both = library.upload(first.id, sent(tmp_path, "c"))
    assert models(library.get(both.id)) == ["org/a", "b (uploaded)", "c (uploaded)"]
    assert library.get(first.id) is library.get(None)  # each page has room for one
    assert library.without(both.id) is library.get(None)


def test_newer_results_take_the_files_along(library: ResultsLibrary, tmp_path: Path) -> None:
    mine = library.upload(None, sent(tmp_path, "b"))
    library.sources.retry(again=True)
    library.sources.wait(PATIENCE)
    assert mine.uploaded is not None
    newest_id = library.id_of_files(mine.uploaded.token, "")
    newest = library.get(newest_id)
    assert (newest.source.date, models(newest)) == ("2025", ["org/a", "b (uploaded)"])
    assert library.id_of_files(mine.uploaded.token, "") == newest_id
    assert library.id_of_files(mine.uploaded.token, "browser:another") is None
    assert models(library.get(mine.id)) == ["org/a", "b (uploaded)"]


FIRST, SECOND = "allenai/reward-bench-results", "allenai/reward-bench-2-results"


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
    (tmp_path / "eval-set").mkdir()
    (tmp_path / "eval-set" / "m.json").write_text('{"model": "org/m", "hep-go": 0.5}')
    assert shown_for(str(tmp_path)) == ("folder", [])


# RewardBench 2 has a dataset of its own.


def test_both_of_upstreams_datasets_are_read_from_the_cache_and_stand_apart(
    put_in_cache: PutInCache, tmp_path: Path
) -> None:
    v1 = json.dumps({"model": "org/m", "hep-go": 0.5}).encode()
    prior = json.dumps({"model": "org/m", "shp": 0.5}).encode()
    put_in_cache(FIRST, {"eval-set/org/m.json": v1, "pref-sets/org/m.json": prior})
    alone = results_sources(Settings(home=tmp_path / "home"), Hub(offline=True)).get(None)
    assert (alone.source.kind, alone.source.name, alone.source.revision) == ("hub", FIRST, COMMIT)
    assert alone.benchmarks() == ("v1", "prior")
    assert "reward-bench-2-results is not on this machine" in alone.remarks[0]
    v2 = json.dumps({"model": "org/n", "Focus": 0.5}).encode()
    put_in_cache(SECOND, {"eval-set/org/n.json": v2, "eval-set/org/m.json": v1})
    both = Upstream(Hub(offline=True)).read(local_only=True)
    assert {(each.model, each.benchmark) for each in both.aggregates} == {
        *[("org/m", "v1"), ("org/m", "prior"), ("org/n", "v2")]
    }
    assert both.remarks == ()
    assert both.pairs is not None and both.second_pairs is not None
    assert both.pairs.id != both.second_pairs.id
