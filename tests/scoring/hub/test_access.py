"""What is had from the Hub: by its ids, once, without a token that is not the visitor's; what is
found there by words; who may have what lies in its cache, and which models its quota keeps.
"""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import close_session

from scoring.hub import access
from scoring.hub.access import Hub, HubId, parse_hub_id
from scoring.hub.cache import FETCHED, DiskQuota, cache_folder, remove_cached
from scoring.hub.search import HubModel, HubSearch, search_models
from scoring.limits import Limits, Step
from scoring.models.finding import ModelPolicy, locate
from scoring.pairs.opening import Pairs, fetch_pairs
from tests.conftest import DEMO_MODEL
from tests.support.hub_server import HubServer, Repo, served_hub, use_hub
from tests.support.pair_files import TEXTS, parquet_bytes
from tests.support.refusals import by_sentence, refusal

POLICY = ModelPolicy(None, local_folders=False)
NO_IDS = (
    *("", "name", "a/b/c", "/etc", "../secrets", "org/..", "./org", "~/models", ".hidden/name"),
    *("org/na--me", "org/name:", "org/name@", "org/name@..", "org/name@/etc/passwd"),
    *("org/name@//host/x", "org/name@a/../../b", "org/name:test:raw", "org/name:../x"),
    *("org/name\nx", "org/name\0", "C:/models", "https://huggingface.co/org/name"),
)
IDS: dict[str, HubId | None] = {
    "  org/name\n": HubId("org/name"),
    "org/name:hard/test@168d848": HubId("org/name", "hard/test", "168d848"),
    "org/name@refs/pr/1": HubId("org/name", None, "refs/pr/1"),
    **dict.fromkeys(NO_IDS),
}


@pytest.mark.parametrize(("text", "parts"), IDS.items())
def test_a_hub_id_is_taken_apart_and_nothing_else_is_one(text: str, parts: HubId | None) -> None:
    assert parse_hub_id(text) == parts
    assert parts is None or str(parts) == text.strip()


def test_an_offline_hub_never_touches_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("socket", "getaddrinfo"):
        monkeypatch.setattr(socket, name, lambda *_, **__: pytest.fail("the network was asked"))
    hub, hub_id = Hub(offline=True), HubId("nobody/nothing", "test")
    hub.retry()
    assert not hub.reachable()
    said = refusal(fetch_pairs, hub_id, hub, token=False)
    assert "is not on this machine, and the network is switched off" in said


PARTS = [parquet_bytes([TEXTS] * n) for n in (2, 1)]
PAIRS = Repo(
    {
        "data/raw-00000-of-00001.parquet": parquet_bytes([TEXTS] * 5),
        "data/filtered-00000-of-00002.parquet": PARTS[0],
        "data/filtered-00001-of-00002.parquet": PARTS[1],
    }
)
FILTERED_BYTES = sum(map(len, PARTS))


def reward_model(tag: str, downloads: int, **more: object) -> Repo:
    return Repo(info={"pipeline_tag": tag, "downloads": downloads, **more})


