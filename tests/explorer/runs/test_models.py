"""Models of runs: warm in a worker, fetched with a visitor's token, lent a GPU, hostile."""

import json
import logging
import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core import fetching, workers
from explorer.core.settings import DEMO_MODEL, Settings
from explorer.data.table import PairTable
from explorer.runs import gpu_calls
from explorer.runs import models as limits
from explorer.runs.gpu_calls import CALL_SECONDS, START_SECONDS, PlacedModel, packs_seconds, place
from explorer.runs.models import ModelStore, WarmModel
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.runs.selections import Selection
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from scoring.run import make_job
from scoring.spec import Pair, RunSettings, ScoredPair
from tests.support.hub_server import HubServer, Repo, served_hub
from tests.support.stepping import stepwise, told_by

ME = Visitor()
DEMO = ModelOrder("demo")
TOKEN, SERVERS_TOKEN = "hf_ofTheVisitor", "hf_ofTheServer"
ANA = Visitor("user:ana", "s1", TOKEN, "8.8.8.8")
FILES = {path.name: path.read_bytes() for path in DEMO_MODEL.iterdir()}
PAIRS = [Pair("a:1", "a", "Two and two?", "4", "5"), Pair("a:2", "a", "Red?", "Yes, red.", "No.")]


@pytest.fixture
def models(hub: Hub, tmp_path: Path) -> Iterator[ModelStore]:
    models = ModelStore(Settings(home=tmp_path), hub)
    yield models
    models.release()


def loaded(models: ModelStore, order: ModelOrder = DEMO) -> WarmModel:
    model = models.load(ME, order)
    assert isinstance(model, WarmModel)
    return model


def rewards(model: WarmModel) -> list[ScoredPair]:
    ready = model.ready(PAIRS, RunSettings())
    return [row for pack in model.packs(ready.plan) if pack for row in pack.rows]


def test_a_model_is_loaded_once_for_runs_of_any_seed_until_another_takes_its_place(
    models: ModelStore,
) -> None:
    first, pid = rewards(loaded(models)), models._worker.pid
    assert rewards(loaded(models)) == first and models.is_warm(ME, DEMO)
    loaded(models, replace(DEMO, settings=RunSettings(seed=7)))
    assert models._worker.pid == pid is not None
    for other in (replace(DEMO, settings=RunSettings(max_length=50)), ModelOrder("longer")):
        before = models._worker.pid
        loaded(models, other)
        assert models._worker.pid != before, "its memory is free"
        assert models.is_warm(ME, other) and not models.is_warm(ME, DEMO)


def test_a_loading_that_is_left_or_fails_leaves_nothing_in_memory_and_room_for_the_next(
    models: ModelStore,
) -> None:
    stream = stepwise(partial(models.load, ME, DEMO))
    next(step for step in stream if step.total)  # its weights are being read
    stream.close()
    assert models._worker.pid is None and not models.is_warm(ME, DEMO)
    with pytest.raises(KnownError, match="template"):
        loaded(models, replace(DEMO, settings=RunSettings(chat_template="no such template")))
    assert models._worker.pid is None
    model = loaded(models)
    expected, pid, ready = rewards(model), models._worker.pid, model.ready(PAIRS, RunSettings())
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(KnownError, match=r"Scoring crashed|No model is"):
        list(model.packs(ready.plan))
    assert not models.is_warm(ME, DEMO)
    assert rewards(loaded(models)) == expected


