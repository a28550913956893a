"""Files of pairs: they are read back whole; and the program that loads what was on screen."""

import ast
import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.data import export as exports
from explorer.data.export import FORMATS, Format, export, export_name, snippet
from explorer.data.table import PairTable
from scoring.errors import KnownError
from scoring.pairs.opening import SCHEMA, TEXT_COLUMNS, Pairs, PairSource, read_pairs
from scoring.pairs.shapes import transcript
from scoring.spec import Message
from tests.support.files import write_jsonl
from tests.support.golden_files import check_golden
from tests.support.pair_files import write_rows

TURNS = [Message("system", "Be brief."), Message("user", "Hi."), Message("assistant", "=Yes?")]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
HUB = PairSource("hub", "allenai/reward-bench", "filtered", COMMIT)


def pair(number: object, **changed: Any) -> dict[str, Any]:
    """A row of a checked table; turns: as messages, more_*: as (text, model)."""
    texts = (*TEXT_COLUMNS, "chosen_model", "rejected_model")
    row: dict[str, Any] = {name: f"{name} {number}" for name in texts}
    row |= {"subset": "s", "id": str(number), "turns": (), "more_chosen": (), "more_rejected": ()}
    row |= changed
    if row["turns"]:
        row["prompt"] = transcript(row["turns"])
    row["turns"] = json.dumps(row["turns"], ensure_ascii=False) if row["turns"] else ""
    for side in ("more_chosen", "more_rejected"):
        row[side] = [{"text": text, "model": model} for text, model in row[side]]
    return {**row, "key": f"{row['subset']}:{row['id']}"}


def table_of(
    *rows: dict[str, Any], source: PairSource = HUB, left_out: tuple[int, ...] = ()
) -> PairTable:
    """A table in two chunks, as they are after reading."""
    tables = [pa.Table.from_pylist([*each], schema=SCHEMA) for each in (rows[:2], rows[2:])]
    return PairTable(Pairs(source, pa.concat_tables(tables), (), left_out))


def written(table: PairTable, form: Format, folder: Path, rows: Sequence[int] = ()) -> Path:
    """A file of all rows, or of some."""
    path = folder / f"pairs.{form}"
    export(table, np.array(rows or range(len(table))), form, path)
    return path


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
messages = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts)
models = texts.filter(lambda name: name != "unkown")  # is mended on reading


def tables(*, several: bool) -> st.SearchStrategy[PairTable]:
    """Tables of hostile texts. several: with responses of a side besides the first."""
    further = st.lists(st.tuples(texts, models), max_size=2 if several else 0)
    rows = st.builds(
        pair,
        texts | st.integers(-5, 10**20),
        subset=st.just("Ties") if several else texts,
        **dict.fromkeys(TEXT_COLUMNS, texts),
        **dict.fromkeys(("chosen_model", "rejected_model"), models),
        turns=st.lists(messages, min_size=2, max_size=3) | st.just([]),
        more_chosen=further,
        more_rejected=further,
    )
    listed = st.lists(rows, min_size=1, max_size=5, unique_by=lambda row: row["key"])
    return listed.map(lambda rows: table_of(*rows))


@settings(max_examples=50)
@given(tables(several=False), tables(several=True))
def test_any_table_comes_back_as_it_was_and_csv_is_run_by_none(
    tmp_path_factory: pytest.TempPathFactory, plain: PairTable, several: PairTable
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for table, form in ((plain, "parquet"), (several, "parquet"), (plain, "jsonl")):
        path = written(table, form, folder)  # type: ignore[arg-type]
        assert read_pairs(path).table.to_pylist() == table.arrow.to_pylist()
    path = written(several, "csv", folder)
    assert len(read_pairs(path).table) == len(several)
    with path.open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file, strict=True) for cell in row]
    assert not [cell for cell in cells if cell.lstrip()[:1] in {*"=+-@＝＋－＠"} or "\0" in cell]


