"""A server with many visitors at once: what each act takes them, and what is left of it.

`python app.py` with the real pairs and results where they are, a thousand runs on its disk: some
people browse, with a second's thought before each act; others score with the demo model, one run
after the other; others come and leave. Prints p50, p95 and the longest of each act in seconds, what
failed, the server's memory before and after, and how long it takes to start with the runs and
without. It is measured from outside, on processors that the visitors of the bench need, too.

    python tests/bench/load.py
    python tests/bench/load.py --seconds 60 --browse 20 --score 5 --runs 1000

Its exit status is 1 where an act failed or a scorer was never served.
"""

import argparse
import json
import random
import shutil
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from explorer.core.settings import Settings
from explorer.data.sources import read_demo
from explorer.reader.links import tab_of
from scoring.models.memory import group_bytes
from tests.golden.visit import Server
from tests.support.beginning import baseline_run
from tests.support.browsing import Answered, links_in
from tests.support.posting import Stranger
from tests.support.serving import SHOWN, start_seconds, started

THOUGHT = 1.0
"""Seconds between two acts of a person, on average."""
LEAVERS = 200
PER_SUBSET = 2
SUBSETS = ("hep-rust", "alpacaeval-easy", "xstest-should-respond", "donotanswer")
WORDS = ("because", "python", "whale", "sorry", "list", "water", "number")


@dataclass
class Measured:
    """Seconds of each act, and what failed, from any thread."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failed: list[str] = field(default_factory=list)
    served: list[int] = field(default_factory=list)

    @contextmanager
    def timed(self, act: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        except Exception as error:
            self.failed.append(f"{act}: {type(error).__name__} {str(error)[:200]}")
        else:
            self.seconds[act].append(time.monotonic() - began)

    def table(self) -> str:
        lines = [f"{'act':<24} {'n':>5} {'p50':>7} {'p95':>7} {'max':>7}"]
        for act, seconds in sorted(self.seconds.items()):
            p50, p95, most = np.percentile(seconds, (50, 95, 100))
            lines.append(f"{act:<24} {len(seconds):>5} {p50:>7.2f} {p95:>7.2f} {most:>7.2f}")
        return "\n".join(lines)


def browse(visitor: Stranger, measured: Measured, is_over: Callable[[], bool], seed: int) -> None:
    """Acts of a person who looks around, until it is over."""
    choose = random.Random(seed)
    known: dict[str, dict[str, str]] = defaultdict(dict)
    pairs = Answered()

    def look(kind: str, link: str) -> None:
        tab = tab_of(link)
        with measured.timed(kind):
            answer = visitor.render(tab, link, known=known[tab])
            if "regions" not in answer:
                raise ValueError(answer)
            known[tab] = answer["etags"]
            if tab == "pairs":
                pairs.update(answer["regions"])
                pairs.query = f"?{answer['query']}"

    duel = "a=Skywork/Skywork-Reward-Llama-3.1-8B-v0.2&b=allenai/tulu-v2.5-13b-uf-rm"
    acts: tuple[Callable[[], None], ...] = (
        lambda: look("facet", pairs.state.narrowed(subset=(choose.choice(SUBSETS),))),
        lambda: look("search", pairs.state.narrowed(words=choose.choice(WORDS))),
        lambda: look("next pair", links_in(pairs["steps"], "Next pair (j)")[0]),
        lambda: look("reset", pairs.state.unfiltered().href()),
        lambda: look("board", "?tab=models"),
        lambda: look("compare", f"?tab=models&panel=compare&{duel}"),
        lambda: look("list of runs", "?tab=score&panel=runs"),
    )
    look("open the head", "?tab=data")
    look("open the pairs", "?tab=pairs")
    while not is_over():
        time.sleep(choose.expovariate(1 / THOUGHT))
        choose.choices(acts, (3, 2, 6, 1, 1, 1, 1))[0]()


def score(address: str, measured: Measured, is_over: Callable[[], bool], seed: int) -> None:
    """One run after the other until it is over; each in its turn."""
    server, n_served = Server(address), 0
    while not is_over():
        with measured.timed("score 46 pairs, in turn"):
            asked = {"model": "demo", "per_subset": PER_SUBSET, "seed": seed}
            told = server.ask("score_selection", **asked)
            if "complete" not in told or told["complete"][0]["stage"] != "finished":
                raise ValueError(str(told)[-200:])
            n_served += 1
    measured.served.append(n_served)


def leave(address: str, measured: Measured, is_over: Callable[[], bool], _: int) -> None:
    """People who open the page and are gone before it answers."""
    events = Stranger(address).config["dependencies"]
    number = next(each["id"] for each in events if each["api_name"] == "models")
    for _ in range(LEAVERS):
        if is_over():
            return
        with measured.timed("come and leave"):
            visitor = Stranger(address)
            asked = {"data": [], "fn_index": number, "session_hash": visitor.session}
            visitor.open("queue/join", json.dumps(asked).encode()).close()
            visitor.open(f"queue/data?session_hash={visitor.session}").close()
        time.sleep(0.2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, default in (("seconds", 60), ("browse", 20), ("score", 5), ("runs", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    measured = Measured()
    with TemporaryDirectory() as folder:
        home, empty = Path(folder) / "home", Path(folder) / "empty"
        empty.mkdir()
        run = baseline_run(Settings(home=home).runs, read_demo(), 23)
        for number in range(1, asked.runs):
            shutil.copytree(run.folder, run.folder.parent / f"20250101-000000-{number:016x}")
        without, start = (start_seconds(each, **SHOWN) for each in (empty, home))
        with started(home, **SHOWN) as (address, server):
            first = Stranger(address)
            first.render("pairs")
            first.render("models")
            score(address, Measured(), iter((False, True)).__next__, 0)
            before, n_tasks = group_bytes(server.pid), asked.browse + asked.score
            over = threading.Event()
            threading.Timer(asked.seconds, over.set).start()
            todo = [partial(browse, Stranger(address)) for _ in range(asked.browse)]
            todo += [partial(score, address) for _ in range(asked.score)]
            todo.append(partial(leave, address))
            with ThreadPoolExecutor(len(todo)) as pool:
                begun = [pool.submit(do, measured, over.is_set, n) for n, do in enumerate(todo)]
            for each in begun:
                each.result()
            after = group_bytes(server.pid)
    print(measured.table())
    print(f"{n_tasks} people for {asked.seconds} s; runs of each scorer: {measured.served}")
    print(f"memory {before / 1e6:,.0f} MB before, {after / 1e6:,.0f} MB after")
    print(f"start {start:.1f} s with {asked.runs:,} runs, {without:.1f} s without")
    print(f"{len(measured.failed)} failed")
    print("\n".join(measured.failed[:10]))
    return 1 if measured.failed or min(measured.served, default=1) == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
