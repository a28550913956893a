import csv
import errno
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.files import METADATA
from explorer.data import export as exports
from explorer.data.export import (
    EXPORT_BATCH_ROWS,
    FORMATS,
    Format,
    batches,
    export,
    export_name,
)
from explorer.data.table import PairTable, Rows
from scoring.errors import KnownError
from scoring.pairs.opening import SCHEMA, TEXT_COLUMNS, Pairs, PairSource, read_pairs
from scoring.pairs.shapes import transcript
from scoring.spec import Message
from tests.support.golden_files import check_golden

TURNS = [Message("system", "Be brief."), Message("user", "Hi."), Message("assistant", "=Yes?")]
SOURCE = PairSource("file", "mine.jsonl", None, "0123456789ab")


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


def table_of(*rows: dict[str, Any], source: PairSource = SOURCE, chunk: int = 2) -> PairTable:
    """A table in chunks, as they are after reading."""
    chunks = [rows[begin : begin + chunk] for begin in range(0, len(rows), chunk)]
    tables = [pa.Table.from_pylist([*each], schema=SCHEMA) for each in chunks]
    return PairTable(Pairs(source, pa.concat_tables(tables)))


def all_of(table: PairTable) -> Rows:
    return np.arange(len(table))


def written(
    table: PairTable, form: Format, folder: Path, rows: Sequence[int] | None = None
) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"pairs.{form}"
    export(table, all_of(table) if rows is None else np.array(rows), form, path)
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]


def cells_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, strict=True))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
messages = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts)
models = texts.filter(lambda name: name != "unkown")  # is mended on reading
Further = st.SearchStrategy[list[tuple[str, str]]]
NONE_FURTHER: Further = st.just([])
FURTHER: Further = st.lists(st.tuples(texts, models), max_size=2)


def tables(further: Further) -> st.SearchStrategy[PairTable]:
    """Tables of hostile texts. further: responses of a side besides the first."""
    rows = st.builds(
        pair,
        texts | st.integers(-5, 10**20),
        subset=texts if further is NONE_FURTHER else st.just("Ties"),
        **dict.fromkeys(TEXT_COLUMNS, texts),
        **dict.fromkeys(("chosen_model", "rejected_model"), models),
        turns=st.lists(messages, min_size=2, max_size=3) | st.just([]),
        more_chosen=further,
        more_rejected=further,
    )
    listed = st.lists(rows, min_size=1, max_size=5, unique_by=lambda row: row["key"])
    return listed.map(lambda rows: table_of(*rows))


@given(tables(NONE_FURTHER) | tables(FURTHER))
def test_parquet_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, table: PairTable
) -> None:
    path = written(table, "parquet", tmp_path_factory.getbasetemp())
    assert read_pairs(path).table.to_pylist() == table.arrow.to_pylist()


@given(tables(NONE_FURTHER))
def test_jsonl_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, table: PairTable
) -> None:
    path = written(table, "jsonl", tmp_path_factory.getbasetemp())
    assert read_pairs(path).table.to_pylist() == table.arrow.to_pylist()


@given(tables(FURTHER))
def test_csv_is_read_by_all_and_run_by_none(
    tmp_path_factory: pytest.TempPathFactory, table: PairTable
) -> None:
    path = written(table, "csv", tmp_path_factory.getbasetemp())
    rows = cells_of(path)
    assert len(rows) == len(table) == len(read_pairs(path).table)
    for row in rows:
        for cell in row.values():
            assert cell.lstrip()[:1] not in [*"=+-@＝＋－＠"]
            assert "\0" not in cell


def test_the_real_split_comes_back_as_upstreams_file(
    real: PairTable, shared_data: Path, tmp_path: Path
) -> None:
    path = written(real, "parquet", tmp_path)
    upstream = pq.read_table(shared_data / "reward-bench" / "filtered.parquet")
    assert pq.read_table(path).cast(upstream.schema).equals(upstream)


@pytest.mark.parametrize("row_id", ["007", "9" * 19, "９", "-1", "1\n", "", "x"])
def test_ids_are_numbers_only_where_all_are(tmp_path: Path, row_id: str) -> None:
    table = table_of(pair(1), pair(row_id))
    assert pq.read_schema(written(table, "parquet", tmp_path)).field("id").type == pa.string()
    assert [line["id"] for line in lines_of(written(table, "jsonl", tmp_path))] == ["1", row_id]
    only = written(table, "jsonl", tmp_path, rows=[0])
    assert lines_of(only)[0]["id"] == 1


SEVERAL = pair(7, more_chosen=[("c2", "m2")], more_rejected=[("r2", "m3"), ("r3", "m4")])


