"""A lent GPU: nothing at all elsewhere; there, each call is a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from explorer.core.zero_gpu import is_zero_gpu, on_gpu
from tests.conftest import PATIENCE, ROOT

THERE = """
import explorer.core.zero_gpu
import spaces
before = sorted({"torch", "gradio", "transformers"} & spaces.BEFORE)

import json, sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import torch
import scoring.models.loading
from explorer.runs.gpu_calls import place
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.runs.selections import Selection
from explorer.core.settings import Settings
from explorer.data.sources import read_demo
from explorer.runs.visitors import Visitor
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from scoring.spec import RunSettings
from tests.support.beginning import stopped
from tests.support.stepping import stepwise
import numpy as np

torch.set_num_threads(1)  # a fork has none of its parent's threads
scoring.models.loading._MOST = dict.fromkeys(("cpu", "cuda", "mps"), 1024)
home, hub, who = Path(sys.argv[1]), Hub(offline=True), Visitor()
lent = Settings(home=home / "there", zero_gpu=True, models=("demo",))
place(lent, hub)
there, here = Runs(lent, hub), Runs(Settings(home=home / "here"), hub)
table = read_demo()
total = table.chars["prompt"] + table.chars["chosen"] + table.chars["rejected"]
few = Selection(table, np.sort(np.argsort(total)[:40]), "the shortest")
order = ModelOrder("demo", settings=RunSettings(budget=1024))
short = replace(order, settings=RunSettings(max_length=32, budget=1024))
pairs = as_pairs(table.arrow, few.rows[:3].tolist())

def told(runs, order):
    *_, last = stepwise(partial(runs.start, who, order, few))
    rows = sorted((asdict(row) for row in last.run.rows()), key=lambda row: row["key"])
    return [last.stage, rows, asdict(last.run.facts), last.run.plan()[0]]

found = {"before": before, "same": told(there, order) == told(here, order)}
found["short"] = told(there, short) == told(here, short)
found["warm"] = there.scorers.models.is_warm(who, order)
found["few"] = there.rewards(who, order, pairs, only_warm=True) == here.rewards(who, order, pairs)
stream = stepwise(partial(there.start, who, order, few))
for progress in stream:
    if progress.stage == "running":
        break
first = stopped(stream)
rest = partial(there.resume, who, first.run.id, lambda _: table)
live = there.live.begin(who, "demo", rest)
live.ended.wait()
whole = live.progress
found["stopped"] = [first.stage, len(first.scored), whole.stage, len(whole.run.rows())]
found["calls"] = spaces.CALLS
print(json.dumps(found))
"""


def seconds(*_: object) -> int:
    return 7


def test_elsewhere_it_is_the_same_function() -> None:
    def function() -> int:
        return 1

    def generator() -> Iterator[int]:
        yield 1

    assert on_gpu(seconds)(function) is function
    assert on_gpu(seconds)(generator) is generator
    assert "spaces" not in sys.modules


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("true", True), ("True ", True), ("false", False), ("", False), ("1", False)],
)
def test_a_space_says_that_it_is_one(value: str, wanted: bool) -> None:
    assert is_zero_gpu({"SPACES_ZERO_GPU": value}) is wanted


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of scoring with every call in a process of its own."""
    home = tmp_path_factory.mktemp("home")
    paths = os.pathsep.join([str(ROOT / "tests" / "lent_gpu"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", THERE, str(home)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "SPACES_ZERO_GPU": "true"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.slow
def test_the_package_is_imported_before_anything_that_knows_cuda(found: dict[str, Any]) -> None:
    assert found["before"] == []


@pytest.mark.slow
@pytest.mark.parametrize("what", ["same", "short", "few"])
def test_rewards_are_those_of_anywhere_else(what: str, found: dict[str, Any]) -> None:
    assert found[what] is True


@pytest.mark.slow
def test_a_placed_model_is_warm_from_the_start(found: dict[str, Any]) -> None:
    assert found["warm"] is True


@pytest.mark.slow
def test_a_stop_ends_the_call_after_its_pack_and_the_run_goes_on(found: dict[str, Any]) -> None:
    stage, scored, later, total = found["stopped"]
    assert (stage, later, total) == ("stopped", "finished", 40) and 0 < scored < 40


@pytest.mark.slow
def test_a_run_is_one_call_and_a_path_is_proved_once(found: dict[str, Any]) -> None:
    names = [name for name, _, _ in found["calls"]]
    assert names == ["traits_there", *["packs_there"] * 5]
    assert all(20 <= seconds < 60 for _, seconds, _ in found["calls"])


@pytest.mark.slow
def test_a_process_serves_several_calls_and_none_after_a_stop(found: dict[str, Any]) -> None:
    *served, after = [process for _, _, process in found["calls"]]
    assert len(set(served)) == 1 and after not in served


def test_the_app_imports_it_before_all_others() -> None:
    lines = (ROOT / "app.py").read_text(encoding="utf-8").splitlines()
    modules = [line.split()[1] for line in lines if line.startswith(("import ", "from "))]
    ours = [name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names]
    assert ours[0] == "explorer.core.zero_gpu"
