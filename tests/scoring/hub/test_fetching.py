import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import close_session

from scoring.errors import KnownError, Stopped
from scoring.hub.access import Hub, HubId
from scoring.limits import Step
from scoring.models.locating import locate
from scoring.models.policy import ModelPolicy
from tests.conftest import DEMO_MODEL
from tests.hub_server import HubServer, Repo, use_hub

FILES = {path.name: path.read_bytes() for path in DEMO_MODEL.iterdir()}
SLOW = Repo({**FILES, "model.safetensors": bytes(30_000_000)}, part_seconds=0.05)
REPOS = {
    "datasets/allenai/reward-bench": Repo({"README.md": b""}),
    "models/org/model": Repo(FILES),
    "models/org/slow": SLOW,
    "models/org/broken": Repo(FILES, refusal=(403, "GatedRepo"), refused="resolve"),
}
POLICY = ModelPolicy(None, local_folders=False)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "hub"


@pytest.fixture
def server(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with HubServer(REPOS) as server:
        use_hub(server.url, cache, monkeypatch)
        yield server
        assert {request.authorization for request in server.requests} <= {None, "Bearer hf_own"}
    close_session()


def test_what_can_be_stopped_is_fetched_as_what_cannot(server: HubServer, cache: Path) -> None:
    steps: list[Step] = []
    spec = locate("org/model", POLICY, Hub(), tell=steps.append, stop=threading.Event())
    assert {path.name for path in Path(spec.folder).iterdir()} == set(FILES) - {"README.md"}
    for path in Path(spec.folder).iterdir():
        assert path.read_bytes() == FILES[path.name]
    size = sum(len(FILES[path.name]) for path in Path(spec.folder).iterdir())
    size -= len(FILES["config.json"])  # it was read before
    assert steps[0] == Step("asking")
    assert (steps[1], steps[-1]) == (Step("fetching", 0, size), Step("fetching", size, size))
    n_requests = len(server.requests)
    assert locate("org/model", POLICY, Hub(), stop=threading.Event()) == spec
    later = [request.path for request in server.requests[n_requests:]]
    assert not [path for path in later if "/resolve/" in path]


def test_a_stop_ends_a_download_at_once_and_keeps_what_is_whole(
    server: HubServer, cache: Path
) -> None:
    stop = threading.Event()

    def tell(step: Step) -> None:
        if step.doing == "fetching" and step.done > 1_000_000:
            stop.set()

    with pytest.raises(Stopped):
        locate("org/slow", POLICY, Hub(), tell=tell, stop=stop)
    blobs = cache / "models--org--slow" / "blobs"
    assert not list(blobs.glob("*.incomplete"))
    listing = Hub().look(HubId("org/slow"), "model", token=False)
    assert listing.missing(["config.json", "tokenizer.json", "model.safetensors"]) == [
        "model.safetensors"
    ]
    asked = len(server.requests)
    time.sleep(0.3)
    assert len(server.requests) == asked


def test_a_stop_before_anything_asks_nothing(server: HubServer) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        locate("org/model", POLICY, Hub(), stop=stop)
    assert [each for each in server.requests if "org/model" in each.path] == []


def test_what_the_hub_refuses_is_told_from_the_other_process(server: HubServer) -> None:
    hub = Hub()
    listing = hub.look(HubId("org/broken"), "model", token=False)
    for stop in (None, threading.Event()):
        with pytest.raises(KnownError, match="The model org/broken is gated: its owner"):
            hub.fetch(listing, ["config.json"], token=False, stop=stop)


def test_the_visitors_token_goes_with_each_request_and_lies_in_no_process_list(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    popen: Any = subprocess.Popen

    def noting(arguments: list[str], **options: object) -> object:
        started.append(f"{arguments} {options}")
        return popen(arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", noting)
    locate("org/model", POLICY, Hub(), token="hf_own", stop=threading.Event())
    (said,) = started
    assert "hf_own" not in said
    fetched = [each for each in server.requests if each.path.endswith("model.safetensors")]
    assert {each.authorization for each in fetched} == {"Bearer hf_own"}