def test_further_responses_are_written_as_rewardbench_2_writes_them(tmp_path: Path) -> None:
    one, seven = pq.read_table(written(table_of(pair(1), SEVERAL), "parquet", tmp_path)).to_pylist()
    assert seven == {
        "prompt": "prompt 7",
        "chosen": ["chosen 7", "c2"],
        "rejected": ["rejected 7", "r2", "r3"],
        "models": ["chosen_model 7", "m2", "rejected_model 7", "m3", "m4"],
        "num_correct": 2,
        "num_incorrect": 3,
        "total_completions": 5,
        "subset": "s",
        "id": 7,
    }
    assert one["chosen"] == ["chosen 1"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_pairs_conversations_and_further_responses_are_written(form: Any, tmp_path: Path) -> None:
    quoted = pair(2, turns=TURNS, chosen='a "b", c\nd')
    path = written(table_of(pair(1), quoted, SEVERAL), form, tmp_path)
    check_golden(Path(__file__).parent / "exports" / f"pairs.{form}", path.read_bytes().decode())


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("rows", [[0], [4, 1, 0], [2, 3], [0, 1, 2, 3, 4]])
def test_the_rows_are_written_in_the_order_given(
    tmp_path: Path, form: Format, rows: list[int]
) -> None:
    table = table_of(*map(pair, range(5)))
    kept = PairTable(read_pairs(written(table, form, tmp_path, rows)))
    assert kept.keys == [table.keys[row] for row in rows]


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_that_fails_leaves_nothing_new(
    tmp_path: Path, form: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pairs.out"
    path.write_text("older")
    table = table_of(*map(pair, range(EXPORT_BATCH_ROWS + 1)), chunk=500)

    def broken(arrow: pa.Table, rows: Rows) -> Iterator[pa.Table]:
        yield next(batches(arrow, rows))
        if "chosen" in arrow.column_names:
            assert len([*tmp_path.iterdir()]) == 2 and path.read_text() == "older"
            raise OSError(errno.ENOSPC, "no room")

    with monkeypatch.context() as patch:
        patch.setattr(exports, "batches", broken)
        with pytest.raises(KnownError, match="no room"):
            export(table, all_of(table), form, path)
    assert path.read_text() == "older"
    assert [each.name for each in tmp_path.iterdir()] == ["pairs.out"]
    export(table, all_of(table), form, path)
    assert [each.name for each in tmp_path.iterdir()] == ["pairs.out"]
    assert path.read_bytes() != b"older"


@pytest.mark.parametrize("form", FORMATS)
def test_long_texts_are_written_few_at_a_time(
    tmp_path: Path, form: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "BATCH_BYTES", 1_000)
    rows = [pair(number) for number in range(9)]
    rows[2] = pair(2, chosen="x" * 5_000)
    rows[4] = pair(4, more_rejected=[("é" * 500, "m")])
    table = table_of(*rows)
    path = tmp_path / f"pairs.{form}"
    sizes = [each.num_rows for each in batches(table.arrow, all_of(table))]
    assert sizes == [2, 1, 1, 1, 4]
    export(table, all_of(table), form, path)
    monkeypatch.undo()
    whole = written(table, form, tmp_path / "whole")
    if form == "parquet":
        assert pq.read_table(path) == pq.read_table(whole)
    else:
        assert path.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("form", FORMATS)
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, form: Format) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    table = table_of(pair(1))
    for place in ("no folder/x", "folder", "file/x", "x" * 300):
        with pytest.raises(KnownError, match=r"cannot be written: .*Choose another") as refused:
            export(table, all_of(table), form, tmp_path / place)
        assert str(tmp_path) not in str(refused.value), "a folder of the server"
    assert {each.name for each in tmp_path.iterdir()} == {"file", "folder"}


def test_what_cannot_be_exported_is_said(tmp_path: Path) -> None:
    table = table_of(pair(1))
    with pytest.raises(KnownError, match="no pair to export"):
        export(table, np.array([], dtype=np.int64), "csv", tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_parquet_says_where_its_pairs_are_from_and_how_they_were_chosen(tmp_path: Path) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    table = table_of(pair(1), source=PairSource("hub", "org/name", "test", commit))
    selection = ["search: é\n\ud800", "subset: s"]
    export(table, all_of(table), "parquet", tmp_path / "x.parquet", selection)
    metadata = pq.read_schema(tmp_path / "x.parquet").metadata
    assert json.loads(metadata[METADATA]) == {
        "source": f"org/name:test@{commit}",
        "revision": commit,
        "selection": selection,
    }


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (PairSource("hub", "allenai/reward-bench", "filtered", "0"), "reward-bench-filtered-2"),
        (PairSource("file", "mine.jsonl", None, "0"), "mine-2"),
        (PairSource("demo", "demo pairs", None, "0"), "demo-pairs-2"),
        (PairSource("file", "..\\..\r\n<b>日本\0.csv", None, "0"), "b-2"),
        (PairSource("file", "/etc/日本.csv", "../x", "0"), "pairs-x-2"),
        (PairSource("file", ".parquet", None, "0"), "parquet-2"),
        (PairSource("hub", "a/" + "v1.5" * 99, None, "0"), ("v1-5" * 99)[:60] + "-2"),
    ],
)
def test_a_file_is_named_after_its_source(source: PairSource, name: str) -> None:
    table = table_of(pair(1), pair(2), source=source)
    for form in FORMATS:
        assert export_name(table, all_of(table), form) == f"{name}-pairs.{form}"
