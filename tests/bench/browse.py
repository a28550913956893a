"""How long each act in the Pairs tab takes on the server, and how much memory a table takes.

What one act costs is a pass over all rows: a mask of bytes a filter, a count a facet, and of a
search all of the text. So the time should grow as the rows do, and no faster; and what is sent to
the browser, a page of 25 rows and one pair, should not grow at all. Of the memory, the text has to
be there once, as it is; all else (lengths, codes) is a few numbers a row.

Larger tables are made from the pairs given: all rows again and again, with other ids and a number
at the end of each text, so that no text occurs twice that did not before. Each is read by a fresh
process that has shown the demo pairs already, so that libraries are no part of what a table adds;
then every kind of act is done 20 times, each time another link, from another address. Times are
those of the whole answer: of all regions, those that stay included. "first" is each kind's first
time, in which lengths, codes and the like are made; it counts in the percentiles too.

Usage: EXPLORER_PAIRS=filtered.parquet python tests/bench/browse.py [--rows N ...] [--messages]

    --rows      only these sizes
    --messages  prompts as messages, which must be unpacked one by one, instead of as text

Without EXPLORER_PAIRS it takes the pairs in ../shared/data, else the demo pairs. It prints a table
a size; one of all sizes with the bounds, in which "loaded", "used" and "at most" are resident
memory added, over the bytes of the text, and "growth" is how much slower than the smallest size it
is, over how many times its rows; and a line of JSON. Its exit status is 1 if a bound is missed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from explorer.core.address_view import Question, answer
from explorer.core.settings import Settings
from explorer.data.sources import DEMO_ID, pair_sources, read_demo
from explorer.data.table import PairTable
from explorer.reader.state import PairsState
from scoring.hub.access import Hub
from scoring.pairs.opening import TEXT_COLUMNS, read_pairs
from tests.bench.acts import ROUNDS, Act, Visitor
from tests.support.browsing import NOBODY, links_in, pairs_view_on

pc: Any = pyarrow.compute  # its stubs know few of the types that it takes
ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "data" / "reward-bench" / "filtered.parquet"
PAGE_KB = 60
ROW_GROUP = 50_000
"""Rows of a Parquet file that are packed together: some 100 MB, as `datasets` writes them."""


@dataclass(frozen=True, slots=True)
class Bound:
    """seconds: of the 95th percentile. memory: added by loading, over the bytes of the text."""

    seconds: float
    memory: float | None


BOUNDS = {2_985: Bound(0.1, None), 43_175: Bound(0.25, 2.0), 300_000: Bound(1.0, 2.0)}


@dataclass(slots=True)
class Measured:
    """One table. Memory in bytes; `seconds` is kind of act -> time of each.

    load: of the machine when it began, in runnable processes.
    text: of prompts and responses, in UTF-8.
    before, read, opened, used, peak: resident memory before it was read, after that, after the tab
        was opened, after all acts, and at most.
    page: the largest page of rows; sent: the most that one act sent.
    """

    rows: int
    load: float
    text: int
    load_seconds: float
    before: int
    read: int
    opened: int = 0
    used: int = 0
    peak: int = 0
    page: int = 0
    sent: int = 0
    seconds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def p95(self) -> float:
        """Of all acts of all kinds, first ones included."""
        return percentile([each for times in self.seconds.values() for each in times], 95)

    @property
    def summary(self) -> dict[str, tuple[float, ...]]:
        """Kind of act -> seconds of the first, median, 95th percentile and slowest."""
        return {
            kind: (times[0], percentile(times, 50), percentile(times, 95), max(times))
            for kind, times in self.seconds.items()
        }

    def added(self, bytes_then: int) -> float:
        """Memory added since before the table was read, over the bytes of its text."""
        return (bytes_then - self.before) / self.text


def percentile(times: list[float], share: int) -> float:
    return float(np.percentile(times, share))


def resident(name: str = "VmRSS") -> int:
    """Bytes of memory that this process holds, or (VmHWM) held at most."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def columns_of(table: PairTable) -> pa.Table:
    """The columns that a dataset has."""
    return table.arrow.select(["id", "subset", *TEXT_COLUMNS, "chosen_model", "rejected_model"])


