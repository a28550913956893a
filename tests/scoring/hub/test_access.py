import json
import os
import queue
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring.engine.scorer import facts
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.hub import access
from scoring.hub.access import Hub, HubId, first_line, parse_hub_id
from scoring.hub.cache import report_download
from scoring.limits import Step
from scoring.pairs.opening import fetch_pairs
from scoring.spec import ModelSpec, RunSettings
from tests.conftest import DEMO_MODEL, PATIENCE, ROOT
from tests.support.hub_server import HubServer, Repo, served_hub


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("org/name", HubId("org/name")),
        ("  org/name\n", HubId("org/name")),
        ("org/name:test", HubId("org/name", "test")),
        ("org/name@main", HubId("org/name", None, "main")),
        ("org/name:test@168d848", HubId("org/name", "test", "168d848")),
        ("org/name:hard/test@main", HubId("org/name", "hard/test", "main")),
        ("org/name@refs/pr/1", HubId("org/name", None, "refs/pr/1")),
        ("0rg-1/na.me_2", HubId("0rg-1/na.me_2")),
    ],
)
def test_a_hub_id_is_taken_apart(text: str, parts: HubId) -> None:
    assert parse_hub_id(text) == parts
    assert str(parts) == text.strip()


def test_what_is_no_hub_id_is_refused(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "",
        "name",
        "a/b/c",
        "/etc",
        "/etc/passwd",
        "../secrets",
        "org/..",
        "./org",
        "~/models",
        ".hidden/name",
        "org/.hidden",
        "-org/name",
        "org/na--me",
        "org/name:",
        "org/name@",
        "org/name@..",
        "org/name@/etc/passwd",
        "org/name@//host/x",
        "org/name@a/../../b",
        "org/name:test:raw",
        "org/name:../x",
        "org/name:/x",
        "org/name:x/",
        "org/name:a/b/c",
        "org/na me",
        "org/name\nx",
        "org/name\0",
        "org\\name",
        "C:\\models",
        "C:/models",
        "https://huggingface.co/org/name",
        "o" * 97 + "/name",
        "org/" + "n" * 97,
    ]
    for text in cases:
        with subtests.test(text=text):
            assert parse_hub_id(text) is None


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("one\ntwo"), "one"),
        (ValueError("  \n one "), "one"),
        (ValueError(), "ValueError"),
        (ValueError("x" * 300), "x" * 200),
    ],
)
def test_the_first_line_of_an_error_is_short_and_never_empty(error: Exception, line: str) -> None:
    assert first_line(error) == line


class NoSocket(socket.socket):
    def __init__(self, *args: object, **kwargs: object) -> None:
        pytest.fail("a socket was opened")


def no_address(*args: object, **kwargs: object) -> NoReturn:
    pytest.fail("an address was asked for")


def test_an_offline_hub_never_touches_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", NoSocket)
    monkeypatch.setattr(socket, "getaddrinfo", no_address)
    hub, hub_id = Hub(offline=True), HubId("nobody/nothing", "test")
    hub.retry()
    assert not hub.reachable()
    assert hub.reason == "the network is switched off"
    for ask in (
        lambda: hub.look(hub_id, "model", token=False),
        lambda: fetch_pairs(hub_id, hub, token=False),
    ):
        with pytest.raises(
            KnownError, match=r"is not on this machine, and the network is switched"
        ):
            ask()


# The client reads its endpoint, cache and token when it is imported: each caller is a new process.
# It sleeps for half a minute between its tries where a server fails; here it tries at once.
CALLER = """
import json, sys, time
time.sleep = lambda seconds: None
from pathlib import Path
from scoring.errors import KnownError
from scoring.hub.access import Hub, parse_hub_id
from scoring.hub.cache import cache_folder, remove_cached
from scoring.models.finding import ModelPolicy, locate
from scoring.limits import Limits
from scoring.pairs.opening import fetch_pairs

hub, asked = Hub(), json.loads(sys.argv[1])

def pairs(text, **options):
    found = fetch_pairs(parse_hub_id(text), hub, token=False, **options)
    return {"source": str(found.source), "revision": found.source.revision,
            "keys": found.table["key"].to_pylist()}

def steps(text, **limits):
    told = []
    fetch_pairs(parse_hub_id(text), hub, token=False, limits=Limits(**limits), tell=told.append)
    return [[step.doing, step.done, step.total] for step in told]

def model(text, gigabytes=None, token=False):
    spec = locate(text, ModelPolicy(Path("nowhere"), False, gigabytes), hub, token=token)
    return {"name": spec.name, "folder": spec.folder, "revision": spec.revision}

def forget(text):
    remove_cached(cache_folder(text, "dataset"))

def answer(function, text, options):
    try:
        return globals()[function](text, **options)
    except KnownError as error:
        return {"error": str(error)}

print(json.dumps({"answers": [answer(*one) for one in asked], "reason": hub.reason}))
"""


