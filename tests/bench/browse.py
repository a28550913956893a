"""How long each act in the Pairs tab takes on the server, and how much memory a table takes.

The time should grow as the rows do, and no faster; what is sent to the browser, a page of 25 rows
and one pair, should not grow at all; and of the memory, the text has to be there once, as it is.

Larger tables are made from the pairs given (`EXPLORER_PAIRS`, else ../shared/data, else the demo):
all rows again and again, with other ids and a number at the end of each text. Each is read by a
fresh process that has shown the demo pairs already; then every kind of act is done 20 times, each
time another link. "first" is each kind's first time, in which lengths, codes and the like are made.
Prints a table a size, and a line a size with its bounds, in which memory is what was added, over
the bytes of the text. Its exit status is 1 if a bound is missed.

    python tests/bench/browse.py [ROWS ...]
"""

import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
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
from explorer.data.facets import FACETS
from explorer.data.filters import LengthRange
from explorer.data.sources import DEMO_ID, pair_sources, read_demo
from explorer.data.table import PairTable
from explorer.reader.reading import n_pages
from explorer.reader.state import BY_LENGTH, PairsState
from scoring.hub.access import Hub
from scoring.pairs.opening import TEXT_COLUMNS, read_pairs
from tests.conftest import REAL_DATA, ROOT
from tests.support.browsing import NOBODY, links_in, pairs_view_on

pc: Any = pyarrow.compute  # its stubs know few of the types that it takes
REAL = REAL_DATA / "reward-bench" / "filtered.parquet"
PAGE_KB, ROUNDS = 60, 20
BOUNDS: dict[int, tuple[float, float]] = {
    2_985: (0.1, np.inf), 43_175: (0.25, 2.0), 300_000: (1.0, 2.0),
}  # fmt: skip
"""Rows -> seconds of the 95th percentile, and memory added by loading over the bytes of text."""
Act = tuple[PairsState, str]
"""What is on screen, and the link that is followed: its address, or its words."""


