"""Small tables of pairs, made in memory and cut into several chunks as a large one is."""

from functools import cache

import pyarrow as pa

from explorer.data.table import PairTable
from scoring.benchmark import COUNTS, SUBSETS
from scoring.pairs.checking import Checker
from scoring.pairs.opening import Pairs, PairSource

NAME = "small.jsonl"


def row(**columns: object) -> dict[str, object]:
    return {"prompt": "p", "chosen": "c", "rejected": "r", **columns}


def small_table(*rows: dict[str, object], chunk_rows: int = 2) -> PairTable:
    """Each row has an id, its number from 0, and "mine" as its subset, where it does not say."""
    checker = Checker(NAME, "mine")
    checker.add([{"id": number, **each} for number, each in enumerate(rows)])
    checked = checker.finish()
    starts = range(0, len(rows), chunk_rows)
    chunks = [checked.table.slice(start, chunk_rows) for start in starts]
    source = PairSource("file", NAME, None, "0" * 12)
    return PairTable(Pairs(source, pa.concat_tables(chunks), checked.notes, checked.left_out))


def file_table(name: str, arrow: pa.Table) -> PairTable:
    """A file of that name with these rows."""
    return PairTable(Pairs(PairSource("file", name, None, "1" * 12), arrow))


@cache
def benchmark_table() -> PairTable:
    """As many pairs of each subset as RewardBench has.

    The chosen response of row n has n % 50 + 1 characters, each rejected one 25.
    """
    subsets = [subset for subset in SUBSETS for _ in range(COUNTS[subset])]
    rows = [
        row(subset=subset, chosen="c" * (place % 50 + 1), rejected="r" * 25)
        for place, subset in enumerate(subsets)
    ]
    return small_table(*rows, chunk_rows=1000)