def test_ids_are_numbers_only_where_all_are(tmp_path: Path) -> None:
    for row_id in ("007", "9" * 19, "９"):
        table = table_of(pair(1), pair(row_id))
        assert pq.read_schema(written(table, "parquet", tmp_path)).field("id").type == pa.string()
        for rows, ids in (([0, 1], ["1", row_id]), ([0], [1])):
            lines = written(table, "jsonl", tmp_path, rows).read_text("utf-8").splitlines()
            assert [json.loads(line)["id"] for line in lines] == ids


SEVERAL = pair(7, more_chosen=[("c2", "m2")], more_rejected=[("r2", "m3"), ("r3", "m4")])


@pytest.mark.parametrize("form", FORMATS)
def test_pairs_conversations_and_further_responses_are_written(form: Any, tmp_path: Path) -> None:
    """Parquet as RewardBench 2 has it, shown as JSON lines."""
    quoted = pair(2, turns=TURNS, chosen='a "b", c\nd')
    path = written(table_of(pair(1), quoted, SEVERAL), form, tmp_path)
    if form == "parquet":
        path = write_jsonl(tmp_path / "pairs.parquet.txt", pq.read_table(path).to_pylist())
    check_golden(Path(__file__).parent / "exports" / path.name, path.read_bytes().decode())


@pytest.mark.parametrize("form", FORMATS)
def test_the_rows_are_written_in_the_order_given_and_a_place_of_the_server_is_not_named(
    tmp_path: Path, form: Format
) -> None:
    table = table_of(*map(pair, range(5)))
    kept = PairTable(read_pairs(written(table, form, tmp_path, [4, 1, 0])))
    assert kept.keys == [table.keys[row] for row in (4, 1, 0)]
    with pytest.raises(KnownError, match=r"cannot be written: .*Choose another") as refused:
        written(table, form, tmp_path / "no folder")
    assert str(tmp_path) not in str(refused.value)
    with pytest.raises(KnownError, match="no pair to export"):
        export(table, np.array([], dtype=np.int64), form, tmp_path / "x")
    assert [each.name for each in tmp_path.iterdir()] == [f"pairs.{form}"]


def test_long_texts_are_written_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [pair(number) for number in range(9)]
    rows[2] = pair(2, chosen="x" * 5_000)
    rows[4] = pair(4, more_rejected=[("é" * 500, "m")])
    table = table_of(*rows)
    whole = written(table, "jsonl", tmp_path).read_bytes()
    monkeypatch.setattr(exports, "BATCH_BYTES", 1_000)
    assert [each.num_rows for each in exports.batches(table.arrow, np.arange(9))] == [2, 1, 1, 1, 4]
    assert written(table, "jsonl", tmp_path).read_bytes() == whole


def test_a_file_is_named_after_its_source() -> None:
    for source, name in (
        (HUB, "reward-bench-filtered-2"),
        (PairSource("file", "..\\..\r\n<b>日本\0.csv", None, "0"), "b-2"),
        (PairSource("file", "/etc/日本.csv", "../x", "0"), "pairs-x-2"),
        (PairSource("hub", "a/" + "v1.5" * 99, None, "0"), ("v1-5" * 99)[:60] + "-2"),
    ):
        table = table_of(pair(1), pair(2), source=source)
        assert export_name(table, np.arange(2), "csv") == f"{name}-pairs.csv"


# The program that loads the selected pairs.


def said(table: PairTable, rows: Sequence[int], filters: Sequence[str] = ()) -> str:
    return snippet(table, np.array(rows, dtype=np.int64), filters)


@pytest.fixture
def where_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which programs run."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(program: str) -> list[dict[str, Any]]:
    """The rows that a program leaves in `pairs`."""
    names: dict[str, Any] = {}
    exec(compile(program, "snippet", "exec"), names)
    return list(names["pairs"])