@dataclass(frozen=True, slots=True)
class Said:
    answers: list[Any]
    reason: str | None


def call(url: str, cache: Path, *asked: tuple[str, str, Mapping[str, object]]) -> Said:
    """Ask the Hub at `url` from a new process that has a token it must not give away."""
    return Said(**json.loads(told(CALLER, url, cache, json.dumps(asked))))


def told(program: str, url: str, cache: Path, *arguments: str) -> str:
    """The last line that such a process prints."""
    environ = {
        **os.environ,
        "HF_ENDPOINT": url,
        "HF_HOME": str(cache),
        "HF_TOKEN": "hf_secret",
        "HF_HUB_DISABLE_IMPLICIT_TOKEN": "",
        "HF_HUB_OFFLINE": "",
        "PYTHONPATH": str(ROOT),
        "no_proxy": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environ,
        cwd=cache.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


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
        ".gitattributes": b"*.parquet filter=lfs\n",
        "README.md": CARD,
        "notebook.ipynb": b"{}",
        "data/raw-00000-of-00001.parquet": parquet(5),
        "data/filtered-00000-of-00002.parquet": parquet(2),
        "data/filtered-00001-of-00002.parquet": parquet(1),
    }
)
FILTERED_BYTES = len(parquet(2)) + len(parquet(1))
BARE = Repo({"test.csv": b"prompt,chosen,rejected\np,c,r\n"})
MODEL = Repo(
    {
        ".gitattributes": b"",
        "README.md": b"# A reward model",
        "training_args.bin": b"no weights",
        **{path.name: path.read_bytes() for path in DEMO_MODEL.iterdir()},
    }
)
REPOS = {
    "datasets/org/pairs": PAIRS,
    "datasets/org/bare": BARE,
    "datasets/org/wordy": Repo({**PAIRS.files, "README.md": CARD + b"x" * 2_000_001}),
    "datasets/org/gated": Repo(refusal=(403, "GatedRepo")),
    "datasets/org/private": Repo(refusal=(401, "RepoNotFound")),
    "datasets/org/broken": Repo(refusal=(500, "")),
    "datasets/org/half-broken": replace(PAIRS, refusal=(500, ""), refused="revision"),
    "datasets/org/odd": Repo({"data.txt": b"nothing to read"}),
    "models/org/model": MODEL,
    "models/org/gated": Repo(refusal=(403, "GatedRepo")),
    "models/org/text": Repo({"README.md": b"no model"}),
    "models/org/two-labels": Repo({"config.json": b'{"id2label": {"0": "no", "1": "yes"}}'}),
}
FILTERED_KEYS = ["filtered:1", "filtered:2", "filtered:3"]


@pytest.fixture
def server() -> Iterator[HubServer]:
    with HubServer(REPOS) as server:
        yield server


def paths_of(server: HubServer, ending: str) -> list[str]:
    return [request.path for request in server.requests if request.path.endswith(ending)]


def test_a_dataset_is_fetched_once_and_then_lies_in_the_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with HubServer(REPOS) as server:
        found = call(
            server.url,
            cache,
            ("pairs", "org/pairs:filtered", {}),
            ("pairs", "org/bare", {}),
            ("pairs", f"org/pairs:filtered@{PAIRS.commit}", {}),
        )
    assert found.reason is None
    assert found.answers[0] == {
        "source": f"org/pairs:filtered@{PAIRS.commit}",
        "revision": PAIRS.commit,
        "keys": FILTERED_KEYS,
    }
    assert found.answers[1]["keys"] == ["test:1"]
    assert found.answers[2] == found.answers[0]
    assert paths_of(server, "raw-00000-of-00001.parquet") == []
    assert {request.authorization for request in server.requests} == {None}

    later = call(
        server.url,
        cache,
        ("pairs", "org/pairs:filtered", {"local_only": True}),
        ("pairs", "org/pairs:filtered", {}),
        ("pairs", "org/bare", {}),
        ("pairs", "org/never", {}),
    )
    assert later.reason is not None
    assert later.answers[:3] == [found.answers[0], found.answers[0], found.answers[1]]
    assert (
        "org/never is not on this machine, and the Hub does not answer"
        in (later.answers[3]["error"])
    )


