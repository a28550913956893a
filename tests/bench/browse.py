"""How long each act in the Pairs tab takes on the server, and how much memory a table takes.

An act is a pass over all rows, so its time should grow as the rows do, and no faster; a page of 25
rows and one pair, which are sent, should not grow at all. The text has to be in memory once.

Larger tables are made from the pairs given: all rows again and again, with other ids and a number
at the end of each text. Each is read by a fresh process that has shown the demo pairs already, so
that libraries are no part of what a table adds; then every kind of act is done 20 times, each time
another link, from another address. Times are those of the whole answer. "first" is each kind's
first time, in which lengths, codes and the like are made; it counts in the percentiles too.

    EXPLORER_PAIRS=filtered.parquet python tests/bench/browse.py [--rows N ...]

Without EXPLORER_PAIRS it takes the pairs in ../shared/data, else the demo pairs. It prints a table
a size, and one of all sizes with the bounds, in which "loaded" is the resident memory that reading
added, over the bytes of the text, and "growth" is how much slower than the smallest size it is,
over how many times its rows. Its exit status is 1 if a bound is missed.
"""

import argparse
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import cycle
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from explorer.core.address_view import Question, answer
from explorer.core.settings import Settings
from explorer.data.facets import FACETS
from explorer.data.filters import LengthRange
from explorer.data.lengths import MEASURED
from explorer.data.sources import pair_sources, read_demo
from explorer.data.table import PairTable
from explorer.reader.reading import n_pages
from explorer.reader.state import BY_LENGTH, PairsState
from scoring.hub.access import Hub
from scoring.pairs.opening import TEXT_COLUMNS, read_pairs
from tests.support.browsing import NOBODY, links_in, pairs_view_on
from tests.support.serving import SHOWN

pc: Any = pyarrow.compute  # its stubs know few of the types that it takes
PAGE_KB = 60
ROUNDS = 20
ROW_GROUP = 50_000
"""Rows of a Parquet file that are packed together: some 100 MB, as `datasets` writes them."""
BOUNDS: dict[int, tuple[float, float | None]] = {
    2_985: (0.1, None), 43_175: (0.25, 2.0), 300_000: (1.0, 2.0),
}  # fmt: skip
"""Rows -> seconds of the 95th percentile, and memory added by loading over the bytes of text."""
Act = tuple[PairsState, str]
"""What is on screen, and the link that is followed: its address, or its words."""


