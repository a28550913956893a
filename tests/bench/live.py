"""What it costs a run that somebody watches it: the engine alone, and within the app.

The same model scores the same pairs in turns, warm: once as the engine does it, from the pairs to
the rewards on disk, and once as the server does while a page follows it, from the press to the
last update, each made ready for the browser by Gradio and written as JSON. The app may take 5 %
longer. What is drawn is timed by itself too, as the noise of a busy machine may be larger than
that.

    python tests/bench/live.py                                         # demo model and pairs
    python tests/bench/live.py --pairs filtered.parquet                # all pairs of a file
    python tests/bench/live.py --pairs filtered.parquet --model FOLDER # on a GPU

The last line is JSON. Its exit status is 1 if drawing took more than 5 % of the engine's time.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from explorer.core.address_view import Question, answer
from explorer.core.settings import DEMO_MODEL, Settings
from explorer.page import views_of
from explorer.runs.orders import ModelOrder
from explorer.runs.selections import Selection, selected_as_listed
from explorer.runs.visitors import Visitor
from explorer.stores import Stores, open_stores
from scoring.engine.scorer import Scorer, facts
from scoring.families import open_scorer
from scoring.hub.access import Hub
from scoring.models.finding import ModelPolicy, locate
from scoring.pairs.opening import as_pairs
from scoring.record import Run, new_folder
from scoring.spec import RunSettings

MOST = 0.05
"""Of the engine's time."""
WHO = Visitor(session="bench")
POLL_SECONDS = 1.0
"""Between two questions of a page that watches a run, at the least."""
WATCHED = ("status", "numbers", "latest", "buttons")
"""The regions that it asks for."""


@dataclass
class Drawn:
    """What the app sent."""

    updates: int = 0
    seconds: float = 0.0
    largest: int = 0


@cache
def scorer_of(model: str) -> Scorer:
    """The model, loaded in this process."""
    spec = locate(model, ModelPolicy(DEMO_MODEL), Hub(offline=True))
    return open_scorer(spec, RunSettings())


def engine(stores: Stores, order: ModelOrder, selection: Selection) -> float:
    """Seconds from the pairs to the rewards on disk."""
    from scoring.run import make_job, score

    scorer = scorer_of(order.model)
    began = time.perf_counter()
    pairs = as_pairs(selection.table.arrow, selection.rows.tolist())
    job = make_job(pairs, scorer, order.settings.seed)
    told = facts(scorer, order.settings, selection.table.id, len(pairs), selection.words)
    folder = new_folder(stores.settings.runs)
    run = Run.create(folder, told, job.plan, [pair.key for pair in pairs])
    for _ in run.record(score(job, scorer)):
        pass
    run.mark_ended("finished")
    return time.perf_counter() - began


def app(stores: Stores, order: ModelOrder, selection: Selection) -> tuple[float, Drawn]:
    """Seconds from the press to the last update, and what was drawn."""
    counted, view = Drawn(), views_of(stores).score
    began = time.perf_counter()
    live = stores.runs.live.begin(
        WHO, order.model, partial(stores.runs.start, WHO, order, selection)
    )
    query, has_ended = f"?tab=score&run={live.id}", False
    while not has_ended:
        has_ended = live.ended.wait(POLL_SECONDS)
        asked = time.perf_counter()
        shown = answer(view.as_view(), Question(query, {}, WATCHED, "", ""), WHO)
        counted.updates += 1
        counted.largest = max(counted.largest, len(json.dumps(shown)))
        counted.seconds += time.perf_counter() - asked
    return time.perf_counter() - began, counted


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", default="demo")
    parser.add_argument("--model", default="demo")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with TemporaryDirectory() as home:
        stores = open_stores(Settings(home=Path(home), pairs=asked.pairs, offline=True))
        order = ModelOrder(asked.model)
        table = stores.pairs.get(None)
        selection = selected_as_listed(table, np.arange(len(table)), "")
        few = Selection(table, selection.rows[:20], "")
        engine(stores, order, few)
        app(stores, order, few)
        alone, within, drawings, cpu = [], [], [], []
        for _ in range(asked.rounds):
            before = time.process_time()
            alone.append(engine(stores, order, selection))
            between = time.process_time()
            seconds, counted = app(stores, order, selection)
            cpu.append((time.process_time() - between) / (between - before))
            within.append(seconds)
            drawings.append(counted)
    share = median(each.seconds for each in drawings) / median(alone)
    told = {
        "pairs": len(selection.rows),
        "engine_seconds": round(median(alone), 2),
        "app_seconds": round(median(within), 2),
        "ratio": round(median(within) / median(alone), 3),
        "cpu_ratio": round(median(cpu), 3),
        "drawing_share": round(share, 4),
        "updates": drawings[-1].updates,
        "largest_update_bytes": max(each.largest for each in drawings),
    }
    print(json.dumps(told))
    return int(share > MOST)


if __name__ == "__main__":
    sys.exit(main())
