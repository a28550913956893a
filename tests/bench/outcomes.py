"""How long the views of outcomes take on the server: leaderboard, failures, comparison.

The result files of a folder are repeated under other names until there are 188 models, as many as
the largest public set. They are read and measured once, by a fresh process; then another process,
which finds what the first one kept, opens the leaderboard and does every act, 20 times each. Times
are those of the callback, in milliseconds; each is also given over the time of one pass over all
outcomes (a mean over models and pairs), which is the least that any of these views can cost.

Usage: python tests/bench/outcomes.py [RESULTS PAIRS]

Without them it takes what lies in ../shared/data. Its exit status is 1 if a bound is missed.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import gradio as gr
import numpy as np

from explorer.boardview import CHARTS, BoardView
from explorer.compareview import PANELS as COMPARE_PANELS
from explorer.compareview import CompareView
from explorer.failview import KINDS, PANELS, FailView
from explorer.settings import Settings
from explorer.stores import Stores, open_stores
from explorer.ui.compare import Compare
from explorer.ui.failures import Failures
from explorer.ui.leaderboard import LeaderboardTab

DATA = Path(__file__).parents[3] / "shared" / "data"
N_MODELS = 188
ROUNDS = 20
BOUNDS = {"open": 1000.0, "board": 300.0, "failures": 500.0, "measure": 20_000.0}
"""Milliseconds."""


def repeat(results: Path, folder: Path) -> None:
    """Write the results of `N_MODELS` models, those that there are again and again."""
    for kind in ("eval-set", "eval-set-scores"):
        files = sorted((results / kind).rglob("*.json"))
        (folder / kind).mkdir(parents=True)
        for number in range(N_MODELS):
            values = json.loads(files[number % len(files)].read_text(encoding="utf-8"))
            values["model"] = f"{values['model']}-{number // len(files)}"
            (folder / kind / f"{number}.json").write_text(json.dumps(values), encoding="utf-8")


def settings_of(home: str, results: str, pairs: str) -> Settings:
    return Settings(home=Path(home), results=results, pairs=pairs, offline=True)


def measure(settings: Settings) -> dict[str, float]:
    """Read and measure everything once; milliseconds."""
    room = open_stores(settings).room
    started = time.perf_counter()
    for _ in room.measuring(None, BoardView()):
        pass
    return {"measure: read, intervals, ranks, ties": 1000 * (time.perf_counter() - started)}


def acted(tab: Any, state: tuple[Any, ...], name: str, **sent: object) -> float:
    """How long an act takes; state: what the tab's `act` takes besides."""
    event = gr.EventData(None, {"act": name, "sent": sent})
    return timed(lambda: tab.act(event, *state))


def timed(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """The median, in milliseconds."""
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return 1000 * median(seconds)


def views(settings: Settings) -> dict[str, float]:
    """What each act takes, where all was read and measured before."""
    stores = open_stores(settings)
    tab, view = LeaderboardTab(stores.room, stores.pairs.all), BoardView()
    took = {"open: the leaderboard": timed(lambda: tab.show(None, view, []), 1)}
    state: tuple[Any, ...] = (None, view, [])
    for name, value in (("sort", "Chat"), ("search", "llama,8b"), ("table", "subsets")):
        took[f"board: {name}"] = acted(tab, state, name, value=value)
    for chart in CHARTS:
        took[f"board: chart {chart or 'none'}"] = acted(tab, state, "chart", value=chart)
    took |= _failures(stores)
    outcomes = stores.fields.all(None, None, [])[0].matrix.outcomes
    took["one pass over all outcomes"] = timed(lambda: np.nanmean(outcomes, axis=0))
    return took


def _failures(stores: Stores) -> dict[str, float]:
    where: tuple[Any, ...] = (None, None, [], None)
    tab = Failures(stores.fields, stores.settings)
    [field] = stores.fields.all(*where[:3])
    seen = FailView(field.matrix.models[0])
    took = {"failures: first view": timed(lambda: tab.show(seen, *where), 1)}
    state = (seen, *where)
    for kind in KINDS:
        took[f"failures: {kind}"] = acted(tab, state, "kind", value=kind)
    for panel in PANELS:
        took[f"failures: panel {panel}"] = acted(tab, state, "panel", value=panel)
    took["failures: a slice"] = acted(tab, state, "slice", value="longer:rejected")
    took["failures: all models"] = acted(tab, state, "model", value="")
    took |= _comparison(stores, field.matrix.models, where)
    return took


def _comparison(
    stores: Stores, models: tuple[str, ...], where: tuple[Any, ...]
) -> dict[str, float]:
    tab, seen = Compare(stores.fields, stores.settings), CompareView(models[0], models[1])
    state = (seen, *where[:3])
    took = {"failures: compare two": timed(lambda: tab.show(*state), 1)}
    for panel in COMPARE_PANELS:
        took[f"failures: compare, {panel}"] = acted(tab, state, "panel", value=panel)
    return took


def run(part: str, *paths: str) -> dict[str, float]:
    """A part of the bench in a process of its own."""
    output = subprocess.check_output([sys.executable, __file__, part, *paths], text=True)
    took: dict[str, float] = json.loads(output.splitlines()[-1])
    return took


def main(results: Path, pairs: Path) -> int:
    with TemporaryDirectory() as folder:
        repeat(results, Path(folder) / "results")
        paths = f"{folder}/home", f"{folder}/results", str(pairs)
        took = run("measure", *paths) | run("views", *paths)
    least = took["one pass over all outcomes"]
    missed = 0
    for name, milliseconds in took.items():
        bound = BOUNDS.get(name.partition(":")[0])
        too_long = bound is not None and milliseconds > bound
        missed += too_long
        mark = f"  over {bound:,.0f}" if too_long else ""
        print(f"{name:40} {milliseconds:10,.1f} ms {milliseconds / least:10,.1f} x{mark}")
    return int(missed > 0)


if __name__ == "__main__":
    if sys.argv[1:2] in (["measure"], ["views"]):
        part = {"measure": measure, "views": views}[sys.argv[1]]
        print(json.dumps(part(settings_of(*sys.argv[2:5]))))
        sys.exit(0)
    asked = [Path(each) for each in sys.argv[1:3]]
    given = asked or [DATA / "reward-bench-results", DATA / "reward-bench" / "filtered.parquet"]
    sys.exit(main(*given))
