"""What is had from the Hub: by its ids, once, without a token that is not the visitor's."""

import socket
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring.errors import KnownError
from scoring.hub import access
from scoring.hub.access import Hub, HubId, parse_hub_id
from scoring.hub.cache import cache_folder, remove_cached
from scoring.limits import Limits, Step
from scoring.models.finding import ModelPolicy, locate
from scoring.pairs.opening import Pairs, fetch_pairs
from tests.conftest import DEMO_MODEL
from tests.support.hub_server import HubServer, Repo, served_hub
from tests.support.named_rows import by_sentence


def test_a_hub_id_is_taken_apart() -> None:
    for text, parts in (
        ("  org/name\n", HubId("org/name")),
        ("org/name:hard/test@168d848", HubId("org/name", "hard/test", "168d848")),
        ("org/name@refs/pr/1", HubId("org/name", None, "refs/pr/1")),
    ):
        assert parse_hub_id(text) == parts
        assert str(parts) == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        *("", "name", "a/b/c", "/etc", "../secrets", "org/..", "./org", "~/models", ".hidden/name"),
        *("org/na--me", "org/name:", "org/name@", "org/name@..", "org/name@/etc/passwd"),
        *("org/name@//host/x", "org/name@a/../../b", "org/name:test:raw", "org/name:../x"),
        *("org/name\nx", "org/name\0", "C:/models", "https://huggingface.co/org/name"),
    ],
)
def test_what_is_no_hub_id_is_refused(text: str) -> None:
    assert parse_hub_id(text) is None


def test_an_offline_hub_never_touches_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("socket", "getaddrinfo"):
        monkeypatch.setattr(socket, name, lambda *_, **__: pytest.fail("the network was asked"))
    hub, hub_id = Hub(offline=True), HubId("nobody/nothing", "test")
    hub.retry()
    assert not hub.reachable()
    with pytest.raises(KnownError, match=r"is not on this machine, and the network is switched"):
        fetch_pairs(hub_id, hub, token=False)


def parquet(n_rows: int) -> bytes:
    file = BytesIO()
    text = [f"text {number}" for number in range(n_rows)]
    pq.write_table(pa.table({"prompt": text, "chosen": text, "rejected": text}), file)
    return file.getvalue()


CARD = b"""---
configs:
- config_name: default
  data_files:
  - {split: raw, path: data/raw-*}
  - {split: filtered, path: data/filtered-*}
---
"""
PAIRS = Repo(
    {
        "README.md": CARD,
        "data/raw-00000-of-00001.parquet": parquet(5),
        "data/filtered-00000-of-00002.parquet": parquet(2),
        "data/filtered-00001-of-00002.parquet": parquet(1),
    }
)
FILTERED_BYTES = len(parquet(2)) + len(parquet(1))
BARE = Repo({"test.csv": b"prompt,chosen,rejected\np,c,r\n"})
REPOS = {
    "datasets/org/pairs": PAIRS,
    "datasets/org/bare": BARE,
    "datasets/org/gated": Repo(refusal=(403, "GatedRepo")),
    "datasets/org/private": Repo(refusal=(401, "RepoNotFound")),
    "datasets/org/broken": Repo(refusal=(500, "")),
    "datasets/org/odd": Repo({"data.txt": b"nothing to read"}),
    "models/org/model": Repo({path.name: path.read_bytes() for path in DEMO_MODEL.iterdir()}),
    "models/org/gated": Repo(refusal=(403, "GatedRepo")),
    "models/org/text": Repo({"README.md": b"no model"}),
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """Of all tokens only `hf_own` may have been sent to it; a failed request is tried at once."""
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    with served_hub(REPOS, tmp_path / "hub", monkeypatch, "hf_own") as server:
        yield server


def paths_of(server: HubServer, ending: str) -> list[str]:
    return [request.path for request in server.requests if request.path.endswith(ending)]


def pairs(text: str, hub: Hub | None = None, **options: Any) -> Pairs:
    hub_id = parse_hub_id(text)
    assert hub_id is not None
    return fetch_pairs(hub_id, hub or Hub(), token=False, **options)


def model(text: str, gigabytes: float | None = None, **options: Any) -> Any:
    return locate(text, ModelPolicy(Path("nowhere"), False, gigabytes), Hub(), **options)


def refusal(ask: Any, text: str, *given: Any, **options: Any) -> str:
    with pytest.raises(KnownError) as caught:
        ask(text, *given, **options)
    return str(caught.value)


def test_a_dataset_is_fetched_once_and_lies_in_the_cache_until_it_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served_hub(REPOS, tmp_path / "hub", monkeypatch) as server:
        first = pairs("org/pairs:filtered")
        assert str(first.source) == f"org/pairs:filtered@{PAIRS.commit}"
        assert first.table["key"].to_pylist() == ["filtered:1", "filtered:2", "filtered:3"]
        assert pairs("org/bare").table["key"].to_pylist() == ["test:1"]
        assert pairs(f"org/pairs:filtered@{PAIRS.commit}").source == first.source
        assert paths_of(server, "raw-00000-of-00001.parquet") == []
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


def test_what_is_too_large_is_not_downloaded(server: HubServer) -> None:
    limit = (FILTERED_BYTES - 1) / 1e6
    said = refusal(pairs, "org/pairs:filtered", limits=Limits(megabytes=limit))
    assert f"at most {limit:g} MB are read here (EXPLORER_MAX_DATASET_MB)." in said
    assert "at most 0.001 GB are allowed" in refusal(model, "org/model", gigabytes=0.001)
    for ending in (".parquet", ".safetensors"):
        assert paths_of(server, ending) == []


def test_how_far_a_fetch_is_is_told_and_its_files_rows_are_limited_together(
    server: HubServer,
) -> None:
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
