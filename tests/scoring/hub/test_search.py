"""Which models of the Hub are found by words."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import close_session

from scoring.errors import KnownError
from scoring.hub import search as hub_search
from scoring.hub.access import Hub
from scoring.hub.search import HubModel, HubSearch, search_models
from tests.support.hub_server import HubServer, Repo, served_hub, use_hub


def model(tag: str, downloads: int, **more: object) -> Repo:
    return Repo(info={"pipeline_tag": tag, "downloads": downloads, **more})


REPOS = {
    "datasets/allenai/reward-bench": Repo({"README.md": b""}),
    "models/org/small-rm": model("text-classification", 5),
    "models/org/large-rm": model("text-classification", 50, gated="manual"),
    "models/org/marked-rm": model("reward-model", 20),
    "models/org/other": model("text-classification", 99),
    "models/org/chat-rm": model("text-generation", 1000),
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with served_hub(REPOS, tmp_path / "hub", monkeypatch, "hf_own") as server:
        yield server


def test_reward_models_are_found_by_their_names(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search_models(" rm ", Hub())
    large, marked = HubModel("org/large-rm", 50, is_gated=True), HubModel("org/marked-rm", 20)
    assert found == HubSearch((large, marked, HubModel("org/small-rm", 5)))
    assert {request.authorization for request in server.requests} == {None}
    search_models("rm", Hub(), token="hf_own")
    asked = [each.authorization for each in server.requests if each.path == "/api/models"]
    assert asked[-1] == "Bearer hf_own"
    assert search_models("nothing", Hub()) == HubSearch()
    monkeypatch.setattr("scoring.hub.search.MOST_FOUND", 1)
    assert [each.id for each in search_models("", Hub()).models] == ["org/other"]


def test_a_hub_that_answers_nothing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub()
    monkeypatch.setattr(hub, "reachable", lambda: True)
    monkeypatch.setattr(hub_search, "SEARCH_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        use_hub(f"http://127.0.0.1:{mute.getsockname()[1]}", tmp_path, monkeypatch)
        found = search_models("rm", hub)
    assert "timed out" in found.reason
    close_session()


@pytest.mark.parametrize("words", [None, 5, "x" * 101])
def test_what_cannot_be_searched_for_is_refused(words: Any) -> None:
    with pytest.raises(KnownError):
        search_models(words, Hub(offline=True))