def test_a_dataset_that_is_forgotten_leaves_nothing_and_is_fetched_anew(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with HubServer(REPOS) as server:
        both: list[tuple[str, str, dict[str, object]]] = [
            ("pairs", "org/pairs:filtered", {}),
            ("pairs", "org/bare", {}),
        ]
        first = call(server.url, cache, *both, ("forget", "org/pairs", {}))
        left = [str(path.relative_to(cache)) for path in cache.rglob("*")]
        again = call(server.url, cache, *both, ("forget", "org/never-fetched", {}))
    assert not [path for path in left if "org--pairs" in path]
    assert [path for path in left if "org--bare/snapshots" in path]
    assert first.answers == again.answers
    assert first.answers[0]["keys"] == FILTERED_KEYS
    gets = [each.path for each in server.requests if each.method == "GET"]
    assert sum(path.endswith("filtered-00000-of-00002.parquet") for path in gets) == 2
    assert sum(path.endswith("test.csv") for path in gets) == 1


SLOW_IMPORT = """
import sys, time

class Slow:
    def find_spec(self, name, *_):
        if name == "huggingface_hub.hf_api":
            time.sleep(5)

sys.meta_path.insert(0, Slow())
from scoring.hub.access import Hub
hub = Hub()
print(hub.reachable(), hub.reason)
"""


@pytest.mark.slow
def test_a_machine_on_which_the_client_is_slow_to_import_asks_the_hub_all_the_same(
    server: HubServer, tmp_path: Path
) -> None:
    assert told(SLOW_IMPORT, server.url, tmp_path / "cache") == "True None"


def test_what_a_dataset_lacks_is_said(server: HubServer, tmp_path: Path) -> None:
    said = call(
        server.url,
        tmp_path / "cache",
        ("pairs", "org/pairs", {}),
        ("pairs", "org/pairs:test", {}),
        ("pairs", "org/odd", {}),
        ("pairs", "org/pairs:raw@nowhere", {}),
    )
    needs_split = "org/pairs needs a split, as in org/pairs:SPLIT; it has filtered, raw."
    assert [answer["error"] for answer in said.answers] == [
        needs_split,
        needs_split,
        "org/odd needs a split, as in org/odd:SPLIT; it has no file that can be read here.",
        "The dataset org/pairs has no revision 'nowhere'.",
    ]


def test_a_split_that_is_too_large_is_not_downloaded(server: HubServer, tmp_path: Path) -> None:
    limit = (FILTERED_BYTES - 1) / 1e6
    (answer,) = call(
        server.url, tmp_path / "cache", ("steps", "org/pairs:filtered", {"megabytes": limit})
    ).answers
    assert answer["error"] == (
        f"org/pairs:filtered is {FILTERED_BYTES / 1e6:,.1f} MB large; at most {limit:g} MB are "
        "read here (EXPLORER_MAX_DATASET_MB)."
    )
    assert paths_of(server, ".parquet") == []


def test_how_far_a_fetch_is_is_told_and_its_files_rows_are_limited_together(
    server: HubServer, tmp_path: Path
) -> None:
    steps, refused = call(
        server.url,
        tmp_path / "cache",
        ("steps", "org/pairs:filtered", {}),
        ("steps", "org/pairs:filtered", {"rows": 2}),
    ).answers
    assert refused["error"] == (
        "org/pairs:filtered has 3 rows; at most 2 are read here (EXPLORER_MAX_ROWS)."
    )
    assert steps[:2] == [["asking", 0, None], ["fetching", 0, FILTERED_BYTES]]
    assert steps[-4:] == [
        ["fetching", FILTERED_BYTES, FILTERED_BYTES],
        ["reading", 0, 3],
        ["reading", 2, 3],
        ["reading", 3, 3],
    ]


def test_what_has_come_so_far_is_told_while_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scoring.hub.cache._EVERY_SECONDS", 0.001)
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "before").write_bytes(b"x" * 50)
    told: queue.Queue[Step] = queue.Queue()
    with report_download(tmp_path, 100, told.put):
        for done in (30, 90, 200):
            (tmp_path / "blobs" / "new.incomplete").write_bytes(b"x" * done)
            while told.get(timeout=PATIENCE) != Step("fetching", min(done, 100), 100):
                pass
    assert list(told.queue)[-1] == Step("fetching", 100, 100)


