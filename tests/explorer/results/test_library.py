"""Which results are shown, and those with a visitor's files beside them."""

import json
import math
from pathlib import Path

import pytest

from explorer.core.settings import Settings
from explorer.data.sources import Candidate, Sources
from explorer.results.library import ResultsLibrary, Upstream, joined_results, results_sources
from explorer.results.published import Results, ResultsSource
from scoring.hub.access import Hub
from scoring.limits import Limits
from scoring.results.accuracies import Aggregate
from tests.conftest import PATIENCE
from tests.explorer.conftest import COMMIT, PutInCache
from tests.support.hub_server import Repo


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


FIRST, SECOND = "datasets/allenai/reward-bench-results", "datasets/allenai/reward-bench-2-results"


def shown_for(wanted: str | None, tmp_path: Path) -> tuple[Results, dict[str, str]]:
    settings = Settings(home=tmp_path / "home", results=wanted)
    sources = results_sources(settings, Hub(offline=True))
    return sources.get(None), sources.passed_over


def test_the_owners_folder_is_preferred(tmp_path: Path) -> None:
    (tmp_path / "eval-set").mkdir()
    (tmp_path / "eval-set" / "m.json").write_text('{"model": "org/m", "hep-go": 0.5}')
    board, passed_over = shown_for(str(tmp_path), tmp_path)
    assert (board.source.kind, board.source.name) == ("folder", tmp_path.name)
    assert passed_over == {}


def test_cached_results_are_preferred_to_the_bundled_figures(
    tmp_path: Path, put_in_cache: PutInCache
) -> None:
    result = json.dumps({"model": "org/m", "hep-go": 0.5}).encode()
    put_in_cache("allenai/reward-bench-results", {"eval-set/org/m.json": result})
    board, passed_over = shown_for(None, tmp_path)
    assert (board.source.kind, board.source.revision) == ("hub", COMMIT)
    assert board.source.name == "allenai/reward-bench-results"
    assert passed_over == {}


@pytest.mark.parametrize(
    ("wanted", "label", "reason"),
    [
        ("no such folder", "EXPLORER_RESULTS=no such folder", "There is no folder"),
        ("{tmp}", "EXPLORER_RESULTS={tmp}", "has no results below eval-set/"),
        ("org/name", "org/name", "is not on this machine"),
    ],
)
def test_results_that_cannot_be_shown_have_their_reason(
    tmp_path: Path, wanted: str, label: str, reason: str
) -> None:
    board, passed_over = shown_for(wanted.format(tmp=tmp_path), tmp_path)
    assert board.source.kind == "snapshot"
    assert reason in passed_over[label.format(tmp=tmp_path)]


# RewardBench 2 has a dataset of its own.


def made_up(*accuracies: tuple[str, str]) -> Results:
    found = (Aggregate(model, None, {"Focus": 0.5}, of) for model, of in accuracies)
    return Results(ResultsSource("folder", accuracies[0][0], "", "2024-01-01"), tuple(found))


def test_the_second_benchmark_comes_from_a_dataset_of_its_own() -> None:
    both = joined_results(
        made_up(("a", "v1"), ("a", "v2")), second := made_up(("b", "v1"), ("b", "v2"))
    )
    assert {(each.model, each.benchmark) for each in both.aggregates} == {("a", "v1"), ("b", "v2")}
    assert both.second == second.source


def test_both_of_upstreams_datasets_are_read(put_in_cache: PutInCache) -> None:
    v1 = json.dumps({"model": "org/m", "hep-go": 0.5}).encode()
    prior = json.dumps({"model": "org/m", "shp": 0.5}).encode()
    files = {"eval-set/org/m.json": v1, "pref-sets/org/m.json": prior}
    put_in_cache("allenai/reward-bench-results", files)
    alone = Upstream(Hub(offline=True)).read(local_only=True)
    assert alone.benchmarks() == ("v1", "prior")
    assert "reward-bench-2-results is not on this machine" in alone.remarks[0]
    v2 = json.dumps({"model": "org/n", "Focus": 0.5}).encode()
    put_in_cache("allenai/reward-bench-2-results", {"eval-set/org/n.json": v2})
    both = Upstream(Hub(offline=True)).read(local_only=True)
    assert (both.benchmarks(), both.remarks) == (("v1", "v2", "prior"), ())
    assert both.pairs is not None and both.second_pairs is not None
    assert both.pairs.id != both.second_pairs.id


def accuracies(model: str, subset: str, share: float = 0.5) -> Repo:
    values = {"model": model, subset: share}
    return Repo({f"eval-set/{model}.json": json.dumps(values).encode()})


@pytest.fixture
def upstream(hub_repos: dict[str, Repo], tmp_path: Path) -> Sources[Results]:
    """Both datasets are on the Hub and were fetched."""
    hub_repos[FIRST] = accuracies("org/m", "hep-go")
    hub_repos[SECOND] = accuracies("org/n", "Focus")
    return refreshed(results_sources(Settings(home=tmp_path / "home"), Hub()))


def refreshed(sources: Sources[Results]) -> Sources[Results]:
    sources._last_retry = -math.inf
    sources.retry(again=True)
    sources.wait(PATIENCE)
    return sources


def test_where_the_second_fails_and_nothing_else_is_new_all_stays(
    upstream: Sources[Results], hub_repos: dict[str, Repo]
) -> None:
    before = upstream.best
    hub_repos[SECOND] = Repo(refusal=(503, ""))
    assert refreshed(upstream).best == before
    assert "reward-bench-2-results" in upstream.refused
    assert upstream.get(None).benchmarks() == ("v1", "v2")


def test_where_the_second_fails_its_last_results_stand_beside_a_newer_first(
    upstream: Sources[Results], hub_repos: dict[str, Repo]
) -> None:
    before = upstream.get(None)
    hub_repos[FIRST] = accuracies("org/m", "hep-go", 0.75)
    hub_repos[SECOND] = Repo(refusal=(503, ""))
    shown = refreshed(upstream).get(None)
    assert shown.of("v1")["org/m"].accuracies == {"hep-go": 0.75}
    assert (shown.of("v2"), shown.second) == (before.of("v2"), before.second)
    [remark] = shown.remarks
    assert f"{before.second}, read earlier, stays: The Hub could not give" in remark
    assert refreshed(upstream).best == shown.id and upstream.refused
