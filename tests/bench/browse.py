"""How long each Browse callback takes on the server, on the pairs given (default: the demo).

Usage: EXPLORER_PAIRS=filtered.parquet python tests/bench/browse.py
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import gradio as gr

from explorer.settings import read_settings
from explorer.sources import pair_shelf
from explorer.ui.browse import Browse
from scoring.hub import Hub

ROUNDS = 20


def milliseconds(callback: Callable[..., Any], *state: Any) -> list[float]:
    """Times of a callback, the first (which fills caches) included."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        callback(*state)
        times.append(1000 * (time.perf_counter() - start))
    return times


def main() -> None:
    shelf = pair_shelf(read_settings(os.environ), Hub(offline=True))
    browse, table = Browse(shelf), shelf.get(shelf.best)
    print(f"{table.caption}")
    key = table.keys[len(table) // 2]
    event = gr.SelectData(None, {"index": [0, 0], "value": key, "row_value": [key]})
    whole: tuple[Any, ...] = (table.id, "", [], [], key, 3, True)
    found: tuple[Any, ...] = (table.id, "the", ["Reasoning"], [], key, 1, True)
    rows: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "open the tab": (browse.refresh, whole),
        "search and filter": (browse.refresh, found),
        "turn a page": (browse.page_after, whole),
        "next pair": (browse.pair_after, whole),
        "random pair": (browse.random_pair, whole),
        "open a row": (browse.open_row, (event, *whole)),
        "reset": (browse.choices, (table.id,)),
    }
    print(f"{'callback':<20}{'first':>9}{'median':>9}{'slowest after':>15}  (ms)")
    for name, (callback, state) in rows.items():
        times = milliseconds(callback, *state)
        print(f"{name:<20}{times[0]:9.1f}{statistics.median(times):9.1f}{max(times[1:]):15.1f}")


if __name__ == "__main__":
    main()
