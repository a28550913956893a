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
from scoring.run import make_job
from scoring.spec import RunSettings
from tests.support.stepping import stepwise

DEMO = ModelOrder("demo")
ONCE = "On ZeroGPU models are placed once"
AS_IT_IS = "demo is scored with here, as the classifier that it is"


@pytest.fixture(scope="module", autouse=True)
def placed(hub: Hub) -> Iterator[None]:
    """The demo model, as a ZeroGPU Space places it; packs hold few pairs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring.models.loading, "_MOST", dict.fromkeys(("cpu", "cuda", "mps"), 1024))
        for name in ("_MODELS", "_TRAITS", "_OPENED"):
            patch.setattr(gpu_calls, name, {})
        place(Settings(home=Path("unused"), zero_gpu=True, models=("longer",)), hub)
        yield


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (ModelOrder("org/other"), "'org/other' is not on the GPU: demo are"),
        (replace(DEMO, settings=RunSettings(dtype="float32")), ONCE),
        (replace(DEMO, reference="org/other"), ONCE),
        (replace(DEMO, family="judge"), AS_IT_IS),
        (replace(DEMO, family="classifier", url="http://inner:8000/v1"), AS_IT_IS),
    ],
    ids=["another model", "another precision", "a reference", "another family", "a server"],
)
def test_what_is_not_placed_is_told_and_not_passed_over(order: ModelOrder, words: str) -> None:
    with pytest.raises(KnownError, match=words):
        PlacedModel(order)
    assert PlacedModel(replace(DEMO, family="classifier")).spec == PlacedModel(DEMO).spec


def test_a_baseline_needs_no_gpu_and_another_asks_for_what_is_left(
    tmp_path: Path, hub: Hub, demo: PairTable
) -> None:
    few = Selection(demo, np.arange(40), "some")
    there = Runs(Settings(home=tmp_path, zero_gpu=True, models=("demo",)), hub)
    last: Any = [*stepwise(partial(there.start, Visitor(), ModelOrder("longer"), few))][-1]
    assert (last.stage, last.run.facts.family) == ("finished", "longer")
    job = make_job(as_pairs(demo.arrow, few.rows.tolist()), PlacedModel(DEMO), 0)
    nothing = packs_seconds("demo", job, frozenset(range(len(job.plan))))
    assert nothing == START_SECONDS < packs_seconds("demo", job, frozenset()) < CALL_SECONDS
