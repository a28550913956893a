import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.core.settings import ROOT
from explorer.data.export import MOST_EXPORTED_RUNS, WIDTH, export, export_name, snippet
from explorer.data.table import PairTable
from scoring.pairs.opening import SCHEMA, TEXT_COLUMNS, Pairs, PairSource, read_pairs
from tests.support.pair_files import write_rows

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HUB = PairSource("hub", "allenai/reward-bench", "filtered", COMMIT)

Raw = dict[str, Any]


def pair(number: int, **changed: object) -> Raw:
    return {**{name: f"{name} {number}" for name in TEXT_COLUMNS}, "id": number, **changed}


def table_of(number: int, source: PairSource = HUB, left_out: tuple[int, ...] = ()) -> PairTable:
    """A table of so many pairs, as it would be after reading."""
    more: Raw = {"more_chosen": [], "more_rejected": []}
    blank = dict.fromkeys(SCHEMA.names, "") | more
    rows = [blank | {name: str(row) for name in ("key", "id")} for row in range(number)]
    return PairTable(Pairs(source, pa.Table.from_pylist(rows, schema=SCHEMA), (), left_out))


def said(table: PairTable, rows: Sequence[int], filters: Sequence[str] = ()) -> str:
    return snippet(table, np.array(rows, dtype=np.int64), filters)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a snippet in a folder; the rows that it leaves in `pairs`."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")

    def run_in(folder: Path, program: str) -> list[Raw]:
        monkeypatch.chdir(folder)
        names: dict[str, Any] = {}
        exec(compile(program, "snippet", "exec"), names)
        return list(names["pairs"])

    return run_in


def rows_in(program: str) -> list[int]:
    """The row numbers that a snippet selects."""
    (rows,) = [
        ast.unparse(each.value)
        for each in ast.parse(program).body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "rows"
    ]
    return list(eval(rows))


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 999), max_size=400, unique=True),
    st.sets(st.integers(0, 999), max_size=5),
    st.booleans(),
)
def test_the_rows_are_those_of_the_source(
    wanted: list[int], left_out: set[int], in_order: bool
) -> None:
    read = [number for number in range(1000) if number not in left_out]
    rows = [read.index(number) for number in wanted if number not in left_out]
    rows = sorted(rows) if in_order else rows
    program = said(table_of(len(read), left_out=tuple(sorted(left_out))), rows)
    assert rows_in(program) == [read[row] for row in rows]
    assert all(len(line) <= WIDTH for line in program.splitlines())


HOSTILE = (
    pair(1, prompt="NA", chosen="a\r\nb\rc", rejected='=1, "q"\n'),
    pair(2, chosen="naïve 日本 🌈\u2028\u0085", rejected=" \t x "),
)
NAMES = ["mine.parquet", "mine.jsonl", "mine.json", "mine.csv", "a [x]*'\"?.jsonl"]


@pytest.mark.parametrize("name", NAMES)
def test_run_on_a_file_it_gives_the_selected_pairs(tmp_path: Path, run: Any, name: str) -> None:
    rows = [pair(0), *HOSTILE, *map(pair, range(3, 6))]
    if not name.endswith("csv"):  # rows that are left out on reading are counted
        rows[1:1] = [pair(0, chosen=None)]
    table, places = PairTable(read_pairs(write_rows(tmp_path / name, rows))), [0, 1, 2, 5]
    found = run(tmp_path, said(table, places))
    assert [[row[name] for name in TEXT_COLUMNS] for row in found] == [
        [table.cells(place)[name] for name in TEXT_COLUMNS] for place in places
    ]


def test_run_on_the_demo_it_gives_the_selected_pairs(demo: PairTable, run: Any) -> None:
    rows = [3, 4, 5, len(demo) - 1]
    found = run(ROOT, said(demo, rows))
    assert [f"{row['subset']}:{row['id']}" for row in found] == [demo.keys[row] for row in rows]


def test_a_scattered_selection_is_loaded_from_its_export(tmp_path: Path, run: Any) -> None:
    table = table_of(2 * MOST_EXPORTED_RUNS + 2)
    rows = np.arange(0, len(table), 2)
    program = snippet(table, rows, [])
    assert f"'{export_name(table, rows, 'parquet')}'" in program
    export(table, rows, "parquet", tmp_path / export_name(table, rows, "parquet"))
    assert [row["id"] for row in run(tmp_path, program)] == rows.tolist()
    assert len(rows_in(snippet(table, rows[:-1], []))) == MOST_EXPORTED_RUNS


hostile = st.text(st.characters(), max_size=30) | st.sampled_from(
    [
        "# coding: utf-7 +AAo-import os",
        "-*- coding: utf-16 -*-",
        "\nimport os",
        "a\x0cimport os",
        "\u2028import os\u2029\x85\x0b\x1c",
        "'''\"\"\"\\",
        "\ud800\u202e\x00",
        "{source} %s",
        "x" * 10_000,
        "\0" * 10_000,
    ]
)


def statements(program: str) -> list[str]:
    """What a file of that text runs; read as bytes, so that a coding cookie counts."""
    return [ast.dump(each) for each in ast.parse(program.encode("utf-8")).body]


@given(st.lists(hostile, max_size=3))
def test_filters_never_leave_their_comments(filters: list[str]) -> None:
    table = table_of(3)
    program = said(table, [1], filters)
    assert statements(program) == statements(said(table, [1]))
    comments = [line for line in program.split("\n") if line.startswith("# - ")]
    assert len(comments) == len(filters)
    assert all(len(line) <= 204 for line in comments)


@given(hostile, hostile, st.sampled_from([".jsonl", ".CSV", ".parquet", ".json"]))
def test_names_never_leave_their_literals(name: str, split: str, suffix: str) -> None:
    for source in (
        PairSource("hub", name, split, COMMIT),
        PairSource("file", f"{name}{suffix}", None, "0123456789ab"),
    ):
        program = said(table_of(3, source), [1], [split])
        imported, load, select, rows, check = ast.parse(program.encode("utf-8")).body
        assert isinstance(load, ast.Assign)
        assert isinstance(load.value, ast.Call)
        values = [*load.value.args, *(each.value for each in load.value.keywords)]
        literals = [ast.literal_eval(value) for value in values]
        if source.kind == "hub":
            configuration, _, own = split.rpartition("/")
            assert literals == [name, *filter(None, [configuration]), own, COMMIT]
        other = ast.parse(said(table_of(3), [1]))
        kept = [imported, select, rows, check]
        plain = [each for place, each in enumerate(other.body) if place != 1]
        assert [*map(ast.dump, kept)] == [*map(ast.dump, plain)]
