import json
from pathlib import Path

import pytest

from explorer.data.sources import Candidate, Shelf
from explorer.results import library as results_library
from explorer.results.library import ResultsLibrary
from explorer.results.outcomes import Results, ResultsSource
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.limits import Limits
from scoring.results.accuracies import Aggregate
from tests.conftest import PATIENCE


def results(date: str) -> Results:
    found = (Aggregate("org/a", "DPO", {"hep-go": 0.25}, "v1"),)
    return Results(ResultsSource("folder", "made up", "", date), found)


@pytest.fixture
def library() -> ResultsLibrary:
    """One that shows results of 2024; a look for newer ones finds those of 2025."""
    old, new = results("2024"), results("2025")
    shelf = Shelf([Candidate("made up", lambda: old, lambda: new)], Hub(offline=True))
    return ResultsLibrary(shelf, Limits())


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
    assert first.caption.endswith("With 1 models of the files you uploaded.")
    both = library.upload(first.id, sent(tmp_path, "c"))
    assert models(library.get(both.id)) == ["org/a", "b (uploaded)", "c (uploaded)"]
    assert library.is_gone(first.id)  # each page has room for one
    assert library.without(both.id) is library.get(None)


def test_others_see_no_files(library: ResultsLibrary, tmp_path: Path) -> None:
    library.upload(None, sent(tmp_path, "b"))
    assert models(library.get(None)) == ["org/a"]
    assert models(library.get(["no id"])) == ["org/a"]


def test_the_same_file_of_two_visitors_is_two_results(
    library: ResultsLibrary, tmp_path: Path
) -> None:
    one, other = (library.upload(None, sent(tmp_path, "b")) for _ in range(2))
    assert one.aggregates == other.aggregates and one.id != other.id
    library.upload(one.id, sent(tmp_path, "c"))
    assert models(library.get(other.id)) == ["org/a", "b (uploaded)"]


def test_newer_results_take_the_files_along(library: ResultsLibrary, tmp_path: Path) -> None:
    mine = library.upload(None, sent(tmp_path, "b"))
    library.shelf.refresh()
    library.shelf.wait(PATIENCE)
    newest = library.newest(mine.id)
    assert (newest.source.date, models(newest)) == ("2025", ["org/a", "b (uploaded)"])
    assert library.newest(None) is library.get(None)
    assert library.is_gone(mine.id)
    assert library.newest(newest.id).id == newest.id and not library.is_gone(newest.id)


def test_files_that_are_too_large_are_refused(library: ResultsLibrary, tmp_path: Path) -> None:
    small = ResultsLibrary(library.shelf, Limits(megabytes=1e-6))
    with pytest.raises(KnownError, match=r"b\.json is .* MB large"):
        small.upload(None, sent(tmp_path, "b"))


def test_the_oldest_files_make_room(
    library: ResultsLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results_library, "KEPT", 1)
    library = ResultsLibrary(library.shelf, Limits())
    first, second = (library.upload(None, sent(tmp_path, model)) for model in "bc")
    assert models(library.get(first.id)) == ["org/a"]
    assert library.is_gone(first.id) and not library.is_gone(second.id)
    others: tuple[object, ...] = (None, [], "no id", library.get(None).id)
    assert not any(map(library.is_gone, others))
    assert models(library.get(second.id)) == ["org/a", "c (uploaded)"]