class Visitor:
    """Acts on one table; the same ones each time. Every search looks for something new."""

    def __init__(self, table: PairTable) -> None:
        self._table, self._random = table, random.Random(0)
        places = sorted(self._random.sample(range(len(table)), min(400, len(table))))
        texts = [str(table.cells(row)["chosen"]) for row in places]
        counts = Counter(word for text in texts for word in set(re.findall("[A-Za-z]{4,12}", text)))
        words = [word.lower() for word, _ in counts.most_common()]
        self._common, self._rare = words[: 8 * ROUNDS], words[-20 * ROUNDS :]
        self._long = [text for text in texts if len(text) > 200] or texts

    def acts(self) -> dict[str, list[Act]]:
        """Kind -> acts of that kind, in the order in which they are done."""
        one_of, number, whole = self._random.choice, self._random.randrange, PairsState()
        shapes = cycle((r"\b{}\b", r"{}\s+\w+ed\b", r"(?m)^{}", r"\d+ {}", "{}.*{}", "[{}]{{6}}"))
        sorts = cycle(f"{sign}{each}" for each in BY_LENGTH for sign in ("", "-"))

        def fresh(words: list[str]) -> str:
            return words.pop(number(len(words))) if words else f"qz{number(10**8)}xj"

        def rare() -> str:
            return fresh(self._rare)

        def search(words: Callable[[], str], **how: Any) -> Callable[[], Act]:
            return lambda: (whole, self._narrowed(whole, words=words(), **how))

        def on_some(link: Callable[[PairsState], str], **how: Any) -> Callable[[], Act]:
            def act() -> Act:
                state = replace(next(states), **how)
                return state, link(state)

            return act

        states = self._states()
        kinds: dict[str, Callable[[], Act]] = {
            f"facet: {name.replace('_', ' ')}": lambda name=name: (
                whole, self._narrowed(whole, **{name: (one_of(self._table.facets[name].names),)})
            )
            for name in FACETS
        } | {
            "search: a common word": search(lambda: fresh(self._common)),
            "search: a rare word": search(rare),
            "search: an absent word": search(lambda: f"qz{number(10**8)}xj"),
            "search: a sentence": search(lambda: str(one_of(self._long)[80:140]).strip()),
            "search: in one column": search(rare, where="prompt"),
            "search: a pattern": search(lambda: next(shapes).format(rare(), rare()), regex=True),
            "sort": on_some(lambda now: now.narrowed(sort=next(sorts))),
            "turn a page": on_some(lambda now: now.narrowed(page=self._page()), key=""),
            "next pair": on_some(lambda _: "Next pair (j)"),
            "open a pair": on_some(lambda now: now.href(key=self._key(), page=1)),
            "open the lengths": on_some(lambda now: now.href(panel="lengths")),
            "chart: of what": on_some(lambda on: on.href(chart=one_of(MEASURED)), panel="lengths"),
            "brush a range":
                on_some(lambda on: on.narrowed(ranges=(self._range(),)), panel="lengths"),
            "reset": on_some(lambda now: now.unfiltered().href(keep=now.key)),
        }  # fmt: skip
        return {kind: [act() for _ in range(ROUNDS)] for kind, act in kinds.items()}

    def _narrowed(self, state: PairsState, **changes: Any) -> str:
        """The link to other pairs. As a script has it, the open pair stays open if it is listed."""
        return state.narrowed(keep=state.key or self._table.key_of(0), **changes)

    def _states(self) -> Iterator[PairsState]:
        """The whole table, and what was filtered, each somewhere."""
        while True:
            yield PairsState(key=self._key(), page=self._page())
            names = self._table.facets["subset"].names
            yield PairsState(
                subset=tuple(names[: max(2, len(names) // 2)]), ranges=(self._range(),),
                words=self._random.choice(self._common or ["the"]), key=self._key(),
            )  # fmt: skip

    def _range(self) -> LengthRange:
        low = self._random.randrange(100)
        return LengthRange("chosen", "chars", low, 20 * low + 1000)

    def _page(self) -> int:
        return self._random.randint(1, n_pages(len(self._table)))

    def _key(self) -> str:
        return self._table.key_of(self._random.randrange(len(self._table)))


@dataclass(slots=True)
class Measured:
    """One table. Memory in bytes; `seconds` is kind of act -> time of each.

    text: of prompts and responses, in UTF-8.
    added: resident memory that reading it added. page: the largest page of rows.
    """

    rows: int
    text: int
    load_seconds: float
    added: int
    page: int = 0
    seconds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def p95(self) -> float:
        """Of all acts, first ones included."""
        return percentile([each for times in self.seconds.values() for each in times], 95)


def percentile(times: list[float], share: int) -> float:
    return float(np.percentile(times, share))


def resident() -> int:
    """Bytes of memory that this process holds."""
    return int(psutil.Process().memory_info().rss)


def write_larger(table: PairTable, n_rows: int, path: Path) -> None:
    """So many rows as a Parquet file: all rows again and again, each time a little different."""
    columns = ["id", "subset", *TEXT_COLUMNS, "chosen_model", "rejected_model"]
    pairs, parts = table.arrow.select(columns), []
    for start in range(0, n_rows, len(pairs)):
        part = pairs.slice(0, n_rows - start)
        again = start // len(pairs)
        for name in ("id", *TEXT_COLUMNS) if again else ():
            end = pa.scalar(f"-{again}" if name == "id" else f" ({again})", pa.large_string())
            texts = pc.binary_join_element_wise(part[name], end, pa.scalar("", pa.large_string()))
            part = part.set_column(part.schema.get_field_index(name), name, texts)
        parts.append(part)
    pq.write_table(pa.concat_tables(parts), path, row_group_size=ROW_GROUP)


class Bench:
    """The tab's answers, timed."""

    def __init__(self, table: PairTable) -> None:
        self._view = pairs_view_on(table).as_view()
        self.page = 0

    def seconds(self, act: Act) -> float:
        """Time of one act, as the server has it."""
        before, href = act
        known = self._answer(before.href(), {})
        if not href.startswith("?"):
            [href] = links_in(known["regions"]["steps"], href)
        began = time.perf_counter()
        found = self._answer(href, known["etags"])
        seconds = time.perf_counter() - began
        if PairsState.parse(href)[0].panel == "pairs":
            self.page = max(self.page, len(found["regions"].get("main", "").encode()))
        return seconds

    def _answer(self, query: str, known: dict[str, str]) -> dict[str, Any]:
        return answer(self._view, Question(query, known, (), "", ""), NOBODY)


def measure(path: Path) -> Measured:
    """Read a file of pairs and do everything with it, in this process."""
    with TemporaryDirectory() as home:
        write_larger(read_demo(), len(read_demo()), Path(home) / "demo.parquet")
        demo = PairTable(read_pairs(Path(home) / "demo.parquet"))
        for acts in Visitor(demo).acts().values():
            Bench(demo).seconds(acts[0])
        before, began = resident(), time.perf_counter()
        pairs = read_pairs(path)
        load_seconds = time.perf_counter() - began
        n_bytes = sum(pc.sum(pc.binary_length(pairs.table[name])).as_py() for name in TEXT_COLUMNS)
        found = Measured(len(pairs.table), n_bytes, load_seconds, resident() - before)
        table = PairTable(pairs)
        bench = Bench(table)
        for kind, acts in Visitor(table).acts().items():
            found.seconds[kind] = [bench.seconds(act) for act in acts]
        found.page = bench.page
    return found


def print_acts(found: Measured) -> None:
    loaded = f"{found.text / 1e6:,.1f} MB of text, loaded in {found.load_seconds:.1f} s"
    loaded += f"; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"\n{found.rows:,} rows, {loaded}")
    print(f"{'act':<26}{'first':>9}{'median':>9}{'p95':>9}{'slowest':>9}  (ms)")
    for kind, times in found.seconds.items():
        shown = times[0], percentile(times, 50), percentile(times, 95), max(times)
        print(f"{kind:<26}" + "".join(f"{1000 * each:9.1f}" for each in shown), flush=True)


def print_judged(all_found: list[Measured]) -> bool:
    """A line a size; whether all bounds are kept."""
    heads = ("rows", "p95 of all acts", "loaded / text", "page of rows", "growth")
    print("\n" + "".join(f"| {head:<17}" for head in heads) + "|")
    print("|" + f"{'-' * 18}|" * len(heads))
    least, are_kept = all_found[0], True
    for found in all_found:
        seconds, memory = BOUNDS.get(found.rows, (1.0, 2.0))
        growth = (found.p95 / least.p95) / (found.rows / least.rows)
        loaded = found.added / found.text
        is_kept = found.p95 <= seconds and (memory is None or loaded <= memory)
        is_kept = is_kept and found.page <= 1000 * PAGE_KB and growth <= 1
        cells = (
            f"{found.rows:,}", f"{1000 * found.p95:.0f} of {1000 * seconds:.0f} ms",
            f"{loaded:.2f}" + (f" of {memory:g}" if memory else ""),
            f"{found.page / 1000:.1f} of {PAGE_KB} KB", f"{growth:.2f} of 1",
        )  # fmt: skip
        print("".join(f"| {cell:<17}" for cell in cells) + f"|{'' if is_kept else ' missed'}")
        are_kept &= is_kept
    return are_kept


def main() -> int:
    """Print the tables; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(BOUNDS))
    arguments = parser.parse_args()
    given = os.environ.get("EXPLORER_PAIRS") or SHOWN["EXPLORER_PAIRS"]
    all_found = []
    with TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), pairs=given)
        table = pair_sources(settings, Hub(offline=True)).get(None)
        print(f"Made from: {table.caption}")
        for n_rows in sorted(arguments.rows):
            path = Path(folder) / "pairs.parquet"
            write_larger(table, n_rows, path)
            with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
                all_found.append(fresh.submit(measure, path).result())
            print_acts(all_found[-1])
    return 0 if print_judged(all_found) else 1


if __name__ == "__main__":
    sys.exit(main())
