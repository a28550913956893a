"""The model that is warm, in a worker of its own: kept, replaced, stopped, killed."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from explorer.core import fetching
from explorer.core.settings import DEMO_MODEL, Settings
from explorer.runs.models import ModelStore, WarmModel
from explorer.runs.orders import ModelOrder
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.limits import Step
from scoring.spec import Pair, RunSettings, ScoredPair
from tests.explorer.conftest import Serve
from tests.support.hub_server import Repo
from tests.support.stepping import stepwise, told_by

ME = Visitor()
DEMO = ModelOrder("demo")
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


def pid_of(models: ModelStore) -> int | None:
    return models._worker.pid


def rewards(model: WarmModel) -> list[ScoredPair]:
    ready = model.ready(PAIRS, RunSettings())
    return [row for pack in model.packs(ready.plan) if pack for row in pack.rows]


def test_a_model_is_loaded_once_for_runs_of_any_seed_until_another_takes_its_place(
    models: ModelStore,
) -> None:
    first, pid = rewards(loaded(models)), pid_of(models)
    assert rewards(loaded(models)) == first and models.is_warm(ME, DEMO)
    loaded(models, replace(DEMO, settings=RunSettings(seed=7)))
    assert pid_of(models) == pid is not None
    for other in (replace(DEMO, settings=RunSettings(max_length=50)), ModelOrder("longer")):
        before = pid_of(models)
        loaded(models, other)
        assert pid_of(models) != before, "its memory is free"
        assert models.is_warm(ME, other) and not models.is_warm(ME, DEMO)


def test_a_loading_that_is_left_or_fails_leaves_nothing_in_memory_and_room_for_the_next(
    models: ModelStore, tmp_path: Path
) -> None:
    stream = stepwise(partial(models.load, ME, DEMO))
    next(step for step in stream if step.total)  # its weights are being read
    stream.close()
    assert pid_of(models) is None and not models.is_warm(ME, DEMO)
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in DEMO_MODEL.iterdir():
        (broken / path.name).write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(KnownError, match="could not be loaded"):
        loaded(models, ModelOrder(str(broken)))
    assert pid_of(models) is None
    model = loaded(models)
    expected, pid, ready = rewards(model), pid_of(models), model.ready(PAIRS, RunSettings())
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(KnownError, match=r"Scoring crashed|No model is"):
        list(model.packs(ready.plan))
    assert not models.is_warm(ME, DEMO)
    assert rewards(loaded(models)) == expected


def test_a_model_of_the_hub_is_fetched_looked_at_and_loaded_apart(
    hub_repos: dict[str, Repo], tmp_path: Path
) -> None:
    hub_repos["models/org/model"] = Repo(FILES)
    models, order = ModelStore(Settings(home=tmp_path), Hub()), ModelOrder("org/model")
    assert models.preview(ME, order).fetch_bytes > 7_000_000
    result, steps = told_by(lambda tell: models.load(ME, order, tell=tell))
    assert isinstance(result, WarmModel) and "fetching" in {step.doing for step in steps}
    assert result.spec.revision == hub_repos["models/org/model"].commit
    assert models.preview(ME, order).fetch_bytes == 0
    assert rewards(result) == rewards(loaded(models))
    models.release()


def test_a_download_that_is_too_slow_is_given_up_and_the_page_answers_meanwhile(
    hub_repos: dict[str, Repo],
    tmp_path: Path,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hub_repos["models/org/slow"] = Repo(FILES, part_seconds=3.0)
    monkeypatch.setattr(fetching, "FETCH_SECONDS", 2.0)
    models, page = ModelStore(Settings(home=tmp_path), Hub()), serve()
    stream, answered = stepwise(partial(models.load, ME, ModelOrder("org/slow"))), 0
    with pytest.raises(
        KnownError, match=r"too slow, stopped: org/slow came at less than 100 kB/s for \d+ s"
    ):
        for step in stream:
            if step.doing == "fetching":
                with page.open("app_id") as answer:
                    answered += answer.status == 200
    assert answered


def test_a_model_that_does_not_fit_is_not_downloaded(
    hub_repos: dict[str, Repo], tmp_path: Path
) -> None:
    counted = {"safetensors": {"parameters": {"BF16": 9 * 10**12}, "total": 9 * 10**12}}
    hub_repos["models/org/huge"] = Repo(FILES, info=counted)
    models = ModelStore(Settings(home=tmp_path), Hub())
    with pytest.raises(KnownError, match="org/huge needs about 36,000 GB in float32"):
        loaded(models, ModelOrder("org/huge"))
    assert not list((tmp_path / "hub").rglob("*.safetensors"))


def test_a_stop_ends_a_download_and_keeps_what_is_whole(
    hub_repos: dict[str, Repo], tmp_path: Path
) -> None:
    weights = FILES["model.safetensors"][:8] + bytes(30_000_000)
    hub_repos["models/org/slow"] = Repo({**FILES, "model.safetensors": weights}, part_seconds=0.05)
    models = ModelStore(Settings(home=tmp_path), Hub())
    stream = stepwise(partial(models.load, ME, ModelOrder("org/slow")))
    for step in stream:
        if step.doing == "fetching" and step.done > 1_000_000:
            break
    stream.close()
    cache = tmp_path / "hub" / "models--org--slow"
    assert not list(cache.rglob("*.incomplete"))
    names = {path.name for path in (cache / "snapshots").rglob("*")}
    assert "config.json" in names and "model.safetensors" not in names
    assert step == Step("fetching", step.done, step.total)