def test_a_model_of_the_hub_is_fetched_where_it_fits_looked_at_and_loaded_apart(
    hub_repos: dict[str, Repo], tmp_path: Path
) -> None:
    counted = {"safetensors": {"parameters": {"BF16": 9 * 10**12}, "total": 9 * 10**12}}
    hub_repos["models/org/huge"] = Repo(FILES, info=counted)
    hub_repos["models/org/model"] = Repo(FILES)
    models, order = ModelStore(Settings(home=tmp_path), Hub()), ModelOrder("org/model")
    with pytest.raises(KnownError, match="org/huge needs about 36,000 GB in float32"):
        loaded(models, ModelOrder("org/huge"))
    assert not list((tmp_path / "hub").rglob("*.safetensors"))
    assert models.preview(ME, order).fetch_bytes > 7_000_000
    result, steps = told_by(lambda tell: models.load(ME, order, tell=tell))
    assert isinstance(result, WarmModel) and "fetching" in {step.doing for step in steps}
    assert result.spec.revision == hub_repos["models/org/model"].commit
    assert models.preview(ME, order).fetch_bytes == 0
    assert rewards(result) == rewards(loaded(models))
    models.release()


def test_a_download_that_is_too_slow_is_given_up_and_a_stop_ends_one_too(
    hub_repos: dict[str, Repo], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub_repos["models/org/slow"] = Repo(FILES, part_seconds=3.0)
    monkeypatch.setattr(fetching, "FETCH_SECONDS", 2.0)
    models, order = ModelStore(Settings(home=tmp_path), Hub()), ModelOrder("org/slow")
    with pytest.raises(KnownError, match=r"too slow, stopped: org/slow came at less than 100 kB/s"):
        models.load(ME, order)
    stream = stepwise(partial(models.load, ME, order))
    next(step for step in stream if step.doing == "fetching")
    stream.close()
    assert not list((tmp_path / "hub").rglob("*.incomplete"))


# Tokens


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub with the demo model, on a machine that has a token of its own."""
    repos = {"models/ana/private": Repo(FILES), "datasets/allenai/reward-bench": Repo()}
    with served_hub(repos, tmp_path / "hub", monkeypatch, TOKEN) as hub:
        monkeypatch.setenv("HF_TOKEN", SERVERS_TOKEN)
        yield hub


def test_a_visitors_token_is_sent_for_their_own_model_and_left_nowhere(
    server: HubServer,
    demo: PairTable,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    runs = Runs(Settings(home=tmp_path / "home", public=True), Hub())
    few = Selection(demo, np.arange(3), "the first")
    with caplog.at_level(logging.DEBUG):
        told = list(stepwise(partial(runs.start, ANA, ModelOrder("ana/private"), few)))
        with pytest.raises(KnownError) as caught:
            list(stepwise(partial(runs.start, ANA, ModelOrder("ana/missing"), few)))
    assert told[-1].stage == "finished"
    sent = {each.authorization for each in server.requests if "private" in each.path}
    assert sent == {f"Bearer {TOKEN}"}
    assert f"Bearer {SERVERS_TOKEN}" not in {each.authorization for each in server.requests}
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "run.json" for path in written)
    said = capfd.readouterr()
    places = [caplog.text, said.out, said.err, repr(told), str(caught.value), repr(runs.__dict__)]
    assert [place for place in places if TOKEN in place] == []
    assert [path for path in written if TOKEN.encode() in path.read_bytes()] == []
    server.requests.clear()
    runs.scorers.models.preview(Visitor("browser:1", "s2"), ModelOrder("ana/private"))
    assert {each.authorization for each in server.requests} == {None}


# A lent GPU; core/test_zero_gpu.py scores there, each call in a process of its own.


def test_what_is_placed_is_scored_with_as_it_is_and_a_baseline_needs_no_gpu(
    tmp_path: Path, hub: Hub, demo: PairTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_MODELS", "_TRAITS", "_OPENED"):
        monkeypatch.setattr(gpu_calls, name, {})
    place(Settings(home=Path("unused"), zero_gpu=True, models=("longer",)), hub)
    for order, words in (
        (ModelOrder("org/other"), "'org/other' is not on the GPU: demo are"),
        (replace(DEMO, settings=RunSettings(dtype="float32")), "models are placed once"),
        (replace(DEMO, family="judge"), "demo is scored with here, as the classifier that it is"),
    ):
        with pytest.raises(KnownError, match=words):
            PlacedModel(order)
    assert PlacedModel(replace(DEMO, family="classifier")).spec == PlacedModel(DEMO).spec
    few = Selection(demo, np.arange(40), "some")
    there = Runs(Settings(home=tmp_path, zero_gpu=True, models=("demo",)), hub)
    last: Any = [*stepwise(partial(there.start, Visitor(), ModelOrder("longer"), few))][-1]
    assert (last.stage, last.run.facts.family) == ("finished", "longer")
    job = make_job(as_pairs(demo.arrow, few.rows.tolist()), PlacedModel(DEMO), 0)
    nothing = packs_seconds("demo", job, frozenset(range(len(job.plan))))
    assert nothing == START_SECONDS < packs_seconds("demo", job, frozenset()) < CALL_SECONDS


# Models of strangers that take time, memory or the process: each ends in one sentence.
# What is refused before it is loaded is told in tests/scoring/models.


SECONDS = 10.0
"""What loading and rendering have here, so that what never ends is ended soon."""
MEMORY = r"needed more than the 2(\.\d)? GB allowed here"
TOLD = {
    "loops": "took longer than the 10 s allowed here",
    **dict.fromkeys(("long-string", "grows"), MEMORY),
    "deep-but-whole": "nested too deeply|maximum recursion depth",
}
"""What is told of those that meet a limit."""


def with_template(template: str) -> Mapping[str, bytes]:
    return {**FILES, "chat_template.jinja": template.encode()}


def with_json(name: str, **values: object) -> Mapping[str, bytes]:
    return {**FILES, name: json.dumps(json.loads(FILES[name]) | values).encode()}


OTHERS = {name: body for name, body in FILES.items() if name != "model.safetensors"}
NEVER = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
REPLACES = {"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 5_000}
HOSTILE: dict[str, Mapping[str, bytes]] = {
    "loops": with_template(NEVER * 9),
    "long-string": with_template("{{ 'x' * 9000000000 }}"),
    "globals": with_template("{{ cycler.__init__.__globals__.os.system('true') }}"),
    "vocabulary": with_json("config.json", vocab_size=2_000_000_000),
    "deep-but-whole": with_json("config.json", a=json.loads(b'{"a":' * 899 + b"1" + b"}" * 899)),
    "odd-name": {**FILES, "..\\evil.json": b"{}"},
    "pickle": {**OTHERS, "pytorch_model.bin": b"\x80\x04cos\nsystem\n(S'true'\ntR."},
    "huge-tensor": {
        **FILES,
        "model.safetensors": (90).to_bytes(8, "little")
        + b'{"a":{"dtype":"F32","shape":[9999999999],"data_offsets":[0,39999999996]}}'.ljust(90),
    },
    "grows": with_json(
        "tokenizer.json", normalizer={"type": "Sequence", "normalizers": [REPLACES] * 3}
    ),
}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelStore]:
    repos = {f"models/org/{name}": Repo(files) for name, files in HOSTILE.items()}
    repos["datasets/allenai/reward-bench"] = Repo({"README.md": b""})
    repos["models/org/good"] = Repo(FILES)
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, served_hub(repos, home / "hub", patch):
        patch.setattr(workers, "TEXT_SECONDS", SECONDS)
        patch.setattr(limits, "LOAD_SECONDS", SECONDS)
        models = ModelStore(Settings(home=home, public=True), Hub(shared=True))
        yield models
        models.release()


def scored(models: ModelStore, name: str) -> list[ScoredPair]:
    models.preview(ME, ModelOrder(name))
    return rewards(loaded(models, ModelOrder(name)))


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_model_is_one_sentence_and_the_next_is_served(
    name: str, there: ModelStore
) -> None:
    with pytest.raises(KnownError, match=TOLD.get(name, "org/|chat template fails")) as refused:
        scored(there, f"org/{name}")
    assert len(str(refused.value)) < 1000
    assert scored(there, "org/good") == scored(there, "demo")