def rows_in(program: str) -> list[int]:
    """The row numbers that a program selects."""
    assigned = [each for each in ast.parse(program).body if isinstance(each, ast.Assign)]
    [rows] = [each.value for each in assigned if ast.unparse(each.targets[0]) == "rows"]
    return list(eval(ast.unparse(rows)))


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 299), max_size=200, unique=True),
    st.sets(st.integers(0, 299), max_size=5),
    st.booleans(),
)
def test_the_rows_are_those_of_the_source(
    wanted: list[int], left_out: set[int], in_order: bool
) -> None:
    read = [number for number in range(300) if number not in left_out]
    rows = [read.index(number) for number in wanted if number not in left_out]
    rows = sorted(rows) if in_order else rows
    program = said(table_of(*map(pair, read), left_out=tuple(sorted(left_out))), rows)
    assert rows_in(program) == [read[row] for row in rows]
    assert all(len(line) <= exports.WIDTH for line in program.splitlines())


HOSTILE = (
    {"prompt": "NA", "chosen": "a\r\nb\rc", "rejected": '=1, "q"\n', "id": 1},
    {"prompt": "p", "chosen": "naïve 日本 🌈\u2028\u0085", "rejected": " \t x ", "id": 2},
)


@pytest.mark.parametrize("name", ["mine.parquet", "mine.json", "mine.csv", "a [x]*'\"?.jsonl"])
def test_run_on_a_file_it_gives_the_selected_pairs(where_files_are: Path, name: str) -> None:
    plain = [{**dict.fromkeys(TEXT_COLUMNS, f"x{number}"), "id": number} for number in range(6)]
    rows: list[dict[str, Any]] = [plain[0], *HOSTILE, *plain[3:]]
    if not name.endswith("csv"):  # rows that are left out on reading are counted
        rows[1:1] = [{**plain[0], "chosen": None}]
    table, places = PairTable(read_pairs(write_rows(where_files_are / name, rows))), [0, 1, 2, 5]
    found = run(said(table, places))
    assert [[row[name] for name in TEXT_COLUMNS] for row in found] == [
        [table.cells(place)[name] for name in TEXT_COLUMNS] for place in places
    ]


def test_a_scattered_selection_is_loaded_from_its_export(where_files_are: Path) -> None:
    table = table_of(*map(pair, range(2 * exports.MOST_EXPORTED_RUNS + 2)))
    rows = np.arange(0, len(table), 2)
    export(table, rows, "parquet", where_files_are / export_name(table, rows, "parquet"))
    assert [row["id"] for row in run(snippet(table, rows, []))] == rows.tolist()
    assert len(rows_in(snippet(table, rows[:-1], []))) == exports.MOST_EXPORTED_RUNS


WORDS = [
    *("# coding: utf-7 +AAo-import os", "-*- coding: utf-16 -*-", "\nimport os", "a\x0cimport os"),
    *("\u2028import os\u2029\x85\x0b\x1c", "'''\"\"\"\\", "\ud800\u202e\x00", "{source} %s"),
    *("x" * 10_000, "\0" * 10_000),
]
hostile = st.text(st.characters(), max_size=30) | st.sampled_from(WORDS)


@given(hostile, hostile, st.sampled_from([".jsonl", ".CSV", ".parquet", ".json"]))
def test_filters_and_names_never_leave_their_comments_and_literals(
    name: str, split: str, suffix: str
) -> None:
    """The program is read as bytes, so that a coding cookie counts."""
    rows = pair(1), pair(2)
    plain = ast.parse(said(table_of(*rows), [1])).body
    configuration, _, own = split.rpartition("/")
    for source in (
        PairSource("hub", name, split, COMMIT),
        PairSource("file", f"{name}{suffix}", None, "0123456789ab"),
    ):
        program = said(table_of(*rows, source=source), [1], [name, split])
        imported, load, *others = ast.parse(program.encode("utf-8")).body
        kept = [imported, *others]
        assert [*map(ast.dump, kept)] == [*map(ast.dump, [plain[0], *plain[2:]])]
        assert isinstance(load, ast.Assign) and isinstance(load.value, ast.Call)
        values = [*load.value.args, *(each.value for each in load.value.keywords)]
        literals = [ast.literal_eval(value) for value in values]
        if source.kind == "hub":
            assert literals == [name, *filter(None, [configuration]), own, COMMIT]
        comments = [line for line in program.split("\n") if line.startswith("# - ")]
        assert len(comments) == 2 and all(len(line) <= 204 for line in comments)
