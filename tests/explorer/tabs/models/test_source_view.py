"""Files beside the leaderboard and newer results, through the page's own events."""

import json
from pathlib import Path

import pytest

from explorer.results import library as results_library
from explorer.tabs.models.acts_view import ModelsTab
from explorer.tabs.models.source_view import BoardSource, _by_name
from tests.explorer.conftest import Serve
from tests.explorer.posting import Visitor, sent_file

MINE = {"model": "<b>mine</b>", "model_type": "DPO", "hep-go": 0.5}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results with one model."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "eval-set").mkdir()
    (folder / "eval-set" / "first.json").write_text(json.dumps({"model": "first", "hep-go": 0.75}))
    return folder


@pytest.fixture(scope="module")
def visitor(serve: Serve, results: Path) -> Visitor:
    return serve(results=str(results))


def board(visitor: Visitor) -> str:
    """What the tab shows to the visitor, as HTML."""
    return "".join(each for each in visitor.data(ModelsTab.show) if isinstance(each, str))


def send(visitor: Visitor, name: str, values: object) -> list[object]:
    file = visitor.upload(name, json.dumps(values).encode())
    return visitor.data(BoardSource.upload, {"upload-results": [file]})


def test_a_file_stands_beside_the_others_for_its_sender_alone(
    visitor: Visitor, uploads: Path
) -> None:
    mine, other = Visitor(visitor.page), Visitor(visitor.page)
    send(mine, "mine.json", MINE)
    assert "&lt;b&gt;mine&lt;/b&gt; (uploaded)" in board(mine)
    assert "first" in board(mine)
    assert "(uploaded)" not in board(other)
    assert not list(uploads.rglob("mine.json"))
    mine.data(BoardSource.without)
    assert "(uploaded)" not in board(mine)


def test_what_is_no_result_is_refused_and_the_board_stands(visitor: Visitor) -> None:
    file = visitor.upload("no.json", b"[1]")
    told = visitor.refused(BoardSource.upload, {"upload-results": [file]})
    assert "None of these files holds results" in told
    assert "first" in board(visitor)


@pytest.mark.parametrize("sent", [None, [], 7, "x.json", [sent_file("/etc/passwd")]])
def test_what_is_no_upload_is_refused(sent: object, visitor: Visitor) -> None:
    assert not visitor.post(BoardSource.upload, {"upload-results": sent})["success"]
    assert "first" in board(visitor)


def test_newer_results_are_turned_to(visitor: Visitor, results: Path) -> None:
    again = Visitor(visitor.page)
    send(again, "mine.json", MINE)
    (results / "eval-set" / "second.json").write_text(json.dumps({"model": "second", "hep-go": 1}))
    (told, *_) = again.data(BoardSource.refresh)
    assert "Newer results have arrived" in told
    assert "second" in board(again)
    assert "(uploaded)" in board(again)
    for on in (True, False):
        [timer] = again.data(BoardSource.often, {"refresh-often": on})
        assert timer["active"] is on


def test_a_visitor_whose_files_made_room_is_told(
    serve: Serve, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results_library, "_KEPT", 1)
    server = serve(results=str(results))
    first, second = Visitor(server.page), Visitor(server.page)
    send(first, "mine.json", MINE)
    assert "no longer here" not in board(first)
    send(second, "mine.json", MINE)
    assert "(uploaded)" not in board(first) and "no longer here" in board(first)
    assert "(uploaded)" in board(second)
    send(first, "mine.json", MINE)
    assert "(uploaded)" in board(first) and "no longer here" not in board(first)


def test_files_of_one_name_are_all_read() -> None:
    files = [Path("/a/model.json"), Path("/b/model.json")]
    assert _by_name(files) == {"model.json": files[0], "2 model.json": files[1]}
