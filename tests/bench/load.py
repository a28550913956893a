"""A server with many visitors at once: what each act takes them, and what is left of it.

`python app.py` with the real pairs and results where they are, a thousand runs on its disk: some
people browse, with a second's thought before each act; others score with the demo model, one run
after the other; others come and leave. Prints p50, p95 and the longest of each act in seconds, what
failed, the server's memory before and after, and how long it takes to start with the runs and
without. It is measured from outside, on processors that the visitors of the bench need, too.

    python tests/bench/load.py [SECONDS]

Its exit status is 1 where an act failed.
"""

import json
import random
import shutil
import sys
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from explorer.core.settings import Settings, read_settings
from explorer.page import build_page
from explorer.reader.links import tab_of
from explorer.runs.orders import ModelOrder
from explorer.runs.selections import selected_per_subset
from explorer.runs.visitors import Visitor as Owner
from explorer.stores import open_stores
from scoring.models.memory import group_bytes
from tests.conftest import REAL_DATA
from tests.support.browsing import Answered, links_in
from tests.support.posting import Visitor
from tests.support.serving import started
from tests.support.stepping import stepwise

BROWSE, SCORE, LEAVE, RUNS = 20, 5, 200, 1000
THOUGHT = 1.0
"""Seconds between two acts of a person, on average."""
SUBSETS = ("hep-rust", "alpacaeval-easy", "xstest-should-respond", "donotanswer")
WORDS = ("because", "python", "whale", "sorry", "list", "water", "number")
DUEL = "a=Skywork/Skywork-Reward-Llama-3.1-8B-v0.2&b=allenai/tulu-v2.5-13b-uf-rm"
SECONDS: dict[str, list[float]] = defaultdict(list)
FAILED: list[str] = []
OVER = threading.Event()


@contextmanager
def timed(act: str) -> Iterator[None]:
    began = time.monotonic()
    try:
        yield
    except Exception as error:
        FAILED.append(f"{act}: {type(error).__name__} {str(error)[:200]}")
    else:
        SECONDS[act].append(time.monotonic() - began)


def browse(page: Any, seed: int) -> None:
    """Acts of a person who looks around, until it is over."""
    visitor, choose, pairs = Visitor(page), random.Random(seed), Answered()
    known: dict[str, dict[str, str]] = defaultdict(dict)

    def look(kind: str, link: str) -> None:
        tab = tab_of(link)
        with timed(kind):
            answer = visitor.render(tab, link, known=known[tab])
            known[tab] = answer["etags"]
            if tab == "pairs":
                pairs.update(answer["regions"])
                pairs.query = f"?{answer['query']}"

    acts: tuple[Callable[[], None], ...] = (
        lambda: look("facet", pairs.state.narrowed(subset=(choose.choice(SUBSETS),))),
        lambda: look("search", pairs.state.narrowed(words=choose.choice(WORDS))),
        lambda: look("next pair", links_in(pairs["steps"], "Next pair (j)")[0]),
        lambda: look("reset", pairs.state.unfiltered().href()),
        lambda: look("board", "?tab=models"),
        lambda: look("compare", f"?tab=models&panel=compare&{DUEL}"),
        lambda: look("list of runs", "?tab=score&panel=runs"),
    )
    look("open the head", "?tab=data")
    look("open the pairs", "?tab=pairs")
    while not OVER.is_set():
        time.sleep(choose.expovariate(1 / THOUGHT))
        choose.choices(acts, (3, 2, 6, 1, 1, 1, 1))[0]()


def score(page: Any, seed: int) -> None:
    """One run after the other until it is over; each in its turn."""
    while not OVER.is_set():
        with timed("score 46 pairs, in turn"):
            score_once(page, seed)


def score_once(page: Any, seed: int) -> None:
    url = f"{page.local_url}gradio_api/call/score_selection"
    event = json.loads(answer_of(url, {"data": ["demo", 2, seed, None, "", None, ""]}))
    told = answer_of(f"{url}/{event['event_id']}")
    if "event: complete" not in told or '"stage": "finished"' not in told:
        raise ValueError(told[-200:])


def leave(page: Any, _: int) -> None:
    """People who open the page and are gone before it answers."""
    number = next(n for n, each in page.fns.items() if each.api_name == "models")
    for _ in range(LEAVE):
        with timed("come and leave"):
            visitor = Visitor(page)
            asked = {"data": [], "fn_index": number, "session_hash": visitor.session}
            visitor.open("queue/join", json.dumps(asked).encode()).close()
            visitor.open(f"queue/data?session_hash={visitor.session}").close()
        if OVER.wait(0.2):
            return


def answer_of(url: str, sent: Any = None) -> str:
    body = None if sent is None else json.dumps(sent).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return str(answer.read().decode())


def put_runs(home: Path) -> None:
    """Put runs on the disk of a server: the same one again and again."""
    stores = open_stores(Settings(home=home, pairs="demo", offline=True))
    selection = selected_per_subset(stores.pairs.get(None), 1, 0)
    *_, last = stepwise(partial(stores.runs.start, Owner(), ModelOrder("longer"), selection))
    assert last.run is not None
    for number in range(1, RUNS):
        shutil.copytree(last.run.folder, last.run.folder.parent / f"20250101-000000-{number:016x}")


def start_seconds(home: Path, settings: dict[str, Any]) -> float:
    home.mkdir(exist_ok=True)
    began = time.monotonic()
    with started(home, **settings):
        return time.monotonic() - began


def main() -> int:
    seconds = float(sys.argv[1]) if sys.argv[1:] else 60.0
    data: dict[str, Any] = {"EXPLORER_PAIRS": "demo"}
    if REAL_DATA.is_dir():
        data = {
            "EXPLORER_PAIRS": str(REAL_DATA / "reward-bench" / "filtered.parquet"),
            "EXPLORER_RESULTS": str(REAL_DATA / "reward-bench-results"),
        }
    with TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        put_runs(home)
        without, start = start_seconds(Path(folder) / "empty", data), start_seconds(home, data)
        environment = {**data, "EXPLORER_OFFLINE": "1", "EXPLORER_HOME": str(home)}
        page, _ = build_page(open_stores(read_settings(environment)))
        with started(home, **data) as (address, server):
            page.local_url = f"{address}/"
            for tab in ("pairs", "models"):
                Visitor(page).render(tab)
            score_once(page, 0)
            before = group_bytes(server.pid)
            threading.Timer(seconds, OVER.set).start()
            with ThreadPoolExecutor(BROWSE + SCORE + 1) as pool:
                todo = [browse] * BROWSE + [score] * SCORE + [leave]
                begun = [pool.submit(do, page, seed) for seed, do in enumerate(todo)]
            for each in begun:
                each.result()
            after = group_bytes(server.pid)
    print(f"{'act':<24} {'n':>5} {'p50':>7} {'p95':>7} {'max':>7}")
    for act, found in sorted(SECONDS.items()):
        p50, p95, most = np.percentile(found, (50, 95, 100))
        print(f"{act:<24} {len(found):>5} {p50:>7.2f} {p95:>7.2f} {most:>7.2f}")
    print(f"memory {before / 1e6:,.0f} MB before, {after / 1e6:,.0f} MB after {seconds:.0f} s")
    print(f"start {start:.1f} s with {RUNS:,} runs, {without:.1f} s without")
    print(f"{len(FAILED)} failed", *FAILED[:10], sep="\n")
    return int(bool(FAILED))


if __name__ == "__main__":
    sys.exit(main())
