"""How long the views of outcomes take on the server: leaderboard, pairs, comparison.

The result files of a folder are repeated under other names until there are 188 models, as many as
the largest public set. They are read and measured once, by a fresh process; then another process,
which finds what the first one kept, opens the leaderboard and follows every link, 20 times each.
Times are those of all regions, in milliseconds; each is also given over the time of one pass over
all outcomes (a mean over models and pairs), which is the least that any of these views can cost.

Then 200 runs of 300 pairs each lie beside them, and one more goes on while its failures are looked
at: what the join of published and own results costs a press, after each of its packs and when one
more run has ended, what whole presses cost, and how often each lists the folder of results.

Usage: python tests/bench/outcomes.py [RESULTS PAIRS]

Without them it takes what lies in ../shared/data. Its exit status is 1 if a bound is missed.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.page import views_of
from explorer.reader.links import tab_of
from explorer.reader.state import OF_OUTCOMES, OUTCOME_KINDS, PairsState
from explorer.results.board import Ranking
from explorer.runs.cards import RunCard, change_card
from explorer.stores import Stores, open_stores
from explorer.tabs.models.state import CHARTS, MODELS_PANELS
from scoring.record import Run, locked, new_folder
from scoring.spec import Plan, RunFacts, ScoredPack, ScoredPair
from tests.support.browsing import NOBODY

DATA = Path(__file__).parents[3] / "shared" / "data"
N_MODELS = 188
ROUNDS = 20
N_RUNS, RUN_PAIRS, PACK = 200, 300, 10
BOUNDS = {
    "open": 1000.0, "board": 300.0, "failures": 500.0, "measure": 20_000.0, "runs": 500.0,
    "listings": 0.0, "join": 30.0,
}  # fmt: skip
"""Milliseconds; listings are counted."""
VIEWS: dict[str, Callable[[Stores], Any]] = {
    "models": lambda stores: views_of(stores).models,
    "pairs": lambda stores: views_of(stores).pairs,
}
BOARD = "?tab=models"
WHERE = (None, "", NOBODY)
"""What everybody sees, as `Fields` takes it."""


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


def ready(settings: Settings) -> dict[str, float]:
    """A start, until the board has intervals, ranks and ties; milliseconds, and memory in MB."""
    started = time.perf_counter()
    stores = open_stores(settings)
    if not stores.results.wait_read(60):
        raise SystemExit("the results were not read in a minute")
    read = time.perf_counter()
    while stores.measuring.measured(Ranking()) is not None:
        pass
    return {
        "read": 1000 * (read - started),
        "measured": 1000 * (time.perf_counter() - started),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def timed(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """The median, in milliseconds."""
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return 1000 * median(seconds)


def shown(stores: Stores, link: str, rounds: int = ROUNDS) -> float:
    """How long all regions of an address take, with no HTML kept."""

    def write() -> None:
        _, regions = VIEWS[tab_of(link)](stores).regions(link, NOBODY)
        for region in regions.values():
            region()

    return timed(write, rounds)


def views(settings: Settings) -> dict[str, float]:
    """What each link takes, where all was read and measured before."""
    stores = open_stores(settings)
    stores.results.wait_read(60)
    took = {"open: the leaderboard": shown(stores, BOARD, 1)}
    for query in ("by=-Chat", "models=llama,8b", "table=subsets"):
        took[f"board: {query}"] = shown(stores, f"{BOARD}&{query}")
    for chart in CHARTS:
        took[f"board: chart {chart or 'none'}"] = shown(
            stores, f"{BOARD}&plot={chart}" if chart else BOARD
        )
    took |= _failures(stores)
    outcomes = stores.fields.all(*WHERE)[0].matrix.outcomes
    took["one pass over all outcomes"] = timed(lambda: np.nanmean(outcomes, axis=0))
    return took


def _failures(stores: Stores) -> dict[str, float]:
    [field] = stores.fields.all(*WHERE)
    names = field.matrix.models
    seen = PairsState(model=names[0])
    links = {f"{each}": replace(seen, kind=each) for each in OUTCOME_KINDS}
    links |= {f"panel {each}": replace(seen, panel=each) for each in ("pairs", *OF_OUTCOMES)}
    links |= {"a slice": replace(seen, slices=("longer:rejected",)), "all models": seen.of("")}
    took = {"failures: first view": shown(stores, seen.href(), 1)}
    took |= {f"failures: {name}": shown(stores, state.href()) for name, state in links.items()}
    two = f"a={names[0]}&b={names[1]}"
    took["failures: compare two"] = shown(stores, f"{BOARD}&panel=compare&{two}", 1)
    for panel in MODELS_PANELS[1:]:
        took[f"failures: compare, {panel}"] = shown(stores, f"{BOARD}&panel={panel}&{two}")
    return took


def beside_runs(settings: Settings) -> dict[str, float]:
    """What presses cost where the person has many runs, one of which is under way."""
    stores = open_stores(settings)
    stores.results.wait_read(60)
    table = stores.pairs.get(None)
    folder = stores.runs.store.folder
    for number in range(N_RUNS):
        _run_of(folder, table, number).mark_ended("finished")
    run = _run_of(folder, table, N_RUNS, n=PACK)
    after_pack, after_run = [], []
    with locked(run.folder):
        name = stores.fields.name_of(run.id, *WHERE)
        failures = PairsState(model=name).href()
        took = {"runs: first view of a run": shown(stores, failures, 1)}
        rows = np.arange(PACK, (ROUNDS + 1) * PACK)
        for pack in range(ROUNDS):
            _record(run, table, rows[pack * PACK : (pack + 1) * PACK], pack + 1)
            after_pack.append(timed(lambda: stores.fields.of(name, *WHERE), 1))
        took["join: failures, after a pack"] = median(after_pack)
        took["join: failures, nothing new"] = timed(lambda: stores.fields.of(name, *WHERE))
    took["runs: a press on failures"] = shown(stores, failures)
    compare = f"{BOARD}&panel=compare&a={quote(name)}"
    shown(stores, compare, 1)
    took["runs: a press on the comparison"] = shown(stores, compare)
    asked: tuple[Any, ...] = (None, Ranking(), None)
    timed(lambda: stores.boards.seen(*asked), 1)
    for number in range(5):
        _run_of(folder, table, number).mark_ended("finished")
        after_run.append(timed(lambda: stores.boards.seen(*asked), 1))
    took["join: leaderboard, one more run"] = median(after_run)
    took["join: leaderboard, nothing new"] = timed(lambda: stores.boards.seen(*asked))
    shown(stores, BOARD, 1)
    took["runs: the leaderboard sorted"] = shown(stores, f"{BOARD}&by=-Chat")
    walked.clear()
    shown(stores, f"{BOARD}&by=-Safety", 1)
    took["listings of results: leaderboard"] = len(walked)
    walked.clear()
    shown(stores, failures, 1)
    took["listings of results: failures"] = len(walked)
    return took


walked: list[str] = []
"""Folders that were listed, of results alone."""


def watch_listings(results: str) -> None:
    def heard(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("os.scandir", "os.listdir") and str(arguments[0]).startswith(results):
            walked.append(str(arguments[0]))

    sys.addaudithook(heard)


def _run_of(folder: Path, table: PairTable, number: int, n: int = RUN_PAIRS) -> Run:
    """A run that wins about as many pairs as its number says, so far with n pairs."""
    keys = table.keys[:RUN_PAIRS]
    places = np.arange(RUN_PAIRS).reshape(-1, PACK)
    facts = RunFacts(
        f"org/mine-{number}", "", "classifier", "cpu", "float32", 2048, "left", table.id, "",
        RUN_PAIRS, 0,
    )  # fmt: skip
    run = Run.create(new_folder(folder), facts, Plan(tuple(map(tuple, places.tolist()))), keys)
    change_card(run, lambda _: RunCard())
    _record(run, table, np.arange(n), 0)
    return run


def _record(run: Run, table: PairTable, rows: Any, pack: int) -> None:
    scored = [
        ScoredPair(
            table.keys[row], table.subset_of(row), table.hashes[row], float(row % 7), 3.0, 9, 9
        )
        for row in rows.tolist()
    ]
    list(run.record([ScoredPack(pack, tuple(scored), 9)]))


def run(part: str, *paths: str) -> dict[str, float]:
    """A part of the bench in a process of its own."""
    output = subprocess.check_output([sys.executable, __file__, part, *paths], text=True)
    took: dict[str, float] = json.loads(output.splitlines()[-1])
    return took


def main(results: Path, pairs: Path) -> int:
    with TemporaryDirectory() as folder:
        repeat(results, Path(folder) / "results")
        paths = f"{folder}/home", f"{folder}/results", str(pairs)
        took: dict[str, float] = {}
        for start in ("first", "second"):
            took |= {f"{start} start: {name}": n for name, n in run("ready", *paths).items()}
        took |= run("views", *paths) | run("runs", *paths)
    least = took["one pass over all outcomes"]
    missed = 0
    for name, milliseconds in took.items():
        bound = BOUNDS.get(name.partition(":")[0].partition(" ")[0])
        too_long = bound is not None and milliseconds > bound
        missed += too_long
        mark = f"  over {bound:,.0f}" if too_long else ""
        of_least = (
            "" if "listings" in name or "memory" in name else f"ms {milliseconds / least:10,.1f} x"
        )
        print(f"{name:40} {milliseconds:10,.1f} {of_least}{mark}")
    return int(missed > 0)


if __name__ == "__main__":
    parts = {"ready": ready, "views": views, "runs": beside_runs}
    if sys.argv[1:2] and sys.argv[1] in parts:
        watch_listings(sys.argv[3])
        print(json.dumps(parts[sys.argv[1]](settings_of(*sys.argv[2:5]))))
        sys.exit(0)
    asked = [Path(each) for each in sys.argv[1:3]]
    given = asked or [DATA / "reward-bench-results", DATA / "reward-bench" / "filtered.parquet"]
    sys.exit(main(*given))
