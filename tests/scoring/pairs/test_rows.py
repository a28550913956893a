import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring.errors import KnownError
from scoring.pairs.rows import announced, read_batches, rows_of, unpacked_bytes

COLUMNS = ("prompt", "chosen")


def rows_in(path: Path) -> list[object]:
    return [
        row
        for batch in read_batches(path, path.name, COLUMNS)
        for rows in rows_of(batch)
        for row in rows
    ]


def error_of(path: Path) -> str:
    with pytest.raises(KnownError) as caught:
        rows_in(path)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["[]", " [ ] ", '[{"a": 1}]', '\n\n[\n {"a": [1, "]"]} ,\r\n\t{"b": null}\n]\n', "[{}, {}]"],
)
def test_a_json_list_is_read_as_json_reads_it(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text("\ufeff" + text, encoding="utf-8")
    assert rows_in(path) == json.loads(text)


@pytest.mark.parametrize(
    "text", ["[", "[{}", "[{},", "[{},]", "[,]", "[{}] x", "[{}]]", "[{} {}]", "[{},, {}]"]
)
def test_what_is_no_json_list_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text, encoding="utf-8")
    assert error_of(path).startswith("mine.json: not a JSON list: it goes wrong")


def test_many_blank_lines_may_stand_before_a_json_list(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text("\n" * 200_000 + "[{}]", encoding="utf-8")
    assert rows_in(path) == [{}]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json"])
def test_the_place_of_a_broken_byte_is_counted_from_the_start(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"mine.{ending}"
    lines = b'{"prompt": "\xc3\xa7"}\n' * 10_000
    path.write_bytes(lines + b'{"prompt": "\xe7"}\n')
    assert f"byte {len(lines) + 12} cannot be read" in error_of(path)


def test_a_text_that_stands_often_is_counted_as_often_but_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    often = pa.DictionaryArray.from_arrays(pa.array([0] * 3_000), pa.array(["x" * 100_000]))
    lists = pa.ListArray.from_arrays(list(range(3_001)), often)
    talks = pa.ListArray.from_arrays(
        list(range(3_001)), pa.StructArray.from_arrays([often], ["content"])
    )
    for column in (often, lists, talks):
        pq.write_table(pa.table({"chosen": column}), path, store_schema=False)
        (batch,) = read_batches(path, path.name, COLUMNS)
        assert 300_000_000 <= unpacked_bytes(batch) < 301_000_000
        assert isinstance(batch, pa.RecordBatch)
        assert batch.nbytes < 1_000_000


def test_nested_texts_come_out_as_they_went_in(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"prompt": [{"role": "user", "content": "a"}, {"role": None, "content": None}]},
        {"prompt": None},
        {"prompt": []},
        {"prompt": [None]},
    ] * 700
    for kind in (pa.list_, pa.large_list):
        talk = pa.struct([("role", pa.string()), ("content", pa.large_string())])
        table = pa.Table.from_pylist(rows, pa.schema([("prompt", kind(talk))]))
        pq.write_table(table, tmp_path / "mine.parquet")
        assert rows_in(tmp_path / "mine.parquet") == rows


def test_what_parquet_announces_of_the_wanted_columns(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    table = pa.table({"prompt": ["x" * 1000], "note": ["x" * 100_000], "chosen": [[["c", "d"]]]})
    pq.write_table(table, path, use_dictionary=False, write_statistics=False)
    columns, n_rows, n_bytes = announced(path, path.name, COLUMNS)
    assert (columns, n_rows) == ([*COLUMNS], 1)
    assert 1000 < n_bytes < 2000
    assert announced(tmp_path / "mine.csv", "mine.csv", COLUMNS) == (COLUMNS, None, 0)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    column = pa.array(["x"])
    pq.write_table(pa.Table.from_arrays([column] * 3, ["prompt", "chosen", "prompt"]), path)
    assert error_of(path) == "mine.parquet: it has two columns prompt."


def test_rows_that_hold_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    broken = pa.array([b"fine", b"\xed\xa0\x80"]).view(pa.string())
    pq.write_table(pa.table({"prompt": broken}), path)
    assert "mine.parquet: rows 1 to 2 hold what is no text" in error_of(path)


def test_a_csv_of_a_megabyte_a_cell_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["prompt"], ["é\n" * 500_000]])
    assert rows_in(path) == [{"prompt": "é\n" * 500_000}]
