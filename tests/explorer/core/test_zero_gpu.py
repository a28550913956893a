"""A lent GPU: nothing at all elsewhere; there, each call is a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.core.zero_gpu import is_zero_gpu, on_gpu
from tests.conftest import PATIENCE, ROOT

THERE = """
import explorer.core.zero_gpu
import spaces
before = sorted({"torch", "gradio", "transformers"} & spaces.BEFORE)

import json, sys
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
pairs = as_pairs(table.arrow, few.rows[:3].tolist())

def told(runs, order):
    *_, last = stepwise(partial(runs.start, who, order, few))
    rows = sorted(last.run.rows(), key=lambda row: row.key)
    return [last.stage, rows, last.run.facts, last.run.plan()[0]]

found = {"before": before, "same": told(there, order) == told(here, order)}
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


def test_elsewhere_it_is_the_same_function() -> None:
    def generator() -> Iterator[int]:
        yield 1

    assert on_gpu(lambda: 7)(generator) is generator
    assert "spaces" not in sys.modules
    assert not any(is_zero_gpu({"SPACES_ZERO_GPU": value}) for value in ("false", "", "1"))


@pytest.mark.slow
def test_with_every_call_in_a_process_of_its_own_rewards_are_the_same(tmp_path: Path) -> None:
    paths = os.pathsep.join([str(ROOT / "tests" / "lent_gpu"), str(ROOT)])
    command = [sys.executable, "-c", THERE, str(tmp_path)]
    environ = {**os.environ, "PYTHONPATH": paths, "SPACES_ZERO_GPU": "true"}
    done = subprocess.check_output(command, cwd=ROOT, env=environ, text=True, timeout=PATIENCE)
    found: dict[str, Any] = json.loads(done.splitlines()[-1])
    assert found["before"] == [], "it is imported before anything that knows CUDA"
    assert found["same"] and found["few"]
    stage, scored, later, total = found["stopped"]
    assert (stage, later, total) == ("stopped", "finished", 40) and 0 < scored < 40
    names = [name for name, _, _ in found["calls"]]
    assert names == ["traits_there", *["packs_there"] * 4], "a call each, and a path proved once"
    assert all(20 <= seconds < 60 for _, seconds, _ in found["calls"])
    *served, after = [process for _, _, process in found["calls"]]
    assert len(set(served)) == 1 and after not in served, "a process serves several, till a stop"


def test_the_app_imports_it_before_all_others() -> None:
    lines = (ROOT / "app.py").read_text(encoding="utf-8").splitlines()
    modules = [line.split()[1] for line in lines if line.startswith(("import ", "from "))]
    ours = [name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names]
    assert ours[0] == "explorer.core.zero_gpu"