def write_larger(pairs: pa.Table, n_rows: int, path: Path, messages: bool = False) -> None:
    """So many rows as a Parquet file: all rows again and again, each time a little different."""
    parts = []
    for start in range(0, n_rows, len(pairs)):
        part = pairs.slice(0, n_rows - start)
        again = start // len(pairs)
        for name in ("id", *TEXT_COLUMNS) if again else ():
            end = pa.scalar(f"-{again}" if name == "id" else f" ({again})", pa.large_string())
            texts = pc.binary_join_element_wise(part[name], end, pa.scalar("", pa.large_string()))
            part = part.set_column(part.schema.get_field_index(name), name, texts)
        parts.append(part)
    table = pa.concat_tables(parts)
    if messages:
        roles = pa.array(["user"] * len(table))
        contents = table["prompt"].combine_chunks()
        turns = pa.StructArray.from_arrays([contents, roles], ["content", "role"])
        offsets = pa.array(range(len(table) + 1), pa.int32())
        prompts = pa.ListArray.from_arrays(offsets, turns)
        table = table.set_column(table.schema.get_field_index("prompt"), "prompt", prompts)
    pq.write_table(table, path, row_group_size=ROW_GROUP)


class Bench:
    """The tab's answers, timed."""

    def __init__(self, table: PairTable) -> None:
        self._view = pairs_view_on(table).as_view()
        self.page = self.sent = 0

    def seconds(self, act: Act) -> float:
        """Time of one act, as the server has it."""
        known: dict[str, str] = {}
        href = act.followed
        if act.before:
            before = self._answer(act.before, known)
            known = before["etags"]
            if not href.startswith("?"):
                [href] = links_in(before["regions"]["steps"], href)
        start = time.perf_counter()
        found = self._answer(href, known)
        seconds = time.perf_counter() - start
        sizes = {name: len(html.encode()) for name, html in found["regions"].items()}
        if PairsState.parse(href)[0].panel == "pairs":
            self.page = max(self.page, sizes.get("main", 0))
        self.sent = max(self.sent, sum(sizes.values()))
        return seconds

    def _answer(self, query: str, known: dict[str, str]) -> dict[str, Any]:
        return answer(self._view, Question(query, known, (), "", ""), NOBODY)


def measure(path: Path) -> Measured:
    """Read a file of pairs and do everything with it, in this process."""
    load = os.getloadavg()[0]
    with TemporaryDirectory() as home:
        write_larger(columns_of(read_demo()), len(read_demo()), Path(home) / "demo.parquet")
        demo = PairTable(read_pairs(Path(home) / "demo.parquet"))
        for acts in Visitor(demo).acts().values():
            Bench(demo).seconds(acts[0])
        before, start = resident(), time.perf_counter()
        pairs = read_pairs(path)
        load_seconds, read = time.perf_counter() - start, resident()
        n_bytes = sum(pc.sum(pc.binary_length(pairs.table[name])).as_py() for name in TEXT_COLUMNS)
        found = Measured(len(pairs.table), load, n_bytes, load_seconds, before, read)
        table = PairTable(pairs)
        bench = Bench(table)
        opening = Act("", PairsState().href())
        found.seconds["open the tab"] = [bench.seconds(opening) for _ in range(ROUNDS)]
        found.opened = resident()
        for kind, acts in Visitor(table).acts().items():
            found.seconds[kind] = [bench.seconds(act) for act in acts]
        found.used, found.peak = resident(), resident("VmHWM")
        found.page, found.sent = bench.page, bench.sent
    return found


