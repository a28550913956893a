"""Files of pairs, of every kind that is read."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scoring.pairs.opening import Pairs, read_pairs
from tests.support.files import write_jsonl

TEXTS = {"prompt": "p", "chosen": "c", "rejected": "r"}
LINE, HEAD = json.dumps(TEXTS).encode(), b"prompt,chosen,rejected\n"
SYSTEM = {"role": "system", "content": "Be brief."}
ASK = {"role": "user", "content": "Name a colour."}
GOOD, BAD = {"role": "assistant", "content": "Red."}, {"role": "assistant", "content": "No."}
FORMATS = ("parquet", "jsonl", "json", "csv")
LISTS = FORMATS[:3]
"""Those that can hold lists and messages."""


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """Rows as a file of the kind that its ending says."""
    if path.suffix == ".parquet":
        path.write_bytes(parquet_bytes(rows))
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    else:
        write_jsonl(path, rows)
    return path


def parquet_bytes(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Rows as a Parquet file has them."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), sink)
    return sink.getvalue().to_pybytes()


def read_jsonl(folder: Path, *rows: Mapping[str, object]) -> Pairs:
    """What is read of rows in a file mine.jsonl."""
    return read_pairs(write_rows(folder / "mine.jsonl", rows))
