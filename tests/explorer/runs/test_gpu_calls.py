"""Placed models; test_zero_gpu.py scores with them, each call in a process of its own."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scoring.models.loading
from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.runs import gpu_calls
from explorer.runs.gpu_calls import CALL_SECONDS, START_SECONDS, PlacedModel, packs_seconds, place
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.runs.selections import Selection
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from scoring.run import make_job
from scoring.spec import RunSettings
from tests.support.stepping import stepwise

WHO = Visitor()
DEMO = ModelOrder("demo")


@pytest.fixture(scope="module", autouse=True)
def placed(hub: Hub) -> Iterator[None]:
    """The demo model, as a ZeroGPU Space places it; packs hold few pairs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring.models.loading, "_MOST", dict.fromkeys(("cpu", "cuda", "mps"), 1024))
        for name in ("_MODELS", "_TRAITS", "_OPENED"):
            patch.setattr(gpu_calls, name, {})
        place(Settings(home=Path("unused"), zero_gpu=True, models=("longer",)), hub)
        yield


@pytest.fixture(scope="module")
def few(demo: PairTable) -> Selection:
    total = demo.chars["prompt"] + demo.chars["chosen"] + demo.chars["rejected"]
    return Selection(demo, np.sort(np.argsort(total)[:40]), "the shortest")


@pytest.fixture
def there(tmp_path: Path, hub: Hub) -> Runs:
    return Runs(Settings(home=tmp_path / "there", zero_gpu=True, models=("demo",)), hub)


def finished(runs: Runs, order: ModelOrder, few: Selection) -> Run:
    *_, last = stepwise(partial(runs.start, WHO, order, few))
    assert last.stage == "finished" and last.run is not None, last.message
    run: Run = last.run
    return run


def test_a_model_that_is_not_placed_is_told(there: Runs, few: Selection) -> None:
    with pytest.raises(KnownError, match="'org/other' is not on the GPU: demo are"):
        finished(there, ModelOrder("org/other"), few)
    for order in (
        replace(DEMO, settings=RunSettings(dtype="float32")),
        replace(DEMO, reading=0),
        replace(DEMO, reference="org/other"),
    ):
        with pytest.raises(KnownError, match="On ZeroGPU models are placed once"):
            finished(there, order, few)


@pytest.mark.parametrize(
    "changes",
    [{"family": "logprob-sum"}, {"family": "judge"}, {"url": "http://inner:8000/v1"},
     {"family": "classifier", "url": "http://inner:8000/v1"}],
)  # fmt: skip
def test_another_family_or_server_is_not_passed_over(changes: dict[str, Any]) -> None:
    with pytest.raises(KnownError, match="demo is scored with here, as the classifier that it is"):
        PlacedModel(replace(DEMO, **changes))


def test_the_family_that_a_placed_model_has_may_be_said() -> None:
    assert PlacedModel(replace(DEMO, family="classifier")).spec == PlacedModel(DEMO).spec


def test_a_baseline_needs_no_gpu(there: Runs, few: Selection) -> None:
    assert finished(there, ModelOrder("longer"), few).facts.family == "longer"


def test_what_is_asked_of_the_gpu_grows_with_what_is_left(few: Selection) -> None:
    job = make_job(as_pairs(few.table.arrow, few.rows.tolist()), PlacedModel(DEMO), 0)
    all_packs = frozenset(range(len(job.plan)))
    nothing = packs_seconds("demo", job, all_packs)
    everything = packs_seconds("demo", job, frozenset())
    assert nothing == START_SECONDS < everything < CALL_SECONDS