def measured_afresh(path: Path) -> Measured:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--measure", str(path)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def print_acts(found: Measured) -> None:
    loaded = f"{found.text / 1e6:,.1f} MB of text, loaded in {found.load_seconds:.1f} s"
    loaded += f"; load {found.load:.1f} on {os.cpu_count()} cores"
    print(f"\n{found.rows:,} rows, {loaded}")
    print(f"{'act':<26}{'first':>9}{'median':>9}{'p95':>9}{'slowest':>9}  (ms)")
    for kind, shown in found.summary.items():
        print(f"{kind:<26}" + "".join(f"{1000 * each:9.1f}" for each in shown))
    memory = (("loaded", found.read), ("opened", found.opened), ("used", found.used))
    said = [f"{name} {found.added(then):.2f}" for name, then in (*memory, ("at most", found.peak))]
    print(
        f"resident {found.before / 1e6:,.0f} MB before; added, over the text: {', '.join(said)}; "
        f"one act sends at most {found.sent / 1e3:.0f} KB",
        flush=True,
    )


def judged(all_found: list[Measured]) -> list[dict[str, Any]]:
    """What the bounds say of each size; "ok" where all are kept.

    growth: how much slower than the smallest size, over how many times its rows.
    """
    lines = []
    least = all_found[0]
    for found in all_found:
        bound = BOUNDS.get(found.rows, Bound(1.0, 2.0))
        growth = (found.p95 / least.p95) / (found.rows / least.rows)
        loaded = found.added(found.read)
        ok = (
            found.p95 <= bound.seconds
            and (bound.memory is None or loaded <= bound.memory)
            and found.page <= 1000 * PAGE_KB
            and growth <= 1
        )
        line = {
            "rows": found.rows,
            "p95": found.p95,
            "p95_bound": bound.seconds,
            "loaded": loaded,
            "loaded_bound": bound.memory,
            "growth": growth,
            "page": found.page,
            "ok": ok,
        }
        lines.append(line)
    return lines


def print_judged(all_found: list[Measured], lines: list[dict[str, Any]]) -> None:
    heads = ("rows", "p95 of all acts", "loaded / text", "used, at most", "page of rows", "growth")
    print("\n" + "".join(f"| {head:<17}" for head in heads) + "|")
    print("|" + f"{'-' * 18}|" * len(heads))
    for found, line in zip(all_found, lines, strict=True):
        of_memory = f" of {line['loaded_bound']:g}" if line["loaded_bound"] else ""
        cells = (
            f"{found.rows:,}",
            f"{1000 * found.p95:.0f} of {1000 * line['p95_bound']:.0f} ms",
            f"{line['loaded']:.2f}{of_memory}",
            f"{found.added(found.used):.2f}, {found.added(found.peak):.2f}",
            f"{found.page / 1000:.1f} of {PAGE_KB} KB",
            f"{line['growth']:.2f} of 1",
        )
        missed = "" if line["ok"] else " missed"
        print("".join(f"| {cell:<17}" for cell in cells) + f"|{missed}")


def main() -> int:
    """Print the tables; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(BOUNDS))
    parser.add_argument("--messages", action="store_true")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(asdict(measure(arguments.measure))))
        return 0
    given = os.environ.get("EXPLORER_PAIRS") or (str(REAL) if REAL.is_file() else DEMO_ID)
    all_found = []
    with TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), pairs=given)
        table = pair_sources(settings, Hub(offline=True)).get(None)
        pairs = columns_of(table)
        print(f"Made from: {table.caption}")
        for n_rows in sorted(arguments.rows):
            path = Path(folder) / "pairs.parquet"
            write_larger(pairs, n_rows, path, arguments.messages)
            all_found.append(measured_afresh(path))
            print_acts(all_found[-1])
    lines = judged(all_found)
    print_judged(all_found, lines)
    sizes = [{**asdict(found), "seconds": found.summary} for found in all_found]
    print(json.dumps({"sizes": sizes, "judged": lines}))
    return 0 if all(line["ok"] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