def acts_on(table: PairTable) -> dict[str, list[Act]]:
    """Kind -> acts of that kind, the same ones each time. Every search looks for something new."""
    chance = random.Random(0)
    places = sorted(chance.sample(range(len(table)), min(400, len(table))))
    texts = [str(table.cells(row)["chosen"]) for row in places]
    counts = Counter(word for text in texts for word in set(re.findall("[A-Za-z]{4,12}", text)))
    words = [word.lower() for word, _ in counts.most_common()]
    common, rare = words[: 4 * ROUNDS], words[-8 * ROUNDS :]
    shapes = cycle((r"\b{}\b", r"{}\s+\w+ed\b", r"(?m)^{}", r"\d+ {}", "{}.*{}", "[{}]{{6}}"))
    sorts = cycle(f"{sign}{each}" for each in BY_LENGTH for sign in ("", "-"))
    subsets = table.facets["subset"].names

    def fresh(words: list[str]) -> str:
        return words.pop(chance.randrange(len(words))) if words else f"qz{chance.random()}xj"

    def key() -> str:
        return table.key_of(chance.randrange(len(table)))

    def page() -> int:
        return chance.randint(1, n_pages(len(table)))

    def range_of() -> LengthRange:
        low = chance.randrange(100)
        return LengthRange("chosen", "chars", low, 20 * low + 1000)

    def narrowed(**changes: Callable[[], Any]) -> Callable[[], Act]:
        """From the whole table, whose first pair stays open if listed."""

        def act() -> Act:
            given = {name: of() for name, of in changes.items()}
            return PairsState(), PairsState().narrowed(keep=table.key_of(0), **given)

        return act

    def on_some(link: Callable[[PairsState], str], **how: Any) -> Callable[[], Act]:
        """From somewhere in the whole table, or in what was filtered."""

        def act() -> Act:
            state = PairsState(key=key(), page=page())
            if chance.random() < 0.5:
                half = tuple(subsets[: max(2, len(subsets) // 2)])
                search = chance.choice(common or ["the"])
                state = PairsState(subset=half, ranges=(range_of(),), words=search, key=key())
            state = replace(state, **how)
            return state, link(state)

        return act

    kinds = {
        f"facet: {name.replace('_', ' ')}": narrowed(
            **{name: lambda name=name: (chance.choice(table.facets[name].names),)}
        )
        for name in FACETS
    } | {
        "search: a common word": narrowed(words=lambda: fresh(common)),
        "search: a rare word": narrowed(words=lambda: fresh(rare)),
        "search: an absent word": narrowed(words=lambda: fresh([])),
        "search: a pattern": narrowed(
            words=lambda: next(shapes).format(fresh(rare), fresh(rare)), regex=lambda: True
        ),
        "sort": on_some(lambda now: now.narrowed(sort=next(sorts))),
        "turn a page": on_some(lambda now: now.narrowed(page=page()), key=""),
        "next pair": on_some(lambda _: "Next pair (j)"),
        "open a pair": on_some(lambda now: now.href(key=key(), page=1)),
        "open the lengths": on_some(lambda now: now.href(panel="lengths")),
        "brush a range": on_some(lambda now: now.narrowed(ranges=(range_of(),)), panel="lengths"),
        "reset": on_some(lambda now: now.unfiltered().href(keep=now.key)),
    }
    return {kind: [act() for _ in range(ROUNDS)] for kind, act in kinds.items()}


def resident() -> int:
    """Bytes of memory that this process holds."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def write_larger(table: PairTable, n_rows: int, path: Path) -> None:
    """So many rows as a Parquet file: all rows again and again, each time a little different."""
    columns = ["id", "subset", *TEXT_COLUMNS, "chosen_model", "rejected_model"]
    pairs, parts = table.arrow.select(columns), []
    for again, start in enumerate(range(0, n_rows, len(pairs))):
        part = pairs.slice(0, n_rows - start)
        for name in ("id", *TEXT_COLUMNS) if again else ():
            end = pa.scalar(f"-{again}" if name == "id" else f" ({again})", pa.large_string())
            texts = pc.binary_join_element_wise(part[name], end, pa.scalar("", pa.large_string()))
            part = part.set_column(part.schema.get_field_index(name), name, texts)
        parts.append(part)
    pq.write_table(pa.concat_tables(parts), path, row_group_size=50_000)  # 100 MB, as `datasets`


def measure(path: Path, found: dict[str, Any]) -> None:
    """Read a file of pairs and do everything with it, in this process."""
    pairs = read_pairs(path)
    found["loaded"] = resident()
    table = PairTable(pairs)
    found["text"] = sum(
        pc.sum(pc.binary_length(pairs.table[name])).as_py() for name in TEXT_COLUMNS
    )
    view = pairs_view_on(table).as_view()

    def ask(query: str, known: dict[str, str]) -> dict[str, Any]:
        return answer(view, Question(query, known, (), "", ""), NOBODY)

    for kind, acts in acts_on(table).items():
        times = found["seconds"][kind] = []
        for before, href in acts:
            known = ask(before.href(), {})
            link = href if href.startswith("?") else links_in(known["regions"]["steps"], href)[0]
            began = time.perf_counter()
            regions = ask(link, known["etags"])["regions"]
            times.append(time.perf_counter() - began)
            if PairsState.parse(link)[0].panel == "pairs":
                found["page"] = max(found["page"], len(regions.get("main", "").encode()) / 1000)


def measure_alone(folder: Path, path: Path) -> None:
    """Say as JSON what a file of pairs takes, once the demo pairs were shown."""
    write_larger(read_demo(), len(read_demo()), folder / "demo.parquet")
    for each in (folder / "demo.parquet", path):
        found = {"before": resident(), "seconds": {}, "page": 0}
        measure(each, found)
    print(json.dumps(found | {"used": resident()}))


def main() -> int:
    """Print the tables; 1 where a bound is missed."""
    given = os.environ.get("EXPLORER_PAIRS") or (str(REAL) if REAL.is_file() else DEMO_ID)
    lines, least, is_missed = [], 0.0, False
    with TemporaryDirectory() as folder:
        if sys.argv[1:2] == ["--measure"]:
            measure_alone(Path(folder), Path(sys.argv[2]))
            return 0
        settings = Settings(home=Path(folder), pairs=given)
        table = pair_sources(settings, Hub(offline=True)).get(None)
        print(f"Made from: {table.caption}")
        for n_rows in sorted(map(int, sys.argv[1:])) or BOUNDS:
            path = Path(folder) / "pairs.parquet"
            write_larger(table, n_rows, path)
            command = [sys.executable, __file__, "--measure", str(path)]
            done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
            found = json.loads(done.stdout.splitlines()[-1])
            print(f"\n{n_rows:<26,}{'first':>9}{'median':>9}{'p95':>9}{'slowest':>9}  (ms)")
            for kind, times in found["seconds"].items():
                shown = times[0], *np.percentile(times, (50, 95, 100))
                print(f"{kind:<26}" + "".join(f"{1000 * each:9.1f}" for each in shown), flush=True)
            p95 = float(np.percentile([*found["seconds"].values()], 95))
            loaded, used = (
                (found[name] - found["before"]) / found["text"] for name in ("loaded", "used")
            )
            least = least or p95 / n_rows
            seconds, memory = BOUNDS.get(n_rows, (1.0, 2.0))
            is_kept = p95 <= seconds and loaded <= memory
            is_kept = is_kept and found["page"] <= PAGE_KB and p95 / n_rows <= least
            is_missed |= not is_kept
            lines.append(
                f"{n_rows:,} rows: p95 {1000 * p95:.0f} of {1000 * seconds:.0f} ms, "
                f"{p95 / n_rows / least:.2f} of 1 a row, "
                f"memory {loaded:.2f} of {memory:g} times the text once it is loaded, "
                f"{used:.2f} at the end, a page {found['page']:.1f} of {PAGE_KB} KB"
                f"{'' if is_kept else ': missed'}"
            )
    print("", *lines, sep="\n")
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main())