REPOS = {
    "datasets/org/pairs": PAIRS,
    "datasets/org/bare": Repo({"test.csv": b"prompt,chosen,rejected\np,c,r\n"}),
    "datasets/org/gated": Repo(refusal=(403, "GatedRepo")),
    "datasets/org/private": Repo(refusal=(401, "RepoNotFound")),
    "datasets/org/broken": Repo(refusal=(500, "")),
    "datasets/org/odd": Repo({"data.txt": b"nothing to read"}),
    "models/org/gated": Repo(refusal=(403, "GatedRepo")),
    "models/org/text": Repo({"README.md": b"no model"}),
    "models/org/small-rm": reward_model("text-classification", 5),
    "models/org/large-rm": reward_model("text-classification", 50, gated="manual"),
    "models/org/marked-rm": reward_model("reward-model", 20),
    "models/org/other": reward_model("text-classification", 99),
    "models/org/chat-rm": reward_model("text-generation", 1000),
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """Of all tokens only `hf_own` may have been sent to it; a failed request is tried at once."""
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    with served_hub(REPOS, tmp_path / "hub", monkeypatch, "hf_own") as server:
        yield server


def pairs(text: str, hub: Hub | None = None, **options: Any) -> Pairs:
    hub_id = parse_hub_id(text)
    assert hub_id is not None
    return fetch_pairs(hub_id, hub or Hub(), token=False, **options)


def model(text: str, **options: Any) -> Any:
    return locate(text, POLICY, Hub(), **options)


def test_a_dataset_is_fetched_once_and_lies_in_the_cache_until_it_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served_hub(REPOS, tmp_path / "hub", monkeypatch) as server:
        first = pairs("org/pairs:filtered")
        assert str(first.source) == f"org/pairs:filtered@{PAIRS.commit}"
        assert first.table["key"].to_pylist() == ["filtered:1", "filtered:2", "filtered:3"]
        assert pairs("org/bare").table["key"].to_pylist() == ["test:1"]
        assert pairs(str(first.source)).source == first.source
        assert "raw-00000-of-00001.parquet" not in server.fetched
    gone = Hub()
    for options in ({"local_only": True}, {}):
        again = pairs("org/pairs:filtered", gone, **options)
        assert (again.source, again.table) == (first.source, first.table)
    assert gone.reason is not None
    remove_cached(cache_folder("org/pairs", "dataset"))
    remove_cached(cache_folder("org/never-fetched", "dataset"))
    left = [str(path) for path in (tmp_path / "hub").rglob("*")]
    assert not [path for path in left if "org--pairs" in path]
    assert [path for path in left if "org--bare/snapshots" in path]
    assert "is not on this machine" in refusal(pairs, "org/pairs:filtered", gone)


SPLITS = "org/pairs needs a split, as in org/pairs:SPLIT; it has filtered, raw."


@pytest.mark.parametrize(
    ("ask", "text", "options", "said"),
    by_sentence(
        (pairs, "org/pairs", {}, SPLITS),
        (pairs, "org/odd", {}, "as in org/odd:SPLIT; it has no file that can be read here."),
        (pairs, "org/pairs:raw@nowhere", {}, "The dataset org/pairs has no revision 'nowhere'."),
        (pairs, "org/gated", {}, "The dataset org/gated is gated"),
        (pairs, "org/private", {}, "There is no public dataset 'org/private' on the Hub"),
        (pairs, "org/broken", {}, "The Hub could not give org/broken: Server error '500"),
        (model, "org/text", {}, "org/text is not a transformers model: it has no config.json"),
        (model, "org/gated", {"token": "hf_own"}, "Hub with the account of your token"),
        (model, "org/private", {"token": "hf_own"}, "There is no model 'org/private' on the Hub"),
    ),
)
def test_what_the_hub_lacks_or_refuses_is_told_in_a_sentence(
    ask: Any, text: str, options: dict[str, Any], said: str, server: HubServer
) -> None:
    assert said in (told := refusal(ask, text, **options))
    assert "hf_" not in told


def test_how_far_a_fetch_is_is_told_and_none_is_too_large(server: HubServer) -> None:
    limit = (FILTERED_BYTES - 1) / 1e6
    said = refusal(pairs, "org/pairs:filtered", limits=Limits(megabytes=limit))
    assert f"at most {limit:g} MB are read here (EXPLORER_MAX_DATASET_MB)." in said
    assert server.fetched == set()
    steps: list[Step] = []
    pairs("org/pairs:filtered", tell=steps.append)
    assert steps[:2] == [Step("asking", 0, None), Step("fetching", 0, FILTERED_BYTES)]
    assert steps[-4:] == [
        Step("fetching", FILTERED_BYTES, FILTERED_BYTES),
        *(Step("reading", n, 3) for n in (0, 2, 3)),
    ]
    said = refusal(pairs, "org/pairs:filtered", limits=Limits(rows=2))
    assert "org/pairs:filtered has 3 rows; at most 2 are read here" in said


def test_a_hub_that_fails_is_not_asked_again_until_some_time_has_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probed = "datasets/allenai/reward-bench"
    repos = {**REPOS, probed: Repo(refusal=(500, ""))}
    with served_hub(repos, tmp_path / "hub", monkeypatch) as server:
        hub = Hub()
        for _ in range(2):
            assert "and the Hub answered" in refusal(pairs, "org/pairs:raw", hub)
        assert hub.reason == "the Hub answered with an error (500)"
        assert len([1 for request in server.requests if "/datasets/" in request.path]) == 1
        repos[probed] = Repo({"README.md": b""})
        assert not hub.reachable()
        monkeypatch.setattr(access, "AGAIN_SECONDS", 0.0)
        assert hub.reachable() and hub.reason is None


# Which models are found by words.


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
    for words in (None, 5, "x" * 101):
        assert "with at most 100 characters of text" in refusal(search_models, words, Hub())


def test_a_hub_that_answers_nothing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub()
    monkeypatch.setattr(hub, "reachable", lambda: True)
    monkeypatch.setattr("scoring.hub.search.SEARCH_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        use_hub(f"http://127.0.0.1:{mute.getsockname()[1]}", tmp_path, monkeypatch)
        assert "timed out" in search_models("rm", hub).reason
    close_session()


# The cache of a server for strangers.

FILES = {path.name: path.read_bytes() for path in DEMO_MODEL.iterdir() if path.suffix != ".md"}
SIZE = sum(map(len, FILES.values()))
MODEL = Repo(FILES)


@dataclass
class There:
    """A Hub that may change while it is asked, and the cache of a server here."""

    repos: dict[str, Repo]
    cache: Path

    def here(self) -> set[str]:
        return {path.name.removeprefix("models--org--") for path in self.cache.glob("models--*")}

    def age(self, *names: str) -> None:
        """Have models last been used an hour before they were."""
        for name in names:
            mark = self.cache / f"models--org--{name}" / FETCHED
            before = mark.stat().st_mtime - 3600
            os.utime(mark, (before, before))


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[There]:
    repos = {f"models/org/{name}": MODEL for name in ("open", "a", "b", "c", "d")}
    repos["models/org/private"] = replace(MODEL, info={"private": True})
    repos["models/org/gated"] = replace(MODEL, info={"gated": "manual"})
    with served_hub(repos, tmp_path / "hub", monkeypatch, "hf_own"):
        yield There(repos, tmp_path / "hub")


@pytest.mark.parametrize("name", ["org/private", "org/gated"])
def test_what_one_visitor_may_have_is_not_given_to_others(name: str, there: There) -> None:
    spec = locate(name, POLICY, Hub(shared=True), token="hf_own")
    assert Path(spec.folder, "model.safetensors").is_file()
    unreached = Hub(offline=True, shared=True)
    for token in (False, "hf_of_another"):
        said = refusal(locate, name, POLICY, unreached, token=token)
        assert f"{name} is not for everybody, and the Hub cannot" in said
    assert locate(name, POLICY, Hub(shared=True), token="hf_own") == spec
    assert locate(name, POLICY, Hub(offline=True)) == spec
    kept = [path for path in there.cache.rglob("*") if path.is_file()]
    assert not [path for path in kept if b"hf_own" in path.read_bytes()]


def test_the_hub_decides_anew_who_may_have_a_model(there: There) -> None:
    unreached = Hub(offline=True, shared=True)
    opened = locate("org/open", POLICY, Hub(shared=True), token="hf_own")
    assert locate("org/open", POLICY, unreached) == opened  # which everybody may have
    spec = locate("org/private", POLICY, Hub(shared=True), token="hf_own")
    there.repos["models/org/private"] = MODEL
    assert locate("org/private", POLICY, Hub(shared=True)) == spec
    there.repos["models/org/private"] = replace(MODEL, info={"private": True})
    locate("org/private", POLICY, Hub(shared=True), token="hf_own")
    assert "is not for everybody" in refusal(locate, "org/private", POLICY, unreached)


def hub_with_quota(models: float, *keep: str) -> Hub:
    """A Hub of a server that keeps so many models of the size of the demo's."""
    return Hub(shared=True, quota=DiskQuota(models * SIZE / 1e9, keep))


def fetch(hub: Hub, there: There, *names: str) -> None:
    """Have models fetched one after the other, an hour apart."""
    for name in names:
        locate(f"org/{name}", POLICY, hub)
        there.age(*there.here())


def test_the_least_recently_used_model_makes_room(there: There) -> None:
    hub = hub_with_quota(3.5)
    fetch(hub, there, "a", "b", "c", "a")
    assert there.here() == {"a", "b", "c"}
    fetch(hub, there, "d")
    assert there.here() == {"a", "c", "d"}


def test_what_the_owner_chose_or_had_stays_and_is_not_counted(there: There) -> None:
    locate("org/a", POLICY, Hub())
    hub = hub_with_quota(2.5, "org/b")
    for name in ("a", "b", "c", "d", "open"):
        locate(f"org/{name}", POLICY, hub)
        if name in ("c", "d"):
            there.age(name)
    assert there.here() == {"a", "b", "d", "open"}


def test_what_has_no_room_is_not_fetched_and_the_last_model_stays(there: There) -> None:
    hub = hub_with_quota(1.5)
    fetch(hub, there, "a")
    listing = hub.look(HubId("org/b"), "model", token=False)
    said = refusal(hub.fetch, listing, [*FILES], token=False)
    assert "There is no room for" in said and "are kept here (EXPLORER_MODELS_GB)" in said
    assert not [*(there.cache / "models--org--b").rglob("*.safetensors")]
    assert Path(locate("org/a", POLICY, hub).folder, "model.safetensors").is_file()


def test_what_is_being_fetched_or_was_asked_for_just_now_stays(there: There) -> None:
    hub = hub_with_quota(2.5)
    listing = hub.look(HubId("org/a"), "model", token=False)
    hub.fetch(listing, [*FILES], token=False)
    assert "There is no room" in refusal(hub.quota.make_room, 2 * SIZE)
    there.age("a")
    with hub.quota.fetching("org/a", 0):
        assert "There is no room" in refusal(hub.quota.make_room, 2 * SIZE)
        assert Path(listing.folder, "model.safetensors").is_file()
    there.age("a")
    hub.quota.make_room(2 * SIZE)
    assert there.here() == set()


def test_a_model_that_changes_while_it_is_fetched_is_not_mixed(there: There) -> None:
    hub = Hub(shared=True)
    listing = hub.look(HubId("org/a"), "model", token=False)
    there.repos["models/org/a"] = Repo({**FILES, "more.json": b"{}"})
    said = refusal(hub.fetch, listing, ["config.json"], token=False)
    assert said == "org/a changed while it was fetched. Try again."
