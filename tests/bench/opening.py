"""How long a set of pairs takes to open, the first time and again, and the memory it takes.

Each opening is a fresh process that has imported gradio and opens a file as the server opens its
owner's; the first has an empty HF_HOME. 43,175 and 300,000 pairs are the real ones again and again.

    python tests/bench/opening.py [--before FOLDER]

FOLDER: another checkout, measured in turn with this one.
"""

import argparse
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "data" / "reward-bench" / "filtered.parquet"
ROUNDS = 5
SETS = [(2_985, "parquet"), (43_175, "parquet"), (43_175, "jsonl"), (43_175, "csv"),
        (300_000, "jsonl")]  # fmt: skip

OPEN = """
import inspect, pathlib, sys, time
import gradio

def own():
    status = dict(line.split(":") for line in open("/proc/self/status"))
    return int(status["RssAnon"].split()[0]) / 1000

started, before = time.perf_counter(), own()
from scoring.pairs.opening import read_pairs
on_disk = {"on_disk": True} if "on_disk" in inspect.signature(read_pairs).parameters else {}
pairs = read_pairs(pathlib.Path(sys.argv[1]), **on_disk)
print(time.perf_counter() - started, own() - before, pairs.table.nbytes / 1e6)
"""


def rows(n: int) -> Iterator[dict[str, Any]]:
    """So many rows as the real ones, each with an id of its own."""
    real = pq.read_table(REAL).to_pylist()
    for number in range(n):
        yield {**real[number % len(real)], "id": number}


def write(path: Path, n: int) -> None:
    """A file of so many pairs, of the kind that its ending says."""
    if path.suffix == ".parquet":
        table = pa.concat_tables([pq.read_table(REAL)] * -(-n // 2_985)).slice(0, n)
        ids = table.schema.get_field_index("id")
        pq.write_table(table.set_column(ids, "id", pa.array(range(n))), path, row_group_size=10_000)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            writer = csv.DictWriter(file, next(rows(1)))
            writer.writeheader()
            writer.writerows(rows(n))
        else:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(n))


def opened(path: Path, checkout: Path, home: Path) -> tuple[float, float, float]:
    """Seconds, MB that the process grew by, and MB of text, of one opening."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(path)],
        cwd=checkout,
        env={**os.environ, "HF_HOME": str(home), "PYTHONPATH": str(checkout)},
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, grown, text = map(float, done.stdout.split())
    return seconds, grown, text


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", type=Path)
    before = parser.parse_args().before
    checkouts = {**({"before": before.resolve()} if before else {}), "now": ROOT}
    with tempfile.TemporaryDirectory() as name:
        folder, home = Path(name), Path(name) / "hf"
        for n, ending in SETS:
            path = folder / f"pairs.{ending}"
            write(path, n)
            found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
            for _ in range(ROUNDS):
                for label, checkout in checkouts.items():
                    shutil.rmtree(home, ignore_errors=True)
                    for time in ("first", "again"):
                        found.setdefault((label, time), []).append(opened(path, checkout, home))
            for (label, time), each in found.items():
                seconds, grown, text = (
                    statistics.median(values) for values in zip(*each, strict=True)
                )
                print(
                    f"{n:7,} {ending:7} ({text:3.0f} MB) {label:6} {time}: "
                    f"{seconds:5.2f} s, {grown:4.0f} MB of memory",
                    flush=True,
                )
            path.unlink()


if __name__ == "__main__":
    main()