def test_a_huge_card_is_not_read(server: HubServer, tmp_path: Path) -> None:
    (answer,) = call(server.url, tmp_path / "cache", ("pairs", "org/wordy", {})).answers
    assert "it has filtered, raw" in answer["error"]
    assert paths_of(server, "README.md") == []


def test_what_the_hub_refuses_is_told_in_a_sentence(
    server: HubServer, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    cases = [
        ("pairs", "org/gated", "The dataset org/gated is gated"),
        ("pairs", "org/private", "There is no public dataset 'org/private' on the Hub"),
        ("pairs", "org/unknown", "There is no public dataset 'org/unknown' on the Hub"),
        ("pairs", "org/broken", "The Hub could not give org/broken: Server error '500"),
        ("pairs", "org/half-broken:raw", "500"),
        ("model", "org/gated", "The model org/gated is gated"),
        ("model", "org/unknown", "There is no public model 'org/unknown' on the Hub"),
        ("model", "org/text", "org/text is not a transformers model: it has no config.json"),
        ("model", "org/two-labels", "org/two-labels has 2 labels"),
    ]
    nothing: dict[str, object] = {}
    asked = [(function, hub_id, nothing) for function, hub_id, _ in cases]
    answers = call(server.url, tmp_path / "cache", *asked).answers
    for (function, hub_id, said), answer in zip(cases, answers, strict=True):
        with subtests.test(function=function, hub_id=hub_id):
            assert said in answer["error"]
    assert {request.authorization for request in server.requests} == {None}


def test_a_model_is_fetched_without_a_token_and_loads(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with HubServer(REPOS) as server:
        found = call(server.url, cache, ("model", "org/model", {})).answers[0]
    assert (found["name"], found["revision"]) == ("org/model", MODEL.commit)
    assert paths_of(server, ".bin") == []
    assert {request.authorization for request in server.requests} == {None}
    scorer = open_scorer(ModelSpec(**found), RunSettings(device="cpu"))
    assert facts(scorer, RunSettings(), "demo", 1).revision == MODEL.commit

    later = call(server.url, cache, ("model", "org/model", {})).answers[0]
    assert later == found


def test_with_a_token_the_way_out_is_another(server: HubServer, tmp_path: Path) -> None:
    with_token = {"token": "hf_x"}
    gated, private = call(
        server.url,
        tmp_path / "cache",
        ("model", "org/gated", with_token),
        ("model", "org/private", with_token),
    ).answers
    way = "Ask for it on its page on the Hub with the account of your token"
    assert way in gated["error"] and "hf_x" not in gated["error"]
    assert "There is no model 'org/private' on the Hub" in private["error"]
    assert "hf_x" not in private["error"]


def test_weights_above_the_limit_are_not_downloaded(server: HubServer, tmp_path: Path) -> None:
    answer = call(
        server.url, tmp_path / "cache", ("model", "org/model", {"gigabytes": 0.001})
    ).answers[0]
    assert "org/model is 0.0 GB large; at most 0.001 GB are allowed here" in answer["error"]
    assert paths_of(server, ".safetensors") == []
    assert {request.authorization for request in server.requests} == {None}


def test_a_hub_that_fails_is_not_asked_again_until_retry(tmp_path: Path) -> None:
    failing = {**REPOS, "datasets/allenai/reward-bench": Repo(refusal=(500, ""))}
    with HubServer(failing) as server:
        said = call(server.url, tmp_path / "cache", *[("pairs", "org/pairs:raw", {})] * 2)
    assert said.reason == "the Hub answered with an error (500)"
    assert all("is not on this machine, and the Hub answered" in a["error"] for a in said.answers)
    assert len([1 for request in server.requests if "/datasets/" in request.path]) == 1


def test_a_hub_that_failed_is_asked_again_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probed = "datasets/allenai/reward-bench"
    repos = {probed: Repo(refusal=(500, ""))}
    with served_hub(repos, tmp_path / "cache", monkeypatch):
        hub = Hub()
        assert not hub.reachable()
        repos[probed] = Repo({"README.md": b""})
        assert not hub.reachable()
        monkeypatch.setattr(access, "AGAIN_SECONDS", 0.0)
        assert hub.reachable() and hub.reason is None
